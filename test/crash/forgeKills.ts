import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { unwrap } from '../../src/core/shared/errors';
import type { LedgerEvidence } from '../../src/core/worker/ledger';
import type { WorkerStatus } from '../../src/workers/operations/workerStatus';
import type { Workers } from '../../src/workers/workers';
import { type Life, OUTPUTS, TASK, WORKER, runToTheEnd, slingIt } from '../support/faults/forgeLife';
import { type ForgeWorld, hashOf, onBranch, usersOwn, workerPorts } from '../support/fixtures/forgeWorld';
import type { KillMode } from '../support/faults/killPoints';

/** A life and how it is killed. */
export interface KillCase {
  readonly life: Life;
  readonly mode: KillMode;
  /** The number of the point, from 1. */
  readonly at: number;
}

/** How a process ended, and what it had said by then. */
export interface Killed {
  /** At which point; `undefined` where it came to its end. */
  readonly where: string | undefined;
  readonly told: readonly { readonly what: string; readonly tips: readonly string[] }[];
}

/** What came of one kill. */
export interface KillReport extends Killed {
  /** What there was to do about the work then. */
  readonly action: string;
  /** What repair did. */
  readonly repaired: readonly string[];
}

/** Older than any lock that a git holds by then, in ms. */
const LATER_MS = 60_000;
/** What a repository with a bare remote has beside the remote: another clone. */
const [REMOTE, OTHER] = ['bare.git', 'other'];
const OWN_FILES = ['task.json', 'context.json', 'status.json', 'result.json', '.gitattributes'];
const STATUSES = ['PENDING', 'IN_PROGRESS', 'COMPLETE'];

/** Those who look at a repository a while later. */
function later(world: ForgeWorld, folder = world.folder): Workers {
  return world.open(folder, { clock: { now: () => Date.now() + LATER_MS } });
}

/** Runs a life until it is killed, and waits until all that it started is gone too. */
export async function killedLife(world: ForgeWorld, bundle: string, { life, mode, at }: KillCase): Promise<Killed> {
  const common = path.join(world.folder, '.git');
  const bare = path.join(world.base, REMOTE);
  const watched = [path.join(common, 'worktrees'), path.join(common, 'refs'), path.join(world.folder, '.forge')];
  const args = [bundle, world.folder, life, String(at), mode, ...watched, path.join(bare, 'refs')];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
  // Whatever it started holds this open.
  const open = child.stdio[3] as Readable;
  open.resume();
  const [said, errors, [code, signal]] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    once(open, 'close'),
  ]);
  const where = /^killed: (.*)$/mu.exec(errors)?.[1];
  if (where === undefined ? code !== 0 : signal === null && process.platform !== 'win32')
    throw new Error(`point ${at}: ended with ${String(code ?? signal)}: ${errors}`);
  const lines = said.split('\n').filter((line) => line.endsWith('}'));
  return { where, told: lines.map((line) => JSON.parse(line) as Killed['told'][number]) };
}

/** Gives a repository a bare remote, and another clone that had a part of the work until now. */
async function shared(world: ForgeWorld): Promise<void> {
  const bare = path.join(world.base, REMOTE);
  const other = path.join(world.base, OTHER);
  world.git('clone', '--quiet', '--bare', world.folder, bare);
  world.git('remote', 'add', 'origin', bare);
  unwrap(
    await world.workers.slinging.addTasks([
      { id: TASK, type: 'x', input: { a: 1 } },
      { id: 't2', type: 'x' },
    ]),
  );
  unwrap(await world.workers.sharing.sync('origin'));
  world.git('clone', '--quiet', bare, other);
  const theirs = world.open(other);
  unwrap(await theirs.slinging.sling({ worker: 'w2', task: { id: 't2' } }));
  unwrap(
    await theirs.run({ worker: 'w2', owner: workerPorts().processes.self() }, () => Promise.resolve({ ok: true })),
  );
}

/** Has the worker do another task before. */
async function used({ workers }: ForgeWorld): Promise<void> {
  unwrap(await workers.slinging.sling({ worker: WORKER, task: { id: 't0' } }));
  const ran = await workers.run({ worker: WORKER, owner: workerPorts().processes.self() }, ({ folder }) => {
    mkdirSync(path.join(folder, 'old'));
    writeFileSync(path.join(folder, 'old', 'out.txt'), 'of the task before\n');
    return Promise.resolve({ ok: true });
  });
  unwrap(ran);
}

