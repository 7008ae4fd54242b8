/* A process of its own on the workers of a repository, bundled and started by the tests: `node <bundle> <command> <folder> <name>`. */
import { appendFileSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { isOver } from '../../../src/core/worker/slotContent';
import { readyTasks } from '../../../src/core/worker/ledger';
import { type Execute, Workers } from '../../../src/workers/workers';

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

/** What this process has done, for whoever counts: a line is whole or not there. */
function note(what: string, task: string): void {
  appendFileSync(`${folder}/../done.jsonl`, `${JSON.stringify({ what, task, name, folder })}\n`);
}

/** The work itself: what it leaves names who did it. */
const work: Execute = ({ folder: hook, lease }) => {
  note('begun', lease.taskId);
  writeFileSync(`${hook}/out.txt`, `${lease.taskId} by ${lease.worker}\n`);
  return Promise.resolve({ ok: true });
};

/** Runs what hangs on this worker's hook; says the code of a refusal. */
async function runMine(): Promise<string | undefined> {
  const ended = await workers.run({ worker: name, owner: ports.processes.self() }, work);
  if (!ended.ok) return ended.error.code;
  note('ended', ended.value.state.taskId);
  return undefined;
}

/**
 * Does one thing: what hangs on its hook, or a task that is ready. Says `ran`, `idle` where everything is done, `waiting` where others have
 * all that is left, or the code of a refusal.
 */
async function step(): Promise<unknown> {
  const status = unwrap(await workers.statuses.all());
  const mine = status.workers.find(({ worker }) => worker === name);
  if (mine?.state !== undefined && !isOver(mine.state.status)) return (await runMine()) ?? 'ran';
  const tasks = [...status.ledger.tasks.last.values()];
  const ready = readyTasks(status.ledger);
  const chosen = ready[Math.floor(Math.random() * Math.min(ready.length, 8))];
  if (chosen === undefined) {
    const synced = await workers.sharing.sync();
    if (!synced.ok) return synced.error.code;
    return tasks.length > 0 && tasks.every(({ status: at }) => at === 'COMPLETE') ? 'idle' : 'waiting';
  }
  const slung = await workers.slinging.sling({ worker: name, task: { id: chosen.id } });
  if (!slung.ok) return slung.error.code;
  return (await runMine()) ?? 'ran';
}

const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = { claim, race, step };

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
