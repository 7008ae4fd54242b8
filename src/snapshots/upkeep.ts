import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../core/shared/errors';
import { refuse } from '../core/snapshot/problem';
import { isTreeId } from '../core/snapshot/snapshotRecord';
import { type TreePath, quotePath } from '../core/snapshot/treePath';
import { discardFile } from '../system/files/atomicFile';
import { DatabaseLock } from './storage/databaseLock';
import { type DatabaseSize, databaseSize, roomOf } from './storage/database';
import type { PrivateGit } from './storage/privateGit';
import { RestoreFiles } from './restore/restoreJournal';
import { readSnapshot } from './storage/snapshotTree';
import type { Outcome, SnapshotPorts } from './storage/snapshotPorts';
import { cachedTree, dropCache } from './capture/worktreeCache';

/** So many loose objects are worth a pack. */
const MANY_LOOSE = 500;
const WAIT_MS = 60_000;
const FAN = /^[0-9a-f]{2}$/u;
const OBJECT = /^[0-9a-f]{38}(?:[0-9a-f]{24})?$/u;

/** What became of an object database when it was freed. */
export interface Freed {
  readonly before: DatabaseSize;
  readonly after: DatabaseSize;
}

/** A snapshot that lost some of what it is made of. */
export interface DamagedSnapshot {
  readonly tree: string;
  /** Files whose content is gone, as `quotePath` writes them; empty where not even the list of files is left. */
  readonly lost: readonly string[];
  /** Whether no file of it can be read. */
  readonly isWhole: boolean;
}

/** Keeps an object database small and sound. */
export class Upkeep {
  private readonly lock: DatabaseLock;

  constructor(
    private readonly ports: SnapshotPorts,
    private readonly git: PrivateGit,
  ) {
    this.lock = new DatabaseLock(ports, git.place.base);
  }

  /** What the snapshots of the repository take on disk. */
  sizes(): DatabaseSize {
    return databaseSize(this.git.place.objects);
  }

  /** Moves loose objects into a pack once there are many; says whether it did. Captures go on meanwhile. */
  async pack(atLeast = MANY_LOOSE): Promise<Outcome<boolean>> {
    const { objects } = this.git.place;
    const shared = await this.lock.share(WAIT_MS);
    if (!shared.ok) return shared;
    try {
      const ids = looseObjects(objects);
      if (ids.length < Math.max(1, atLeast)) return ok(false);
      const input = ids.map((id) => `${id}\n`).join('');
      const args = ['pack-objects', '-q', '--delta-base-offset', '--window=50', join(objects, 'pack', 'pack')];
      const packed = await this.git.run(args, { input });
      if (!packed.ok) return packed;
      const pruned = await this.git.run(['prune-packed', '-q']);
      return pruned.ok ? ok(true) : pruned;
    } finally {
      shared.value();
    }
  }

  /**
   * Removes what no snapshot needs any more: neither those that live, nor what captures and restores of any worktree stand
   * on. The new pack is whole and on disk before an old object goes, so a process that is killed here loses nothing.
   * @param liveTrees asked for once no capture is under way; `undefined` where it can't be said now
   */
  async free(liveTrees: () => Promise<readonly string[] | undefined>): Promise<Outcome<Freed>> {
    const alone = await this.lock.exclude(WAIT_MS);
    if (!alone.ok) return alone;
    try {
      const live = await liveTrees();
      if (live === undefined)
        return refuse('locked', 'Another process is recording a snapshot.', { hint: 'Try again in a moment.' });
      return await this.freeAlone(live);
    } finally {
      alone.value();
    }
  }

  private async freeAlone(liveTrees: readonly string[]): Promise<Outcome<Freed>> {
    const { objects, base } = this.git.place;
    const before = this.sizes();
    const roots = [...new Set([...liveTrees, ...this.heldTrees()])].filter(isTreeId);
    const present = await this.present(roots);
    if (!present.ok) return present;
    const room = roomOf(base);
    const input = present.value.map((id) => `${id}\n`).join('');
    const disk = await this.git.run(['rev-list', '--objects', '--disk-usage', '--missing=allow-any', '--stdin'], {
      input,
    });
    const needed = disk.ok ? Number(disk.value.trim()) : before.bytes;
    if (needed > room)
      return refuse('disk_full', 'The disk has no room to rewrite the snapshots that stay.', {
        sizes: { needed, used: before.bytes, limit: room },
        hint: 'Free some space on the disk and try again.',
      });
    const old = [...packFiles(objects), ...looseFiles(objects)];
    const kept = await this.rewrite(present.value);
    if (!kept.ok) return kept;
    for (const path of old)
      if (kept.value === undefined || !path.includes(kept.value)) discardFile(this.ports.files, path);
    return ok({ before, after: this.sizes() });
  }

  /** Packs all that some trees need; the name of the pack, `undefined` where they need nothing. */
  private async rewrite(trees: readonly string[]): Promise<Outcome<string | undefined>> {
    if (trees.length === 0) return ok(undefined);
    const { objects } = this.git.place;
    const args = ['pack-objects', '-q', '--revs', '--missing=allow-any', '--delta-base-offset'];
    const input = trees.map((id) => `${id}\n`).join('');
    const packed = await this.git.run([...args, join(objects, 'pack', 'pack')], { input });
    if (!packed.ok) return packed;
    const name = packed.value.trim();
    const checked = await this.git.run(['verify-pack', '--', join(objects, 'pack', `pack-${name}.idx`)]);
    return checked.ok ? ok(name) : checked;
  }

