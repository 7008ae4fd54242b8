import { defined } from '../../core/shared/defined';
import { eventsOf } from '../../core/history/historyEvent';
import { isAbsolute } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Expected, TaskInput } from '../../core/transition/events';
import type { TaskRecord, ValidationReceipt } from '../../core/task/taskRecord';
import { derivationFor } from '../../core/receipt/keyPath';
import { POLICY_FILE, type PolicyCheck, type VerifyPolicy, checkOf } from '../../core/verify/policy';
import { possibleNow } from '../../core/transition/possible';
import { checkExpected } from '../../core/transition/transition';
import { whyRefused } from '../../core/transition/refusals';
import type { Repository } from '../../core/shared/ports';
import { type OutputStream, type ReceiptPlace, nextPlace } from '../../core/receipt/receipt';
import { type Task, commandsOf, worktreeOf } from '../../core/task/task';
import { alignTask } from '../../core/task/taskAlignment';
import { count, oneLine } from '../../core/shared/text';
import { FileKeyManager } from '../../signing/keyManager';
import type { TaskStore } from '../../store/task/taskStore';
import type { OwnerStore } from '../../store/sessions/owners';
import type { TaskRef } from '../../core/task/taskRef';
import { outputName } from '../../store/receipts/receiptFiles';
import type { StoredTask, Updated } from '../../core/task/storedTask';
import { TaskIndexes } from '../../store/task/taskIndexes';
import type { CommandOutcome } from '../../validation/commandRunner';
import { type MadeReceipt, ReceiptMaker } from '../../validation/receiptMaker';
import { repositoryOf } from '../checkpoints/worktreeState';
import { CommandTrust } from '../tasks/commandTrust';
import type { ConfigSource } from '../tasks/configSource';
import type { ServicePorts } from '../ports';
import type { AtlasReader } from '../atlasReader';
import type { EventSender } from '../tasks/eventSender';
import type { ReceiptService } from './receiptService';
import { orWarn } from '../../system/orWarn';

/** How often a running validation says that it lives, in ms. */
const HEARTBEAT_MS = 60_000;
/** Where a task keeps the index of its signing keys. */
const KEY_INDEX = 'receipt_key_index';

/** How a validation is run. */
export interface Validate {
  readonly expect?: Expected;
  /** Commands beside the declared ones; they decide the step only where none is declared. */
  readonly commands?: readonly string[];
  /** Names of checks of the repository's policy, run as it says; as `commands`. */
  readonly checks?: readonly string[];
  /** Goes on after a command that failed. */
  readonly keepGoing?: boolean;
  /** What the step came to, for the steps after it. */
  readonly summary?: string;
  readonly signal: AbortSignal;
  /** Who asks: a repository's own commands run for an agent only once a human allowed them. */
  readonly caller: 'human' | 'agent';
  readonly watch?: ValidationWatch;
}

/** What is told while a validation runs. */
export interface ValidationWatch {
  onCommand?(command: string, index: number, total: number, receiptId: string): void;
  readonly onOutput?: (stream: OutputStream, chunk: Uint8Array) => void;
  onReceipt?(receipt: ValidationReceipt, outcome: CommandOutcome): void;
}

/** How a validation ended. */
export interface Validated {
  readonly passed: boolean;
  /** Why not. */
  readonly reason: string | undefined;
  readonly receipts: readonly ValidationReceipt[];
  readonly task: Updated;
}

/** A command with what its receipt says of it. */
interface PlannedRun {
  readonly command: string;
  /** Relative to the worktree. */
  readonly folder: string;
  readonly check: string | undefined;
}

/** A validation that is about to run. */
interface Plan {
  readonly ref: TaskRef;
  readonly expect: Expected;
  readonly stepIndex: number;
  readonly declared: readonly string[];
  readonly commands: readonly PlannedRun[];
  readonly worktree: string;
  readonly repository: Repository | undefined;
  /** By which clones of the repository know each other; empty where that isn't known. */
  readonly roots: readonly string[];
  /** What the repository demands of a change: it names the checks that are run. */
  readonly policy: VerifyPolicy | undefined;
  readonly timeoutMs: number;
  readonly keys: FileKeyManager;
  readonly keyIndex: number;
}

