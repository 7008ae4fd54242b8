import { isInFlight } from '../../core/task/taskRecord';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { OpenAtlas } from '../createAtlas';
import { orWarn } from '../../system/orWarn';

/** A window ticks every few seconds; after a pause this long (ms), its machine or its process stood still. */
const ASLEEP_MS = 60_000;

/**
 * A window's part in its tasks: it owns what runs while it is open, says every minute that it lives, and makes the
 * interval checkpoints. It signs off when it closes; if it can't, its silence tells.
 */
export class WindowOwnership {
  private readonly owned = new Map<string, TaskRef>();
  /** In ms. */
  private lastTick: number | undefined;

  constructor(private readonly atlas: OpenAtlas) {}

  /**
   * Adopts the tasks that are in flight and lets go of those that no longer are.
   * @param hasCrashed a task that has must be recovered first: a new live owner would hide the crash
   */
  update(refs: readonly TaskRef[], hasCrashed: (ref: TaskRef) => boolean): void {
    const flying = refs.filter((ref) => {
      const read = this.atlas.catalog.read(ref);
      return read.ok && isInFlight(read.value.hook.state);
    });
    const keys = new Set(flying.map(refKey));
    for (const [key, ref] of this.owned) {
      if (keys.has(key)) continue;
      this.owned.delete(key);
      this.safely(() => this.atlas.owners.signOff(ref));
    }
    for (const ref of flying) {
      if (this.owned.has(refKey(ref)) || hasCrashed(ref)) continue;
      this.safely(() => {
        this.atlas.owners.adopt(ref, 'window');
        this.atlas.owners.removeDeadWindows(ref);
        this.owned.set(refKey(ref), ref);
      });
    }
  }

  /** Says that this window lives. */
  heartbeat(): void {
    for (const ref of this.owned.values()) {
      this.safely(() => {
        this.atlas.owners.touch(ref);
        this.atlas.owners.removeDeadWindows(ref);
      });
    }
  }

  /** Notes that the machine slept, which shows by the time that passed since this was called before. */
  private noticeSleep(): void {
    const now = this.atlas.ports.clock.now();
    const before = this.lastTick ?? now;
    this.lastTick = now;
    if (now - before < ASLEEP_MS) return;
    for (const ref of this.owned.values()) this.safely(() => this.atlas.owners.slept(ref, before, now));
  }

  /** Makes the interval checkpoints that are due. */
  async tick(): Promise<void> {
    this.noticeSleep();
    for (const ref of [...this.owned.values()]) {
      const result = await (await this.atlas.drive()).intervalCheckpoint(ref);
      if (!result.ok) this.atlas.ports.log.warn('The interval checkpoint failed.', { error: result.error.message });
    }
  }

  /** Signs off everywhere; synchronous, since a closing window waits for nothing. */
  signOff(): void {
    for (const ref of this.owned.values()) {
      this.safely(() => this.atlas.owners.signOff(ref));
    }
    this.owned.clear();
  }

  /** An owner file that can't be written (a full or read-only disk) must not stop the window's other work. */
  private safely(write: () => void): void {
    orWarn(this.atlas.ports.log, "The window's owner file could not be written.", write);
  }
}
