import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../../core/shared/errors';
import { refuse } from '../../core/snapshot/problem';
import { type LeftOut, isTreeId } from '../../core/snapshot/snapshotRecord';
import { type TreePath, isWithin, parsePath } from '../../core/snapshot/treePath';
import { locateRepository } from '../../git/read/locate';
import { readHead } from '../../git/read/refs';
import { discardFile } from '../../system/files/atomicFile';
import { databaseId, databaseSize } from '../storage/database';
import { copyBlobs, planCopy } from './firstCopy';
import { tryLookAt } from './fileLook';
import { Intake } from './intake';
import { type Differences, isText, leftOut, listDifferences } from './listing';
import { modesAfter } from './modes';
import { PrivateGit, SYNC_AT_ONCE, preparePrivate } from '../storage/privateGit';
import type { Place } from '../storage/place';
import { whyNoRoom } from './roomCheck';
import { writeSnapshot } from '../storage/snapshotTree';
import type { Outcome, SnapshotPorts } from '../storage/snapshotPorts';
import { UserIndex } from './userIndex';
import { type WorktreeCache, copyOfIndex, dropCache, readCache, writeCache } from './worktreeCache';

/** More changed files than these are in so many folders that their trees wait for the disk together. */
const MANY = 50;
/** The most files that a snapshot has. */
const MAX_FILES = 1_000_000;
/** More paths than these cost as much as comparing the whole worktree. */
const MAX_KNOWN = 500;
/** Git compares whole seconds: a later change within so many ms may look the same to it. */
const YOUNG_MS = 2000;
const IGNORE_FILE = /(?:^|\/)\.gitignore$/u;

/** What a capture may take, in bytes, and who can stop it. */
export interface CaptureLimits {
  /** Larger files are left out. */
  readonly maxFileSize: number;
  /** What the snapshots of the repository may take on disk. */
  readonly maxSize: number;
  readonly isCancelled: () => boolean;
  /** The only paths that can have changed since the last capture, where that is known. */
  readonly known?: readonly TreePath[] | undefined;
}

/** What a worktree's files were when they were captured. */
export interface Captured {
  /** The snapshot. */
  readonly tree: string;
  /** Whether it is the same as the last one. */
  readonly unchanged: boolean;
  readonly bytesWritten: number;
  readonly cache: WorktreeCache;
}

/**
 * Captures a worktree. The caller holds the worktree's lock and shares the database's. An index or a database that is
 * damaged is made again from the files, once.
 */
export async function captureFiles(
  ports: SnapshotPorts,
  place: Place,
  limits: CaptureLimits,
): Promise<Outcome<Captured>> {
  preparePrivate(ports, place);
  const database = databaseId(ports, place);
  const setup = createHash('sha256')
    .update(readFileSync(join(place.home, 'config')))
    .digest('hex');
  const cache = readCache(ports, place, database, setup);
  const run = new CaptureRun(ports, place, limits, { database, setup });
  const first = await run.capture(cache);
  if (first.ok || cache === undefined || first.error.reason !== 'failed') return first;
  ports.log.warn('Snapshots: the index of a worktree is made again.', { error: first.error.message });
  dropCache(ports, place.home);
  return run.capture(undefined);
}

class CaptureRun {
  private readonly git: PrivateGit;
  private readonly user: UserIndex;

  constructor(
    private readonly ports: SnapshotPorts,
    private readonly place: Place,
    private readonly limits: CaptureLimits,
    private readonly marks: Pick<WorktreeCache, 'database' | 'setup'>,
  ) {
    this.git = new PrivateGit(ports, place);
    this.user = new UserIndex(ports, this.git);
  }

  async capture(cache: WorktreeCache | undefined): Promise<Outcome<Captured>> {
    const name = copyOfIndex(this.ports, this.place, cache?.index);
    const index = join(this.place.home, name);
    let isKept = false;
    try {
      const captured = await this.captureInto(name, cache);
      if (captured.ok && captured.value.cache !== cache) {
        writeCache(this.ports, this.place, captured.value.cache);
        isKept = true;
      }
      return captured;
    } finally {
      if (!isKept) for (const path of [index, `${index}.lock`]) discardFile(this.ports.files, path);
    }
  }

