import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ok, unwrap } from '../../../src/core/shared/errors';
import type { FileSystem } from '../../../src/core/shared/ports';
import { systemGit } from '../../../src/snapshots/storage/snapshotPorts';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { type Operation, nodeError, tapped } from '../../support/fixtures/store';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  vi.unstubAllEnvs();
  world.dispose();
});

/** A file system that fails each time where `fails` says so. */
function failing(code: string, fails: (operation: Operation, path: string) => boolean): FileSystem {
  return tapped(new NodeFileSystem(), (operation, [first, second]) => {
    const path = operation === 'rename' || operation === 'symlink' ? second : first;
    const text = path instanceof Uint8Array ? Buffer.from(path).toString() : String(path);
    if (fails(operation, text)) throw nodeError(code);
  });
}

async function changedWorld(): Promise<string> {
  world.write('a', 'one');
  world.write('folder/b', 'one');
  const { snapshot } = await world.capture();
  world.write('a', 'two');
  world.write('folder/b', 'two');
  return snapshot.tree;
}

describe('a full disk', () => {
  it('fails a capture with a reason, and the next one is whole', async () => {
    world.write('a', 'one');
    const full = await world.open({
      files: failing('ENOSPC', (operation, path) => operation === 'write' && path.includes('cache.json')),
    });
    expect(await full.capture()).toMatchObject({ ok: false, error: { reason: 'disk_full' } });
    const git = {
      ...systemGit,
      run: async (...args: Parameters<typeof systemGit.run>) =>
        args[1][0] === 'update-index'
          ? ok({ code: 128, stdout: '', stderr: 'fatal: write error: No space left on device' })
          : systemGit.run(...args),
    };
    expect(await (await world.open({ git })).capture()).toMatchObject({ ok: false, error: { reason: 'disk_full' } });
    expect((await world.capture()).snapshot.files).toBe(1);
  });

  it('keeps a restore from beginning, and nothing is left in the worktree', async () => {
    const tree = await changedWorld();
    const before = world.picture({ folders: true });
    const files = failing(
      'ENOSPC',
      (operation, path) => operation === 'write' && /\.atlas-restore-\w+\/1$/u.test(path),
    );
    const snapshots = await world.open({ files });
    const preview = unwrap(await snapshots.preview({ tree }));
    expect(await snapshots.restore(preview)).toMatchObject({ ok: false, error: { reason: 'disk_full' } });
    expect(world.picture({ folders: true })).toEqual(before);
    expect(unwrap(await snapshots.recover())).toBeUndefined();
  });

  it('half-way through a restore is finished by the next process, which says so', async () => {
    const tree = await changedWorld();
    const files = failing('ENOSPC', (operation, path) => operation === 'rename' && path.endsWith('folder/b'));
    const snapshots = await world.open({ files });
    const preview = unwrap(await snapshots.preview({ tree }));
    expect(await snapshots.restore(preview)).toMatchObject({ ok: false, error: { reason: 'disk_full' } });
    expect([world.read('a'), world.read('folder/b')]).toEqual(['one', 'two']);
    const { recovered } = await world.capture();
    expect(recovered).toMatchObject({ outcome: 'finished', target: tree, skipped: [] });
    expect([world.read('a'), world.read('folder/b')]).toEqual(['one', 'one']);
    await world.undo();
    expect([world.read('a'), world.read('folder/b')]).toEqual(['two', 'two']);
  });
});

describe('a file or folder that may not be changed', () => {
  it('is named, and the rest is restored', async () => {
    const tree = await changedWorld();
    const files = failing('EACCES', (operation, path) => operation === 'rename' && path.endsWith('folder/b'));
    const snapshots = await world.open({ files });
    const restored = unwrap(await snapshots.restore(unwrap(await snapshots.preview({ tree }))));
    expect(restored.skipped).toEqual([{ path: 'folder/b', reason: 'denied', message: 'EACCES' }]);
    expect([world.read('a'), world.read('folder/b')]).toEqual(['one', 'two']);
  });
});