/** What a command was reserved as. */
type Reserved = ReceiptPlace & { readonly receiptId: string };

type Ran = MadeReceipt;

/** Runs a step's validation commands itself, signs a receipt for each run, and moves the task on by what they prove. */
export class ValidationService {
  private readonly ports: ServicePorts;
  private readonly owners: OwnerStore;
  private readonly configs: ConfigSource;
  private readonly maker: ReceiptMaker;
  private readonly indexes: TaskIndexes;
  private readonly trust: CommandTrust;

  constructor(
    { ports, owners, configs }: Pick<AtlasReader, 'ports' | 'owners' | 'configs'>,
    private readonly store: TaskStore,
    private readonly events: EventSender,
    private readonly receipts: ReceiptService,
  ) {
    this.ports = ports;
    this.owners = owners;
    this.configs = configs;
    this.maker = new ReceiptMaker(ports, receipts.files);
    this.indexes = new TaskIndexes(ports);
    this.trust = new CommandTrust(ports);
  }

  /**
   * Validates the current step: submits its output if it still runs, runs the commands one after the other, and passes
   * or fails the step. A refusal before the first command has run nothing.
   */
  async run(ref: TaskRef, options: Validate): Promise<Result<Validated>> {
    const plan = await this.plan(ref, options);
    if (!plan.ok) return plan;
    const begun = await this.begin(plan.value, options);
    if (!begun.ok) return begun;
    const heartbeat = setInterval(() => this.touch(ref), HEARTBEAT_MS);
    try {
      return await this.runAll(plan.value, options);
    } finally {
      clearInterval(heartbeat);
      this.owners.endValidation(ref);
    }
  }

  /** A sign of life that can't be written (a full disk) must not end the process that gives it. */
  private touch(ref: TaskRef): void {
    const message = "The validation's owner file could not be written.";
    orWarn(this.ports.log, message, () => this.owners.touch(ref, 'validation'));
  }

  private async plan(ref: TaskRef, options: Validate): Promise<Result<Plan>> {
    const read = this.store.read(ref);
    if (!read.ok) return read;
    const { hook } = read.value;
    const task = alignTask(read.value.task, hook);
    const step = hook.current_step;
    const planned = step === undefined ? undefined : task.steps[step.step_index];
    const stale = checkExpected(hook, { type: 'validation_command', expect: options.expect });
    if (stale !== undefined) return stale;
    if (step === undefined || planned === undefined || !mayValidate(hook)) {
      return fail('illegal_transition', whyRefused(hook, 'validation_command'), {
        hint: possibleNow(hook, task, options.caller),
      });
    }
    const declared = commandsOf(planned);
    const extra = (options.commands ?? []).filter((command) => oneLine(command) !== '');
    const { config } = await this.configs.forTask(task);
    const checks = namedChecks(config.verify, options.checks ?? []);
    if (!checks.ok) return checks;
    const commands = plannedRuns(config.verify, [...declared, ...extra], checks.value);
    // A check is the repository's command, as a declared one is.
    const ofRepository = [...declared, ...checks.value.map(({ run }) => run)];
    const allowed = await this.checkCommands(task, commands, ofRepository, options.caller);
    if (!allowed.ok) return allowed;
    const worktree = worktreeOf(task);
    if (worktree === undefined || !isAbsolute(worktree)) {
      return fail('no_repository', 'The task does not record the folder it was started in.', {
        hint: 'Start a new task in the folder you work in.',
      });
    }
    const bound = { stepIndex: step.step_index, attempt: step.attempt };
    if (this.owners.isValidated(ref, bound)) {
      return fail('illegal_transition', 'This step is already being validated.', {
        hint: 'Wait for that run to end, or cancel it where it was started.',
      });
    }
    return this.withKeys(
      task,
      { ref, stepIndex: step.step_index, declared, commands, worktree },
      {
        step: step.step_name,
        attempt: step.attempt,
      },
    );
  }

