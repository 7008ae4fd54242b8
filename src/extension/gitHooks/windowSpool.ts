import { messageOf } from '../../core/shared/errors';
import type { TaskRef } from '../../core/task/taskRef';
import type { AtlasReader } from '../../service/atlasReader';
import type { SpoolService } from '../../service/git/spoolService';
import type { StoreWatcher } from '../../store/storeWatcher';

/** This window's part in git hooks: it says that it is there, so that they start nothing, and turns their events. */
export class WindowSpool {
  private service: SpoolService | undefined;
  private readonly ending = new AbortController();

  constructor(
    private readonly atlas: AtlasReader,
    private readonly watcher: StoreWatcher,
    private readonly onCheckpoints: (tasks: readonly TaskRef[]) => void,
  ) {}

  /** Announces the window; what waits and what is written from then on is for it to drain. */
  async start(): Promise<void> {
    const service = await this.atlas.spool();
    if (this.ending.signal.aborted) return;
    service.announceWindow();
    this.service = service;
    await this.watcher.addSpool(() => void this.drain());
    void this.drain();
  }

  /** Turns what waits into checkpoints; another window or command that is at it does it for this one. */
  async drain(): Promise<void> {
    try {
      if (this.service === undefined || this.service.pending() === 0) return;
      const drained = await this.service.drain({ signal: this.ending.signal });
      if (drained.ok) this.onCheckpoints(drained.value.checkpoints);
      else this.warn(drained.error);
    } catch (error) {
      this.warn(error);
    }
  }

  private warn(error: unknown): void {
    this.atlas.ports.log.warn('Events of git hooks could not be taken up.', { error: messageOf(error) });
  }

  /** Takes the announcement back; synchronous, since a closing window waits for nothing. */
  withdraw(): void {
    this.ending.abort();
    this.service?.withdrawWindow();
  }
}
