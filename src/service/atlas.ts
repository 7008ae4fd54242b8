import { defined } from '../core/shared/defined';
import { isTerminal } from '../core/task/taskRecord';
import type { CheckpointTrigger } from '../core/task/taskRecord';
import { type Result, fail, ok } from '../core/shared/errors';
import type { Caller, Expected, InputOf, TaskInput } from '../core/transition/events';
import type { Diagnosis } from '../core/recovery/liveness';
import { lazy } from '../core/shared/lazy';
import type { WorktreeState } from '../core/task/worktreeState';
import { createTask, declaredCommands } from '../core/task/task';
import { findTemplate, unknownTemplate } from '../core/task/templates/templates';
import { oneLine } from '../core/shared/text';
import { toMs, toTimestamp } from '../core/shared/time';
import { readStateFile } from '../store/task/recordFile';
import { TaskStore } from '../store/task/taskStore';
import type { TaskRef } from '../core/task/taskRef';
import type { StoredTask, Updated } from '../core/task/storedTask';
import { AtlasReader, type Place } from './atlasReader';
import type { GitHooks } from './git/gitHooks';
import { PATIENT_STATUS_MS, capture } from './checkpoints/capture';
import {
  LOOK_MS,
  lastCheckpointCommit,
  observeWorktree,
  repositoryOf,
  showsTheSame,
  worktreeNow,
} from './checkpoints/worktreeState';
import { brokenTemplate, configIssues, refuseIssues } from './tasks/configIssues';
import { CleanupService } from './tasks/cleanupService';
import type { ServicePorts } from './ports';
import { EventSender, type Sending } from './tasks/eventSender';
import { MarkdownWriter } from './tasks/markdownWriter';
import { type RecoveryChoice, RecoveryService } from './recovery/recoveryService';
import type { Validate, Validated, ValidationService } from './receipts/validationService';

/** What a new task needs. `folder` is any folder of the repository, or one without a repository. */
export interface StartTask {
  readonly title: string;
  readonly template: string;
  readonly folder: string;
  /** Starts it although the configuration has mistakes; what can't be used is left out. A human's choice. */
  readonly ignoreConfig?: boolean;
}

const MAX_TITLE = 500;

/** The use cases: everything that the command and the extension may call. One instance per process and store. */
export class Atlas {
  readonly store: TaskStore;
  readonly recovery: RecoveryService;
  readonly cleanup: CleanupService;
  readonly owners: AtlasReader['owners'];
  readonly workspaces: AtlasReader['workspaces'];
  readonly catalog: AtlasReader['catalog'];
  readonly configs: AtlasReader['configs'];
  readonly git: AtlasReader['git'];
  readonly receipts: AtlasReader['receipts'];
  readonly spool: AtlasReader['spool'];
  readonly snapshots: AtlasReader['snapshots'];
  readonly inbox: AtlasReader['inbox'];
  private readonly markdown: MarkdownWriter;
  private readonly events: EventSender;
  private readonly validation: () => Promise<ValidationService>;

  constructor(
    readonly ports: ServicePorts,
    readonly reader: AtlasReader = new AtlasReader(ports, async () => Promise.resolve(this.store)),
  ) {
    ({ owners: this.owners, workspaces: this.workspaces, catalog: this.catalog, configs: this.configs } = reader);
    ({ git: this.git, receipts: this.receipts, spool: this.spool, inbox: this.inbox } = reader);
    this.snapshots = reader.snapshots;
    this.markdown = new MarkdownWriter(reader);
    this.store = new TaskStore({
      ...ports,
      render: this.markdown.render,
      prepare: async (ref, left) => {
        await this.markdown.prepare(ref, left);
        this.markdown.keep(ref);
      },
    });
    this.events = new EventSender(reader, this.store);
    this.recovery = new RecoveryService(reader, this.store);
    this.cleanup = new CleanupService(ports, this.store, this.catalog, this.workspaces);
    this.validation = lazy(async () => {
      const [{ ValidationService }, verifier] = await Promise.all([
        import('./receipts/validationService'),
        reader.receipts(),
      ]);
      return new ValidationService(reader, this.store, this.events, verifier);
    });
  }

  async locate(folder: string): Promise<Place> {
    return this.reader.locate(folder);
  }

  diagnose(...args: Parameters<AtlasReader['diagnose']>): Diagnosis {
    return this.reader.diagnose(...args);
  }

  export(ref: TaskRef): ReturnType<AtlasReader['export']> {
    return this.reader.export(ref);
  }

  async gitHooks(): Promise<GitHooks> {
    return this.reader.gitHooks();
  }

