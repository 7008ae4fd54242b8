import { join } from 'node:path';
import * as z from 'zod/mini';
import type { TaskConfig } from '../../core/config/config';
import { type GitSource, hasGitCheckpoint, isAutomaticEnabled } from '../../core/checkpoint/checkpoint';
import { type AtlasErrorCode, type Result, messageOf, ok } from '../../core/shared/errors';
import { resolveTask } from '../../core/task/resolveTask';
import type { Repository } from '../../core/shared/ports';
import { toMs, toTimestamp } from '../../core/shared/time';
import type { GitCursor, GitEvent } from '../../git/read/gitEvents';
import { replaceFile } from '../../system/files/atomicFile';
import { failureOf } from '../../system/files/fileErrors';
import type { TaskStore } from '../../store/task/taskStore';
import { GenerationLock, type HeldLock } from '../../system/locks/lock';
import type { StoredTask } from '../../core/task/storedTask';
import type { TaskRef } from '../../core/task/taskRef';
import type { WorkspaceStore } from '../../store/workspace/workspaces';
import type { Catalog } from '../tasks/catalog';
import type { ConfigSource } from '../tasks/configSource';
import type { ServicePorts } from '../ports';
import { orWarn } from '../../system/orWarn';
import { keptIn } from '../../core/shared/keptIn';

const positionSchema = z.object({ size: z.number(), last: z.string(), commit: z.optional(z.string()) });
const cursorSchema = z.object({
  heads: z.record(z.string(), positionSchema),
  remotes: z.record(z.string(), positionSchema),
});
const MAX_CURSOR_BYTES = 8 * 1024 * 1024;

/** Turns commits and pushes, whoever made them, into one checkpoint each. */
export class GitCheckpoints {
  private readonly locks = new Map<string, GenerationLock>();

  constructor(
    private readonly ports: ServicePorts,
    private readonly send: TaskStore['send'],
    private readonly catalog: Catalog,
    private readonly workspaces: WorkspaceStore,
    private readonly configs: ConfigSource,
  ) {}

  /**
   * Reads what happened in a repository since the last look and makes the checkpoints. One at a time per workspace,
   * across processes. A repository that is seen for the first time starts from now.
   * @returns the task of each checkpoint that was made, in their order
   */
  async scan(repository: Repository): Promise<Result<readonly TaskRef[]>> {
    const workspace = this.workspaces.find(repository.main);
    if (workspace === undefined) return ok([]);
    const { currentCursor, readGitEvents } = await import('../../git/read/gitEvents');
    let lock: HeldLock | undefined;
    try {
      lock = await this.lockOf(workspace).acquire();
      const cursor = this.readCursor(workspace);
      if (cursor === undefined) {
        this.writeCursor(workspace, currentCursor(repository));
        return ok([]);
      }
      const read = await readGitEvents(repository, cursor);
      const made = read.events.length === 0 ? ok([]) : await this.turn(repository, workspace, read.events);
      // What could not be written is read again the next time.
      if (made.ok && JSON.stringify(read.cursor) !== JSON.stringify(cursor)) this.writeCursor(workspace, read.cursor);
      return made;
    } catch (error) {
      return failureOf('write_failed', `Commits of ${repository.main} could not be recorded`, error);
    } finally {
      orWarn(this.ports.log, 'The lock of a workspace could not be released.', () => lock?.release());
    }
  }

  private lockOf(workspace: string): GenerationLock {
    const folder = join(this.ports.paths.workspace(workspace), 'locks');
    return keptIn(this.locks, workspace, () => new GenerationLock(folder, this.ports));
  }

  private cursorPath(workspace: string): string {
    return join(this.ports.paths.workspace(workspace), 'git.json');
  }

  /** A cursor that can't be read just now is no reason to begin anew: what was committed since would be passed over. */
  private readCursor(workspace: string): GitCursor | undefined {
    const { files } = this.ports;
    const path = this.cursorPath(workspace);
    if (files.stat(path) === undefined) return undefined;
    const text = Buffer.from(files.read(path, MAX_CURSOR_BYTES)).toString();
    try {
      const parsed = cursorSchema.safeParse(JSON.parse(text));
      if (parsed.success) return parsed.data as GitCursor;
    } catch (error) {
      this.ports.log.warn('git.json is damaged. Only commits from now on are recorded.', { error: messageOf(error) });
    }
    return undefined;
  }

