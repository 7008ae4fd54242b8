import { type Stats, lstatSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { createFile, ensureFolder } from '../../system/files/atomicFile';
import type { Place } from './place';
import type { SnapshotPorts } from './snapshotPorts';

/** Folders of loose objects. */
const FAN = /^[0-9a-f]{2}$/u;
const BLOCK = 512;

/** What an object database takes on disk. */
export interface DatabaseSize {
  /** In bytes, as the file system counts them. */
  readonly bytes: number;
  readonly looseObjects: number;
  readonly packs: number;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function onDisk(path: string): number {
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return 0;
  }
  // Windows doesn't count blocks.
  return stat === undefined ? 0 : stat.blocks > 0 ? stat.blocks * BLOCK : stat.size;
}

/** What the objects take on disk; nothing where there are none. */
export function databaseSize(objects: string): DatabaseSize {
  let [bytes, looseObjects, packs] = [0, 0, 0];
  for (const name of namesIn(objects)) {
    const folder = join(objects, name);
    if (name !== 'pack' && !FAN.test(name)) continue;
    for (const file of namesIn(folder)) {
      bytes += onDisk(join(folder, file));
      if (name !== 'pack') looseObjects += 1;
      else if (file.endsWith('.pack')) packs += 1;
    }
  }
  return { bytes, looseObjects, packs };
}

/** The room on a folder's disk in bytes, as far as the system says. */
export function roomOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.MAX_SAFE_INTEGER;
  }
}

/** A name that an object database keeps as long as it lives: another one at the same place has another. */
export function databaseId({ files, ids }: SnapshotPorts, { objects }: Place): string {
  const path = join(objects, 'info', 'atlas-id');
  if (files.stat(path) === undefined) {
    ensureFolder(files, join(objects, 'info'), 0o700);
    createFile(files, ids, path, `${ids.hex(16)}\n`, 0o600);
  }
  return Buffer.from(files.read(path, 1024)).toString('utf8').trim();
}
