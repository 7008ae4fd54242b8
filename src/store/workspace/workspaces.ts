import { basename, join } from 'node:path';
import * as z from 'zod/mini';
import { type Result, fail, ok } from '../../core/shared/errors';
import { SCHEMA_VERSION } from '../../core/task/taskRecord';
import { checkTaskId, checkWorkspaceName, taskIdAt, workspaceNameFrom } from '../../core/shared/ids';
import { type Task, serializeTask } from '../../core/task/task';
import { toTimestamp } from '../../core/shared/time';
import { createFile, ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { codeOf, fileError } from '../../system/files/fileErrors';
import { readStateFile, sha256 } from '../task/recordFile';
import type { TaskRef } from '../../core/task/taskRef';
import type { StorePorts } from '../task/storePorts';
import { jsonOf } from '../../system/files/readJson';

const workspaceSchema = z.looseObject({
  name: z.string(),
  repo_path: z.optional(z.string()),
  branch: z.optional(z.string()),
  status: z._default(z.string(), 'active'),
});

/** workspace.json. */
export type Workspace = z.infer<typeof workspaceSchema>;

/** workspaces/: which repository a workspace belongs to, and which tasks it has. */
export class WorkspaceStore {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'clock' | 'ids'>) {}

  /** Names of all workspaces, sorted. Entries that can't be one are left out. */
  names(): string[] {
    return this.entries(this.ports.paths.workspaces).filter((name) => checkWorkspaceName(name).ok);
  }

  /** Ids of all tasks of a workspace, sorted, finished ones included. Reads no task. */
  taskIds(workspace: string): string[] {
    return this.entries(this.ports.paths.tasks(workspace)).filter((id) => checkTaskId(id).ok);
  }

  /** The tasks that have a marker, that is, are not finished as far as the markers know. */
  marked(): TaskRef[] {
    const { paths } = this.ports;
    return this.entries(paths.open).flatMap((name) => {
      const ref = paths.refOfMarker(name);
      return ref === undefined ? [] : [ref];
    });
  }

  private entries(folder: string): string[] {
    try {
      return this.ports.files.list(folder).sort();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /** workspace.json of a workspace, leniently. */
  read(name: string): Result<Workspace> {
    const path = join(this.ports.paths.workspace(name), 'workspace.json');
    const bytes = readStateFile(this.ports.files, path);
    if (!bytes.ok) return bytes;
    const parsed = workspaceSchema.safeParse(jsonOf(Buffer.from(bytes.value).toString('utf8')));
    if (parsed.success) return ok(parsed.data);
    return fail('damaged', `${path} is damaged.`, {
      hint: 'Fix it by hand or move it away. The tasks are kept.',
    });
  }

  /** The workspace of a repository (or folder), if there is one. `path` is a real path. */
  find(path: string): string | undefined {
    const candidates = this.candidates(path);
    return candidates.find((name) => this.belongs(name, path)) ?? this.names().find((name) => this.belongs(name, path));
  }

  /** The workspace of a repository, made if there is none. */
  ensure(path: string, branch: string | undefined): Result<string> {
    const found = this.find(path);
    if (found !== undefined) return ok(found);
    try {
      // Another process may take a name, or make this very workspace, at the same time.
      for (const name of this.candidates(path)) {
        if (!this.isTaken(name)) this.make(name, path, branch);
        if (this.belongs(name, path)) return ok(name);
      }
      return fail('write_failed', `No free name was found for the workspace of ${path}.`);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `The workspace of ${path} could not be created`, error) };
    }
  }

  private candidates(path: string): [string, string] {
    const name = workspaceNameFrom(basename(path));
    return [name, `${name}-${sha256(path).slice(0, 6)}`];
  }

  private belongs(name: string, path: string): boolean {
    const workspace = this.read(name);
    return workspace.ok && workspace.value.repo_path === path;
  }

  /** A folder that a crash left before workspace.json was written belongs to nobody yet. */
  private isTaken(name: string): boolean {
    const folder = this.ports.paths.workspace(name);
    if (this.ports.files.stat(folder) === undefined) return false;
    return this.entries(folder).some((entry) => !entry.endsWith('.tmp'));
  }

  private make(name: string, path: string, branch: string | undefined): void {
    const { files, ids, paths, clock } = this.ports;
    ensureFolder(files, paths.workspace(name));
    const now = toTimestamp(clock.now());
    const workspace = {
      name,
      repo_path: path,
      ...(branch === undefined ? {} : { branch }),
      status: 'active',
      created_at: now,
      updated_at: now,
      schema_version: SCHEMA_VERSION,
    };
    createFile(files, ids, join(paths.workspace(name), 'workspace.json'), `${JSON.stringify(workspace, null, 2)}\n`);
  }

  /** Makes the folder of a new task and writes its task.json; the id is the first that is free. */
  addTask(workspace: string, make: (id: string) => Task): Result<TaskRef> {
    const { files, ids, paths, clock } = this.ports;
    try {
      ensureFolder(files, paths.tasks(workspace));
      const id = this.reserve(workspace, clock.now());
      const ref: TaskRef = { workspace, id };
      files.makeFolder(paths.artifacts(ref));
      replaceFile(files, ids, paths.taskFile(ref), serializeTask(make(id)), { durable: true });
      files.syncFolder(paths.tasks(workspace));
      return ok(ref);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', 'The task could not be created', error) };
    }
  }

  private reserve(workspace: string, now: number): string {
    for (let collision = 1; ; collision += 1) {
      const id = taskIdAt(now, collision);
      try {
        this.ports.files.makeFolder(this.ports.paths.task({ workspace, id }));
        return id;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
  }
}