/** What recovery has to say about a hook, by what its branch and its folder hold. */
function expectedAction({ state, folder }: WorkerStatus): string {
  if (state?.status === 'PENDING') return 'run';
  if (state?.status !== 'IN_PROGRESS') return 'nothing';
  if (state.handoffReason !== undefined) return 'resume';
  return filesIn(folder).some((file) => file === 'result.json' || !isOwn(file)) ? 'resume' : 'restart';
}

function isOwn(file: string): boolean {
  return OWN_FILES.includes(file) || /^evidence\/(?:input|output)-hash\.txt$/u.test(file);
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  return files.map((file) => file.split(path.sep).join('/')).filter((file) => file !== '.git');
}

/** Makes what a life needs to be there; gives what is the user's. */
export async function prepare(world: ForgeWorld, life: Life): Promise<ReadonlyMap<string, string>> {
  if (life === 'remote') await shared(world);
  if (life === 'again') await used(world);
  world.write('.gitignore', 'ignored.txt\n');
  world.write('ignored.txt', 'ignored\r\n');
  world.write('staged.txt', 'staged\n');
  world.git('add', 'staged.txt');
  world.write('staged.txt', 'changed\n');
  return usersOwn(world);
}

/** Recovers from a kill, does the rest, and looks at everything. Throws what is wrong. */
export async function judge(
  world: ForgeWorld,
  before: ReadonlyMap<string, string>,
  killed: Killed,
  which: KillCase,
): Promise<KillReport> {
  const problems: string[] = [];
  const action = await checkState(world, killed, problems);
  const repaired: string[] = [];
  // A git that was killed too leaves its locks; one that was not has come to its own end.
  if (which.mode !== 'alone') repaired.push(...(await repair(world, problems)));
  const isTheirs = which.life === 'remote' && (await goOnElsewhere(world, which.at));
  await goOn(world, which.life, action, isTheirs, problems);
  if (which.life === 'remote') await agree(world, problems);
  repaired.push(...(await repair(world, problems)));
  // Its folder shows the ledger again with the next change of it.
  unwrap(await world.open().slinging.addTasks([{ id: 'next', type: 'x' }]));
  const rest = unwrap(await later(world).repairs.plan());
  for (const each of rest) problems.push(`left after repair: ${JSON.stringify(each)}`);
  if (isTheirs) checkOnce(await ledgerOf(world), problems);
  else checkDone(world, which.life, await ledgerOf(world), problems);
  checkCommits(world, killed, problems);
  checkFolders(world, problems);
  const after = usersOwn(world);
  for (const [name, hash] of before) if (after.get(name) !== hash) problems.push(`the user's ${name} is another`);
  for (const name of after.keys()) if (!before.has(name)) problems.push(`the user has ${name} now`);
  if (problems.length > 0)
    throw new Error([`${JSON.stringify(which)} ${killed.where ?? 'at its end'}`, ...problems].join('\n'));
  return { ...killed, action, repaired };
}

/** What is said of the work right after the kill, and what has to be true of that. */
async function checkState(world: ForgeWorld, { told }: Killed, problems: string[]): Promise<string> {
  const { workers } = unwrap(await world.open().statuses.all());
  const mine = workers.find(({ worker }) => worker === WORKER);
  for (const { worker } of workers) if (!/^w[12]$/u.test(worker)) problems.push(`there is a worker ${worker}`);
  const last = told.at(-1)?.what;
  if (mine?.state === undefined || mine.state.taskId !== TASK) {
    if (last !== undefined) problems.push(`${last} was told, and nothing hangs on the hook`);
    return 'sling';
  }
  const { status, handoffReason } = mine.state;
  if (!STATUSES.includes(status) || mine.damage !== undefined) problems.push(`${status} ${mine.damage?.message ?? ''}`);
  if (last === 'COMPLETE' || last === 'synced') {
    if (status !== 'COMPLETE') problems.push(`COMPLETE was told, and it is ${status}`);
  } else if (
    last === 'IN_PROGRESS' &&
    status === 'IN_PROGRESS' &&
    handoffReason === undefined &&
    mine.stale === undefined
  )
    problems.push('it was handed on, and its owner lives');
  const action = mine.plan?.action ?? 'none';
  const expected = mine.orphaned.includes('no_worktree') ? action : expectedAction(mine);
  if (action !== expected) problems.push(`${status}: to ${action}, and not to ${expected}`);
  return action;
}

