import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../../src/core/shared/errors';
import { isOver } from '../../../src/core/worker/slotContent';
import type { WorkerPorts } from '../../../src/workers/forgeFolder';
import type { Execute, Workers } from '../../../src/workers/workers';

/** What a worker does from a task to its end: leaves one file; writes its own result and finds a task; hands its work on once; comes to a hook that was used; shares it. */
export const LIVES = ['plain', 'result', 'handoff', 'again', 'remote'] as const;

/** One of them. */
export type Life = (typeof LIVES)[number];

/** The worker and the task of it. */
export const WORKER = 'w1';
/** The task that it has. */
export const TASK = 't1';
/** Where the first incarnation of a handed-on work leaves off. */
const RESUME_POINT = 'the second half';

/** What each life leaves in its folder in the end, by path. */
export const OUTPUTS: Readonly<Record<Life, Readonly<Record<string, string>>>> = {
  plain: { 'out.txt': 'done\n' },
  result: { 'out.txt': 'done\r\n', 'deep/er/b.bin': '\u0000\u0001\r\n' },
  handoff: { 'half.txt': 'half\n', 'whole.txt': 'whole\n' },
  again: { 'new.txt': 'done\n' },
  remote: { 'out.txt': 'done\n' },
};

/** Who is told of what a life did, and at which points it may end. */
export interface LifeWatch {
  /** A call returned: what it did is acknowledged. */
  readonly told: (what: string) => void;
  /** Something is about to be done outside. */
  readonly pass: (what: string) => void;
}

const UNWATCHED: LifeWatch = { told: () => undefined, pass: () => undefined };

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function ownResult(folder: string): string {
  const hash = (file: string): string => sha256(readFileSync(path.join(folder, file)));
  const evidence = {
    inputHash: hash('context.json'),
    outputHash: hash('out.txt'),
    timestamp: new Date().toISOString(),
  };
  const discoveredTasks = [{ id: 't9', type: 'found', input: {} }];
  return JSON.stringify({ taskId: TASK, status: 'COMPLETE', output: { by: 'itself' }, evidence, discoveredTasks });
}

/** The work itself, which can be begun anew at any moment. */
function workOf(life: Life, { pass }: LifeWatch): Execute {
  return ({ folder, state }) => {
    const leave = (file: string, content: string): void => {
      pass(`before the work's ${file}`);
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), content);
      pass(`after the work's ${file}`);
    };
    for (const [file, content] of Object.entries(OUTPUTS[life])) {
      if (life === 'handoff' && file === 'whole.txt' && state.resumePoint !== RESUME_POINT)
        return Promise.resolve({ ok: 'handed_on', reason: 'context_limit', resumePoint: RESUME_POINT });
      leave(file, content);
    }
    if (life === 'result') leave('result.json', ownResult(folder));
    return Promise.resolve({ ok: true });
  };
}

/** Does what hangs on the worker's hook until it is over; gives how often it was begun. */
export async function runToTheEnd(
  workers: Workers,
  life: Life,
  { processes }: WorkerPorts,
  watch = UNWATCHED,
): Promise<number> {
  for (let begun = 1; ; begun += 1) {
    const ran = unwrap(await workers.run({ worker: WORKER, owner: processes.self() }, workOf(life, watch)));
    watch.told(ran.state.status);
    if (isOver(ran.state.status)) return begun;
  }
}

/** Hangs the task on the worker's hook. */
export async function slingIt(workers: Workers): ReturnType<Workers['slinging']['sling']> {
  return workers.slinging.sling({ worker: WORKER, task: { id: TASK, type: 'x', input: { a: 1 } }, tools: ['files'] });
}

/** All of a life. */
export async function live(workers: Workers, life: Life, ports: WorkerPorts, watch: LifeWatch): Promise<void> {
  unwrap(await slingIt(workers));
  watch.told('slung');
  await runToTheEnd(workers, life, ports, watch);
  if (life !== 'remote') return;
  unwrap(await workers.sharing.sync());
  watch.told('synced');
}

/** Where the branches of a worker and of the ledger are, without a git. */
export function tipsOf(commonDir: string): string[] {
  const refs = [`hooks/${WORKER}`, 'ledger'].map((name) => path.join(commonDir, 'refs', 'heads', 'forge', name));
  return refs.filter((ref) => existsSync(ref)).map((ref) => readFileSync(ref, 'utf8').trim());
}
