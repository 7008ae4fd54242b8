import { homedir } from 'node:os';
import type { OpenAtlas } from '../../service/createAtlas';
import { SessionService } from '../../service/sessions/sessionService';
import { observedHosts } from './observedHosts';

/** What observes agents' sessions on this machine. */
export function trackedSessions(
  { ports, configs }: Pick<OpenAtlas, 'ports' | 'configs'>,
  env: NodeJS.ProcessEnv = process.env,
  home = homedir(),
): SessionService {
  return new SessionService(
    ports,
    configs,
    observedHosts(env, home, () => ports.clock.now()),
    home,
  );
}
