import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { unwrap } from '../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../src/service/ports';
import { Workers } from '../../src/workers/workers';
import { makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { type Row, medianOf, timed } from './rows';

const ROUNDS = 25;
const WARM_UP = 3;
const WORKERS = 500;
const TIMES = 3;
const BAR = 2;
const start = promisify(execFile);

/** Those of a repository, as a command that is called anew has them. */
function open(folder: string, home: string): Workers {
  return unwrap(Workers.open(folder, systemPorts(home, 'bench', silentLog)));
}

/** Slings to a hook that is there, in turn with a commit by git; each as a command does it that has started. */
async function slingRow(folder: string, home: string): Promise<Row> {
  const slings: number[] = [];
  const commits: number[] = [];
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    writeFileSync(path.join(folder, 'file.txt'), `${round}\n`);
    const commit = await timed(async () => start('git', ['commit', '--quiet', '-am', 'next'], { cwd: folder }));
    const id = `task-${round}`;
    const sling = await timed(async () =>
      unwrap(await open(folder, home).slinging.sling({ worker: 'w', task: { id } })),
    );
    const workers = open(folder, home);
    const { lease } = unwrap(await workers.steps.claim({ worker: 'w' }));
    unwrap(await workers.steps.ending.end(lease, 'complete'));
    if (round < WARM_UP) continue;
    slings.push(sling);
    commits.push(commit);
  }
  const [amount, beside] = [medianOf(slings), medianOf(commits)];
  return {
    what: 'a task slung to a hook that is there',
    amount,
    beside: { what: '`git commit -am` of one file', amount: beside, ratio: 'times' },
    bar: { text: `at most ${TIMES} times`, met: amount <= TIMES * beside },
  };
}

/** Adds workers as copies of one that was slung to: their branches by one call of git, each with its worktree. */
async function makeMany(folder: string, home: string): Promise<void> {
  const workers = open(folder, home);
  unwrap(await workers.slinging.sling({ worker: 'worker-0', task: { id: 'many-0' } }));
  const git = async (...args: string[]): Promise<string> =>
    (await start('git', args, { cwd: folder })).stdout.trimEnd();
  const files = ['task.json', 'context.json', 'status.json', '.gitattributes'] as const;
  const contents = await Promise.all(files.map(async (file) => git('show', `forge/hooks/worker-0:${file}`)));
  const input: string[] = [];
  const blob = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  for (let number = 1; number < WORKERS; number += 1) {
    const renamed = contents.map((text) =>
      text.replaceAll('worker-0', `worker-${number}`).replaceAll('many-0', `many-${number}`),
    );
    input.push(`commit refs/heads/forge/hooks/worker-${number}\ncommitter x <x@example.invalid> 1700000000 +0000\n`);
    input.push(blob(`Sling many-${number} to worker-${number}`));
    for (const [index, file] of files.entries())
      input.push(`M 100644 inline ${file}\n${blob(`${renamed[index] ?? ''}\n`)}`);
  }
  const importing = start('git', ['fast-import', '--quiet'], { cwd: folder });
  importing.child.stdin?.end(input.join(''));
  await importing;
  for (let number = 1; number < WORKERS; number += 1) addWorktree(folder, `worker-${number}`);
  // What the ledger doesn't know yet is added with the next change of it.
  unwrap(await workers.slinging.addTasks([{ id: 'last', type: 'x', input: {} }]));
  const { workers: all } = unwrap(await workers.statuses.all());
  const wrong = all.filter(({ damage, orphaned }) => damage !== undefined || orphaned.length > 0);
  if (all.length < WORKERS || wrong.length > 0)
    throw new Error(`${wrong.length} of ${all.length} workers are not right`);
}

/** What `git worktree add` makes, which takes longer the more there are. */
function addWorktree(folder: string, worker: string): void {
  const [hook, like] = [worker, 'worker-0'].map((name) => path.join(folder, '.forge', 'hooks', name));
  const [own, known] = [worker, 'worker-0'].map((name) => path.join(folder, '.git', 'worktrees', name));
  if (hook === undefined || own === undefined || like === undefined || known === undefined) return;
  for (const each of [hook, own]) mkdirSync(each);
  const copied = (from: string, to: string): void => {
    const text = readFileSync(from, 'utf8')
      .replaceAll('worker-0', worker)
      .replaceAll('many-0', worker.replace('worker', 'many'));
    writeFileSync(to, text);
  };
  for (const file of ['.git', '.gitattributes', 'task.json', 'context.json', 'status.json'])
    copied(path.join(like, file), path.join(hook, file));
  for (const file of ['HEAD', 'commondir', 'gitdir']) copied(path.join(known, file), path.join(own, file));
  copyFileSync(path.join(known, 'index'), path.join(own, 'index'));
}

/** All workers of a repository, in turn with git's own list of worktrees and their files. */
async function listRows(folder: string, home: string): Promise<Row[]> {
  await makeMany(folder, home);
  const lists: number[] = [];
  const floors: number[] = [];
  const again: number[] = [];
  const known = open(folder, home);
  unwrap(await known.statuses.all());
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    const floor = await timed(async () => readWorktrees(folder));
    const list = await timed(async () => unwrap(await open(folder, home).statuses.all()));
    const second = await timed(async () => unwrap(await known.statuses.all()));
    if (round < WARM_UP) continue;
    again.push(second);
    lists.push(list);
    floors.push(floor);
  }
  const beside = {
    what: '`git worktree list`, and their files read',
    amount: medianOf(floors),
    ratio: 'times',
  } as const;
  const row = (what: string, amounts: readonly number[]): Row => ({
    ...{ what, amount: medianOf(amounts), beside },
    bar: { text: `at most ${BAR} times`, met: medianOf(amounts) <= BAR * beside.amount },
  });
  return [
    row(`the list of ${WORKERS} workers`, lists),
    row('the same, again in the same process, as the view does it', again),
  ];
}

async function readWorktrees(folder: string): Promise<void> {
  const { stdout } = await start('git', ['worktree', 'list', '--porcelain'], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const [, worktree = ''] of stdout.matchAll(/^worktree (.+)$/gmu)) {
    if (!worktree.includes('/.forge/hooks/')) continue;
    for (const file of ['task.json', 'context.json', 'status.json'])
      JSON.parse(readFileSync(path.join(worktree, file), 'utf8'));
  }
}

/** What slinging costs beside git's own commit, and the list of many workers beside git's own list. */
export async function workerRows(root: string): Promise<Row[]> {
  const { folder, env, atlasHome } = await makeGitWorkspace(root);
  Object.assign(process.env, env);
  writeFileSync(path.join(folder, 'file.txt'), 'first\n');
  await start('git', ['add', '.'], { cwd: folder });
  await start('git', ['commit', '--quiet', '-m', 'a file'], { cwd: folder });
  return [await slingRow(folder, atlasHome), ...(await listRows(folder, atlasHome))];
}
