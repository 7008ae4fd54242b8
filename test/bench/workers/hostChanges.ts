/*
 * Another process that changes a store and a plain file, once for each line of its input: `task` toggles a task between
 * running and waiting for a human, `file` writes the file. `node <bundle> changes <root> <workspace> <task> <file>`.
 */
import { renameSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';

/** A change that was made. `begun` is when (ms since 1970). `waiting`: the task waits for a human now. */
export interface Change {
  readonly begun: number;
  readonly waiting: boolean;
}

const [, root = '', workspace = '', id = '', file = ''] = process.argv.slice(2);
const atlas = new Atlas(systemPorts(root, 'bench', silentLog));

async function toggle(): Promise<boolean> {
  const { state } = unwrap(atlas.store.read({ workspace, id })).hook;
  const input =
    state === 'awaiting_human'
      ? ({ type: 'human_resume', by: 'human' } as const)
      : ({ type: 'human_required', kind: 'review' } as const);
  const { hook } = unwrap(await atlas.send({ workspace, id }, input));
  return hook.state === 'awaiting_human';
}

function writeFile(): boolean {
  writeFileSync(`${file}.tmp`, String(Date.now()));
  renameSync(`${file}.tmp`, file);
  return false;
}

async function main(): Promise<void> {
  for await (const line of createInterface(process.stdin)) {
    const begun = Date.now();
    const waiting = line === 'task' ? await toggle() : writeFile();
    const change: Change = { begun, waiting };
    writeSync(1, `${JSON.stringify(change)}\n`);
  }
}

void main();
