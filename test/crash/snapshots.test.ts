import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Result, fail, unwrap } from '../../src/core/shared/errors';
import type { Processes } from '../../src/core/shared/ports';
import type { Snapshots } from '../../src/snapshots/snapshots';
import { type GitRuns, systemGit } from '../../src/snapshots/storage/snapshotPorts';
import { NodeFileSystem } from '../../src/system/files/nodeFileSystem';
import { SystemProcesses } from '../../src/system/processes';
import { type Picture, SnapshotWorld } from '../support/fixtures/snapshotWorld';
import { type Fault, FaultyFileSystem, ProcessKilled, changes, describeFault, faultsOf } from './faultyFileSystem';

/** Every how many-th case is tried; 1 tries all, which takes many minutes. */
const STRIDE = Number(process.env['ATLAS_CRASH_STRIDE'] ?? '31');

/** What happens at one start of git. */
type GitFault = 'killed before' | 'killed after' | 'fails';
const GIT_FAULTS: readonly GitFault[] = ['killed before', 'killed after', 'fails'];

/** A git that goes wrong at one of its starts, and counts them. */
class FaultyGit {
  starts = 0;

  constructor(
    private readonly files: FaultyFileSystem,
    private readonly at = -1,
    private readonly fault: GitFault = 'fails',
  ) {}

  readonly runs: GitRuns = {
    run: async (folder, args, call) => {
      const isHere = this.begin();
      if (isHere && this.fault === 'fails') return fail('git_failed', 'git failed: injected');
      const ended = await systemGit.run(folder, args, call);
      if (isHere && this.fault === 'killed after') this.die();
      // Whoever was killed meanwhile hears nothing any more.
      if (this.files.dead) throw new ProcessKilled();
      return ended;
    },
    start: (folder, args, call) => {
      const isHere = this.begin();
      if (isHere && this.fault === 'killed after') this.die();
      return systemGit.start(folder, isHere ? ['no-such-command'] : args, call);
    },
  };

  private begin(): boolean {
    if (this.files.dead) throw new ProcessKilled();
    this.starts += 1;
    const isHere = this.starts - 1 === this.at;
    if (isHere && this.fault === 'killed before') this.die();
    return isHere;
  }

  private die(): never {
    this.files.dead = true;
    throw new ProcessKilled();
  }
}

/** Each process is one of its own, and dead once the next one begins. */
class Generations {
  private newest = 0;
  private readonly system = new SystemProcesses();

  next(): Processes {
    this.newest += 1;
    const own = this.newest;
    const { system } = this;
    return {
      self: () => ({ ...system.self(), incarnation: String(own) }),
      vitality: (other) => (other.incarnation === String(this.newest) ? 'alive' : 'dead'),
    };
  }
}

const world = new SnapshotWorld();
const generations = new Generations();
const template = `${world.base}-template`;
let target: { readonly tree: string; readonly picture: Picture };
let before: Picture;
let captured: string;
let untouched: Picture;

function processOf(files = new FaultyFileSystem(new NodeFileSystem()), git = new FaultyGit(files)): Promise<Snapshots> {
  return world.open({ files: files.port, git: git.runs, processes: generations.next() });
}

