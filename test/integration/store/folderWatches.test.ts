import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/service/ports';
import { fewFiles } from '../../../src/store/chokidar';
import { type FolderWatcher, systemFolders } from '../../../src/system/files/folderWatcher';
import { FolderWatches, type Wanted } from '../../../src/system/files/folderWatches';

let folder: string;
let heard: string[];
let wake: () => void;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-watches-'));
  heard = [];
  wake = () => undefined;
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function hear(what: string): void {
  heard.push(what);
  wake();
}

/** Waits until something was told; gives all that was told so far, and forgets it. */
async function told(what: string): Promise<string[]> {
  while (!heard.includes(what)) await new Promise<void>((resolve) => (wake = resolve));
  const all = heard;
  heard = [];
  return all;
}

const WATCHERS: readonly (readonly [string, FolderWatcher])[] = [
  ['the system', systemFolders],
  ['chokidar', fewFiles((name) => name.startsWith('event.'))],
];

describe.each(WATCHERS)('a folder watched by %s', (_name, watcher) => {
  it('tells of files that come, are written, and come again under the same name', async () => {
    const follow = (as: string): FolderWatches => {
      const watches = new FolderWatches(silentLog, watcher, 0);
      watches.watch(
        'key',
        folder,
        (_event, name) => name?.startsWith('event.') === true,
        (name) => hear(`${as}${name ?? ''}`),
      );
      return watches;
    };
    const watches = follow('');
    for (const name of ['event.1', 'event.2']) {
      writeFileSync(path.join(folder, 'other'), '');
      writeFileSync(path.join(folder, name), 'x');
      await told(name);
    }
    writeFileSync(path.join(folder, 'event.1'), 'more');
    await told('event.1');
    watches.close();
    heard = [];
    // What another watch hears, this one would have heard too.
    const other = follow('other ');
    writeFileSync(path.join(folder, 'event.3'), 'x');
    expect(await told('other event.3')).not.toContain('event.3');
    other.close();
  });
});

describe('chokidar', () => {
  it('tells of what was there before it was ready', async () => {
    writeFileSync(path.join(folder, 'event.1'), 'x');
    const watches = new FolderWatches(
      silentLog,
      fewFiles(() => true),
      0,
    );
    watches.watch(
      'key',
      folder,
      () => true,
      (name) => hear(name ?? ''),
    );
    await told('event.1');
    watches.close();
  });
});

describe('folders that are followed', () => {
  /** What happens to each of the folder's entries is told as `<what>/<entry>`. */
  const wanted = (name: string, what = name): Wanted => ({
    folder: path.join(folder, name),
    concerns: (_event, entry) => {
      hear(`${what}/${entry ?? ''}`);
      return true;
    },
    tell: () => hear(what),
  });

  it('are watched from when they are there, again when they were made again, and no more when they are left out', async () => {
    const watches = new FolderWatches(silentLog);
    watches.follow('group', [wanted('a'), wanted('b')]);
    for (const name of ['a', 'b']) mkdirSync(path.join(folder, name));
    watches.follow('group', [wanted('a'), wanted('b')]);
    writeFileSync(path.join(folder, 'a', 'x'), '');
    await told('a');
    rmSync(path.join(folder, 'a'), { recursive: true });
    mkdirSync(path.join(folder, 'a'));
    watches.follow('group', [wanted('a'), wanted('b')]);
    // Of a folder that was removed and made in one go, nothing but that may be heard at first.
    writeFileSync(path.join(folder, 'a', 'again'), '');
    await told('a');
    writeFileSync(path.join(folder, 'a', 'later'), '');
    await told('a/later');
    await told('a');
    watches.follow('group', [wanted('b')]);
    writeFileSync(path.join(folder, 'a', 'late'), '');
    writeFileSync(path.join(folder, 'b', 'x'), '');
    expect(await told('b')).not.toContain('a/late');
    watches.close();
  });

  it('are watched once, as they are named first, and links are not', async () => {
    const watches = new FolderWatches(silentLog);
    for (const name of ['a', 'b']) mkdirSync(path.join(folder, name));
    symlinkSync(path.join(folder, 'b'), path.join(folder, 'link'));
    watches.follow('group', [wanted('a', 'first'), wanted('a', 'second'), wanted('link')]);
    writeFileSync(path.join(folder, 'b', 'x'), '');
    writeFileSync(path.join(folder, 'a', 'x'), '');
    expect(new Set(await told('first'))).toEqual(new Set(['first/x', 'first']));
    watches.close();
  });
});
