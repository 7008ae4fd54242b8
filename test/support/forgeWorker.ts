/* A process of its own on the workers of a repository, bundled and started by the tests: `node <bundle> <command> <folder> <name>`. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { unwrap } from '../../src/core/errors';
import { silentLog, systemPorts } from '../../src/service/ports';
import { Workers } from '../../src/workers/workers';

const [command = '', folder = '', name = ''] = process.argv.slice(2);
const ports = systemPorts(tmpdir(), '0.0.0', silentLog);
const workers = unwrap(Workers.open(folder, ports));

function say(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

/** Claims what hangs on a hook; gives the incarnation, or the code of the refusal. */
async function claim(): Promise<unknown> {
  const claimed = await workers.steps.claim({ worker: name, owner: ports.processes.self() });
  return claimed.ok ? claimed.value.lease.incarnation : claimed.error.code;
}

/** Slings each of five tasks to a worker of this process's own, and does those that it got; gives their ids. */
async function race(): Promise<unknown> {
  const won: string[] = [];
  for (let number = 0; number < 5; number += 1) {
    const slung = await workers.slinging.sling({ worker: name, task: { id: `t${number}` } });
    if (!slung.ok) {
      if (slung.error.code !== 'illegal_transition') throw slung.error;
      continue;
    }
    unwrap(await workers.run({ worker: name, owner: ports.processes.self() }, () => Promise.resolve({ ok: true })));
    won.push(slung.value.task.id);
  }
  return won;
}

const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = { claim, race };

/** Does its command for each line that it is told, and says what came of it; lives until its input ends. */
async function main(): Promise<void> {
  const act = COMMANDS[command];
  if (act === undefined) throw new Error(`unknown command ${command}`);
  say('ready');
  for await (const line of createInterface(process.stdin)) if (line === 'go') say(await act());
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
