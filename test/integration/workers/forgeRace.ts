import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../../src/core/shared/errors';
import { type LedgerEvidence, LEDGER_FILES, readLedger } from '../../../src/core/worker/ledger';
import type { ForgeWorld } from '../../support/fixtures/forgeWorld';
import type { Worker, WorkerPool } from '../../support/processes/workerPool';

/** Several clones of one bare repository, and workers in them. */
export interface RaceOptions {
  readonly clones: number;
  readonly workersPerClone: number;
  readonly tasks: number;
  /** How many times a worker is killed. */
  readonly kills: number;
  /** How many steps the last clone goes without the remote. */
  readonly offlineSteps: number;
}

/** What came of a race. */
export interface RaceReport {
  readonly steps: number;
  readonly kills: number;
  /** What workers said, and how often. */
  readonly said: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

/** Each third task waits for the one nine before it, so that there are three chains beside free ones. */
function definitions(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `t${index}`,
    type: 'race',
    ...(index >= 9 && index % 3 === 0 ? { blockedBy: [`t${index - 9}`] } : {}),
  }));
}

/** A bare repository with the tasks, and its clones. */
async function makeClones({ base, folder, workers }: ForgeWorld, { clones, tasks }: RaceOptions): Promise<string[]> {
  const bare = path.join(base, 'bare.git');
  git(base, 'clone', '--quiet', '--bare', folder, bare);
  git(folder, 'remote', 'add', 'origin', bare);
  unwrap(await workers.slinging.addTasks(definitions(tasks)));
  unwrap(await workers.sharing.sync('origin'));
  return Array.from({ length: clones }, (_, index) => {
    const clone = path.join(base, `clone${index}`);
    git(base, 'clone', '--quiet', bare, clone);
    return clone;
  });
}

/** Has workers do all tasks, kills some, and cuts a clone off for a while; then looks at what every clone has. */
export async function race(world: ForgeWorld, pool: WorkerPool, options: RaceOptions): Promise<RaceReport> {
  const clones = await makeClones(world, options);
  const said: Record<string, number> = {};
  let steps = 0;
  let kills = 0;
  const total = options.tasks * 2;
  const offline = clones.at(-1) ?? '';
  const tips = new Set<string>();
  const life = async (clone: string, name: string): Promise<void> => {
    let worker: Worker | undefined;
    let own = 0;
    for (let idle = 0; idle < 1;) {
      worker ??= await started(pool, clone, name);
      const isKilled = kills < options.kills && steps > (kills + 1) * (total / (options.kills + 2) / 3);
      const doomed = isKilled ? worker : undefined;
      if (isKilled) kills += 1;
      const asked = worker.asked('go').catch(() => undefined);
      if (doomed !== undefined) {
        // Somewhere within the step, not at a place that was chosen.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
        await doomed.kill();
        await asked;
        worker = undefined;
        continue;
      }
      const answer = String(JSON.parse((await asked) ?? '"died"'));
      if (answer === 'died') worker = undefined;
      said[answer] = (said[answer] ?? 0) + 1;
      steps += 1;
      for (const ref of ['forge/ledger', `forge/hooks/${name}`]) tips.add(`${clone} ${tipOf(clone, ref)}`);
      if (answer === 'idle') idle += 1;
      own += 1;
      if (clone === offline && name.endsWith('-0')) goAway(clone, own, options.offlineSteps);
    }
    await worker?.kill();
  };
  const names = clones.flatMap((clone, at) =>
    Array.from({ length: options.workersPerClone }, (_, index) => ({ clone, name: `c${at}-${index}` })),
  );
  await Promise.all(names.map(async ({ clone, name }) => life(clone, name)));
  for (const clone of [...clones, ...clones]) unwrap(await world.open(clone).sharing.sync());
  return { steps, kills, said, problems: problemsOf(world, clones, [...tips], options) };
}

async function started(pool: WorkerPool, clone: string, name: string): Promise<Worker> {
  const worker = pool.start('step', clone, [name]);
  await worker.speaks();
  return worker;
}

