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
    exam.ok(
      'lock',
      subject,
      'Its lock is held by a process that has exited. The next process to need the lock takes it over.',
    );
    return;
  }
  if (vitality === 'alive') {
    if (heldFor > BRIEF_MS && !mayTakeLong)
      exam.problem(
        'lock',
        subject,
        `${who(state)} has held its lock for ${minutes(heldFor)}.`,
        'The process is running but may be stuck. If it does nothing, stop it.',
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
  const held = `${who(state)}, on another machine or in another container, has held its lock for ${minutes(heldFor)}. It can't be checked from here.`;
  const question = `${subject}: ${held} Has that process exited, so that its lock can be removed?`;
  if (exam.fix && !(await exam.options.confirm(question))) {
    exam.problem(
      'lock',
      subject,
      held,
      'Once you know that the process has exited, run the doctor again and confirm it.',
    );
    return;
  }
  await exam.repair('lock', subject, {
    wrong: held,
    done: 'Its lock was removed, because you confirmed that its holder has exited.',
    byHand: 'Run the doctor again.',
    act: () => {
      if (!lock.settle(state.generation)) throw new Error('its holder has changed in the meantime');
    },
  });
}

function who({ holder }: Extract<LockState, { kind: 'held' }>): string {
  return holder === undefined ? 'An unknown process' : `Process ${holder.pid}`;
}

function minutes(ms: number): string {
  return Number.isFinite(ms) ? `${Math.round(ms / 60_000)} min` : 'some time';
}