  /** Starts a task: its files, `init`, `setup_complete`. Mistakes in its configuration fail with `invalid_config`. */
  async startTask(start: StartTask): Promise<Result<Updated>> {
    const title = oneLine(start.title, MAX_TITLE);
    if (title === '') return fail('usage', 'The task has no title.', { hint: 'Describe what the agent should do.' });
    const place = await this.locate(start.folder);
    const loaded = await this.configs.templates(place.worktree);
    const template = findTemplate(start.template, loaded.templates);
    const broken = loaded.broken.get(start.template.trim().toLowerCase());
    if (start.ignoreConfig !== true) {
      const sound = refuseIssues(await configIssues(this.configs, place.worktree), place.worktree, broken);
      if (!sound.ok) return sound;
    }
    if (!template.ok) {
      if (broken !== undefined) return brokenTemplate(start.template, broken, place.worktree);
      return unknownTemplate(start.template, (await this.configs.templatesToOffer(place.worktree)).templates);
    }
    const { config } = await this.configs.forWorktree(place.worktree);
    const { branch, commit } = place.repository === undefined ? {} : this.ports.git.head(place.repository);
    const workspace = this.workspaces.ensure(place.repository?.main ?? place.worktree, branch);
    if (!workspace.ok) return workspace;
    // What was committed until now is not this task's.
    if (place.repository !== undefined) await (await this.git()).scan(place.repository);
    const ref = this.workspaces.addTask(workspace.value, (id) =>
      createTask({
        id,
        workspaceId: workspace.value,
        description: title,
        template: template.value,
        config,
        worktree: place.worktree,
        branch,
        commit,
        now: toTimestamp(this.ports.clock.now()),
      }),
    );
    if (!ref.ok) return ref;
    const created = await this.store.create(ref.value, { config });
    return created.ok ? this.store.send(ref.value, { type: 'setup_complete' }, { config }) : created;
  }

  /** Allows the commands that a task declares to be run for its agents; only after a human was shown all of each. */
  async allowCommands({ task }: StoredTask): Promise<void> {
    const { CommandTrust } = await import('./tasks/commandTrust');
    await new CommandTrust(this.ports).allow(task, declaredCommands(task));
  }

  /** Those of a task's commands, all that it declares unless some are named, that no human has allowed yet. */
  async unallowed({ task }: StoredTask, commands: readonly string[] = declaredCommands(task)): Promise<string[]> {
    const { CommandTrust } = await import('./tasks/commandTrust');
    return new CommandTrust(this.ports).unknown(task, commands);
  }

  /** Sends an event to a task, with what it records captured first. */
  async send(ref: TaskRef, input: TaskInput, sending: Sending = {}): Promise<Result<Updated>> {
    return this.events.send(ref, input, sending);
  }

  /** Runs the current step's validation commands; see {@link ValidationService.run}. */
  async validate(ref: TaskRef, options: Validate): Promise<Result<Validated>> {
    return (await this.validation()).run(ref, options);
  }

  /** Makes a checkpoint that somebody asked for; `next` is what they do after it. */
  async checkpoint(
    ref: TaskRef,
    description: string,
    options: { trigger?: CheckpointTrigger; expect?: Expected; next?: string } = {},
  ): Promise<Result<Updated>> {
    const text = oneLine(description) === '' ? 'Manual checkpoint' : description;
    const input = { type: 'checkpoint', trigger: 'manual', description: text, ...options } as const;
    return this.send(ref, input, { patient: true });
  }

  /** Starts the current step; a crashed task's plan is applied first. */
  async startStep(
    ref: TaskRef,
    options: { expect?: Expected; workingOn?: string; prompt?: string } = {},
  ): Promise<Result<Updated>> {
    const read = this.catalog.read(ref);
    if (read.ok && read.value.hook.state === 'recovering') {
      const recovered = await this.recovery.recover(read.value);
      if (!recovered.ok || recovered.value.hook.state !== 'step_pending') return recovered;
    }
    const repository = read.ok ? await repositoryOf(this.ports, read.value.task) : undefined;
    const status = repository === undefined ? undefined : await this.ports.git.status(repository, PATIENT_STATUS_MS);
    const dirtyBefore = (status?.files ?? []).slice(0, 200);
    const input = { type: 'start_step', ...options, ...(dirtyBefore.length === 0 ? {} : { dirtyBefore }) } as const;
    if (repository === undefined || !read.ok) return this.send(ref, input);
    const since = lastCheckpointCommit(read.value.hook);
    const worktree = await observeWorktree(this.ports, repository, since, status, LOOK_MS, true);
    return this.send(ref, input, { capture: { worktree } });
  }

