import { unwrap } from '../../../src/core/shared/errors';
import { type TaskRecord, isTerminal, serializeRecord } from '../../../src/core/task/taskRecord';
import { serializeTask } from '../../../src/core/task/task';
import { alignTask } from '../../../src/core/task/taskAlignment';
import type { FileSystem } from '../../../src/core/shared/ports';
import type { Atlas } from '../../../src/service/atlas';
import { Journal } from '../../../src/store/task/journal';
import { type TaskRef, refKey } from '../../../src/core/task/taskRef';
import { replayLine } from '../../../src/store/task/rebuild';
import type { Finding } from '../../../src/core/task/storedTask';

/** A task as it stands, and each hook that its journal tells of, in words that are the same in each run. */
export interface TaskView {
  readonly ref: TaskRef;
  readonly versions: readonly string[];
  /** Of each version, what happened last: less than all of it, where something could not be read for it. */
  readonly story: readonly string[];
}

/** Fixes a store as a window does when it starts: what is open is brought in line, what lost its marker is found. */
export async function repair(atlas: Atlas): Promise<Finding['kind'][]> {
  const lost: TaskRef[] = [];
  await atlas.catalog.sweep((ref) => lost.push(ref));
  const results = [];
  for (const ref of lost) results.push(await atlas.reconcileLost(ref));
  for (const ref of atlas.catalog.open()) results.push(await atlas.reconcile(ref));
  return results.flatMap((result) => {
    if (result.ok) return result.value.findings.map(({ kind }) => kind);
    // A task whose making was interrupted before its first hook isn't there yet.
    if (result.error.code !== 'not_found') throw result.error;
    return [];
  });
}

/** A hook without what differs from run to run: times, ids, hashes, signatures. */
export function normalised(hook: TaskRecord): string {
  // Left out, as `git_dirty` below, where git didn't say within the time that an automatic checkpoint waits for it.
  const { files: _files, files_total: _total, ...seen } = hook.worktree_state ?? {};
  return (
    JSON.stringify({ ...hook, worktree_state: seen })
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, 'TIME')
      .replaceAll(/"duration_ms":\d+/gu, '"duration_ms":0')
      // A commit that is noticed later names its own time.
      .replaceAll(',"at":"TIME"', '')
      .replaceAll(/,"git_dirty":(true|false)/gu, '')
      .replaceAll(/task-\d{8}-\d{6}(-\d+)?/gu, 'TASK')
      .replaceAll(/[0-9a-f]{8,}/gu, 'HEX')
      .replaceAll(/"(duration|key_path)":"[^"]*"/gu, '"$1":""')
      .replaceAll(/"(pid|key_index|index)":\d+/gu, '"$1":0')
  );
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function viewOf(atlas: Atlas, ref: TaskRef): TaskView {
  const { paths, files } = atlas.ports;
  const key = refKey(ref);
  const read = unwrap(atlas.store.read(ref));
  must(!read.suspect, `${key} is still suspect after it was fixed`);
  const content = unwrap(new Journal(files, paths.journal(ref)).readAll());
  must(content.brokenAt === undefined, `${key}: the journal is broken: ${content.brokenAt?.why ?? ''}`);
  const voided = new Set(content.lines.map((line) => line.void));
  const versions: string[] = [];
  const story: string[] = [];
  let hook: TaskRecord | undefined;
  for (const line of content.lines.filter(({ seq, void: voids }) => voids === undefined && !voided.has(seq))) {
    hook = replayLine(hook, line);
    if (hook === undefined) throw new Error(`${key}: line ${line.seq} doesn't give its hook`);
    versions.push(normalised(hook));
    const last = hook.history.at(-1);
    story.push(`${hook.history.length} ${last?.trigger ?? ''} ${hook.state}`);
  }
  must(
    hook !== undefined && serializeRecord(hook) === text(files, paths.hook(ref)),
    `${key}: journal and hook.json differ`,
  );
  must(
    serializeTask(alignTask(read.task, read.hook)) === text(files, paths.taskFile(ref)),
    `${key}: task.json differs`,
  );
  const marked = files.stat(paths.marker(ref)) !== undefined;
  must(marked !== isTerminal(read.hook.state), `${key}: the marker is wrong in ${read.hook.state}`);
  return { ref, versions, story };
}

function text(files: FileSystem, path: string): string {
  return Buffer.from(files.read(path, 64 * 1024 * 1024)).toString('utf8');
}

/** Checks each task of a fixed store, to the byte, and gives what it finds; throws for what isn't right. `markdownToo`: HOOK.md is what its hook gives, to the byte. */
export async function checkTasks(atlas: Atlas, markdownToo = true): Promise<TaskView[]> {
  const { paths, files } = atlas.ports;
  const views: TaskView[] = [];
  for (const workspace of atlas.workspaces.names()) {
    for (const id of atlas.workspaces.taskIds(workspace)) {
      const ref = { workspace, id };
      // Half made, or cleaned: there is no hook, and nothing says that there is.
      if (files.stat(paths.hook(ref)) === undefined && (files.stat(paths.journal(ref))?.size ?? 0) === 0) continue;
      const task = atlas.store.readTask(ref);
      // Cleaning was interrupted; the next one goes on with it.
      if (task.ok && task.value.metadata['hook_cleaned_at'] !== undefined) continue;
      must(atlas.workspaces.read(workspace).ok, `workspace.json of ${workspace} is not valid`);
      views.push(viewOf(atlas, ref));
      if (!markdownToo) continue;
      const markdown = text(files, paths.markdown(ref));
      unwrap(await atlas.regenerate(ref));
      must(text(files, paths.markdown(ref)) === markdown, `${refKey(ref)}: HOOK.md is not what its hook gives`);
    }
  }
  return views;
}

/** Every file below the root with its content, but for locks; works on any file system. */
export function filesBelow(files: FileSystem, folder: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    const kind = files.stat(path)?.kind;
    if (kind === 'file') found.set(path, Buffer.from(files.read(path, 64 * 1024 * 1024)).toString('latin1'));
    if (kind !== 'folder' || path.endsWith('/locks')) return;
    for (const name of files.list(path).sort()) visit(`${path}/${name}`);
  };
  visit(folder);
  return found;
}
