import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { indexOf } from '../../../src/workers/git/gitIndex';
import { authorOf, buildCommit } from '../../../src/workers/git/gitObjects';
import {
  type HashName,
  type NamedEntry,
  type NewObject,
  newObject,
  newTree,
  parseTree,
  writeLoose,
} from '../../../src/workers/git/gitPack';
import { readNamed } from '../../../src/workers/git/looseObjects';
import { type ForgeWorld, hashOf, makeForgeWorld, onBranch, workerPorts } from '../../support/fixtures/forgeWorld';

let world: ForgeWorld;

beforeEach(() => {
  world = makeForgeWorld();
});
afterEach(() => {
  world.dispose();
});

const FILE = '100644';
const FOLDER = '40000';
/** Each after the other in git's order, in which a folder's name counts as if it ended with a slash: `-` and `.` come before it, `0` after. */
const IN_ORDER: readonly (readonly [name: string, mode: string])[] = [
  ...([
    ['A', FILE],
    ['a', FILE],
    ['a-b', FOLDER],
    ['a.b', FILE],
    ['a.c', FOLDER],
    ['ab', FOLDER],
    ['b-', FILE],
    ['b.', FOLDER],
    ['b', FOLDER],
    ['b0', FILE],
    ['z', '100755'],
    ['é', FILE],
    ['\uffff', FILE],
    // By bytes after what is before it by UTF-16.
    ['😀', FOLDER],
  ] as const),
];

/** A repository that names objects so, with nothing in it. */
function repository(hash: HashName): void {
  rmSync(path.join(world.folder, '.git'), { recursive: true });
  world.git('init', '--quiet', `--object-format=${hash}`);
}

/** What git prints for what it reads from its standard input. */
function gitReading(input: Uint8Array, ...args: string[]): string {
  return execFileSync('git', args, { cwd: world.folder, input, encoding: 'utf8' }).trimEnd();
}

function write(objects: readonly NewObject[]): void {
  const { files, ids } = workerPorts();
  writeLoose(files, ids, path.join(world.folder, '.git'), objects);
}

/** Contents of many lengths, and some that compress to more than they are. */
function contents(): Buffer[] {
  const lengths = [0, 1, 15, 16, 17, 2047, 2048, 2049, 262_143, 262_144, 262_145];
  return [...lengths.map((length) => Buffer.alloc(length, `${length}`)), Buffer.from([0, 255, 13, 10, 13])];
}

