import { DEFAULT_CONFIG, type HookConfig } from '../../src/core/config';
import type { Capture } from '../../src/core/checkpoint';
import { type Result, unwrap } from '../../src/core/errors';
import type { HookInput, Transitioned } from '../../src/core/events';
import type { Hook, HookState, RecoveryContext, ValidationReceipt } from '../../src/core/hook';
import type { HookEventType } from '../../src/core/lifecycle';
import { type Task, createTask } from '../../src/core/task';
import type { TemplateStep } from '../../src/core/template';
import { toTimestamp } from '../../src/core/time';
import { transition } from '../../src/core/transition';
import { stepOf } from './drivenHook';

/** When the hooks of these tests begin, in ms. */
export const START = Date.UTC(2026, 2, 1, 12, 0, 0);
/** A minute in ms. */
export const MINUTE = 60_000;

/** A task of these steps. */
export function taskOf(steps: readonly TemplateStep[], config: HookConfig = DEFAULT_CONFIG): Task {
  return createTask({
    id: 'task-20260301-120000',
    workspaceId: 'sample',
    description: 'Sample task',
    template: { id: 'sample', aliases: [], description: '', steps, source: 'project' },
    config,
    worktree: '/home/dev/sample',
    branch: 'main',
    now: toTimestamp(START),
  });
}

/** What a {@link Driver} may be told beside the event. */
export interface SendOptions {
  readonly now?: number;
  readonly capture?: Capture;
  readonly proven?: readonly string[];
}

/** A hook that is driven by events, one minute apart; refusals come back and change nothing. */
export class Driver {
  hook: Hook | undefined;
  now = START;
  private ids = 0;

  constructor(
    readonly task: Task,
    readonly config: HookConfig = DEFAULT_CONFIG,
  ) {}

  /** The hook; throws before `init`. */
  get current(): Hook {
    if (this.hook === undefined) throw new Error('no hook yet');
    return this.hook;
  }

  /** Tries an event without keeping its result. */
  attempt(input: HookInput, options: SendOptions = {}): Result<Transitioned> {
    const id = (): string => `ckpt-${(this.ids += 1).toString(16).padStart(8, '0')}`;
    // Tests of what an agent may not do say that it is one.
    return transition(
      this.hook,
      { by: 'human', ...input },
      {
        now: toTimestamp(options.now ?? this.now),
        task: this.task,
        config: this.config,
        checkpointIds: [id(), id()],
        ...(options.capture === undefined ? {} : { capture: options.capture }),
        ...(options.proven === undefined ? {} : { provenReceipts: new Set(options.proven) }),
      },
    );
  }

  /** Sends an event and keeps what it makes; a refusal comes back and changes nothing. */
  try(input: HookInput, options: SendOptions = {}): Result<Transitioned> {
    this.now = options.now ?? this.now + MINUTE;
    const result = this.attempt(input, options);
    if (result.ok) this.hook = result.value.hook;
    return result;
  }

  /** Sends events that have to be legal. */
  send(...inputs: readonly HookInput[]): this {
    for (const input of inputs) unwrap(this.try(input));
    return this;
  }

  /** The state that an earlier version, or another writer, left the current step in. */
  leftIn(state: HookState): this {
    this.hook = { ...this.current, state };
    return this;
  }

  /** Reserves a receipt and adds it. */
  receipt(receipt: ValidationReceipt): this {
    return this.send(reserveOf(receipt.receipt_id, receipt.command), receiptInput(receipt));
  }

  /** Sends one event that has to be legal, with options. */
  with(options: SendOptions, input: HookInput): this {
    unwrap(this.try(input, options));
    return this;
  }
}

/** A recovery context that names the state it was found in. */
export function recoveryOf(hook: Hook | undefined, more: Partial<RecoveryContext> = {}): RecoveryContext {
  return {
    detected_at: toTimestamp(START),
    crash_type: 'signal',
    last_known_state: hook?.state ?? 'step_running',
    was_validating: hook?.state === 'step_validating',
    recommended_action: 'retry_step',
    reason: 'for the test',
    details: { cause: 'agent_killed' },
    ...more,
  };
}

/** A receipt of a hook's current attempt. */
export function receiptOf(hook: Hook, id: string, command = 'npm test', exitCode = 0): ValidationReceipt {
  return {
    receipt_id: id,
    step_name: hook.current_step?.step_name ?? '',
    attempt: hook.current_step?.attempt ?? 0,
    command,
    exit_code: exitCode,
    started_at: toTimestamp(START),
    completed_at: toTimestamp(START + 1000),
    duration: '1s',
    stdout_hash: 'a'.repeat(64),
    stderr_hash: 'b'.repeat(64),
    signature: '30',
  };
}

/** What reserves a receipt. */
export function reserveOf(receiptId: string, command = 'npm test'): HookInput {
  const link = { sequence: 1, previous: null };
  return { type: 'validation_command', command, log: 'validation/1.log', receiptId, index: 0, link };
}

/** What adds a receipt. */
export function receiptInput(receipt: ValidationReceipt): HookInput {
  return { type: 'receipt', receipt, envelopeSha256: 'c'.repeat(64) };
}

/** One example of each event, legal where its state is. */
export function inputOf(type: HookEventType, hook: Hook | undefined): HookInput {
  switch (type) {
    case 'checkpoint':
      return { type, trigger: 'manual', description: 'by hand' };
    case 'validation_command':
      return reserveOf('rcpt-new');
    case 'receipt':
      return receiptInput(receiptOf(hook ?? ({} as Hook), 'rcpt-new'));
    case 'validate_fail':
      return { type, reason: 'npm test ended with 1' };
    case 'human_required':
      return { type, kind: 'question', message: 'Which one?' };
    case 'crash_detected':
      return { type, recovery: recoveryOf(hook) };
    case 'init':
    case 'setup_complete':
    case 'start_step':
    case 'note':
    case 'step_output':
    case 'step_complete':
    case 'validate_pass':
    case 'human_approve':
    case 'human_reject':
    case 'human_resume':
    case 'retry_step':
    case 'retry_from_checkpoint':
    case 'retry_validation':
    case 'skip_step':
    case 'manual_required':
    case 'finish':
    case 'acknowledge':
    case 'fail':
    case 'abandon':
      return { type };
  }
}

/**
 * A task of two `ai` steps that was driven into a state by the shortest way; in `step_validating`, receipt
 * `rcpt-proven` is there and `rcpt-new` is reserved.
 */
export function drivenTo(state: HookState | 'none'): Driver {
  const driver = new Driver(taskOf([stepOf('first', 'ai'), stepOf('second', 'ai')]));
  if (state === 'none') return driver;
  driver.send({ type: 'init' });
  if (state === 'initializing') return driver;
  driver.send({ type: 'setup_complete' });
  if (state === 'step_pending') return driver;
  driver.send({ type: 'start_step' });
  switch (state) {
    case 'step_running':
      return driver;
    case 'step_validating':
      driver.send({ type: 'step_output', output: 'done' });
      return driver.receipt(receiptOf(driver.current, 'rcpt-proven')).send(reserveOf('rcpt-new'));
    case 'awaiting_human':
      return driver.send({ type: 'human_required', kind: 'review' });
    case 'recovering':
      return driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current) });
    case 'completed':
      return driver.send({ type: 'step_complete' }, { type: 'start_step' }, { type: 'step_complete' });
    case 'failed':
      return driver.send({ type: 'fail', by: 'human' });
    case 'abandoned':
      return driver.send({ type: 'abandon', by: 'human' });
  }
}

/** Freezes a value and all below it, so that whoever changes it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
