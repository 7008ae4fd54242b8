import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import type { FileSystem } from '../../../../src/core/shared/ports';
import { createFile } from '../../../../src/system/files/atomicFile';
import { NodeFileSystem } from '../../../../src/system/files/nodeFileSystem';
import { Spool } from '../../../../src/git/hooks/spool';
import { systemIds } from '../../../../src/system/systemPorts';
import { type Operation, type TestStore, makeStore, nodeError, tapped } from '../../../support/fixtures/store';

/* On Windows a scanner or an indexer holds a file for a moment: what then fails is tried again, with a limit. */

let store: TestStore;
beforeEach(() => {
  store = makeStore();
  mkdirSync(store.root, { recursive: true });
});
afterEach(() => {
  store.dispose();
});

/** Files of which those whose path matches are held by another program for so many tries of an operation. */
function held(operation: Operation, which: RegExp, times: number): { files: FileSystem; tries: () => number } {
  let tries = 0;
  const files = tapped(new NodeFileSystem(), (name, [target]) => {
    if (name !== operation || !which.test(String(target))) return;
    tries += 1;
    if (tries <= times) throw nodeError(tries % 2 === 0 ? 'EPERM' : 'EBUSY');
  });
  return { files, tries: () => tries };
}

describe('a file that another program holds for a moment', () => {
  it('is made all the same, and leaves no temporary file', () => {
    const { files, tries } = held('unlink', /\.tmp$/u, 3);
    const file = path.join(store.root, 'made');
    expect(createFile(files, systemIds, file, 'text')).toBe(true);
    expect(tries()).toBe(4);
    expect(readdirSync(store.root)).toEqual(['made']);
  });

  it('and belongs to a dead owner is forgotten', async () => {
    const ref = await store.running();
    const { files, tries } = held('unlink', /owners/u, 3);
    const atlas = store.other({ files });
    atlas.owners.adopt(ref, 'agent');
    atlas.owners.signOff(ref, { code: 0 });
    atlas.owners.removeDead(ref);
    expect(tries()).toBe(4);
    expect(atlas.owners.list(ref)).toEqual([]);
  });

  it('and is an event of the spool is dealt with', () => {
    const { files, tries } = held('unlink', /event\./u, 3);
    const spool = new Spool({ ...store.atlas.ports, files });
    mkdirSync(store.atlas.ports.paths.spool, { recursive: true });
    writeFileSync(path.join(store.atlas.ports.paths.spool, 'event.1.1'), 'x');
    spool.remove('event.1.1');
    expect(tries()).toBe(4);
    expect(spool.list()).toEqual([]);
  });

  it.each(['HOOK.md', 'task.json'])('and is %s is written', async (name) => {
    const ref = await store.running();
    let tries = 0;
    const files = tapped(new NodeFileSystem(), (operation, [, target]) => {
      if (operation !== 'rename' || path.basename(String(target)) !== name) return;
      tries += 1;
      if (tries <= 3) throw nodeError('EPERM');
    });
    const made = unwrap(await store.other({ files }).send(ref, { type: 'step_complete' }));
    expect(tries).toBe(4);
    expect(made.findings).toEqual([]);
    expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
    expect(existsSync(store.atlas.ports.paths.markdown(ref))).toBe(true);
  });

  it('for ever is given up on', () => {
    const { files, tries } = held('unlink', /\.tmp$/u, Number.POSITIVE_INFINITY);
    expect(() => createFile(files, systemIds, path.join(store.root, 'made'), 'text')).toThrow();
    expect(tries()).toBe(8);
  });
});