/** A git before the real one that is killed by a signal at its first run of each command, with its index locked. Where it lies. */
function killedOnce(commands: readonly string[]): string {
  const folder = path.join(world.base, 'killed-git');
  mkdirSync(folder);
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh
for word; do
  case " ${commands.join(' ')} " in
    *" $word "*) if mkdir "${folder}/$word.was" 2>/dev/null; then : > "$GIT_INDEX_FILE.lock"; kill -BUS $$; fi ;;
  esac
done
exec '${real}' "$@"
`;
  writeFileSync(path.join(folder, 'git'), script, { mode: 0o755 });
  return folder;
}

describe('a git that the system kills, as it does when a file is shortened while git reads it', () => {
  it('is run again, and the snapshot is whole', async () => {
    world.write('.gitignore', 'ignored\n');
    for (const name of ['a', 'folder/b', 'gone', 'ignored']) world.write(name, 'one');
    await world.capture();
    for (const name of ['a', 'folder/b', 'new']) world.write(name, 'two');
    world.remove('gone');
    const killing = ['diff-files', '--force-remove', '--add', 'write-tree'];
    const folder = killedOnce(killing);
    vi.stubEnv('PATH', `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`);
    const { snapshot, leftOut } = await world.capture();
    expect(readdirSync(folder).sort()).toEqual(['git', ...killing.map((word) => `${word}.was`)].sort());
    expect(leftOut).toEqual([]);
    vi.unstubAllEnvs();
    const { contents } = await world.open();
    const files = unwrap(await contents.list(snapshot.tree)).map((file) => file.path);
    expect(files.sort()).toEqual(['.gitignore', 'a', 'folder/b', 'new']);
    for (const name of ['a', 'folder/b', 'new'])
      expect(unwrap(await contents.read(snapshot.tree, name, 9))?.bytes.toString()).toBe('two');
  });

  it('each time fails, and names the signal', async () => {
    const tree = await changedWorld();
    world.remove('a');
    const folder = killedOnce([]);
    writeFileSync(path.join(folder, 'git'), '#!/bin/sh\nkill -BUS $$\n', { mode: 0o755 });
    const snapshots = await world.open();
    vi.stubEnv('PATH', `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`);
    const refused = await snapshots.capture();
    expect(refused.ok ? '' : refused.error.message).toMatch(/^git [\w-]+ failed: it ended with SIGBUS\.$/u);
    vi.unstubAllEnvs();
    expect((await world.capture()).snapshot.tree).not.toBe(tree);
  });
});

describe('a restore of chosen files', () => {
  it('leaves all others, and undoing it too', async () => {
    const tree = await changedWorld();
    world.write('folder/new', 'new');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree, chosen: ['folder'] }));
    expect(preview.paths.map(({ path, action }) => [path, action])).toEqual([
      ['folder/b', 'write'],
      ['folder/new', 'remove'],
    ]);
    unwrap(await snapshots.restore(preview));
    expect(Object.keys(world.picture())).toEqual(['a', 'folder/b']);
    expect([world.read('a'), world.read('folder/b')]).toEqual(['two', 'one']);
    await world.undo();
    expect(world.read('folder/new')).toBe('new');
  });
});

describe('what is in the way', () => {
  it('blocks its path alone: ignored files in a folder, a repository, an ignored folder', async () => {
    world.write('.gitignore', 'kept\n');
    world.write('one', 'file');
    world.write('two/x', 'file');
    world.write('three', 'file');
    const { snapshot } = await world.capture();
    world.remove('one');
    world.write('one/kept', 'ignored');
    world.write('one/other', 'captured');
    world.remove('two');
    world.git('init', '-q', 'two');
    world.write('three', 'changed');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    expect(preview.paths).toMatchObject([
      { path: 'one', action: 'blocked', reason: 'in_the_way', by: 'one/kept' },
      { path: 'one/other', action: 'remove' },
      { path: 'three', action: 'write' },
      { path: 'two/x', action: 'blocked', reason: 'repository', by: 'two' },
    ]);
    unwrap(await snapshots.restore(preview));
    expect([world.read('one/kept'), world.read('three')]).toEqual(['ignored', 'file']);
  });
});