describe.each(['sha1', 'sha256'] as const)('objects of a repository that names them by %s', (hash) => {
  beforeEach(() => {
    repository(hash);
  });

  it('have the ids that git gives them, and are kept as they were', () => {
    const blobs = contents().map((bytes) => newObject(hash, 'blob', bytes));
    for (const { id, bytes } of blobs) expect(gitReading(bytes, 'hash-object', '--stdin')).toBe(id);
    // Twice the same is there once.
    write([...blobs, ...blobs]);
    for (const { id, bytes } of blobs) {
      const kept = execFileSync('git', ['cat-file', 'blob', id], { cwd: world.folder });
      expect(Buffer.compare(kept, bytes), `${bytes.length} bytes`).toBe(0);
    }
    world.git('fsck', '--strict', '--no-dangling');
  });

  it('stand in trees in the order of git, which reads back what was written', () => {
    const blob = newObject(hash, 'blob', 'x');
    const inner = newTree(hash, [{ name: 'in', mode: FILE, id: blob.id }]);
    const entries = IN_ORDER.map(([name, mode]): NamedEntry => ({
      name,
      mode,
      id: mode === FOLDER ? inner.id : blob.id,
    }));
    const tree = newTree(hash, [...entries].reverse());
    write([blob, inner, tree]);
    world.git('fsck', '--strict', '--no-dangling', tree.id);
    const listed = world.git('-c', 'core.quotePath=false', 'ls-tree', '--name-only', tree.id).split('\n');
    expect(listed).toEqual(IN_ORDER.map(([name]) => name));
    expect(parseTree(tree.bytes, hash)).toEqual(entries);
    // What is read without a git is the same, by all names that are used.
    const read = readNamed(path.join(world.folder, '.git'), tree.id);
    expect(Buffer.compare(read?.bytes ?? Buffer.alloc(0), tree.bytes)).toBe(0);
    // Git makes the same tree of them.
    const lines = entries.map(
      ({ mode, id, name }) => `${mode.padStart(6, '0')} ${mode === FOLDER ? 'tree' : 'blob'} ${id}\t${name}\0`,
    );
    expect(gitReading(Buffer.from(lines.reverse().join('')), 'mktree', '-z')).toBe(tree.id);
  });

  it('are in an index as git makes it of them', () => {
    const blob = newObject(hash, 'blob', 'x');
    const names = ['a', 'a-b/in', 'b/in', 'é', 'x'.repeat(7), 'deep/er/still', `long/${'n'.repeat(300)}`];
    const files = new Map(names.map((name, at) => [name, { mode: at % 2 === 0 ? FILE : '100755', id: blob.id }]));
    write([blob]);
    writeFileSync(path.join(world.folder, '.git', 'index'), indexOf(hash, files));
    world.git('fsck', '--strict', '--no-dangling');
    const listed = (): string => world.git('-c', 'core.quotePath=false', 'ls-files', '--stage');
    const ours = listed();
    expect(ours.split('\n')).toHaveLength(names.length);
    const tree = world.git('write-tree');
    rmSync(path.join(world.folder, '.git', 'index'));
    world.git('read-tree', tree);
    expect(listed()).toBe(ours);
  });

  it('make a commit that git takes for sound, with all its files', () => {
    const blob = newObject(hash, 'blob', 'x');
    const names = ['a', 'a.b', 'a-b/c', 'a0/b/c', 'a0/b.c', 'a0/b-c/d'];
    const files = new Map(names.map((name) => [name, { mode: FILE, id: blob.id }]));
    const of = (parents: readonly string[]): NewObject[] =>
      buildCommit(hash, { files, parents, message: 'First\n\nmore', author: authorOf('w1'), at: 1_700_000_000_999 });
    const [first, second] = [of([]), of([of([]).at(-1)?.id ?? ''])];
    write([blob, ...first, ...second]);
    const commit = second.at(-1)?.id ?? '';
    world.git('update-ref', 'refs/heads/made', commit);
    expect(world.git('fsck', '--strict')).toBe('');
    expect(world.git('ls-tree', '-r', '--name-only', commit).split('\n').sort()).toEqual([...names].sort());
    expect(world.git('log', '--format=%an|%ct|%s|%b', commit).split('\n').filter(Boolean)).toEqual([
      'w1 (Atlas worker)|1700000000|First|more',
      'w1 (Atlas worker)|1700000000|First|more',
    ]);
  });

  it('that are no tree are not read as one', () => {
    const tree = newTree(hash, [{ name: 'a', mode: FILE, id: newObject(hash, 'blob', 'x').id }]).bytes;
    const others = ['100644 a', 'x a\0', '100644 \0', '\0'.repeat(40)].map((text) => Buffer.from(text));
    for (const bytes of [tree.subarray(0, -1), tree.subarray(7), ...others])
      expect(parseTree(bytes, hash), Buffer.from(bytes).toString('hex')).toBeUndefined();
    expect(parseTree(Buffer.alloc(0), hash)).toEqual([]);
  });

  it('keep the whole of a work: slung, done, cleared, shared', async () => {
    const workers = world.open();
    const bare = path.join(world.base, 'bare.git');
    world.git('init', '--quiet', '--bare', `--object-format=${hash}`, bare);
    world.git('remote', 'add', 'origin', bare);
    const { folder } = unwrap(await workers.slinging.sling({ worker: 'pool/w1', task: { id: 't1' } }));
    const owner = workerPorts().processes.self();
    const ran = await workers.run({ worker: 'pool/w1', owner }, () => {
      writeFileSync(path.join(folder, 'out.txt'), 'done\n');
      return Promise.resolve({ ok: true });
    });
    expect(unwrap(ran).result?.evidence.outputHash).toBe(hashOf(path.join(folder, 'out.txt')));
    unwrap(await workers.sharing.sync('origin'));
    expect(onBranch(world, 'hooks/pool/w1', 'status.json')).toMatchObject({ status: 'COMPLETE' });
    expect(world.git('-C', folder, 'status', '--porcelain')).toBe('');
    expect(world.git('rev-parse', 'forge/ledger')).toHaveLength(hash === 'sha1' ? 40 : 64);
    expect(world.git('-C', bare, 'rev-parse', 'forge/ledger')).toBe(world.git('rev-parse', 'forge/ledger'));
    unwrap(await workers.steps.clear('pool/w1'));
    world.git('fsck', '--strict', '--no-dangling');
    expect(unwrap(await workers.repairs.plan())).toEqual([]);
  });
});
