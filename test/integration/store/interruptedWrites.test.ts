import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { FileSystem } from '../../../src/core/shared/ports';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import type { TaskRef } from '../../../src/core/task/taskRef';
import {
  CHANGING,
  type TestStore,
  checkpoint,
  contentsOf,
  editFile,
  makeStore,
  nodeError,
  tapped,
} from '../../support/fixtures/store';

let store: TestStore;
let ref: TaskRef;
let hookPath: string;
beforeEach(async () => {
  store = makeStore();
  ref = await store.running();
  await checkpoint(store.other(), ref, 'first');
  hookPath = store.atlas.ports.paths.hook(ref);
});
afterEach(() => {
  store.dispose();
});

const journalOf = (): { event: string; void?: number }[] =>
  readFileSync(store.atlas.ports.paths.journal(ref), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; void?: number });

/** A file system on which renaming onto hook.json fails so many times. */
function busy(code: string, times: number): { files: FileSystem; tries: () => number } {
  let tries = 0;
  const files = tapped(new NodeFileSystem(), (operation, args) => {
    if (operation !== 'rename' || args[1] !== hookPath) return;
    tries += 1;
    if (tries <= times) throw nodeError(code);
  });
  return { files, tries: () => tries };
}

describe('a rename that another program holds up', () => {
  it.each(['EPERM', 'EBUSY', 'EACCES'])('(%s) is tried again until it succeeds', async (code) => {
    const { files, tries } = busy(code, 3);
    const made = await checkpoint(store.other({ files }), ref, 'second');
    expect(made.hook.checkpoints).toHaveLength(2);
    expect(tries()).toBe(4);
  });

  it('is given up at last: recorded, and applied by the next opening', async () => {
    const { files, tries } = busy('EPERM', Number.POSITIVE_INFINITY);
    const result = await store.other({ files }).checkpoint(ref, 'second');
    if (result.ok) throw new Error('it was written');
    expect(result.error.code).toBe('recorded_not_written');
    expect(result.error.message).toMatch(/^Recorded, but hook\.json could not be written: /u);
    expect(result.error.hint).toBeDefined();
    expect(tries()).toBe(8);
    expect(unwrap(store.other().store.read(ref))).toMatchObject({ suspect: true, hook: { checkpoints: [{}] } });
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.findings.map((finding) => finding.kind)).toEqual(['replayed']);
    expect(fixed.hook.checkpoints.map((item) => item.description)).toEqual(['first', 'second']);
    expect([...contentsOf(store.root).keys()].filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('is not tried again for what does not pass', async () => {
    const { files, tries } = busy('EROFS', 1);
    expect(await store.other({ files }).checkpoint(ref, 'second')).toMatchObject({
      ok: false,
      error: { code: 'recorded_not_written' },
    });
    expect(tries()).toBe(1);
  });

  it('that still is held up says of the next change that it was not recorded', async () => {
    const { files } = busy('EPERM', Number.POSITIVE_INFINITY);
    const atlas = store.other({ files });
    expect(await atlas.checkpoint(ref, 'second')).toMatchObject({ error: { code: 'recorded_not_written' } });
    expect(await atlas.checkpoint(ref, 'third')).toMatchObject({ error: { code: 'write_failed' } });
    const { hook } = unwrap(await store.other().reconcile(ref));
    expect(hook.checkpoints.map((item) => item.description)).toEqual(['first', 'second']);
  });

  it('of hook.json does not keep the next change from being made on top', async () => {
    const { files } = busy('EPERM', 8);
    const atlas = store.other({ files });
    expect((await atlas.checkpoint(ref, 'second')).ok).toBe(false);
    const third = await checkpoint(atlas, ref, 'third');
    expect(third.hook.checkpoints.map((item) => item.description)).toEqual(['first', 'second', 'third']);
    expect(third.findings.map((finding) => finding.kind)).toEqual(['replayed']);
  });
});

describe('a foreign edit', () => {
  it('of hook.json is recorded, told of and worked on', async () => {
    editFile(hookPath, (text) => text.replace('"attempt": 1', '"attempt": 2'));
    expect(unwrap(store.other().store.read(ref)).suspect).toBe(true);
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.findings.map((finding) => finding.kind)).toEqual(['edited']);
    expect(fixed.hook.current_step?.attempt).toBe(2);
    expect(fixed.hook.history.at(-1)).toMatchObject({ trigger: 'adopted_edit', details: { kind: 'edited' } });
    expect(readFileSync(store.atlas.ports.paths.markdown(ref), 'utf8')).toMatch(
      /changed by something other than Atlas|other than Atlas/iu,
    );
    expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
    writeFileSync(hookPath, 'gone');
    expect(unwrap(await store.other().reconcile(ref)).hook).toEqual(fixed.hook);
  });

  it('that put an older version back is told as that', async () => {
    const old = readFileSync(hookPath, 'utf8');
    for (const name of ['second', 'third']) await checkpoint(store.other(), ref, name);
    writeFileSync(hookPath, old);
    const made = await checkpoint(store.other(), ref, 'fourth');
    expect(made.findings.map((finding) => finding.kind)).toEqual(['rolled_back']);
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['first', 'fourth']);
    expect(
      journalOf()
        .map((line) => line.event)
        .slice(-3),
    ).toEqual(['checkpoint', 'adopted_edit', 'checkpoint']);
  });

  it('that puts the version before the last back is replayed: it looks like a death before the rename', async () => {
    const old = readFileSync(hookPath, 'utf8');
    await checkpoint(store.other(), ref, 'second');
    writeFileSync(hookPath, old);
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.findings.map((finding) => finding.kind)).toEqual(['replayed']);
    expect(fixed.hook.checkpoints).toHaveLength(2);
  });

  it('between reading and renaming voids the line, and the event is made on top of the edit', async () => {
    let edits = 0;
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation !== 'append' || !String(args[0]).endsWith('journal.jsonl') || edits > 0) return;
      edits += 1;
      editFile(hookPath, (text) => text.replace('"description": "first"', '"description": "edited"'));
    });
    const made = await checkpoint(store.other({ files }), ref, 'second');
    expect(edits).toBe(1);
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['edited', 'second']);
    const tail = journalOf().slice(-4);
    expect(tail.map((line) => line.event)).toEqual(['checkpoint', 'void', 'adopted_edit', 'checkpoint']);
    expect(tail[1]?.void).toBe(journalOf().length - 3);
    writeFileSync(hookPath, 'gone');
    expect(unwrap(await store.other().reconcile(ref)).hook).toEqual(made.hook);
  });

  it('that never stops is given up on, with nothing half done', async () => {
    let edits = 0;
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation === 'append' && String(args[0]).endsWith('journal.jsonl')) {
        edits += 1;
        editFile(hookPath, (text) =>
          text.replace(/"working_on": "[^"]*",\s*|("step_name": "analyze_changes",)/u, `$1 "working_on": "${edits}",`),
        );
      }
    });
    const result = await store.other({ files }).checkpoint(ref, 'second');
    expect(result).toMatchObject({ ok: false });
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.hook.checkpoints.map((item) => item.description)).toEqual(['first']);
  });
});