/** Takes the remote from a clone after its first step, and gives it back later. */
function goAway(clone: string, steps: number, until: number): void {
  if (until === 0) return;
  if (steps === 1) git(clone, 'remote', 'set-url', 'origin', path.join(clone, 'nowhere'));
  if (steps === 1 + until) git(clone, 'remote', 'set-url', 'origin', path.join(clone, '..', 'bare.git'));
}

function tipOf(clone: string, ref: string): string {
  const file = path.join(clone, '.git', 'refs', 'heads', ref);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

function problemsOf(
  { base }: ForgeWorld,
  clones: readonly string[],
  tips: readonly string[],
  options: RaceOptions,
): string[] {
  const problems: string[] = [];
  const bare = path.join(base, 'bare.git');
  const refs = git(bare, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/');
  for (const clone of clones) {
    const own = git(clone, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/');
    if (own !== refs) problems.push(`${clone} differs from the remote:\n${own}\n${refs}`);
    const status = git(clone, 'status', '--porcelain');
    if (status !== '') problems.push(`${clone} is not clean: ${status}`);
  }
  const reachable = new Set(git(bare, 'rev-list', '--all').split('\n'));
  for (const tip of tips) {
    const commit = tip.split(' ')[1] ?? '';
    if (commit !== '' && !reachable.has(commit)) problems.push(`lost commit ${tip}`);
  }
  const text = (file: string): string => {
    const found = git(bare, 'ls-tree', '--name-only', 'forge/ledger').split('\n').includes(file);
    return found ? `${git(bare, 'show', `forge/ledger:${file}`)}\n` : '';
  };
  const ledger = readLedger({
    ...{ tasks: text(LEDGER_FILES.tasks), convoys: text(LEDGER_FILES.convoys), evidence: text(LEDGER_FILES.evidence) },
  });
  const states = [...ledger.tasks.last.values()];
  if (states.length !== options.tasks) problems.push(`${states.length} tasks of ${options.tasks}`);
  for (const task of states) if (task.status !== 'COMPLETE') problems.push(`${task.id} is ${task.status}`);
  const all: readonly LedgerEvidence[] = ledger.evidence.all;
  for (const { id } of states) {
    const done = all.filter(({ taskId, status }) => taskId === id && status === 'COMPLETE');
    if (done.length !== 1) problems.push(`${id} was completed ${done.length} times`);
  }
  for (const each of [...ledger.tasks.conflicts, ...ledger.evidence.conflicts]) problems.push(`conflict: ${each.id}`);
  if (ledger.tasks.findings.length + ledger.evidence.findings.length > 0) problems.push('damaged lines');
  return [...problems, ...doneTwice(base), ...blockedTooEarly(base)];
}

interface Done {
  readonly what: 'begun' | 'ended';
  readonly task: string;
  readonly name: string;
}

function noted(base: string): Done[] {
  const file = path.join(base, 'done.jsonl');
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Done);
}

/** A task is begun again only by the worker that was killed at it, and ends once. */
function doneTwice(base: string): string[] {
  const begun = new Map<string, Set<string>>();
  const ended = new Map<string, number>();
  for (const { what, task, name } of noted(base)) {
    if (what === 'begun') begun.set(task, (begun.get(task) ?? new Set()).add(name));
    else ended.set(task, (ended.get(task) ?? 0) + 1);
  }
  return [
    ...[...begun].filter(([, names]) => names.size > 1).map(([task, names]) => `${task} by ${[...names].join(', ')}`),
    ...[...ended].filter(([, times]) => times > 1).map(([task]) => `${task} ended twice`),
  ];
}

/** What waits for another is begun only once that has ended. */
function blockedTooEarly(base: string): string[] {
  const begun = new Set<string>();
  const problems: string[] = [];
  for (const { task, what } of noted(base)) {
    if (what !== 'begun') continue;
    const number = Number(task.slice(1));
    if (number >= 9 && number % 3 === 0 && !begun.has(`t${number - 9}`)) problems.push(`${task} before t${number - 9}`);
    begun.add(task);
  }
  return problems;
}
