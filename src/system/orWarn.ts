import { messageOf } from '../core/shared/errors';
import type { Logger } from '../core/shared/ports';

/** Does what nobody has to wait for or be told of: what goes wrong is logged. Says whether it went well. */
export function orWarn(log: Logger, message: string, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    log.warn(message, { error: messageOf(error) });
    return false;
  }
}
