import { join } from 'node:path';
import { type CleanupItem, planCleanup } from '../../core/task/cleanup';
import type { TaskConfig } from '../../core/config/config';
import { type Result, fail, ok } from '../../core/shared/errors';
import { isTerminal } from '../../core/task/taskRecord';
import { serializeTask } from '../../core/task/task';
import { count } from '../../core/shared/text';
import { toTimestamp } from '../../core/shared/time';
import { removeFile, renameWithRetry, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import type { TaskStore } from '../../store/task/taskStore';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { TrustFile } from '../../store/workspace/trustFile';
import type { WorkspaceStore } from '../../store/workspace/workspaces';
import type { Catalog } from './catalog';
import type { ServicePorts } from '../ports';
import { orWarn } from '../../system/orWarn';

/** What cleanup did: the tasks whose hook files are gone, and those that could not be cleaned. */
export interface CleanupResult {
  readonly cleaned: readonly CleanupItem[];
  readonly failed: readonly { readonly item: CleanupItem; readonly message: string }[];
}

/** What belongs to the hook and goes; task.json, task.log and artifacts stay. */
const HOOK_FILES = ['HOOK.md', 'owners', 'receipts', 'verified', 'snapshots', 'journal.jsonl', 'hook.json'];
const HOOK_REMAINS = /^(?:hook\.json|HOOK\.md|journal\.jsonl)\..+$/u;

/** How the folder of a destroyed workspace is called until it is gone; no workspace can be. */
const REMOVED = '.removed-';

/** Removes the hook files of tasks whose retention is over. */
export class CleanupService {
  constructor(
    private readonly ports: ServicePorts,
    private readonly store: TaskStore,
    private readonly catalog: Catalog,
    private readonly workspaces: WorkspaceStore,
  ) {}

  /** The tasks that would be cleaned now. */
  plan(retention: TaskConfig['retentionMs']): CleanupItem[] {
    const candidates = this.workspaces.names().flatMap((workspace) =>
      this.catalog.finished(workspace).flatMap((ref) => {
        const read = this.catalog.read(ref);
        if (!read.ok) return [];
        return [{ ...ref, state: read.value.hook.state, updatedAt: read.value.hook.updated_at }];
      }),
    );
    return planCleanup(candidates, retention, this.ports.clock.now());
  }

  /** Cleans what the plan names; what was interrupted the last time is finished first. */
  async run(items: readonly CleanupItem[], cancelled: () => boolean = () => false): Promise<CleanupResult> {
    const finished = this.finishInterrupted();
    orWarn(this.ports.log, 'The remains of a destroyed workspace could not be deleted.', () => this.removeDestroyed());
    const cleaned: CleanupItem[] = [];
    const failed: { item: CleanupItem; message: string }[] = [];
    for (const item of items) {
      if (cancelled()) break;
      const result = finished.has(refKey(item))
        ? ok(undefined)
        : await this.clean({ workspace: item.workspace, id: item.id });
      if (result.ok) cleaned.push(item);
      else failed.push({ item, message: result.error.message });
    }
    if (cleaned.length > 0) this.ports.log.info(`Deleted the task files of ${count(cleaned.length, 'task')}.`);
    return { cleaned, failed };
  }

  private async clean(ref: TaskRef): Promise<Result<void>> {
    return this.store.locked(ref, () => {
      const read = this.store.read(ref);
      if (!read.ok) return read;
      if (!isTerminal(read.value.hook.state)) {
        return fail('illegal_transition', `Task ${ref.id} has not ended, so its files are kept.`);
      }
      const { task } = read.value;
      const marked = { ...task, metadata: { ...task.metadata, hook_cleaned_at: toTimestamp(this.ports.clock.now()) } };
      replaceFile(this.ports.files, this.ports.ids, this.ports.paths.taskFile(ref), serializeTask(marked), {
        durable: true,
      });
      this.removeHookFiles(ref);
      return ok(undefined);
    });
  }

  private removeHookFiles(ref: TaskRef): void {
    const folder = this.ports.paths.task(ref);
    const remains = this.ports.files.list(folder).filter((name) => HOOK_REMAINS.test(name));
    for (const name of [...remains, ...HOOK_FILES]) this.remove(join(folder, name));
  }

  private remove(path: string): void {
    const { files } = this.ports;
    const kind = files.stat(path)?.kind;
    if (kind === undefined) return;
    if (kind === 'folder') files.removeFolder(path);
    else unlinkWithRetry(files, path);
  }

  /** Task files that say "cleaned" beside hook files: a run that was interrupted. Gives the tasks that are cleaned now. */
  private finishInterrupted(): Set<string> {
    const finished = new Set<string>();
    for (const workspace of this.workspaces.names()) {
      for (const ref of this.catalog.finished(workspace)) {
        orWarn(this.ports.log, `The files of ${ref.id} could not be deleted completely.`, () => {
          const task = this.store.readTask(ref);
          if (!task.ok || task.value.metadata['hook_cleaned_at'] === undefined) return;
          this.removeHookFiles(ref);
          finished.add(refKey(ref));
        });
      }
    }
    return finished;
  }

  /** Removes a workspace with all its tasks. The caller has asked a human. */
  destroy(workspace: string): Result<number> {
    const { paths, files } = this.ports;
    try {
      const ids = this.workspaces.taskIds(workspace);
      const folder = paths.workspace(workspace);
      if (files.stat(folder) === undefined) return fail('not_found', `There is no workspace "${workspace}".`);
      // What a human allowed ends with it: the next workspace of that folder is another one's.
      const known = this.workspaces.read(workspace);
      if (known.ok && known.value.repo_path !== undefined) new TrustFile(this.ports).forget(known.value.repo_path);
      // The markers go first: without their task they would show as lost ones.
      for (const id of ids) removeFile(files, paths.marker({ workspace, id }));
      if (files.stat(paths.open) !== undefined) files.syncFolder(paths.open);
      // Under another name it is gone at once, and the rest can be removed whenever it is.
      renameWithRetry(files, folder, join(paths.workspaces, `${REMOVED}${this.ports.ids.hex(4)}`));
      files.syncFolder(paths.workspaces);
      this.removeDestroyed();
      this.ports.log.info(`Workspace "${workspace}" was destroyed with ${count(ids.length, 'task')}.`);
      return ok(ids.length);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `Workspace "${workspace}" could not be deleted`, error) };
    }
  }

  /** Removes what is left of workspaces that were destroyed, by this process or one that died meanwhile. */
  private removeDestroyed(): void {
    const { paths, files } = this.ports;
    if (files.stat(paths.workspaces) === undefined) return;
    for (const name of files.list(paths.workspaces).filter((each) => each.startsWith(REMOVED))) {
      files.removeFolder(join(paths.workspaces, name));
    }
  }
}
