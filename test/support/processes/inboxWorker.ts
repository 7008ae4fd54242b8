/* A process of its own on an inbox, bundled and started by the tests: `node <bundle> <command> <root> <workspace>`. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';

const [command = '', root = '', workspace = ''] = process.argv.slice(2);
const atlas = new Atlas(systemPorts(root, '0.0.0', silentLog));
const self = atlas.ports.processes.self();

function say(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

/** Claims for a new session each time, until nothing is pending; gives the ids. */
async function claims(): Promise<number[]> {
  const inbox = await atlas.inbox();
  const ids: number[] = [];
  for (;;) {
    const owner = { sessionId: `s-${process.pid}-${ids.length}`, process: self };
    const { item } = unwrap(await inbox.next(workspace, owner));
    if (item === undefined) return ids;
    ids.push(item.id);
  }
}

/** Claims and completes until nothing is pending; gives the ids. */
async function work(): Promise<number[]> {
  const inbox = await atlas.inbox();
  const ids: number[] = [];
  for (;;) {
    const { item } = unwrap(await inbox.next(workspace, { process: self }));
    if (item === undefined) return ids;
    unwrap(await inbox.complete(workspace, item.id, `by ${process.pid}`, { process: self }));
    ids.push(item.id);
  }
}

async function add(): Promise<number[]> {
  const inbox = await atlas.inbox();
  const ids: number[] = [];
  for (let made = 0; made < 10; made += 1)
    ids.push(unwrap(await inbox.add(workspace, { content: `${process.pid} ${made}`, triggerName: 'email' })).id);
  return ids;
}

/** Takes wakes until there is none; gives the ids of their items. */
async function wakes(): Promise<number[]> {
  const inbox = await atlas.inbox();
  const ids: number[] = [];
  for (;;) {
    const { wakes: taken, findings } = unwrap(await inbox.consumeWakes(workspace));
    if (findings.length > 0) throw new Error(findings.map(({ error }) => error.message).join());
    if (taken.length === 0) return ids;
    ids.push(...taken.map(({ task_id: id }) => id));
  }
}

const COMMANDS: Readonly<Record<string, () => Promise<number[]>>> = { claims, work, add, wakes };

/** Does its command for each line that it is told, and says what came of it; lives until its input ends. */
async function main(): Promise<void> {
  const act = COMMANDS[command];
  if (act === undefined) throw new Error(`unknown command ${command}`);
  say('ready');
  for await (const line of createInterface(process.stdin)) if (line === 'go') say(await act());
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  // Its input is still open, and would keep it alive, while whoever asked waits for an answer or its end.
  process.exit(1);
});
