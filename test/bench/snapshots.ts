import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { Atlas } from '../../src/service/atlas';
import { createAtlas } from '../../src/service/createAtlas';
import { BackgroundCaptures } from '../../src/service/snapshots/backgroundCaptures';
import type { TaskRef } from '../../src/core/task/taskRef';
import { type Snapshots, openSnapshots } from '../../src/snapshots/snapshots';
import { systemGit } from '../../src/snapshots/storage/snapshotPorts';
import { type Row, medianOf, timed } from './rows';

/** Files of the repository; the bars are meant for 250,000. */
const FILES = Number(process.env['BENCH_SNAPSHOT_FILES'] ?? '50000');
const IN_FOLDER = 100;
const ROUNDS = 9;
const RESTORED = 1000;
const CHECKPOINTS = Number(process.env['BENCH_SNAPSHOT_CHECKPOINTS'] ?? '200');
const MB = 1024 * 1024;
const SETTINGS = { maxFileSize: 50 * MB, maxSize: 8192 * MB };

function nameOf(at: number): string {
  const folder = Math.floor(at / IN_FOLDER);
  return path.join(`part${Math.floor(folder / 50)}`, `folder${folder}`, `file${at}.ts`);
}

function contentOf(at: number, version: number): string {
  return `export const value${at} = ${version};\n`.repeat(1 + (at % 60));
}

/** A repository of many files, with git on a private index of its own beside it. */
class Repository {
  readonly folder: string;

  constructor(readonly root: string) {
    this.folder = path.join(root, 'many');
    for (let at = 0; at < FILES; at += IN_FOLDER)
      mkdirSync(path.join(this.folder, path.dirname(nameOf(at))), { recursive: true });
    for (let at = 0; at < FILES; at += 1) this.write(at, 0);
    this.git('init', '-q');
    this.git('config', 'gc.auto', '0');
    this.git('add', '-A');
    this.git('-c', 'user.name=x', '-c', 'user.email=x@example.invalid', 'commit', '-q', '-m', 'many');
    this.git('repack', '-q', '-a', '-d');
  }

  write(at: number, version: number): void {
    writeFileSync(path.join(this.folder, nameOf(at)), contentOf(at, version));
  }

  git(...args: string[]): void {
    this.gitWith({}, ...args);
  }

  gitWith(env: Record<string, string>, ...args: string[]): void {
    execFileSync('git', args, { cwd: this.folder, env: { ...process.env, ...env }, stdio: 'ignore' });
  }

  async open(): Promise<Snapshots> {
    const root = path.join(this.root, 'store');
    const ports = { ...systemPorts(root, 'bench', silentLog), git: systemGit };
    const where = { root, worktree: this.folder, settings: SETTINGS, home: path.join(this.root, 'home') };
    return unwrap(await openSnapshots(ports, where));
  }
}

/** Capturing a worktree of which one file changed, beside what git alone takes for it. */
async function captureRows(repository: Repository, snapshots: Snapshots): Promise<Row[]> {
  const index = { GIT_INDEX_FILE: path.join(repository.root, 'plain-index') };
  repository.gitWith(index, 'add', '-A');
  const first = await timed(async () => unwrap(await snapshots.capture()));
  const [whole, known, plain]: [number[], number[], number[]] = [[], [], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    repository.write(round, round);
    whole.push(await timed(async () => unwrap(await snapshots.capture())));
    plain.push(
      await timed(() => {
        repository.gitWith(index, 'add', '-A');
        repository.gitWith(index, 'write-tree');
      }),
    );
    repository.write(round, -round);
    const knownPaths = [nameOf(round)];
    known.push(await timed(async () => unwrap(await snapshots.capture({ knownPaths }))));
  }
  const [amount, beside, one] = [medianOf(whole), medianOf(plain), medianOf(known)];
  const other = { what: '`git add -A && git write-tree`', amount: beside, ratio: 'times' } as const;
  const what = `snapshot of ${FILES.toLocaleString('en')} files`;
  return [
    { what: `first ${what}`, amount: first },
    { what: `${what}, one changed`, amount, beside: other, bar: { text: '≤ 1.3 ×', met: amount <= 1.3 * beside } },
    { what: `${what}, of one known path`, amount: one, beside: other, bar: { text: '≤ 250 ms', met: one <= 250 } },
  ];
}

