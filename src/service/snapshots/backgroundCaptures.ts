import { defined } from '../../core/shared/defined';
import { messageOf } from '../../core/shared/errors';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { RecordedChange } from '../../store/task/storePorts';
import type { AtlasReader } from '../atlasReader';

/** What is captured for a change of a task. */
export interface CaptureOrder {
  /** Ids of checkpoints whose files are captured. */
  readonly checkpoints: readonly string[];
  /** The event before or at which the files make a restore point. */
  readonly point?: (typeof POINT_EVENTS)[number];
  /** A command that throws work away, and is about to run: the files make a restore point before it. */
  readonly before?: HeldCommand;
  /** The agent's session that begins here: the files that it begins with are noted. */
  readonly session?: string;
}

/** A command that a restore point is made for. */
export interface HeldCommand {
  /** What it is called, such as `git clean`. */
  readonly name: string;
  /** Until when its agent is held back, in ms since the epoch: what is captured later may be what the command left. */
  readonly until: number;
}

/** The events that make restore points. */
export const POINT_EVENTS = [
  'start_step',
  'crash_detected',
  'session_started',
  'turn_started',
  'turn_ended',
] as const satisfies readonly RecordedChange['event'][];

/** What is to be captured for a change; `undefined` where nothing is. */
export function captureOrder({ event, checkpoints, mayCapture, session }: RecordedChange): CaptureOrder | undefined {
  const point = mayCapture ? POINT_EVENTS.find((each) => each === event) : undefined;
  const due = mayCapture ? checkpoints : [];
  if (due.length === 0 && point === undefined && session === undefined) return undefined;
  return { checkpoints: due, ...defined({ point, session }) };
}

/** Whether the environment lets files be captured without being asked for; programs that call `atlas` may turn it off. */
export function capturesUnasked(env: NodeJS.ProcessEnv): boolean {
  return !/^(?:off|0|false)$/iu.test(env['ATLAS_SNAPSHOTS'] ?? '');
}

/** Captures what was ordered for a task. Never throws: what goes wrong is kept with the checkpoint, or logged. */
export async function captureFor(
  atlas: Pick<AtlasReader, 'ports' | 'snapshots'>,
  ref: TaskRef,
  order: CaptureOrder,
): Promise<void> {
  try {
    await (await atlas.snapshots()).files.takeOrdered(ref, order);
  } catch (error) {
    atlas.ports.log.warn('Files were not captured.', { task: refKey(ref), error: messageOf(error) });
  }
}

/** What waits for its turn. */
interface Waiting {
  readonly checkpoints: string[];
  point: CaptureOrder['point'] | undefined;
}

/** Captures in this process, one capture after the other, while everything else goes on. */
export class BackgroundCaptures {
  private last: Promise<void> = Promise.resolve();
  private ended = false;
  /** By task, what was ordered last and hasn't begun. */
  private readonly waiting = new Map<string, Waiting>();

  /** @param captured told of each task for which files were captured */
  constructor(
    private readonly atlas: () => Pick<AtlasReader, 'ports' | 'snapshots'>,
    private readonly captured: (ref: TaskRef) => void,
  ) {}

  /**
   * Told of a change under the task's lock: only notes it. What waits for a task's files is captured at once: with a
   * capture for each, those of checkpoints that come faster would be of later and later files.
   */
  readonly recorded = (ref: TaskRef, what: RecordedChange): void => {
    const order = captureOrder(what);
    if (order === undefined || this.ended) return;
    const key = refKey(ref);
    const known = this.waiting.get(key);
    // A restore point comes before what is recorded after it: after a checkpoint of the same files there would be none.
    if (known === undefined || known.point !== undefined) {
      const waiting: Waiting = { checkpoints: [...order.checkpoints], point: order.point };
      this.waiting.set(key, waiting);
      this.last = this.last.then(async () => this.capture(ref, waiting));
    } else {
      known.checkpoints.push(...order.checkpoints);
      known.point = order.point;
    }
  };

  private async capture(ref: TaskRef, waiting: Waiting): Promise<void> {
    const key = refKey(ref);
    if (this.waiting.get(key) === waiting) this.waiting.delete(key);
    if (this.ended) return;
    await captureFor(this.atlas(), ref, defined(waiting));
    this.captured(ref);
  }

  /** Settles once all that was ordered until now is captured. */
  async idle(): Promise<void> {
    return this.last;
  }

  /** Begins no further capture. */
  end(): void {
    this.ended = true;
  }
}
