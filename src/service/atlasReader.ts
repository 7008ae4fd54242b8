import { type Result, ok } from '../core/shared/errors';
import { isInFlight } from '../core/task/taskRecord';
import { type Diagnosis, diagnose } from '../core/recovery/liveness';
import type { Repository } from '../core/shared/ports';
import { lazy } from '../core/shared/lazy';
import { toTimestamp } from '../core/shared/time';
import { TaskReader } from '../store/task/taskReader';
import type { TaskStore } from '../store/task/taskStore';
import { OwnerStore } from '../store/sessions/owners';
import type { TaskRef } from '../core/task/taskRef';
import type { StoredTask } from '../core/task/storedTask';
import { WorkspaceStore } from '../store/workspace/workspaces';
import { Catalog } from './tasks/catalog';
import { ConfigSource } from './tasks/configSource';
import type { GitCheckpoints } from './checkpoints/gitCheckpoints';
import type { GitHooks } from './git/gitHooks';
import type { Inbox } from './inbox/inbox';
import type { ServicePorts } from './ports';
import type { ReceiptService } from './receipts/receiptService';
import type { FileRestores } from './snapshots/fileRestores';
import type { SpoolService } from './git/spoolService';

/** Where a folder's tasks belong. */
export interface Place {
  readonly workspace: string | undefined;
  readonly repository: Repository | undefined;
  /** Real path of the worktree, or of the folder where there is no repository. */
  readonly worktree: string;
}

/**
 * What can be said of a store without changing a task: all that a window needs until something happens. The part that
 * changes tasks is several times larger; `createAtlas` has it loaded when it is first needed.
 */
export class AtlasReader {
  readonly owners: OwnerStore;
  readonly workspaces: WorkspaceStore;
  readonly catalog: Catalog;
  readonly configs: ConfigSource;
  /** What verifies receipts; loaded when the first one is looked at. */
  readonly receipts: () => Promise<ReceiptService>;
  /** What turns commits and pushes into checkpoints. */
  readonly git: () => Promise<GitCheckpoints>;
  /** What turns the events of git hooks into checkpoints. */
  readonly spool: () => Promise<SpoolService>;
  /** The files of checkpoints: captured, compared and restored. */
  readonly snapshots: () => Promise<FileRestores>;
  /** What sessions are asked to do. */
  readonly inbox: () => Promise<Inbox>;

  /** @param store where commits and pushes become checkpoints; loaded when there are any */
  constructor(
    readonly ports: ServicePorts,
    store: () => Promise<TaskStore>,
  ) {
    this.owners = new OwnerStore(ports);
    this.workspaces = new WorkspaceStore(ports);
    this.catalog = new Catalog(ports, new TaskReader(ports), this.workspaces);
    this.configs = new ConfigSource(ports);
    this.receipts = lazy(async () => {
      const { ReceiptService } = await import('./receipts/receiptService');
      return new ReceiptService(ports, this.configs);
    });
    const send: TaskStore['send'] = async (...event) => (await store()).send(...event);
    this.git = lazy(async () => {
      const { GitCheckpoints } = await import('./checkpoints/gitCheckpoints');
      return new GitCheckpoints(ports, send, this.catalog, this.workspaces, this.configs);
    });
    this.spool = lazy(async () => {
      const { SpoolService } = await import('./git/spoolService');
      return new SpoolService(ports, await this.git(), this.workspaces);
    });
    this.snapshots = lazy(async () => {
      const { FileRestores } = await import('./snapshots/fileRestores');
      return new FileRestores(this, store);
    });
    this.inbox = lazy(async () => new (await import('./inbox/inbox')).Inbox(ports));
  }

  async gitHooks(): Promise<GitHooks> {
    const { GitHooks } = await import('./git/gitHooks');
    return new GitHooks(this.ports);
  }

  /** The repository and workspace of a folder. The workspace is absent until it has a task. */
  async locate(folder: string): Promise<Place> {
    const repository = await this.ports.git.locate(folder);
    const worktree = repository?.worktree ?? this.ports.files.realPath(folder);
    return { workspace: this.workspaces.find(repository?.main ?? worktree), repository, worktree };
  }

  /** How a task fares now. `otherSigns`: times (ms) at which the agent was seen at work. */
  diagnose({ ref, hook }: StoredTask, staleThresholdMs: number, otherSigns: readonly number[] = []): Diagnosis {
    const owners = isInFlight(hook.state) ? this.owners.list(ref) : [];
    return diagnose(hook, { now: this.ports.clock.now(), owners, staleThresholdMs, otherSigns });
  }

  /** Everything that is known of a task, as one JSON value. Holds no keys. */
  export(ref: TaskRef): Result<{ hook: unknown; task: unknown; exported_at: string }> {
    const read = this.catalog.read(ref);
    if (!read.ok) return read;
    return ok({
      exported_at: toTimestamp(this.ports.clock.now()),
      hook: read.value.hook,
      task: read.value.task,
    });
  }
}
