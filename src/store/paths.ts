import { join, sep } from 'node:path';
import { unwrap } from '../core/shared/errors';
import type { TaskRef } from '../core/task/taskRef';
import { checkTaskId, checkWorkspaceName } from '../core/shared/ids';
import { keptIn } from '../core/shared/keptIn';

/** Between workspace and task id in a marker's name; neither may contain it. */
const MARKER_SEPARATOR = '@';

/** Where everything lies below a root. Names are checked before they become part of a path. */
export class StorePaths {
  readonly workspaces: string;
  /** Paths of the workspaces' folders by name: they are asked for some thirty times for each task that is read. */
  private readonly folders = new Map<string, string>();

  constructor(readonly root: string) {
    this.workspaces = join(root, 'workspaces');
  }

  get config(): string {
    return join(this.root, 'config.yaml');
  }

  get keys(): string {
    return join(this.root, 'keys');
  }

  /** The files of checkpoints, in a database for each repository. */
  get snapshotDatabases(): string {
    return join(this.root, 'snapshots');
  }

  /** Digests of the commands that a human allowed. */
  get trust(): string {
    return join(this.root, 'trust.json');
  }

  /** One marker for each task that isn't finished, touched on every change: one watch tells of all. */
  get open(): string {
    return join(this.root, 'open');
  }

  /** One file for each event that a git hook saw. */
  get spool(): string {
    return join(this.root, 'spool');
  }

  /** What hooks run that another program manages. */
  get hookScript(): string {
    return join(this.spool, 'hook.sh');
  }

  marker(ref: TaskRef): string {
    this.task(ref);
    return join(this.open, `${ref.workspace}${MARKER_SEPARATOR}${ref.id}`);
  }

  /** The task that a marker's file name stands for; `undefined` for any other file. */
  refOfMarker(name: string): TaskRef | undefined {
    const [workspace = '', id = '', ...rest] = name.split(MARKER_SEPARATOR);
    const valid = rest.length === 0 && checkWorkspaceName(workspace).ok && checkTaskId(id).ok;
    return valid ? { workspace, id } : undefined;
  }

  workspace(name: string): string {
    return keptIn(this.folders, name, () => join(this.workspaces, unwrap(checkWorkspaceName(name))));
  }

  tasks(workspace: string): string {
    return `${this.workspace(workspace)}${sep}tasks`;
  }

  task(ref: TaskRef): string {
    return `${this.tasks(ref.workspace)}${sep}${unwrap(checkTaskId(ref.id))}`;
  }

  private inTask(name: string): (ref: TaskRef) => string {
    return (ref) => `${this.task(ref)}${sep}${name}`;
  }

  readonly hook = this.inTask('hook.json');
  readonly taskFile = this.inTask('task.json');
  readonly markdown = this.inTask('HOOK.md');
  readonly journal = this.inTask('journal.jsonl');
  readonly log = this.inTask('task.log');
  readonly locks = this.inTask('locks');
  readonly owners = this.inTask('owners');
  readonly artifacts = this.inTask('artifacts');
  /** Signed statements, one a receipt. */
  readonly receipts = this.inTask('receipts');
  /** Signatures of these that were found good. */
  readonly verified = this.inTask('verified');
  /** What is kept of the files of checkpoints, one file a checkpoint. */
  readonly snapshots = this.inTask('snapshots');

  /** What a workspace's sessions are asked to do, one file an item. */
  inbox(workspace: string): string {
    return join(this.workspace(workspace), 'inbox');
  }

  /** Git trees (no files' contents) of the states that receipts of a workspace cover. */
  trees(workspace: string): string {
    return join(this.workspace(workspace), 'trees');
  }
}

/** Where an artifact lies that a hook names relative to artifacts/. */
export function artifactPath(paths: StorePaths, ref: TaskRef, relative: string): string {
  return join(paths.artifacts(ref), relative);
}

/** Where a repository keeps its templates. */
export function templateFolder(worktree: string): string {
  return join(worktree, '.atlas', 'templates');
}
