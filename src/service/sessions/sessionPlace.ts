import { join, resolve } from 'node:path';
import type { GitStatus, Repository } from '../../core/shared/ports';
import { toMs, toTimestamp } from '../../core/shared/time';
import { LIMITS, type SessionRecord } from '../../core/session/sessionRecord';
import { insideWorktree } from '../../system/files/worktreePath';
import type { ServicePorts } from '../ports';

/** How long a look at a worktree may take, in ms. */
const LOOK_MS = 2000;
/** A session that began longer ago (ms) when it was seen first may have changed files before. */
const PROMPT_MS = 3000;

type Base = NonNullable<SessionRecord['base']>;
type Changes = NonNullable<SessionRecord['changes']>;
type Dirty = Base['dirty'][number];

/** Where sessions work and what changes there. One a refresh: what git said is asked once for each worktree. */
export class SessionPlaces {
  private readonly located = new Map<string, Promise<Repository | undefined>>();
  private readonly statuses = new Map<string, Promise<GitStatus | undefined>>();

  constructor(private readonly ports: Pick<ServicePorts, 'git' | 'files' | 'clock' | 'log'>) {}

  /** A session with the worktree in which it works; the last one, where it went to a folder outside of any. */
  async placed(record: SessionRecord): Promise<SessionRecord> {
    if (record.cwd === undefined) return record;
    const repository = await this.locate(record.cwd);
    if (repository === undefined || repository.worktree === record.worktree) return record;
    const { base: _base, changes: _changes, ...rest } = record;
    return { ...rest, worktree: repository.worktree, repository: repository.main };
  }

  private async locate(folder: string): Promise<Repository | undefined> {
    const known = this.located.get(folder) ?? this.ports.git.locate(folder).catch(() => undefined);
    this.located.set(folder, known);
    return known;
  }

  private async status(repository: Repository): Promise<GitStatus | undefined> {
    const known = this.statuses.get(repository.worktree) ?? this.ports.git.status(repository, LOOK_MS);
    this.statuses.set(repository.worktree, known);
    return known;
  }

  /** The worktree as it is when a session begins; with it, what changes later can be told. */
  async withBase(record: SessionRecord): Promise<SessionRecord> {
    if (record.base !== undefined || record.worktree === undefined) return record;
    const repository = await this.locate(record.worktree);
    const status = repository === undefined ? undefined : await this.status(repository);
    if (repository === undefined || status === undefined) return record;
    const { commit } = this.ports.git.head(repository);
    const now = this.ports.clock.now();
    const worked = record.tools.length + record.commands.length + record.files.length > 0;
    const dirty = status.files.slice(0, LIMITS.dirty).map((path) => this.seen(repository, path));
    const began = toMs(record.started_at);
    // A tool may have written before git was asked, and its report may not have been read yet.
    const hasWritten = dirty.some(({ mtime_ms: at }) => at !== undefined && at >= began);
    const late = worked || hasWritten || now - began > PROMPT_MS;
    return {
      ...record,
      base: { at: toTimestamp(now), ...(commit === undefined ? {} : { commit }), dirty, ...(late ? { late } : {}) },
    };
  }

  private seen({ worktree }: Repository, path: string): Dirty {
    const stat = insideWorktree(worktree, path) === undefined ? undefined : this.ports.files.stat(join(worktree, path));
    return { path, ...(stat === undefined ? {} : { size: stat.size, mtime_ms: stat.mtimeMs }) };
  }

  /**
   * A session with the files that differ now from how they were when it began; the same record, where git doesn't say in time.
   * @param until when (ms) its work ended, for one that is over: what changed later is somebody else's, unless it was its before
   */
  async withChanges(record: SessionRecord, until = Infinity): Promise<SessionRecord> {
    const { base, worktree } = record;
    if (base === undefined || worktree === undefined) return record;
    const repository = await this.locate(worktree);
    const status = repository === undefined ? undefined : await this.status(repository);
    if (repository === undefined || status === undefined) return record;
    const listed = await this.listed(repository, base, status);
    if (listed === undefined) return record;
    const before = new Map(base.dirty.map((each) => [each.path, each]));
    const since = base.late === true ? toMs(record.started_at) : undefined;
    const changed = listed.filter(({ path }) => !this.isAsBefore(repository, path, before.get(path), since));
    const now = new Set(listed.map(({ path }) => path));
    // What was uncommitted and no longer differs from the commit was taken back, or committed as it was.
    const reverted =
      since === undefined
        ? base.dirty.filter(({ path, ...was }) => !now.has(path) && this.differs(repository, path, was))
        : [];
    const differing: Changes['files'] = [
      ...changed,
      ...reverted.map(({ path }) => ({ path, change: 'modified' as const })),
    ];
    const changedBefore = (record.changes?.files ?? []).map(({ path }) => join(worktree, path));
    const named = record.files.map(({ path }) => resolve(record.cwd ?? worktree, path));
    const known = new Set([...changedBefore, ...named]);
    // When a file was deleted can't be told.
    const isOwn = ({ path }: { readonly path: string }): boolean =>
      known.has(join(worktree, path)) || (this.seen(repository, path).mtime_ms ?? Infinity) <= until;
    const files = this.ports.clock.now() <= until ? differing : differing.filter(isOwn);
    const open = new Set(status.files);
    return {
      ...record,
      changes: {
        at: toTimestamp(this.ports.clock.now()),
        files: files.slice(0, LIMITS.files),
        total: files.length,
        uncommitted: files.filter(({ path }) => open.has(path)).length,
      },
    };
  }

  /** How many of a session's changes are still uncommitted; what else changed since is not its own. */
  async withUncommitted(record: SessionRecord): Promise<SessionRecord> {
    const { changes, worktree } = record;
    if (changes === undefined || worktree === undefined || changes.uncommitted === 0) return record;
    const repository = await this.locate(worktree);
    const status = repository === undefined ? undefined : await this.status(repository);
    if (status === undefined) return record;
    const open = new Set(status.files);
    return {
      ...record,
      changes: { ...changes, uncommitted: changes.files.filter(({ path }) => open.has(path)).length },
    };
  }

  private async listed(repository: Repository, base: Base, status: GitStatus): Promise<Changes['files'] | undefined> {
    const { commit } = this.ports.git.head(repository);
    if (base.commit !== undefined && commit !== base.commit) {
      const changes = await this.ports.git.changesSince(repository, base.commit, LOOK_MS);
      return changes?.map(({ path, change }) => ({ path, change }));
    }
    return status.changes.map(({ path, change }) => ({
      path,
      change: change === 'untracked' || change === 'added' ? 'added' : change === 'deleted' ? 'deleted' : 'modified',
    }));
  }

  private isAsBefore(
    repository: Repository,
    path: string,
    before: Dirty | undefined,
    since: number | undefined,
  ): boolean {
    if (before === undefined) return false;
    const now = this.seen(repository, path);
    if (now.size !== before.size || now.mtime_ms !== before.mtime_ms) return false;
    // When it was looked at first, the session had been at work: the file's time tells.
    return since === undefined || now.mtime_ms === undefined || now.mtime_ms < since;
  }

  private differs(repository: Repository, path: string, was: Omit<Dirty, 'path'>): boolean {
    const now = this.seen(repository, path);
    return now.size !== was.size || now.mtime_ms !== was.mtime_ms;
  }
}
