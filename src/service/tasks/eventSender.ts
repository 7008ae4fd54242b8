import { defined } from '../../core/shared/defined';
import type { Capture } from '../../core/checkpoint/checkpoint';
import type { Result } from '../../core/shared/errors';
import type { TaskInput } from '../../core/transition/events';
import type { Updated } from '../../core/task/storedTask';
import type { TaskRef } from '../../core/task/taskRef';
import type { TaskStore } from '../../store/task/taskStore';
import type { AtlasReader } from '../atlasReader';
import { capture } from '../checkpoints/capture';

/** Events during which a step's files are looked at, since they make a checkpoint or end an attempt. */
const CAPTURING = new Set<TaskInput['type']>([
  'checkpoint',
  'step_complete',
  'validate_pass',
  'human_approve',
  'skip_step',
]);

/** How an event is sent. */
export interface Sending {
  /** Somebody asked for it and waits for git a while. */
  readonly patient?: boolean;
  /** Ids of the receipts that prove the step's checks. */
  readonly proven?: ReadonlySet<string> | undefined;
  /** What the event records, where its sender looked. */
  readonly capture?: Capture;
}

/** Sends events to tasks, with what they record captured first. */
export class EventSender {
  constructor(
    private readonly atlas: Pick<AtlasReader, 'ports' | 'catalog' | 'configs'>,
    private readonly store: TaskStore,
  ) {}

  async send(
    ref: TaskRef,
    input: TaskInput,
    { patient = false, proven, capture: given }: Sending = {},
  ): Promise<Result<Updated>> {
    const { ports, catalog, configs } = this.atlas;
    const read = catalog.read(ref);
    // A hook.json that is lost or corrupt can be fixed under the lock; there is only nothing to capture.
    const task = read.ok ? read.value : undefined;
    if (task !== undefined && input.type === 'step_complete' && input.nothingToDo === undefined) {
      const { missingResult } = await import('./gitStep');
      const missing = await missingResult(ports, task);
      if (missing !== undefined) return { ok: false, error: missing };
    }
    const loaded = task === undefined ? await configs.forWorktree(undefined) : await configs.forTask(task.task);
    const taken =
      task !== undefined && CAPTURING.has(input.type)
        ? await capture(ports, ref, task.hook, task.task, { patient })
        : given;
    return this.store.send(ref, input, {
      config: loaded.config,
      ...defined({ capture: taken, provenReceipts: proven }),
    });
  }
}
