import type { SessionState } from '../../src/core/session/sessionState';
import type { ObservedSession } from '../../src/service/sessions/sessionService';
import type { WorkerPool } from '../support/processes/workerPool';

const AT_ONCE = 3;
/** So many sessions that are over are kept: what is kept of each takes memory too. */
const KEPT = 9;

/** Whether the agent of that number dies in the middle of a tool instead of ending its session. */
export function diesAtWork(number: number): boolean {
  return number % 4 === 3;
}

/**
 * Has some agents at work until that is over, each followed by another.
 * @param args of an agent, before its number
 * @param settle looks at the session of an agent that ended some time ago, and forgets it; not while that is busy
 * @returns how many were at work
 */
export async function keepAgents(
  pool: WorkerPool,
  [root, folder]: readonly [root: string, folder: string],
  env: NodeJS.ProcessEnv,
  isOver: () => boolean,
  settle: (number: number) => Promise<boolean>,
): Promise<number> {
  let begun = 0;
  const ended: number[] = [];
  const follow = async (): Promise<void> => {
    while (!isOver()) {
      const number = begun;
      begun += 1;
      const worker = pool.start('agent', root, [folder, String(number)], env);
      const { signal } = await worker.ended;
      if ((signal === 'SIGKILL') !== diesAtWork(number)) await worker.done();
      ended.push(number);
      for (const each of ended.splice(0, Math.max(0, ended.length - KEPT))) if (!(await settle(each))) ended.push(each);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, follow));
  // Now nothing else is at work.
  for (const each of ended) while (!(await settle(each)));
  return begun;
}

/** What is said wrongly of the session of an agent that ended, for people. */
export function wrongOf(number: number, session: ObservedSession | undefined): string[] {
  const due: SessionState = diesAtWork(number) ? 'interrupted' : 'ended';
  if (session?.state !== due) return [`session ${number} is ${session?.state ?? 'not known'}, not ${due}`];
  const asked = session.record.latest_request?.text ?? '';
  return asked === `Request 3 of soak-${number}` ? [] : [`session ${number} was asked "${asked}"`];
}
