import { isInFlight } from '../../core/task/taskRecord';
import type { TaskRef } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import type { Atlas } from '../atlas';
import { orWarn } from '../../system/orWarn';

/** How often a step that began or ended is looked for, in ms. */
const FOLLOW_MS = 500;
/** How often a due interval checkpoint is looked for, in ms. */
const TICK_MS = 10_000;
/** How often this process says that it lives, in ms. */
const HEARTBEAT_MS = 60_000;
/** No step is this one: whoever is bound to it is seen to be there, and its death is the death of no attempt. */
const BEFORE_ANY_STEP = { stepIndex: -1, attempt: 0 } as const;

/** How an agent's process ended. */
export interface AgentExit {
  readonly code?: number;
  readonly signal?: string;
}

/** What an agent's end meant for its task. */
export type AgentEnd = 'nothing_open' | 'crashed' | 'human_asked';

/**
 * Asks a human about a step whose agent was ended by its user, or ended by itself while it ran: says what now. Returns
 * the task after it; `undefined` where the step has gone on meanwhile.
 */
export async function askAfterAgent(
  atlas: Pick<Atlas, 'send' | 'owners' | 'ports'>,
  { ref, hook }: StoredTask,
  exitCode: number,
): Promise<StoredTask | undefined> {
  const step = hook.current_step;
  const message = `The agent exited (exit code ${exitCode}) while step "${step?.step_name ?? ''}" was running.`;
  const expect = step === undefined ? {} : { step: step.step_name, attempt: step.attempt };
  const sent = await atlas.send(ref, { type: 'human_required', kind: 'interrupted', message, expect });
  if (!sent.ok) return undefined;
  forgetEnded(atlas, ref);
  return sent.value;
}

/** What is recorded in the hook need not be found again in the owners' files. */
function forgetEnded({ owners, ports }: Pick<Atlas, 'owners' | 'ports'>, ref: TaskRef): void {
  orWarn(ports.log, "The agent's owner file could not be removed.", () => owners.removeDead(ref));
}

/**
 * A process that lives as long as its agent: it owns the step that is under way, whichever that is, and makes the
 * interval checkpoints where no window does.
 */
export class AgentPresence {
  private readonly timers: NodeJS.Timeout[] = [];
  private bound = '';

  constructor(
    private readonly atlas: Atlas,
    private readonly ref: TaskRef,
  ) {}

  /** Whether another process owns the task as its agent. */
  isTaken(): boolean {
    const own = this.atlas.ports.processes.self().incarnation;
    return this.atlas.owners
      .list(this.ref)
      .some(
        ({ file, vitality }) =>
          file.kind === 'agent' &&
          file.signed_off_at === undefined &&
          file.process.incarnation !== own &&
          vitality === 'alive',
      );
  }

  /**
   * Begins to own the task and goes on until {@link end}.
   * @param intervalMs the setting `checkpoint_interval`
   */
  start(intervalMs: number): void {
    this.follow();
    this.timers.push(
      setInterval(() => this.follow(), FOLLOW_MS),
      setInterval(() => void this.tick(), Math.min(TICK_MS, Math.max(FOLLOW_MS, intervalMs))),
      setInterval(() => this.safely(() => this.atlas.owners.touch(this.ref, 'agent')), HEARTBEAT_MS),
    );
  }

  /** Binds this process to the step and attempt that run now; until one does, it is only seen to be there. */
  private follow(): void {
    this.safely(() => {
      const read = this.atlas.catalog.read(this.ref);
      if (!read.ok) return;
      const { state, current_step: step } = read.value.hook;
      if (!isInFlight(state) && this.bound !== '') return;
      const running = step === undefined ? undefined : { stepIndex: step.step_index, attempt: step.attempt };
      const bound = isInFlight(state) ? running : BEFORE_ANY_STEP;
      const key = JSON.stringify(bound ?? {});
      if (key === this.bound) return;
      this.atlas.owners.adopt(this.ref, 'agent', bound);
      this.bound = key;
    });
  }

  private async tick(): Promise<void> {
    const window = this.atlas.owners
      .list(this.ref)
      .some(({ file, vitality }) => file.kind === 'window' && file.signed_off_at === undefined && vitality === 'alive');
    if (window) return;
    const made = await this.atlas.intervalCheckpoint(this.ref);
    if (!made.ok) this.atlas.ports.log.warn('The interval checkpoint failed.', { error: made.error.message });
  }

  /** Takes back what {@link start} recorded, where no agent could be started: nobody was at work. */
  withdraw(): void {
    this.stop();
    this.safely(() => this.atlas.owners.withdraw(this.ref));
  }

  private stop(): void {
    for (const timer of this.timers) clearInterval(timer);
  }

  /** Records how the agent ended, and what that means for the step that it left. */
  async end(exit: AgentExit): Promise<{ readonly meant: AgentEnd; readonly task: StoredTask | undefined }> {
    this.stop();
    this.follow();
    if (this.bound !== '') this.safely(() => this.atlas.owners.signOff(this.ref, exit));
    const read = this.atlas.catalog.read(this.ref);
    if (!read.ok) return { meant: 'nothing_open', task: undefined };
    const diagnosis = await this.atlas.recovery.diagnose(read.value);
    if (diagnosis.kind === 'crashed') {
      const detected = await this.atlas.recovery.detect(read.value);
      return { meant: 'crashed', task: detected.ok ? detected.value.task : read.value };
    }
    if (diagnosis.kind === 'agent_left') return this.askHuman(read.value, diagnosis.exitCode);
    forgetEnded(this.atlas, this.ref);
    return { meant: 'nothing_open', task: read.value };
  }

  private async askHuman(task: StoredTask, exitCode: number): Promise<{ meant: AgentEnd; task: StoredTask }> {
    const asked = await askAfterAgent(this.atlas, task, exitCode);
    return { meant: 'human_asked', task: asked ?? task };
  }

  /** A disk that is full must not end the agent. */
  private safely(write: () => void): void {
    orWarn(this.atlas.ports.log, "The agent's owner file could not be written.", write);
  }
}