describe('a disk on which nothing more can be written', () => {
  const failing = (code: string, at: number): { files: FileSystem; seen: () => number } => {
    let seen = 0;
    const files = tapped(new NodeFileSystem(), (operation) => {
      if (!CHANGING.has(operation) && operation !== 'syncFolder') return;
      seen += 1;
      if (seen === at) throw nodeError(code);
    });
    return { files, seen: () => seen };
  };

  it('at any one operation of a checkpoint loses nothing acknowledged, and later changes work', async () => {
    const counted = failing('ENOSPC', -1);
    await checkpoint(store.other({ files: counted.files }), ref, 'counted');
    expect(counted.seen()).toBeGreaterThan(10);
    let acknowledged = 2;
    for (let at = 1; at <= counted.seen(); at += 1) {
      const atlas = store.other({ files: failing('ENOSPC', at).files });
      const result = await atlas.checkpoint(ref, `at ${at}`);
      // The same process goes on once there is room again, and so does another.
      const next = await checkpoint(atlas, ref, `after ${at}`);
      const names = next.hook.checkpoints.map((item) => item.description);
      expect(names.filter((name) => name === `at ${at}`)).toHaveLength(
        result.ok || result.error.code === 'recorded_not_written' ? 1 : 0,
      );
      expect(names.at(-1)).toBe(`after ${at}`);
      acknowledged += names.includes(`at ${at}`) ? 2 : 1;
      expect(names).toHaveLength(Math.min(50, acknowledged));
      expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
    }
    expect([...contentsOf(store.root).keys()].filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('in the middle of a journal line takes the half line back: the refusal is true', async () => {
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation !== 'append' || !String(args[0]).endsWith('journal.jsonl')) return;
      writeFileSync(String(args[0]), String(args[1]).slice(0, 100), { flag: 'a' });
      throw nodeError('ENOSPC');
    });
    const before = contentsOf(store.root);
    expect(await store.other({ files }).checkpoint(ref, 'second')).toMatchObject({ error: { code: 'write_failed' } });
    expect(contentsOf(store.root)).toEqual(before);
    expect((await checkpoint(store.other(), ref, 'third')).findings).toEqual([]);
  });

  it.each(['EROFS', 'EACCES'])('at all (%s) still can be read, and each change says what to do', async (code) => {
    const files = tapped(new NodeFileSystem(), (operation) => {
      if (CHANGING.has(operation)) throw nodeError(code);
    });
    const before = contentsOf(store.root);
    const atlas = store.other({ files });
    expect(unwrap(atlas.catalog.read(ref)).hook.state).toBe('step_running');
    const result = await atlas.checkpoint(ref, 'second');
    if (result.ok) throw new Error('it was made');
    expect(result.error.code).toBe('write_failed');
    expect(result.error.hint).toBeDefined();
    const started = await atlas.startTask({ title: 'x', template: 'commit', folder: store.folder });
    expect(started).toMatchObject({ ok: false, error: { code: 'write_failed' } });
    expect(contentsOf(store.root)).toEqual(before);
  });
});