  private async captureInto(name: string, cache: WorktreeCache | undefined): Promise<Outcome<Captured>> {
    const index = join(this.place.home, name);
    const before = databaseSize(this.place.objects).bytes;
    const known = this.knownPaths(cache);
    const listed = await listDifferences(this.git, this.user, { index, cache, known });
    if (!listed.ok) return listed;
    const { changed, gone } = listed.value;
    const total = (cache?.files ?? 0) - gone.length + [...changed.values()].filter((isThere) => !isThere).length;
    if (total > MAX_FILES)
      return refuse('too_many_files', `${this.place.worktree} has more than a million files to capture.`, {
        hint: 'Exclude generated files with an ignore file.',
      });
    const intake = await this.read(index, cache, listed.value, before);
    if (!intake.ok) return intake;
    return this.finish({ name, index, cache, known, before }, listed.value, intake.value);
  }

  /** Brings the index to what the worktree has. */
  private async read(
    index: string,
    cache: WorktreeCache | undefined,
    { changed, unseenByGit, gone }: Differences,
    used: number,
  ): Promise<Outcome<Intake>> {
    const planned = cache === undefined ? await planCopy(this.git, this.user, this.limits.maxFileSize) : undefined;
    if (planned?.ok === false) return planned;
    const copy = planned?.value;
    const allNew = (copy?.ids.length ?? 0) * 2 < changed.size;
    const intake = new Intake(this.ports, this.git, index, { ...this.limits, allNew });
    const { chosen, bytes } = await intake.choose(changed.keys());
    const isKnown = (path: TreePath): boolean => changed.get(path) === true;
    const { maxSize } = this.limits;
    const refused = await whyNoRoom(this.git, this.user, { chosen, bytes, isKnown, copy }, { used, maxSize });
    if (refused !== undefined) return { ok: false, error: refused };
    const early = new Set(intake.dropped);
    const steps = [
      async () => (copy === undefined ? ok(undefined) : copyBlobs(this.git, copy)),
      async () => intake.drop([...gone, ...[...early].filter(isKnown)]),
      async () => intake.forget(unseenByGit),
      async () => intake.take(chosen),
      async () => intake.drop([...intake.dropped].filter((path) => !early.has(path))),
    ];
    for (const step of steps) {
      if (this.limits.isCancelled()) return refuse('cancelled', 'The snapshot was cancelled.');
      const done = await step();
      if (!done.ok) return done;
    }
    return ok(intake);
  }

  /** Paths whose names are no text, or that decide what is ignored, need the whole worktree compared. */
  private knownPaths(cache: WorktreeCache | undefined): readonly TreePath[] | undefined {
    const { known } = this.limits;
    if (known === undefined || cache === undefined || known.length === 0 || known.length > MAX_KNOWN) return undefined;
    if (cache.user.stamp !== this.user.stamp || cache.user.isSparse) return undefined;
    const isPlain = known.every((path) => path !== '' && !IGNORE_FILE.test(path) && isText(path));
    return isPlain ? known : undefined;
  }

