import { dirname, join } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import { type Wake, itemOfWakeName, wakeName, wakeSchema } from '../../core/inbox/inbox';
import { renameWithRetry, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { codeOf, fileError } from '../../system/files/fileErrors';
import { parseState, readStateFile } from '../task/recordFile';
import type { InboxFinding } from '../../core/inbox/inboxAnswers';
import type { StorePorts } from '../task/storePorts';
import { orWarn } from '../../system/orWarn';

const MAX_WAKE_BYTES = 256 * 1024;
/** Before the name of a wake file that is still to come. */
const DUE = '.due';

/** Wakes that were taken, and what lay there that is none. */
export interface TakenWakes {
  readonly wakes: readonly Wake[];
  readonly findings: readonly InboxFinding[];
}

/**
 * `.wake-<trigger>-<task_id>` in a workspace's folder. A wake is one file from its beginning to its end, which only ever
 * changes its name: announced before its item is done, published after that, and taken by whoever renames it. So there
 * is never a second one, and none is lost.
 */
export class WakeFiles {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'ids' | 'log'>) {}

  /** Writes down what is to be published once its item is done; one that came to nothing is replaced. */
  announce(workspace: string, wake: Wake): void {
    const { files, ids, paths } = this.ports;
    const path = join(paths.workspace(workspace), `${DUE}${wakeName(wake)}`);
    replaceFile(files, ids, path, `${JSON.stringify(wake, null, 2)}\n`, { durable: true });
  }

  /** The items whose wakes are announced and not published. */
  due(workspace: string): number[] {
    return this.dueNames(workspace).flatMap((name) => itemOfWakeName(name.slice(DUE.length)) ?? []);
  }

  private dueNames(workspace: string): string[] {
    return this.namesIn(workspace).filter(
      (name) => name.startsWith(DUE) && itemOfWakeName(name.slice(DUE.length)) !== undefined,
    );
  }

  private namesIn(workspace: string): string[] {
    try {
      return this.ports.files.list(this.ports.paths.workspace(workspace)).sort();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /** Publishes an item's wake, if one is announced. */
  publish(workspace: string, id: number): void {
    const { files, paths } = this.ports;
    const folder = paths.workspace(workspace);
    for (const name of this.dueNames(workspace)) {
      const published = name.slice(DUE.length);
      if (itemOfWakeName(published) !== id) continue;
      renameWithRetry(files, join(folder, name), join(folder, published));
      files.syncFolder(folder);
    }
  }

  /** Forgets an item's wake that was announced: it was cancelled after all. */
  withdraw(workspace: string, id: number): void {
    for (const name of this.dueNames(workspace)) {
      if (itemOfWakeName(name.slice(DUE.length)) !== id) continue;
      unlinkWithRetry(this.ports.files, join(this.ports.paths.workspace(workspace), name));
    }
  }

  /** Takes every wake that is there; each goes to one caller only, of whatever process. */
  take(workspace: string): TakenWakes {
    const { files, paths } = this.ports;
    const folder = paths.workspace(workspace);
    const wakes: Wake[] = [];
    const findings: InboxFinding[] = [];
    const taken: string[] = [];
    for (const name of this.namesIn(workspace)) {
      if (itemOfWakeName(name) === undefined) continue;
      const path = join(folder, name);
      const wake = this.read(path, name);
      const claimed = wake.ok ? this.claim(path, wake.value) : wake;
      if (claimed.ok) {
        wakes.push(claimed.value.wake);
        taken.push(claimed.value.path);
      } else if (claimed.error.code !== 'not_found') findings.push({ path, error: claimed.error });
    }
    if (taken.length === 0) return { wakes, findings };
    // Power that goes must not bring back what a caller has.
    this.quietly(() => files.syncFolder(folder));
    for (const path of taken) {
      this.quietly(() => files.unlink(path));
    }
    return { wakes, findings };
  }

  /** Renames a wake to what only this caller knows; `not_found` where another one was quicker. */
  private claim(path: string, wake: Wake): Result<{ readonly path: string; readonly wake: Wake }> {
    const { files, ids } = this.ports;
    // As a temporary file is called, so that the doctor removes it if this process dies now.
    const to = join(dirname(path), `.woken-${wake.task_id}.${ids.hex(4)}.tmp`);
    try {
      renameWithRetry(files, path, to);
      return ok({ path: to, wake });
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return fail('not_found', `${path} does not exist.`);
      return { ok: false, error: fileError('write_failed', `${path} could not be claimed`, error) };
    }
  }

  private read(path: string, name: string): Result<Wake> {
    const bytes = readStateFile(this.ports.files, path, MAX_WAKE_BYTES);
    if (!bytes.ok) return bytes;
    const wake = parseState(path, bytes.value, wakeSchema);
    if (!wake.ok) return { ok: false, error: new AtlasError(wake.error.code, wake.error.message, { hint: MOVE_AWAY }) };
    if (wakeName(wake.value) === name) return wake;
    return fail('damaged', `${path} is about item ${wake.value.task_id} of another trigger.`, { hint: MOVE_AWAY });
  }

  /** What fails after a wake was taken changes nothing for its caller. */
  private quietly(act: () => void): void {
    orWarn(this.ports.log, 'The file of a completed wake-up could not be deleted.', act);
  }
}

const MOVE_AWAY = 'Move it away: it wakes no session. The result of its item is in the agent queue.';