  /**
   * Makes the interval checkpoint of a running step if it is due. Looked at under the lock, so that of several windows
   * one makes it.
   */
  async intervalCheckpoint(ref: TaskRef): Promise<Result<Updated>> {
    const read = this.catalog.read(ref);
    if (!read.ok) return read;
    const { config } = await this.configs.forTask(read.value.task);
    const due = (stored: StoredTask): boolean => this.intervalDue(stored, config.checkpointIntervalMs);
    if (!due(read.value)) return ok({ ...read.value, changed: false, findings: [] });
    const taken = await capture(this.ports, ref, read.value.hook, read.value.task);
    const at = toTimestamp(this.ports.clock.now());
    const input: TaskInput = {
      type: 'checkpoint',
      trigger: 'interval',
      description: `Periodic checkpoint at ${at.slice(11, 19)}`,
    };
    return this.store.update(ref, (stored) => ok(due(stored) ? input : undefined), { config, capture: taken });
  }

  /** Due an interval after the step's start or its last interval checkpoint. */
  private intervalDue({ hook }: StoredTask, intervalMs: number): boolean {
    const step = hook.current_step;
    if (hook.state !== 'step_running' || step?.started_at === undefined || intervalMs <= 0) return false;
    const last = hook.checkpoints.findLast(
      (item) => item.trigger === 'interval' && item.step_index === step.step_index,
    );
    const since = Math.max(toMs(step.started_at), last === undefined ? 0 : toMs(last.created_at));
    return this.ports.clock.now() - since >= intervalMs;
  }

  /** Continues a task: applies an interrupted one's plan, ends the wait of a waiting one where its caller may do that. */
  async resume(ref: TaskRef, by: Caller = 'agent'): Promise<Result<Updated>> {
    const read = this.catalog.read(ref);
    if (!read.ok) return read;
    if (read.value.hook.state === 'recovering') return this.recovery.recover(read.value, { by });
    return this.send(ref, { type: 'human_resume', by });
  }

  /**
   * Records that a session begins, or took the step over from another, and what the worktree shows then: whoever reads
   * HOOK.md after that reads what is.
   */
  async observe(
    { ref, hook }: StoredTask,
    looker: Omit<InputOf<'observe'>, 'type'>,
    worktree?: WorktreeState,
  ): Promise<Result<Updated>> {
    const isNew = worktree !== undefined && !showsTheSame(worktree, hook.worktree_state);
    return this.send(ref, { type: 'observe', ...looker }, isNew ? { capture: { worktree } } : {});
  }

  /**
   * HOOK.md's text as it would be now, with what is in the worktree since it was written. Writes nothing.
   * @param timeoutMs how long looking there may take; what can't be said in time is left out
   */
  async hookMarkdown(stored: StoredTask, timeoutMs = LOOK_MS): Promise<string> {
    const { ref, hook, task, seq } = stored;
    const worktree = isTerminal(hook.state) ? undefined : await worktreeNow(this.reader, stored, timeoutMs);
    await this.markdown.prepare(ref, stored);
    return this.markdown.renderNow({ ref, hook: { ...hook, ...defined({ worktree_state: worktree }) }, task, seq });
  }

  /** HOOK.md as it stands there; `undefined` where it can't be read. */
  writtenMarkdown(ref: TaskRef): string | undefined {
    const bytes = readStateFile(this.ports.files, this.ports.paths.markdown(ref));
    return bytes.ok ? Buffer.from(bytes.value).toString('utf8') : undefined;
  }

  /** Recovers a task by its plan, or by another action that a human chose. */
  async recover(ref: TaskRef, choice: RecoveryChoice = {}): Promise<Result<Updated>> {
    const read = this.catalog.read(ref);
    return read.ok ? this.recovery.recover(read.value, choice) : read;
  }

  /** Fixes what was interrupted and records foreign edits. */
  async reconcile(ref: TaskRef): Promise<Result<Updated>> {
    const { config } = await this.configs.forWorktree(undefined);
    const fixed = await this.store.reconcile(ref, { config });
    // What was fixed may have brought a receipt that nobody had looked at when HOOK.md was written.
    const again = fixed.ok && fixed.value.findings.length > 0 && fixed.value.hook.receipts.length > 0;
    if (again) await this.store.regenerate(ref, { config });
    return fixed;
  }

  /** Takes up a task that has no marker but isn't finished: its marker was lost, or it is damaged. */
  async reconcileLost(ref: TaskRef): Promise<Result<Updated>> {
    this.store.restoreMarker(ref);
    return this.reconcile(ref);
  }

  /** Writes HOOK.md again. */
  async regenerate(ref: TaskRef): Promise<Result<Updated>> {
    const { config } = await this.configs.forWorktree(undefined);
    return this.store.regenerate(ref, { config });
  }
}
