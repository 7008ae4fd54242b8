import type { Said } from '../../support/drivers/cli';

/** Says how a host's stop hook is called for the nth time in a turn. */
type StopHook = (turn: number, active: boolean) => Promise<Said>;

/**
 * An agent that stops and stops again, whatever it is told, in a host without a limit of its own.
 * @param tellsActive whether the host says that a stop hook keeps the agent going
 * @returns how often it was kept; never more than `patience`
 */
export async function ignoreStops(hook: StopHook, tellsActive: boolean, patience = 12): Promise<number> {
  for (let turn = 0; turn < patience; turn += 1) {
    const { code } = await hook(turn, tellsActive && turn > 0);
    if (code !== 2) return turn;
  }
  return patience;
}
