import type { SessionState } from '../../src/core/session/sessionState';
import type { ObservedSession } from '../../src/service/sessions/sessionService';
import type { WorkerPool } from '../support/processes/workerPool';

const AT_ONCE = 3;

/** Whether the agent of that number dies in the middle of a tool instead of ending its session. */
export function diesAtWork(number: number): boolean {
  return number % 4 === 3;
}

/**
 * Has some agents at work until that is over, each followed by another.
 * @param args of an agent, before its number
 * @returns the numbers of those that were at work
 */
export async function keepAgents(
  pool: WorkerPool,
  [root, folder]: readonly [root: string, folder: string],
  env: NodeJS.ProcessEnv,
  isOver: () => boolean,
): Promise<number[]> {
  const begun: number[] = [];
  const follow = async (): Promise<void> => {
    while (!isOver()) {
      const number = begun.length;
      begun.push(number);
      const worker = pool.start('agent', root, [folder, String(number)], env);
      const { signal } = await worker.ended;
      if ((signal === 'SIGKILL') !== diesAtWork(number)) await worker.done();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, follow));
  return begun;
}

/** What is said wrongly of the agents that were at work, a line each. */
export function wrongOf(begun: readonly number[], sessions: readonly ObservedSession[]): string[] {
  const known = new Map(sessions.map((session) => [session.ref.sessionId, session]));
  return begun.flatMap((number) => {
    const session = known.get(`soak-${number}`);
    const due: SessionState = diesAtWork(number) ? 'interrupted' : 'ended';
    if (session?.state !== due) return [`session ${number} is ${session?.state ?? 'not known'}, not ${due}`];
    const asked = session.record.latest_request?.text ?? '';
    return asked === `Request 3 of soak-${number}` ? [] : [`session ${number} was asked "${asked}"`];
  });
}