async function repair(world: ForgeWorld, problems: string[]): Promise<string[]> {
  const { done, left, failed } = unwrap(await later(world).repairs.apply());
  for (const each of failed) problems.push(`not fixed: ${JSON.stringify(each)}`);
  for (const each of left) problems.push(`left to a human: ${JSON.stringify(each)}`);
  return done.map((item) => item.action);
}

/** In turn, another clone wants the task as well before the first goes on; says whether it got and did it. */
async function goOnElsewhere(world: ForgeWorld, at: number): Promise<boolean> {
  if (at % 2 === 0) return false;
  const theirs = world.open(path.join(world.base, OTHER));
  const slung = await theirs.slinging.sling({ worker: 'w2', task: { id: TASK } });
  if (!slung.ok && slung.error.code === 'illegal_transition') return false;
  unwrap(slung);
  unwrap(
    await theirs.run({ worker: 'w2', owner: workerPorts().processes.self() }, () => Promise.resolve({ ok: true })),
  );
  return true;
}

/** What whoever finds the repository does: what the plan says. */
async function goOn(
  world: ForgeWorld,
  life: Life,
  action: string,
  isTheirs: boolean,
  problems: string[],
): Promise<void> {
  const workers = world.open();
  if (isTheirs) {
    if (action !== 'sling') problems.push(`another clone got the task, and here it was to ${action}`);
    const slung = await slingIt(workers);
    if (slung.ok || slung.error.code !== 'illegal_transition') problems.push('the task was had twice');
    return;
  }
  if (action === 'nothing') {
    const again = await workers.run({ worker: WORKER }, () => Promise.reject(new Error('done twice')));
    if (again.ok) problems.push('work that was over was run again');
    unwrap(await workers.steps.restore(WORKER));
    return;
  }
  if (action === 'sling') {
    const slung = await slingIt(workers);
    // The remote had taken the claim before whoever asked for it was killed: then it hangs there.
    const isTaken = life === 'remote' && !slung.ok && slung.error.message.startsWith(`${WORKER} has unfinished work`);
    if (!isTaken) unwrap(slung);
  }
  await runToTheEnd(workers, life, workerPorts());
}

/** Clones and remote have the same branches, and the remote nothing else that it had not before. */
async function agree(world: ForgeWorld, problems: string[]): Promise<void> {
  const clones = [world.folder, path.join(world.base, OTHER)];
  for (const clone of [...clones, ...clones]) unwrap(await world.open(clone).sharing.sync());
  const refs = (folder: string, ...below: string[]): string =>
    world.git('-C', folder, 'for-each-ref', '--format=%(refname) %(objectname)', ...below);
  const theirs = refs(path.join(world.base, REMOTE), 'refs/heads/forge/');
  for (const clone of clones) {
    const ours = refs(clone, 'refs/heads/forge/');
    if (ours !== theirs) problems.push(`${clone} differs from the remote:\n${ours}\n${theirs}`);
  }
  const others = refs(path.join(world.base, REMOTE)).split('\n');
  const strange = others.filter((line) => !/^refs\/heads\/(?:main|forge\/(?:ledger|hooks\/w[12])) /u.test(line));
  for (const line of strange) problems.push(`the remote has ${line}`);
  for (const each of unwrap(await later(world, clones[1]).repairs.plan()))
    problems.push(`to be fixed in the other clone: ${JSON.stringify(each)}`);
}

interface LedgerSeen {
  readonly done: readonly LedgerEvidence[];
  readonly status: string | undefined;
}

/** What the ledger's branch says of the task. */
async function ledgerOf(world: ForgeWorld): Promise<LedgerSeen> {
  const { ledger } = unwrap(await world.open().statuses.all());
  const done = [...ledger.evidence.all].filter(({ taskId, status }) => taskId === TASK && status === 'COMPLETE');
  // From the files, and not from what is known beside them.
  const lines = world.git('show', 'refs/heads/forge/ledger:evidence.jsonl').split('\n');
  const written = lines.map((line) => JSON.parse(line) as { taskId: string; status: string });
  const count = written.filter(({ taskId, status }) => taskId === TASK && status === 'COMPLETE').length;
  if (count !== done.length) throw new Error(`the ledger's file has ${count} records, and ${done.length} are known`);
  return { done, status: ledger.tasks.last.get(TASK)?.status };
}

