import { join } from 'node:path';
import type { LockState } from '../../system/locks/lock';
import { SettlingLock } from '../../system/locks/settlingLock';
import type { Examination } from './report';

/** Work under a lock takes ms: whoever holds one for less than this (ms) is just at it. */
const BRIEF_MS = 60_000;

/**
 * Looks whether a lock is held by somebody who may never release it, and settles that after asking.
 * @param mayTakeLong whether the work under it may wait for something
 */
export async function checkLock(
  exam: Examination,
  subject: string,
  folder: string,
  mayTakeLong = false,
): Promise<void> {
  const { ports } = exam.atlas;
  if (ports.files.stat(folder)?.kind !== 'folder') return;
  const lock = new SettlingLock(folder, ports);
  const state = lock.inspect();
  if (state.kind !== 'held') return;
  const heldFor = ports.clock.now() - (ports.files.stat(join(folder, `lock.${state.generation}`))?.mtimeMs ?? Infinity);
  const vitality = state.holder === undefined ? 'unknown' : ports.processes.vitality(state.holder);
  if (vitality === 'dead' || vitality === 'rebooted') {
    exam.ok('lock', subject, 'Its lock was held by a process that is gone; the next one to need it has it.');
    return;
  }
  if (vitality === 'alive') {
    if (heldFor > BRIEF_MS && !mayTakeLong)
      exam.problem(
        'lock',
        subject,
        `${who(state)} has held its lock for ${minutes(heldFor)}.`,
        'It lives, but may hang: look what it does, and end it if it does nothing.',
      );
    return;
  }
  if (heldFor > BRIEF_MS) await settle(exam, subject, lock, state, heldFor);
}

async function settle(
  exam: Examination,
  subject: string,
  lock: SettlingLock,
  state: Extract<LockState, { kind: 'held' }>,
  heldFor: number,
): Promise<void> {
  const held = `${who(state)}, on another machine or in another container, has held its lock for ${minutes(heldFor)}; from here it can't be seen whether it lives.`;
  const question = `${subject}: ${held} Is it gone, so that its lock may be taken from it?`;
  if (exam.fix && !(await exam.options.confirm(question))) {
    exam.problem('lock', subject, held, 'Once you know that it is gone, run the doctor again and say so.');
    return;
  }
  await exam.mend(
    'lock',
    subject,
    { wrong: held, done: 'Its lock was taken from a holder that you said is gone.', byHand: 'Run the doctor again.' },
    () => {
      if (!lock.settle(state.generation)) throw new Error('its holder changed meanwhile');
    },
  );
}

function who({ holder }: Extract<LockState, { kind: 'held' }>): string {
  return holder === undefined ? 'A process that is not named' : `Process ${holder.pid}`;
}

function minutes(ms: number): string {
  return Number.isFinite(ms) ? `${Math.round(ms / 60_000)} min` : 'some time';
}