  /** What captures and restores stand on, in all worktrees of the repository. */
  private heldTrees(): string[] {
    return this.homes().flatMap((home) => {
      const notes = new RestoreFiles(this.ports, home);
      const last = notes.lastRestore();
      const begun = notes.begun();
      const trees = [cachedTree(this.ports, home), last?.safety, last?.target, begun?.safety, begun?.target];
      return trees.filter((tree) => tree !== undefined);
    });
  }

  private homes(): string[] {
    const folder = join(this.git.place.base, 'worktrees');
    return namesIn(folder).map((name) => join(folder, name));
  }

  /** Those trees that are there at all. */
  private async present(trees: readonly string[]): Promise<Outcome<string[]>> {
    if (trees.length === 0) return ok([]);
    const input = trees.map((id) => `${id}\n`).join('');
    const said = await this.git.run(['cat-file', '--batch-check=%(objecttype)'], { input });
    if (!said.ok) return said;
    const lines = said.value.split('\n');
    return ok(trees.filter((_tree, at) => lines[at] === 'tree'));
  }

  /**
   * Which snapshots lost files. Where any did, the next captures read every file again, so that what they record is whole.
   * @param deep whether each content is read and compared with its id, which takes as long as reading the database
   */
  async verify(trees: readonly string[], deep: boolean): Promise<Outcome<DamagedSnapshot[]>> {
    const shared = await this.lock.share(WAIT_MS);
    if (!shared.ok) return shared;
    try {
      const bad = deep ? await this.corrupt() : new Set<string>();
      const damaged: DamagedSnapshot[] = [];
      for (const tree of trees) {
        const found = await this.check(tree, bad);
        if (found !== undefined) damaged.push(found);
      }
      if (damaged.length > 0 || bad.size > 0) for (const home of this.homes()) dropCache(this.ports, home);
      return ok(damaged);
    } finally {
      shared.value();
    }
  }

  /** Ids of objects whose bytes aren't what they should be. */
  private async corrupt(): Promise<ReadonlySet<string>> {
    const bad = new Set<string>();
    const said = await this.git.run(['fsck', '--full', '--no-dangling', '--no-reflogs'], {
      codes: [...Array(64).keys()],
      both: true,
    });
    if (!said.ok) return bad;
    for (const line of said.value.split('\n')) {
      if (!/error|corrupt|missing|mismatch|bad /u.test(line)) continue;
      for (const [id] of line.replaceAll('/', '').matchAll(/(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])/gu))
        bad.add(id);
      const loose = /objects\/([0-9a-f]{2})\/([0-9a-f]{38}(?:[0-9a-f]{24})?)/u.exec(line);
      if (loose !== null) bad.add(`${loose[1] ?? ''}${loose[2] ?? ''}`);
    }
    return bad;
  }

  private async check(tree: string, bad: ReadonlySet<string>): Promise<DamagedSnapshot | undefined> {
    const whole: DamagedSnapshot = { tree, lost: [], isWhole: true };
    if (bad.has(tree) || !isTreeId(tree)) return whole;
    const meta = await readSnapshot(this.git, tree);
    if (!meta.ok) return whole;
    const paths = new Map<string, TreePath[]>();
    const listed = await this.git.records(['ls-tree', '-r', '-z', meta.value.filesTree], {}, (records) => {
      for (const record of records) {
        const [, id = '', path = ''] = /^\d+ \w+ ([0-9a-f]+)\t([^]+)$/u.exec(record) ?? [];
        if (path !== '') paths.set(id, [...(paths.get(id) ?? []), path]);
      }
    });
    if (!listed.ok) return whole;
    const ids = [...paths.keys()];
    const input = ids.map((id) => `${id}\n`).join('');
    const said = ids.length === 0 ? ok('') : await this.git.run(['cat-file', '--batch-check=%(objecttype)'], { input });
    if (!said.ok) return whole;
    const lines = said.value.split('\n');
    const lost = ids.filter((id, at) => lines[at] !== 'blob' || bad.has(id)).flatMap((id) => paths.get(id) ?? []);
    return lost.length === 0 ? undefined : { tree, lost: lost.sort().map(quotePath), isWhole: false };
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function looseFiles(objects: string): string[] {
  return namesIn(objects)
    .filter((name) => FAN.test(name))
    .flatMap((name) => namesIn(join(objects, name)).map((file) => join(objects, name, file)));
}

function looseObjects(objects: string): string[] {
  return namesIn(objects)
    .filter((name) => FAN.test(name))
    .flatMap((name) =>
      namesIn(join(objects, name))
        .filter((file) => OBJECT.test(file))
        .map((file) => `${name}${file}`),
    );
}

/** Indexes go first: a pack without one is no more seen. */
function packFiles(objects: string): string[] {
  const folder = join(objects, 'pack');
  const names = namesIn(folder).sort((a, b) => Number(b.endsWith('.idx')) - Number(a.endsWith('.idx')));
  return names.map((name) => join(folder, name));
}
