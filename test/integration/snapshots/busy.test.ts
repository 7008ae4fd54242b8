import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { LeftOut } from '../../../src/core/snapshot/snapshotRecord';
import { builtOnce, bundlePrograms } from '../../support/built';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

let world: SnapshotWorld;

beforeEach(() => {
  world = new SnapshotWorld();
});

afterEach(() => {
  world.dispose();
});

async function worker(): Promise<string> {
  const built = builtOnce('snapshotWorker.cjs');
  if (built !== undefined) return built;
  await bundlePrograms(['test/support/processes/snapshotWorker.ts'], world.base);
  return path.join(world.base, 'snapshotWorker.cjs');
}

interface Said {
  readonly tree: string;
  readonly leftOut: readonly LeftOut[];
}

/** Runs a process to its end; its snapshots. */
async function run(program: string, times: number, target = ''): Promise<Said[]> {
  const child = spawn(process.execPath, [program, world.root, world.folder, String(times), target]);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(`${String(code)} ${err}`).toBe('0 ');
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Said);
}

/** Eight runs at once. All of them have ended before a failure is told: they work in what the test removes. */
async function together<T>(start: () => Promise<T>): Promise<T[]> {
  const ended = await Promise.allSettled(Array.from({ length: 8 }, start));
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

const FILES = 40;
const LENGTH = 60_000;

describe('eight processes at once', { timeout: 120_000 }, () => {
  it('capture whole files while they are written: each as it was at one moment, or named', async () => {
    const program = await worker();
    for (let at = 0; at < FILES; at += 1) world.write(`file${at}`, 'a'.repeat(LENGTH));
    const over = { is: false };
    const running = together(async () => run(program, 2)).finally(() => (over.is = true));
    let round = 0;
    while (!over.is) {
      // Emptied first and then written, as most programs do.
      const letter = String.fromCharCode(97 + (round % 26));
      writeFileSync(path.join(world.folder, `file${round % FILES}`), letter.repeat(LENGTH + (round % 3)));
      round += 1;
      // A file that is written all the time is never read whole.
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
    const said = (await running).flat();
    expect(said).toHaveLength(16);
    const { contents } = await world.open();
    const torn: string[] = [];
    const known = new Set<string>();
    for (const { tree, leftOut } of said) {
      expect(leftOut.every(({ reason }) => reason === 'unstable')).toBe(true);
      const files = unwrap(await contents.list(tree));
      expect(files.length + leftOut.length).toBe(FILES);
      for (const { path: at, id } of files) {
        if (known.has(id)) continue;
        known.add(id);
        const bytes = unwrap(await contents.read(tree, at, LENGTH + 9))?.bytes ?? Buffer.alloc(0);
        if (bytes.length > 0 && (bytes.length < LENGTH || bytes.some((byte) => byte !== bytes[0]))) torn.push(at);
      }
    }
    expect(torn).toEqual([]);
    expect(known.size).toBeGreaterThan(0);
  });

  it('restore and capture in turns, and the last one leaves the target', async () => {
    const program = await worker();
    world.write('a/b', 'target');
    world.write('c', 'target');
    const { snapshot } = await world.capture();
    const was = world.picture({ folders: true });
    world.write('a/b', 'other');
    world.write('new', 'other');
    world.remove('c');
    const untouched = world.gitPicture();
    await together(async () => run(program, 2, snapshot.tree));
    expect(world.picture({ folders: true })).toEqual(was);
    expect(world.gitPicture()).toEqual(untouched);
  });
});

describe('a file that changes between preview and restore', () => {
  it('is not overwritten: the restore asks for a new preview', async () => {
    world.write('a', 'one');
    const { snapshot } = await world.capture();
    world.write('a', 'two');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    world.write('a', 'new');
    expect(await snapshots.restore(preview)).toMatchObject({ ok: false, error: { reason: 'changed' } });
    expect(world.read('a')).toBe('new');
  });

  it('at the last moment is left alone and named, with what is above it', async () => {
    world.write('a', 'one');
    world.write('folder/b', 'one');
    world.write('c', 'one');
    const { snapshot } = await world.capture();
    for (const name of ['a', 'folder/b', 'c']) world.write(name, 'two');
    const snapshots = await world.open();
    const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
    const outside = path.join(world.base, 'outside');
    const recordSafety = async () => {
      world.write('a', 'user');
      world.remove('folder');
      world.link(outside, 'folder');
      return Promise.resolve({ ok: true as const, value: undefined });
    };
    const restored = unwrap(await snapshots.restore(preview, { recordSafety }));
    expect(restored.skipped).toEqual([
      { path: 'a', reason: 'changed' },
      { path: 'folder/b', reason: 'link_above' },
    ]);
    expect([world.read('a'), world.read('c')]).toEqual(['user', 'one']);
  });
});