  private async checkCommands(
    task: Task,
    commands: readonly PlannedRun[],
    declared: readonly string[],
    caller: Validate['caller'],
  ): Promise<Result<void>> {
    if (commands.length === 0) {
      return fail('usage', 'The step declares no checks, and no command was given.', {
        hint: 'Name the command that checks the work.',
      });
    }
    if (caller === 'human') {
      await this.trust.allow(task, declared);
      return ok(undefined);
    }
    const unknown = await this.trust.unknown(task, declared);
    if (unknown.length === 0) return ok(undefined);
    return fail('human_only', `A human hasn't allowed ${count(unknown.length, 'command')} of this repository yet.`, {
      hint: 'Ask the human to run "Atlas: Run Validation" or "atlas validate" once to allow the same commands.',
    });
  }

  /** Keys come first: a run whose receipt can't be signed would be for nothing. */
  private async withKeys(
    task: Task,
    plan: Pick<Plan, 'ref' | 'stepIndex' | 'declared' | 'commands' | 'worktree'>,
    expect: Expected,
  ): Promise<Result<Plan>> {
    const { config } = await this.configs.forTask(task);
    const repository = await repositoryOf(this.ports, task);
    const { rootsOf } = await import('../../git/read/roots');
    const roots = repository === undefined ? [] : await rootsOf(repository);
    const settings = { scheme: config.signing.scheme, derivation: derivationFor(config.keyDerivation, roots) };
    const keys = new FileKeyManager(this.receipts.keys, settings, this.ports.log, this.receipts.curve);
    const loaded = await keys.load();
    if (!loaded.ok) return loaded;
    const known = task.metadata[KEY_INDEX];
    const index =
      typeof known === 'number' && Number.isInteger(known) && known >= 0 ? ok(known) : await this.indexes.next();
    if (!index.ok) return index;
    const { timeoutMs } = config.validation;
    return ok({ ...plan, expect, repository, roots, policy: config.verify, timeoutMs, keys, keyIndex: index.value });
  }

  /** Submits a running step's work, and says that this process validates. */
  private async begin({ ref, expect, stepIndex }: Plan, { summary }: Validate): Promise<Result<void>> {
    const { config } = await this.configs.forWorktree(undefined);
    const submitted = await this.store.update(
      ref,
      ({ hook }) =>
        ok(hook.state === 'step_running' ? { type: 'step_output', expect, ...defined({ summary }) } : undefined),
      { config },
    );
    if (!submitted.ok) return submitted;
    const folder = this.receipts.files.makeOutputFolder(ref);
    if (!folder.ok) return folder;
    this.owners.adopt(ref, 'validation', { stepIndex, attempt: expect.attempt ?? 1 });
    return ok(undefined);
  }

  private async runAll(plan: Plan, options: Validate): Promise<Result<Validated>> {
    const ran: Ran[] = [];
    let failed: Ran | undefined;
    for (const [index, planned] of plan.commands.entries()) {
      const one = await this.runOne(plan, planned, index, options);
      if (!one.ok) return one;
      ran.push(one.value);
      const decides = plan.declared.length === 0 || index < plan.declared.length;
      if (one.value.receipt.exit_code === 0 || !decides) continue;
      failed ??= one.value;
      if (options.keepGoing !== true || one.value.outcome.ended === 'cancelled') break;
    }
    return this.decide(plan, ran, failed, options);
  }

  private async decide(
    { ref, expect }: Plan,
    ran: readonly Ran[],
    failed: Ran | undefined,
    { summary }: Validate,
  ): Promise<Result<Validated>> {
    const receipts = ran.map(({ receipt }) => receipt);
    if (failed !== undefined) {
      const reason = reasonOf(failed);
      const input: TaskInput = { type: 'validate_fail', expect, reason, receiptId: failed.receipt.receipt_id };
      const sent = await this.events.send(ref, input);
      return sent.ok ? ok({ passed: false, reason, receipts, task: sent.value }) : sent;
    }
    const read = this.store.read(ref);
    if (!read.ok) return read;
    const proven = await this.receipts.proven(read.value, { current: false });
    if (!proven.ok) return proven;
    const sent = await this.events.send(
      ref,
      { type: 'validate_pass', expect, ...defined({ summary }) },
      { proven: proven.value },
    );
    return sent.ok ? ok({ passed: true, reason: undefined, receipts, task: sent.value }) : sent;
  }