async function restoreRow(repository: Repository, snapshots: Snapshots): Promise<Row> {
  const { snapshot } = unwrap(await snapshots.capture());
  repository.git('add', '-A');
  repository.git('-c', 'user.name=x', '-c', 'user.email=x@example.invalid', 'commit', '-q', '-m', 'now');
  const [ours, theirs]: [number[], number[]] = [[], []];
  const step = Math.floor(FILES / RESTORED);
  const edit = (round: number): void => {
    for (let at = 0; at < FILES; at += step) repository.write(at, 1000 + round);
  };
  for (let round = 0; round < 3; round += 1) {
    edit(round);
    unwrap(await snapshots.capture());
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    ours.push(await timed(async () => unwrap(await snapshots.restore(preview))));
    edit(round + 10);
    theirs.push(await timed(() => repository.git('checkout', '-q', '--', '.')));
  }
  const [amount, beside] = [medianOf(ours), medianOf(theirs)];
  return {
    what: `restoring ${RESTORED} files`,
    amount,
    beside: { what: '`git checkout` of the same', amount: beside, ratio: 'times' },
    bar: { text: '≤ 1.5 ×', met: amount <= 1.5 * beside },
  };
}

async function diskRows(repository: Repository, snapshots: Snapshots): Promise<Row[]> {
  unwrap(await snapshots.upkeep.pack(1));
  const start = snapshots.upkeep.sizes().bytes;
  for (let made = 0; made < CHECKPOINTS; made += 1) {
    repository.write(7, 5000 + made);
    unwrap(await snapshots.capture({ knownPaths: [nameOf(7)] }));
  }
  const loose = snapshots.upkeep.sizes().bytes - start;
  unwrap(await snapshots.upkeep.pack(1));
  const packed = snapshots.upkeep.sizes().bytes - start;
  const what = `${CHECKPOINTS} snapshots of one changed file`;
  const bar = (most: number, bytes: number): Row['bar'] => ({
    text: `≤ ${((most * CHECKPOINTS) / 1000).toFixed(1)} MB`,
    met: bytes <= (most * MB * CHECKPOINTS) / 1000,
  });
  const row = (how: string, bytes: number, most: number): Row => {
    const limit = bar(most, bytes);
    return { what: `${what}, ${how}`, amount: bytes / MB, unit: 'MB', ...(limit === undefined ? {} : { bar: limit }) };
  };
  return [row('before packing', loose, 25), row('packed', packed, 5)];
}

/** A checkpoint whose files are captured by the way, beside one whose files aren't, by turns. */
async function transitionRow(repository: Repository): Promise<Row> {
  const lines: { atlas: Atlas; ref: TaskRef; captures: BackgroundCaptures; taken: number[] }[] = [];
  for (const name of ['with', 'without']) {
    const root = path.join(repository.root, `store ${name}`);
    const captures: BackgroundCaptures = new BackgroundCaptures(
      () => opened,
      () => undefined,
    );
    const ports = systemPorts(root, 'bench', silentLog);
    const opened = createAtlas(name === 'with' ? { ...ports, recorded: captures.recorded } : ports);
    const atlas = await opened.drive();
    const { ref } = unwrap(await atlas.startTask({ title: 'Bench', template: 'task', folder: repository.folder }));
    unwrap(await atlas.startStep(ref));
    lines.push({ atlas, ref, captures, taken: [] });
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    repository.write(round, 9000 + round);
    for (const { atlas, ref, captures, taken } of lines) {
      await captures.idle();
      taken.push(await timed(async () => unwrap(await atlas.checkpoint(ref, `round ${round}`))));
      await captures.idle();
    }
  }
  const [amount = 0, beside = 0] = lines.map(({ taken }) => medianOf(taken));
  return {
    what: 'checkpoint with files captured',
    amount,
    beside: { what: 'one without', amount: beside, ratio: 'times' },
    bar: { text: '≤ 1.1 ×', met: amount <= 1.1 * beside },
  };
}

/** What snapshots of a large worktree cost. */
export async function snapshotRows(root: string): Promise<Row[]> {
  const repository = new Repository(root);
  const snapshots = await repository.open();
  const rows = await captureRows(repository, snapshots);
  rows.push(await restoreRow(repository, snapshots));
  rows.push(await transitionRow(repository));
  rows.push(...(await diskRows(repository, snapshots)));
  const before = process.memoryUsage().rss;
  repository.write(3, 99);
  unwrap(await snapshots.capture());
  const grown = Math.max(0, process.memoryUsage().rss - before) / MB;
  rows.push({
    what: 'memory that one more snapshot takes',
    amount: grown,
    unit: 'MB',
    bar: { text: '≤ 20 MB', met: grown <= 20 },
  });
  rmSync(repository.folder, { recursive: true, force: true });
  return rows;
}