  private async finish(
    { name, index, cache, known, before }: Begun,
    { nested, leftOut: unreadable, changed, gone, user, ignored, rules: ruleFiles }: Differences,
    intake: Intake,
  ): Promise<Outcome<Captured>> {
    const isTouched = intake.taken.size > 0 || intake.dropped.size > 0 || gone.length > 0 || cache === undefined;
    const call = { index, settings: intake.taken.size > MANY ? [SYNC_AT_ONCE] : [] };
    const written = isTouched
      ? await this.git.whole(index, async () => this.git.run(['write-tree'], call))
      : ok(cache.filesTree);
    if (!written.ok) return written;
    const filesTree = written.value.trim();
    if (!isTreeId(filesTree)) return refuse('failed', `git write-tree answered ${JSON.stringify(filesTree)}.`);
    const notCheckedOut = await this.user.notCheckedOut(user);
    if (!notCheckedOut.ok) return notCheckedOut;
    const seen = [...this.special(cache), ...unreadable, ...intake.leftOut, ...this.repositories(nested, user)];
    const isUnseen = (path: TreePath): boolean => known !== undefined && !isWithin(path, known);
    const kept = (cache?.leftOut ?? []).filter(({ path }) => isUnseen(parsePath(path) ?? ''));
    const left = [...new Map([...kept, ...seen].map((each) => [each.path, each])).values()].sort(byPath);
    const { base, modes } = modesAfter(cache, intake, gone);
    const rules = known === undefined || cache === undefined ? ruleFiles : cache.rules;
    const parts = { base, leftOut: left, absent: [], filesTree, modes, rules, notCheckedOut: notCheckedOut.value };
    const snapshot = await writeSnapshot(this.git, parts, cache);
    if (!snapshot.ok) return snapshot;
    const { tree } = snapshot.value;
    const count = (paths: Iterable<TreePath>, isThere: boolean): number =>
      [...paths].filter((path) => changed.get(path) === isThere).length;
    const removed = gone.length + count(intake.dropped, true);
    const lost = new Set([...gone, ...intake.dropped]);
    const isAbsent = (path: TreePath): boolean => lost.has(path) || !(ignored.has(path) || intake.taken.has(path));
    const fresh: WorktreeCache = {
      absentTracked: user.ignoredTracked.filter(isAbsent),
      ...{
        format: 2,
        ...this.marks,
        index: name,
        tree,
        filesTree,
        base,
        modes: [...modes],
        leftOut: left,
        rules,
        user,
      },
      files: (cache?.files ?? 0) + count(intake.taken.keys(), false) - removed,
      young: youngAfter(cache, intake, gone, isUnseen),
      parts: snapshot.value.parts,
    };
    const unchanged = cache?.tree === tree;
    const isSame =
      unchanged && !isTouched && cache.user.stamp === user.stamp && fresh.young.length === cache.young.length;
    return ok({
      ...{ tree, unchanged, cache: isSame ? cache : fresh },
      bytesWritten: unchanged ? 0 : Math.max(0, databaseSize(this.place.objects).bytes - before),
    });
  }

  /** Git names no sockets, pipes and devices: those that took the place of files are remembered. */
  private special(cache: WorktreeCache | undefined): LeftOut[] {
    return (cache?.leftOut ?? []).filter(({ path, reason }) => {
      const at = reason === 'special' ? parsePath(path) : undefined;
      return at !== undefined && tryLookAt(this.place.worktree, at)?.kind === 'other';
    });
  }

  private repositories(nested: readonly TreePath[], { submodules }: Differences['user']): LeftOut[] {
    return nested.map((path) => {
      const at = locateRepository(join(this.place.worktree, Buffer.from(path, 'latin1').toString('utf8')));
      const commit = at === undefined || at.worktree === this.place.worktree ? undefined : readHead(at).commit;
      const reason = submodules[path.slice(0, -1)] === undefined ? 'repository' : 'submodule';
      return leftOut(path, reason, commit === undefined ? {} : { commit });
    });
  }
}

interface Begun {
  readonly name: string;
  readonly index: string;
  readonly cache: WorktreeCache | undefined;
  readonly known: readonly TreePath[] | undefined;
  /** What the database took on disk, in bytes. */
  readonly before: number;
}

/** What has to be looked at again, since git alone may not see its next change. */
function youngAfter(
  cache: WorktreeCache | undefined,
  intake: Intake,
  gone: readonly TreePath[],
  isUnseen: (path: TreePath) => boolean,
): [TreePath, string][] {
  const over = new Set([...gone, ...intake.dropped, ...intake.taken.keys()]);
  const since = Date.now() - YOUNG_MS;
  const kept = (cache?.young ?? []).filter(
    ([path, stamp]) => !over.has(path) && (isUnseen(path) || changedAt(stamp) > since),
  );
  return [...kept.map(([path, stamp]): [TreePath, string] => [path, stamp]), ...intake.young];
}

/** When the entry of a file with this stamp was changed, in ms. */
function changedAt(stamp: string): number {
  return Number(stamp.split(':')[3] ?? 0) / 1e6;
}

function byPath(a: LeftOut, b: LeftOut): number {
  return a.path < b.path ? -1 : 1;
}