  private async runOne(plan: Plan, planned: PlannedRun, index: number, options: Validate): Promise<Result<Ran>> {
    const { command } = planned;
    const before = await this.maker.lookAt(plan);
    const reserved = await this.reserve(plan, command);
    if (!reserved.ok) return reserved;
    const signer = await plan.keys.newSigner({ task: plan.keyIndex, receipt: reserved.value.index });
    if (!signer.ok) return signer;
    options.watch?.onCommand?.(command, index, plan.commands.length, reserved.value.receiptId);
    const { step = '', attempt = 1 } = plan.expect;
    const place = { ...plan, ...planned, stepName: step, attempt, ...reserved.value };
    const made = await this.maker.make(place, before, signer.value, options.signal, options.watch?.onOutput);
    if (!made.ok) return made;
    const { receipt, envelopeSha256 } = made.value;
    const sent = await this.events.send(plan.ref, { type: 'receipt', expect: plan.expect, receipt, envelopeSha256 });
    if (!sent.ok) return sent;
    options.watch?.onReceipt?.(receipt, made.value.outcome);
    return made;
  }

  /** Reserves receipt id, key and place in the chain under the lock, so that signing needs none. */
  private async reserve(plan: Plan, command: string): Promise<Result<Reserved>> {
    const { config } = await this.configs.forWorktree(undefined);
    let reserved: Reserved | undefined;
    const sent = await this.store.update(
      plan.ref,
      (stored) => {
        reserved = { ...nextPlace(stored.hook), receiptId: this.freshId(stored) };
        const log = outputName(reserved.receiptId, 'stdout');
        return ok({ type: 'validation_command', expect: plan.expect, command, log, ...reserved });
      },
      { config, metadata: { [KEY_INDEX]: plan.keyIndex } },
    );
    if (!sent.ok) return sent;
    return reserved === undefined ? fail('write_failed', 'The receipt could not be reserved.') : ok(reserved);
  }

  private freshId({ hook }: StoredTask): string {
    const used = new Set([
      ...hook.receipts.map((receipt) => receipt.receipt_id),
      ...eventsOf(hook.history, 'validation_command', 'receipt').map(({ details }) => details.receipt_id),
    ]);
    for (;;) {
      const id = `rcpt-${this.ports.ids.hex(4)}`;
      if (!used.has(id)) return id;
    }
  }
}

/** Checks of the policy by their names; fails with `not_found`. */
function namedChecks(policy: VerifyPolicy | undefined, names: readonly string[]): Result<PolicyCheck[]> {
  const checks: PolicyCheck[] = [];
  for (const name of new Set(names)) {
    const check = policy?.checks.find((each) => each.name === name);
    if (check === undefined) {
      const known = (policy?.checks ?? []).map((each) => each.name).join(', ');
      return fail('not_found', `This repository has no check "${oneLine(name, 64)}".`, {
        hint: known === '' ? `Checks are declared in ${POLICY_FILE}, below "verify:".` : `Its checks: ${known}.`,
      });
    }
    checks.push(check);
  }
  return ok(checks);
}

/** Commands at the top of the worktree, then checks where the policy has them, each run once. */
function plannedRuns(
  policy: VerifyPolicy | undefined,
  commands: readonly string[],
  checks: readonly PolicyCheck[],
): PlannedRun[] {
  const runs = commands.map((command) => ({ command, folder: '.', check: checkOf(policy, command, '.')?.name }));
  const others = checks.filter(({ name }) => !runs.some(({ check }) => check === name));
  return [...runs, ...others.map(({ name, run, cwd }) => ({ command: run, folder: cwd, check: name }))];
}

function mayValidate({ state }: TaskRecord): boolean {
  return state === 'step_running' || state === 'step_validating';
}

/** Why a step failed, for people. */
function reasonOf({ receipt, outcome }: Ran): string {
  const command = `"${oneLine(receipt.command)}"`;
  switch (outcome.ended) {
    case 'timeout':
      return `${command} was stopped after ${receipt.duration}: it exceeded validation.timeout.`;
    case 'cancelled':
      return `${command} was cancelled after ${receipt.duration}.`;
    case 'signal':
      return `${command} was killed by ${outcome.signal ?? 'a signal'} (exit code ${receipt.exit_code}).`;
    case 'not_started':
      return `${command} could not be started: ${outcome.problem ?? 'unknown error'}.`;
    case 'exit':
      return `${command} exited with code ${receipt.exit_code}.`;
  }
}