function checkOnce({ done, status }: LedgerSeen, problems: string[]): void {
  if (status !== 'COMPLETE') problems.push(`the task is ${status ?? 'unknown'}`);
  if (done.length !== 1) problems.push(`the task was completed ${done.length} times`);
}

/** The work is done once, and its evidence is that of the files on the branch and in the folder. */
function checkDone(world: ForgeWorld, life: Life, ledger: LedgerSeen, problems: string[]): void {
  checkOnce(ledger, problems);
  const branch = `refs/heads/forge/hooks/${WORKER}`;
  const folder = path.join(world.folder, '.forge', 'hooks', WORKER);
  const outputs = Object.keys(OUTPUTS[life]);
  const kept = world.git('ls-tree', '-r', '--name-only', branch).split('\n');
  const wanted = [...outputs, ...OWN_FILES, 'evidence/input-hash.txt', 'evidence/output-hash.txt'].sort();
  if (kept.sort().join() !== wanted.join()) problems.push(`the branch has ${kept.join()}, and not ${wanted.join()}`);
  const shown = filesIn(folder).sort();
  if (shown.join() !== wanted.join()) problems.push(`the folder has ${shown.join()}, and not ${wanted.join()}`);
  for (const [file, content] of Object.entries(OUTPUTS[life]))
    if (shown.includes(file) && readFileSync(path.join(folder, file), 'utf8') !== content)
      problems.push(`${file} is another`);
  const listed = readFileSync(path.join(folder, 'evidence', 'output-hash.txt'), 'utf8');
  const real = outputs.sort().map((file) => `${hashOf(path.join(folder, file))}  ${file}\n`);
  if (listed !== real.join('')) problems.push(`the evidence is not that of the files: ${listed}`);
  const result = onBranch(world, `hooks/${WORKER}`, 'result.json') as { evidence: LedgerEvidence; status: string };
  const [record] = ledger.done;
  const input = hashOf(path.join(folder, 'context.json'));
  const hashes = [...real.map((line) => line.slice(0, 64)), hashOf(path.join(folder, 'evidence', 'output-hash.txt'))];
  for (const { inputHash, outputHash } of [result.evidence, ...(record === undefined ? [] : [record])]) {
    if (inputHash !== input) problems.push(`the input was ${inputHash}, and is ${input}`);
    if (!hashes.includes(outputHash)) problems.push(`the output ${outputHash} is none of ${hashes.join()}`);
  }
}

/** No commit that somebody was told of is lost, and git finds nothing wrong with any. */
function checkCommits(world: ForgeWorld, { told }: Killed, problems: string[]): void {
  const kept = new Set(world.git('rev-list', '--glob=refs/heads/forge/*').split('\n'));
  const lost = told.flatMap(({ what, tips }) => tips.filter((tip) => !kept.has(tip)).map((tip) => `${what}: ${tip}`));
  for (const each of lost) problems.push(`a commit is lost that was told: ${each}`);
  world.git('fsck', '--strict', '--no-dangling');
}

/** Folders show what their branches hold, no lock is left, and nothing half. */
function checkFolders(world: ForgeWorld, problems: string[]): void {
  const forge = path.join(world.folder, '.forge');
  // Of a task that another clone got, this one has no folder.
  for (const folder of ['ledger', `hooks/${WORKER}`].map((name) => path.join(forge, name)).filter(existsSync)) {
    const status = world.git('-C', folder, 'status', '--porcelain', '--untracked-files=all', '--ignored');
    if (status !== '') problems.push(`${path.relative(forge, folder)} differs from its branch: ${status}`);
  }
  // What was half written beside our own lock is in nobody's way.
  const kept = filesIn(path.join(world.folder, '.git')).filter((each) => !each.startsWith('atlas/'));
  const left = [...filesIn(forge), ...kept].filter((each) => /\.(?:lock|tmp)$/u.test(each));
  for (const file of left) problems.push(`${file} is left`);
}
