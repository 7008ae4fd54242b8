import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { FileStat, FileSystem } from '../../../src/core/shared/ports';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { type TestStore, checkpoint, editFile, makeStore, tapped } from '../../support/fixtures/store';

let store: TestStore;
let ref: TaskRef;
let hookPath: string;
beforeEach(async () => {
  store = makeStore();
  ref = await store.running();
  hookPath = store.atlas.ports.paths.hook(ref);
});
afterEach(() => {
  store.dispose();
});

/** The files that are read whole, by name. */
function watched(files: FileSystem = new NodeFileSystem()): { files: FileSystem; read: string[] } {
  const read: string[] = [];
  const told = tapped(files, (operation, args) => {
    if (operation === 'read') read.push(basename(String(args[0])));
  });
  return { files: told, read };
}

/** A disk whose clock goes in steps of two seconds, as FAT's does. */
class CoarseClock extends NodeFileSystem {
  override stat(path: string): FileStat | undefined {
    const stat = super.stat(path);
    return stat === undefined ? undefined : { ...stat, mtimeMs: Math.floor(stat.mtimeMs / 2000) * 2000 };
  }
}

/** What grows with the history. */
const HISTORY = ['hook.json', 'journal.jsonl'];

describe('what a process left of a task', () => {
  it('is not read again for its next change, nor the journal', async () => {
    const { files, read } = watched();
    const atlas = store.other({ files });
    const { config } = await atlas.configs.forWorktree(undefined);
    const input = { type: 'checkpoint', trigger: 'manual', description: 'again' } as const;
    unwrap(await atlas.store.send(ref, input, { config }));
    expect(read).toContain('hook.json');
    read.length = 0;
    const tails: string[] = [];
    files.readAt = (path, position, length) => {
      tails.push(basename(path));
      return new NodeFileSystem().readAt(path, position, length);
    };
    unwrap(await atlas.store.send(ref, { type: 'note', workingOn: 'more' }, { config }));
    expect(unwrap(await atlas.store.send(ref, input, { config })).hook.checkpoints).toHaveLength(2);
    expect([...read, ...tails].filter((name) => HISTORY.includes(name))).toEqual([]);
  });

  it('is read again once another process changed it', async () => {
    const atlas = store.other();
    for (const name of ['mine', 'mine too']) await checkpoint(atlas, ref, name);
    await checkpoint(store.other(), ref, 'theirs');
    const made = await checkpoint(atlas, ref, 'mine again');
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['mine', 'mine too', 'theirs', 'mine again']);
    expect(made.findings).toEqual([]);
  });

  it.each([
    ['on this disk', new NodeFileSystem()],
    ['on one with a coarse clock', new CoarseClock()],
  ])('is read again after an edit of the same size, made at once, in the same file, %s', async (_where, files) => {
    const atlas = store.other({ files });
    await checkpoint(atlas, ref, 'alpha');
    await checkpoint(atlas, ref, 'other');
    const written = statSync(hookPath);
    editFile(hookPath, (text) => text.replace('"description": "alpha"', '"description": "omega"'));
    // An editor that puts the time back to a full millisecond, as one that works with such times does.
    utimesSync(hookPath, written.atime, written.mtime);
    expect(statSync(hookPath)).toMatchObject({ size: written.size, ino: written.ino });
    const made = await checkpoint(atlas, ref, 'third');
    expect(made.findings.map((finding) => finding.kind)).toEqual(['edited']);
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['omega', 'other', 'third']);
  });

  it('is read again where task.json was changed', async () => {
    const atlas = store.other();
    await checkpoint(atlas, ref, 'first');
    const path = store.atlas.ports.paths.taskFile(ref);
    editFile(path, (text) => text.replace('"status": "running"', '"status": "pending"'));
    const made = await checkpoint(atlas, ref, 'second');
    expect(made.findings.map((finding) => finding.kind)).toEqual(['task_aligned']);
    expect(readFileSync(path, 'utf8')).toContain('"status": "running"');
  });

  it('is not taken for what is there when hook.json is gone', async () => {
    const atlas = store.other();
    await checkpoint(atlas, ref, 'first');
    writeFileSync(hookPath, '');
    const made = await checkpoint(atlas, ref, 'second');
    expect(made.findings.map((finding) => finding.kind)).toEqual(['rebuilt']);
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['first', 'second']);
  });
});
