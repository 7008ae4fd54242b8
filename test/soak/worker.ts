/*
 * Changes a store ten times a second until its input ends: `node <bundle> soak <root> <folder>`. Five tasks at a time, one of them
 * for minutes; each ends, some with a signed receipt, and another begins. Files are captured as in a window. Says each
 * change that was acknowledged, as JSON.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { unwrap } from '../../src/core/shared/errors';
import type { TaskRecord, RecordedEvent } from '../../src/core/task/taskRecord';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import { BackgroundCaptures } from '../../src/service/snapshots/backgroundCaptures';
import { PretendedRuns } from '../support/fixtures/receipts/signedStore';

/** A change that was acknowledged: the event that it put at this place of the task's history. */
export interface Acknowledged {
  readonly ref: TaskRef;
  readonly index: number;
  readonly event: RecordedEvent;
}

const INTERVAL_MS = 100;
const TASKS = 5;
/** How many turns a task has before it ends: it lives for twenty seconds. */
const TURNS = 40;
/** How many the first of the five has: it lives for four minutes, and has more checkpoints than are kept. */
const LONG_TURNS = 480;

const [, root = '', folder = ''] = process.argv.slice(2);
const captures = new BackgroundCaptures(
  () => atlas,
  () => undefined,
);
const atlas: Atlas = new Atlas({ ...systemPorts(root, 'soak', silentLog), recorded: captures.recorded });

interface Living {
  readonly ref: TaskRef;
  readonly number: number;
  turns: number;
}

function acknowledge(ref: TaskRef, { history }: TaskRecord): void {
  const event = history.at(-1);
  if (event === undefined) throw new Error('a change without an event');
  const said: Acknowledged = { ref, index: history.length - 1, event };
  writeSync(1, `${JSON.stringify(said)}\n`);
}

async function begin(number: number): Promise<Living> {
  const started = unwrap(await atlas.startTask({ title: `Soak ${number}`, template: 'task', folder }));
  acknowledge(started.ref, started.hook);
  acknowledge(started.ref, unwrap(await atlas.startStep(started.ref)).hook);
  // They don't all end at once.
  return { ref: started.ref, number, turns: number < TASKS ? (number * TURNS) / TASKS : 0 };
}

async function change({ ref, turns }: Living): Promise<void> {
  if (turns % 2 === 0) {
    acknowledge(ref, unwrap(await atlas.checkpoint(ref, `turn ${turns}`)).hook);
  } else {
    const note = { type: 'note', workingOn: `turn ${turns}`, lastOutput: 'x'.repeat(200) } as const;
    acknowledge(ref, unwrap(await atlas.send(ref, note)).hook);
  }
}

async function end({ ref, number }: Living, runs: PretendedRuns): Promise<void> {
  if (number % 2 === 0) {
    await runs.add(ref, [{ command: 'npm test' }]);
    acknowledge(ref, unwrap(atlas.store.read(ref)).hook);
  }
  acknowledge(ref, unwrap(await atlas.send(ref, { type: 'abandon', by: 'human' })).hook);
}

async function main(): Promise<void> {
  const stop = new AbortController();
  process.stdin.on('end', () => stop.abort()).resume();
  const runs = await PretendedRuns.open(atlas, { durable: true });
  const living: Living[] = [];
  for (let number = 0; number < TASKS; number += 1) living.push(await begin(number));
  let begun = TASKS;
  const start = performance.now();
  for (let turn = 0; !stop.signal.aborted; turn += 1) {
    await sleep(Math.max(0, start + turn * INTERVAL_MS - performance.now()));
    const place = turn % TASKS;
    const task = living[place];
    if (task === undefined) throw new Error('no task');
    task.turns += 1;
    if (task.turns < (place === 0 ? LONG_TURNS : TURNS)) {
      await change(task);
    } else {
      await end(task, runs);
      living[place] = await begin(begun);
      begun += 1;
    }
  }
  await captures.idle();
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