beforeAll(async () => {
  world.write('.gitignore', 'ignored\n');
  world.write('same', 'same');
  world.write('changed', 'one', 0o600);
  world.write('folder/a', 'a');
  world.write('folder/b', 'b');
  world.write('swap', 'a file');
  world.link('same', 'link');
  world.commit();
  target = {
    tree: unwrap(await (await processOf()).capture()).snapshot.tree,
    picture: world.picture({ folders: true }),
  };
  world.write('changed', 'two');
  world.remove('folder');
  world.remove('swap');
  world.write('swap/inner', 'inner');
  world.write('new/file', 'new');
  world.remove('link');
  world.write('ignored', 'ignored');
  target.picture['ignored'] = world.picture()['ignored'] ?? '';
  before = world.picture({ folders: true });
  cpSync(world.base, template, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  putBack();
  captured = unwrap(await (await processOf()).capture()).snapshot.tree;
  putBack();
  untouched = world.gitPicture();
}, 60_000);

afterAll(() => {
  world.dispose();
  rmSync(template, { recursive: true, force: true });
});

function putBack(): void {
  rmSync(world.base, { recursive: true, force: true });
  cpSync(template, world.base, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

type Act = (snapshots: Snapshots) => Promise<Result<{ readonly skipped?: readonly { readonly path: string }[] }>>;

const capture: Act = async (snapshots) => {
  const result = await snapshots.capture();
  return result.ok ? { ok: true, value: {} } : result;
};

const restore: Act = async (snapshots) => {
  const preview = await snapshots.preview({ tree: target.tree });
  return preview.ok ? snapshots.restore(preview.value) : preview;
};

interface Told {
  readonly kind: 'done' | 'refused' | 'killed';
  readonly skipped: readonly string[];
}

async function tell(act: Act, snapshots: Snapshots, files: FaultyFileSystem): Promise<Told> {
  try {
    const result = await act(snapshots);
    if (files.dead) return { kind: 'killed', skipped: [] };
    return result.ok
      ? { kind: 'done', skipped: (result.value.skipped ?? []).map(({ path }) => path) }
      : { kind: 'refused', skipped: [] };
  } catch (error) {
    if (files.dead) return { kind: 'killed', skipped: [] };
    throw error;
  }
}

/** Whether a picture is another one but for paths that were named. */
function isBut(picture: Picture, wanted: Picture, named: readonly string[]): boolean {
  const keys = new Set([...Object.keys(picture), ...Object.keys(wanted)]);
  return [...keys].every(
    (key) => picture[key] === wanted[key] || named.some((name) => key === name || key.startsWith(`${name}/`)),
  );
}

/** What is true whatever happened: the next process finds or makes the old state or the new one, and works. */
async function judge(told: Told, isRestore: boolean): Promise<'old' | 'new'> {
  const next = await processOf();
  const recovered = unwrap(await next.recover());
  const named = [...told.skipped, ...(recovered?.skipped ?? []).map(({ path }) => path)];
  const picture = world.picture({ folders: true });
  const stands = isBut(picture, before, []) ? 'old' : isBut(picture, target.picture, named) ? 'new' : undefined;
  if (stands === undefined) expect(picture).toEqual(target.picture);
  if (told.kind === 'done' && isRestore) expect(stands).toBe('new');
  if (told.kind === 'refused' && recovered === undefined) expect(stands).toBe('old');
  if (!isRestore) expect(stands).toBe('old');
  const { snapshot } = unwrap(await next.capture());
  const listed = unwrap(await next.contents.list(snapshot.tree)).map(({ path }) => path);
  expect(listed.sort()).toEqual(
    Object.keys(picture)
      .filter((path) => path !== 'ignored')
      .sort(),
  );
  if (stands === 'old') expect(snapshot.tree).toBe(captured);
  if (isRestore) unwrap(await restore(next));
  if (isRestore) expect(world.picture({ folders: true })).toEqual(target.picture);
  expect(Object.keys(world.gitPicture())).toEqual(Object.keys(untouched));
  return stands ?? 'old';
}

interface Case {
  readonly what: string;
  readonly files: () => FaultyFileSystem;
  readonly git?: readonly [at: number, fault: GitFault];
}

async function casesOf(act: Act): Promise<Case[]> {
  putBack();
  const files = new FaultyFileSystem(new NodeFileSystem());
  const git = new FaultyGit(files);
  unwrap(await act(await processOf(files, git)));
  const faulty = (at: number, fault: Fault) => () => new FaultyFileSystem(new NodeFileSystem(), at, fault);
  const ofFiles = files.seen.flatMap((seen, at) =>
    // A folder that is removed is one of Atlas's own, whose parts nobody misses.
    (changes(seen.operation) ? faultsOf(seen) : faultsOf(seen).slice(0, 1)).map((fault): Case => ({
      what: `operation ${at} (${seen.operation} ${String(seen.args[0])}): ${describeFault(fault)}`,
      files: faulty(at, fault),
    })),
  );
  const ofGit = Array.from({ length: git.starts }, (_, at) => at).flatMap((at) =>
    GIT_FAULTS.map((fault): Case => ({
      what: `git ${at}: ${fault}`,
      files: () => new FaultyFileSystem(new NodeFileSystem()),
      git: [at, fault],
    })),
  );
  return [...ofFiles, ...ofGit];
}

describe.each([
  ['a capture', capture, false],
  ['a restore', restore, true],
] as const)('%s that is killed or fails at any operation', (_what, act, isRestore) => {
  it('leaves the old worktree or the new one, or the next process makes it one', { timeout: 7_200_000 }, async () => {
    const cases = await casesOf(act);
    const chosen = cases.filter((_case, at) => (at + 1) % STRIDE === 0);
    const bad: string[] = [];
    const count = { old: 0, new: 0 };
    for (const { what, files: make, git: faulty } of chosen) {
      putBack();
      const files = make();
      const git = new FaultyGit(files, faulty?.[0], faulty?.[1]);
      try {
        const told = await tell(act, await processOf(files, git), files);
        files.heal();
        count[await judge(told, isRestore)] += 1;
      } catch (error) {
        bad.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    console.log(
      `${chosen.length} of ${cases.length} cases tried: ${count.old} old, ${count.new} new, ${bad.length} bad`,
    );
    expect(bad.slice(0, 8), `${bad.length} bad cases`).toEqual([]);
    expect(chosen.length).toBeGreaterThan(0);
  });
});