  private writeCursor(workspace: string, cursor: GitCursor): void {
    const { files, ids } = this.ports;
    replaceFile(files, ids, this.cursorPath(workspace), `${JSON.stringify(cursor, null, 2)}\n`, { durable: false });
  }

  private async turn(
    repository: Repository,
    workspace: string,
    events: readonly GitEvent[],
  ): Promise<Result<readonly TaskRef[]>> {
    const made: TaskRef[] = [];
    const oldest = Math.min(...events.map((event) => event.at));
    const finished = this.finishedSince(workspace, oldest);
    for (const event of events) {
      const source = sourceOf(repository, event);
      const trigger = triggerOf(event);
      // A task that can't be read just now may be the one that the event belongs to.
      const unread = this.catalog
        .open(workspace)
        .map((ref) => this.catalog.read(ref))
        .find((read) => !read.ok && read.error.code === 'unreadable');
      const open = this.catalog.openTasks(workspace);
      if ([...open, ...finished].some(({ hook }) => hasGitCheckpoint(hook, trigger, source))) continue;
      const task = taskOf(event, open);
      if (task === undefined) {
        if (unread?.ok === false) return unread;
        continue;
      }
      const { config } = await this.configs.forTask(task.task);
      if (!isAutomaticEnabled(trigger, config)) continue;
      const result = await this.checkpoint(event, source, task, config);
      if (!result.ok) return result;
      if (result.value) made.push(task.ref);
    }
    return ok(made);
  }

  /** Tasks that ended after a time: what came before may be theirs, if the cursor was lost. */
  private finishedSince(workspace: string, since: number): StoredTask[] {
    return this.catalog.finished(workspace).flatMap((ref) => {
      const stat = this.ports.files.stat(this.ports.paths.hook(ref));
      if (stat === undefined || stat.mtimeMs < since) return [];
      const read = this.catalog.read(ref);
      return read.ok ? [read.value] : [];
    });
  }

  private async checkpoint(
    event: GitEvent,
    source: GitSource,
    task: StoredTask,
    config: TaskConfig,
  ): Promise<Result<boolean>> {
    const { describeGitEvent, filesOfCommit } = await import('../../git/read/gitEvents');
    const alsoFiles = event.kind === 'commit' ? await filesOfCommit(event.worktree, event.commit) : [];
    const { capture } = await import('./capture');
    const taken = await capture(this.ports, task.ref, task.hook, task.task, { alsoFiles });
    const input = {
      type: 'checkpoint' as const,
      trigger: triggerOf(event),
      description: describeGitEvent(event),
      source,
      ...(isLate(event, this.ports.clock.now()) ? { at: toTimestamp(event.at) } : {}),
    };
    const sent = await this.send(task.ref, input, { config, capture: taken });
    if (sent.ok) return ok(sent.value.changed);
    // The task ended meanwhile: the event is nobody's any more, which is no failure.
    if (sent.error.code === 'illegal_transition') return ok(false);
    if (!STAYS.has(sent.error.code)) return sent;
    // Waiting for that task to be fixed would keep the others' commits from being seen.
    this.ports.log.warn(`${describeGitEvent(event)}: no checkpoint, because the task can't be changed.`, {
      error: sent.error.message,
    });
    return ok(false);
  }
}

/** Failures that trying again doesn't end. */
const STAYS = new Set<AtlasErrorCode>(['damaged', 'too_new', 'unsafe_path', 'not_found']);

/** git counts whole seconds; a little later than that is still "now". */
const LATE_MS = 10_000;

function isLate(event: GitEvent, now: number): boolean {
  return now - event.at > LATE_MS;
}

function triggerOf(event: GitEvent): 'git_commit' | 'git_push' {
  return event.kind === 'commit' ? 'git_commit' : 'git_push';
}

function sourceOf(repository: Repository, event: GitEvent): GitSource {
  const base = { repository: repository.commonDir, commit: event.commit };
  return event.kind === 'push' ? { ...base, ref: event.ref } : base;
}

/** The task that a commit or push belongs to: one that was there then, of the same worktree for a commit. */
function taskOf(event: GitEvent, open: readonly StoredTask[]): StoredTask | undefined {
  const choice = resolveTask(open, {
    fits: ({ hook }) => hook.current_step !== undefined && Math.floor(toMs(hook.created_at) / 1000) * 1000 <= event.at,
    worktree: event.kind === 'commit' ? event.worktree : undefined,
    among: 'urgent',
  });
  return choice.kind === 'one' ? choice.task : undefined;
}