describe('markers', () => {
  it('that are lost are found by the sweep and made again', async () => {
    const marker = store.atlas.ports.paths.marker(ref);
    new NodeFileSystem().unlink(marker);
    const atlas = store.other();
    expect(atlas.catalog.open()).toEqual([]);
    const found: TaskRef[] = [];
    await atlas.catalog.sweep((lost) => found.push(lost));
    expect(found).toEqual([ref]);
    unwrap(await atlas.reconcile(ref));
    expect(existsSync(marker)).toBe(true);
    found.length = 0;
    await atlas.catalog.sweep((lost) => found.push(lost));
    expect(found).toEqual([]);
  });

  it('that a death left behind are found too, and removed', async () => {
    const marker = store.atlas.ports.paths.marker(ref);
    unwrap(await store.other().send(ref, { type: 'abandon', by: 'human' }));
    writeFileSync(marker, '');
    const atlas = store.other();
    expect(atlas.catalog.openTasks()).toEqual([]);
    const found: TaskRef[] = [];
    await atlas.catalog.sweep((lost) => found.push(lost));
    expect(found).toEqual([ref]);
    unwrap(await atlas.reconcile(ref));
    expect(existsSync(marker)).toBe(false);
  });

  it('that are no markers are passed over', () => {
    for (const name of ['.DS_Store', 'x@y@z', 'ws@..']) writeFileSync(`${store.atlas.ports.paths.open}/${name}`, '');
    expect(store.other().catalog.open()).toEqual([ref]);
  });
});
