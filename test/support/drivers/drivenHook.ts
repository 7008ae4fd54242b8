import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskInput, TransitionContext } from '../../../src/core/transition/events';
import type { TaskRecord, RecoveryContext, ValidationReceipt } from '../../../src/core/task/taskRecord';
import { type Task, createTask } from '../../../src/core/task/task';
import type { StepType, TaskTemplate, TemplateStep } from '../../../src/core/task/templates/template';
import { toTimestamp } from '../../../src/core/shared/time';
import { transition } from '../../../src/core/transition/transition';

const START = Date.UTC(2026, 0, 17, 14, 30, 22);
const MINUTE = 60_000;

/** A step for {@link DrivenHook}. */
export function stepOf(name: string, type: StepType, validation: readonly string[] = []): TemplateStep {
  return { name, type, idempotent: type === 'validation', validation, maxAttempts: 3 };
}

/** A hook that got where it is through the real transitions, one minute apart. */
export class DrivenHook {
  hook: TaskRecord | undefined;
  readonly task: Task;
  #events = 0;

  constructor(steps: readonly TemplateStep[], description = 'Fix the null pointer in the config parser') {
    const template: TaskTemplate = { id: 'bugfix', aliases: [], description: '', steps, source: 'project' };
    this.task = createTask({
      id: 'task-20260117-143022',
      workspaceId: 'parser',
      description,
      template,
      config: DEFAULT_CONFIG,
      worktree: '/home/dev/parser',
      branch: 'fix/null-pointer',
      now: toTimestamp(START),
    });
    this.send({ type: 'init' }, { type: 'setup_complete' });
  }

  get now(): TaskRecord {
    if (this.hook === undefined) throw new Error('the hook has not begun');
    return this.hook;
  }

  /** Sends events; each must be legal. `provenReceipts` are all receipts that passed. */
  send(...inputs: readonly TaskInput[]): this {
    for (const input of inputs) {
      // Tests of what an agent may not do say that it is one.
      this.hook = unwrap(transition(this.hook, { by: 'human', ...input }, this.#context())).hook;
      this.#events += 1;
    }
    return this;
  }

  /** Runs a declared command with this exit code. */
  validated(command: string, exitCode: number, receiptId = `rcpt-${String(this.#events).padStart(3, '0')}`): this {
    const step = this.now.current_step;
    const at = this.#context().now;
    const receipt: ValidationReceipt = {
      receipt_id: receiptId,
      step_name: step?.step_name ?? '',
      ...(step === undefined ? {} : { attempt: step.attempt }),
      command,
      exit_code: exitCode,
      started_at: at,
      completed_at: at,
      duration: '12.3s',
      stdout_hash: 'a1b2c3d4'.repeat(8),
      stderr_hash: 'e3b0c442'.repeat(8),
      key_path: "m/44'/236'/0'/0/0",
      signature: '3044',
    };
    const link = { sequence: 1, previous: null };
    return this.send(
      { type: 'validation_command', command, log: `validation/${receiptId}.stdout`, receiptId, index: 0, link },
      { type: 'receipt', receipt, envelopeSha256: 'c'.repeat(64) },
    );
  }

  /** The state that an earlier version, or another writer, left the current step in. */
  leftIn(state: TaskRecord['state']): this {
    this.hook = { ...this.now, state };
    return this;
  }

  /** Starts and completes the current step. */
  completeStep(): this {
    return this.send({ type: 'start_step' }, { type: 'step_complete' });
  }

  /** Detects a crash with this plan. */
  crashed(action: string, more: Partial<RecoveryContext> = {}): this {
    const { state } = this.now;
    const recovery: RecoveryContext = {
      detected_at: this.#context().now,
      crash_type: 'signal',
      last_known_state: state,
      was_validating: state === 'step_validating',
      recommended_action: action,
      reason: 'The agent was killed while it worked.',
      details: { cause: 'agent_killed', last_sign_of_life: this.now.updated_at },
      ...more,
    };
    return this.send({ type: 'crash_detected', recovery });
  }

  #context(): TransitionContext {
    const hex = (n: number): string => n.toString(16).padStart(8, '0');
    const receipts = this.hook?.receipts ?? [];
    return {
      now: toTimestamp(START + this.#events * MINUTE),
      task: this.task,
      config: DEFAULT_CONFIG,
      checkpointIds: [`ckpt-${hex(this.#events * 2)}`, `ckpt-${hex(this.#events * 2 + 1)}`],
      capture: { git: { branch: 'fix/null-pointer', commit: '0123456789abcdef0123456789abcdef01234567', dirty: true } },
      provenReceipts: new Set(receipts.filter((item) => item.exit_code === 0).map((item) => item.receipt_id)),
    };
  }
}
