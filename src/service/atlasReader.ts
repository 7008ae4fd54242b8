import { type AtlasError, type Result, ok } from '../core/shared/errors';
import { isInFlight } from '../core/task/taskRecord';
import { type Diagnosis, diagnose } from '../core/recovery/liveness';
import type { Repository } from '../core/shared/ports';
import { toTimestamp } from '../core/shared/time';
import { HookReader } from '../store/task/taskReader';
import type { HookStore } from '../store/task/taskStore';
import { OwnerStore } from '../store/sessions/owners';
import type { TaskRef } from '../core/task/taskRef';
import type { StoredTask } from '../core/task/storedTask';
import { WorkspaceStore } from '../store/workspace/workspaces';
import { Catalog } from './tasks/catalog';
import { ConfigSource } from './tasks/configSource';
import { GitCheckpoints } from './checkpoints/gitCheckpoints';
import type { GitHooks } from './git/gitHooks';
import type { Inbox } from './inbox/inbox';
import type { ServicePorts } from './ports';
import type { ReceiptService } from './receipts/receiptService';
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
 * changes tasks is several times larger and is loaded when it is first needed.
 */
export class AtlasReader {
  readonly owners: OwnerStore;
  readonly workspaces: WorkspaceStore;
  readonly catalog: Catalog;
  readonly configs: ConfigSource;
  readonly git: GitCheckpoints;
  private readonly lateReceipts: () => Promise<ReceiptService>;
  private readonly lateSpool: () => Promise<SpoolService>;
  private readonly lateInbox: () => Promise<Inbox>;

  /**
   * @param store where commits and pushes become checkpoints, once there are any
   * @param shared a reader of the same store whose caches are used too
   */
  constructor(
    readonly ports: ServicePorts,
    store: () => Promise<HookStore>,
    shared?: AtlasReader,
  ) {
    this.owners = shared?.owners ?? new OwnerStore(ports);
    this.workspaces = shared?.workspaces ?? new WorkspaceStore(ports);
    this.catalog = shared?.catalog ?? new Catalog(ports, new HookReader(ports), this.workspaces);
    this.configs = shared?.configs ?? new ConfigSource(ports);
    let receipts: Promise<ReceiptService> | undefined;
    this.lateReceipts =
      shared?.lateReceipts ??
      (async () =>
        (receipts ??= import('./receipts/receiptService').then(
          ({ ReceiptService }) => new ReceiptService(ports, this.configs),
        )));
    const send: HookStore['send'] = async (...event) => (await store()).send(...event);
    this.git = shared?.git ?? new GitCheckpoints(ports, send, this.catalog, this.workspaces, this.configs);
    let spool: Promise<SpoolService> | undefined;
    this.lateSpool =
      shared?.lateSpool ??
      (async () =>
        (spool ??= import('./git/spoolService').then(
          ({ SpoolService }) => new SpoolService(ports, this.git, this.workspaces),
        )));
    let inbox: Promise<Inbox> | undefined;
    this.lateInbox =
      shared?.lateInbox ?? (async () => (inbox ??= import('./inbox/inbox').then(({ Inbox }) => new Inbox(ports))));
  }

  /** What verifies receipts; loaded when the first one is looked at. */
  async receipts(): Promise<ReceiptService> {
    return this.lateReceipts();
  }

  /** What turns the events of git hooks into checkpoints. */
  async spool(): Promise<SpoolService> {
    return this.lateSpool();
  }

  /** What sessions are asked to do. */
  async inbox(): Promise<Inbox> {
    return this.lateInbox();
  }

  /** What installs git hooks. */
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

/** An error's text with what mends it. */
export function explain(error: AtlasError): string {
  return error.mend === undefined ? error.message : `${error.message} ${error.mend}`;
}
