import { join } from 'node:path';
import { defined } from '../../core/shared/defined';
import { type Owner, type OwnerFile, SIGN_TRUSTED_MS, ownerFileSchema } from '../../core/recovery/liveness';
import { toTimestamp } from '../../core/shared/time';
import { ensureFolder, replaceFile, removeFile } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';
import type { TaskRef } from '../../core/task/taskRef';
import type { StorePorts } from '../task/storePorts';
import { readJson } from '../../system/files/readJson';

const MAX_OWNER_BYTES = 64 * 1024;
/** Owners that signed off are forgotten after this (ms): only what was touched lately says anything. */
const FORGET_MS = 24 * 3_600_000;

/** owners/: who is at work on a task. A process writes only its own file. */
export class OwnerStore {
  constructor(protected readonly ports: Pick<StorePorts, 'paths' | 'files' | 'processes' | 'clock' | 'ids'>) {}

  /** A process that is a window too owns what it validates by a file of its own. */
  private pathOf(ref: TaskRef, kind: OwnerFile['kind'] = 'window'): string {
    const { incarnation } = this.ports.processes.self();
    return join(this.ports.paths.owners(ref), `${incarnation}${kind === 'validation' ? '-validation' : ''}.json`);
  }

  /** Makes this process an owner, bound to a step and attempt where it has one. */
  adopt(ref: TaskRef, kind: OwnerFile['kind'], bound?: { stepIndex: number; attempt: number }): void {
    const { files, paths, processes, clock } = this.ports;
    ensureFolder(files, paths.owners(ref));
    this.write(ref, {
      kind,
      process: processes.self(),
      ...(bound === undefined ? {} : { step_index: bound.stepIndex, attempt: bound.attempt }),
      started_at: toTimestamp(clock.now()),
    });
    this.forgetOld(ref);
  }

  /** Says that this process still lives. Makes the file again if it is gone. */
  touch(ref: TaskRef, kind: OwnerFile['kind'] = 'window'): void {
    try {
      this.ports.files.touch(this.pathOf(ref, kind), this.ports.clock.now());
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      this.adopt(ref, kind);
    }
  }

  /** Says that this process ended its work on purpose, with its child's exit where it had one. */
  signOff(ref: TaskRef, exit: { code?: number; signal?: string } = {}): void {
    const own = this.readFile(this.pathOf(ref));
    if (own === undefined) return;
    this.write(ref, {
      ...own,
      signed_off_at: toTimestamp(this.ports.clock.now()),
      ...defined({ exit_code: exit.code, exit_signal: exit.signal }),
    });
  }

  /** Forgets that this process was an owner: its work never began. */
  withdraw(ref: TaskRef): void {
    this.remove(this.pathOf(ref));
  }

  /** Notes that this machine stood still in a span (ms) that this process lived through. */
  slept(ref: TaskRef, from: number, until: number): void {
    const own = this.readFile(this.pathOf(ref));
    if (own === undefined) return;
    this.write(ref, { ...own, slept: { from: toTimestamp(from), until: toTimestamp(until) } });
  }

  endValidation(ref: TaskRef): void {
    this.remove(this.pathOf(ref, 'validation'));
  }

  /** Whether some process that may still live validates a task's step and attempt. */
  isValidated(ref: TaskRef, bound: { stepIndex: number; attempt: number }): boolean {
    return this.list(ref).some(({ file, vitality }) => {
      if (file.kind !== 'validation' || file.signed_off_at !== undefined) return false;
      const same = file.step_index === bound.stepIndex && file.attempt === bound.attempt;
      return same && vitality !== 'dead' && vitality !== 'rebooted';
    });
  }

  isOwner(ref: TaskRef): boolean {
    const own = this.readFile(this.pathOf(ref));
    return own !== undefined && own.signed_off_at === undefined;
  }

  /** All owners of a task, observed now. A file that can't be read says nothing and is left alone. */
  list(ref: TaskRef): Owner[] {
    return this.found(ref).map(({ owner }) => owner);
  }

  /** A file's own name is what it is removed by, never what it says. */
  protected found(ref: TaskRef): { path: string; owner: Owner }[] {
    const { files, paths, processes } = this.ports;
    const folder = paths.owners(ref);
    if (files.stat(folder)?.kind !== 'folder') return [];
    return files
      .list(folder)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .flatMap((name) => {
        const path = join(folder, name);
        const stat = files.stat(path);
        const file = stat?.kind === 'file' ? this.readFile(path) : undefined;
        if (file === undefined || stat === undefined) return [];
        const vitality = processes.vitality(file.process, { at: stat.mtimeMs, trustedMs: SIGN_TRUSTED_MS });
        return [{ path, owner: { file, vitality, lastTouch: stat.mtimeMs } }];
      });
  }

  /** Removes what the dead left behind; called once a crash was recorded, so that it isn't found twice. */
  removeDead(ref: TaskRef): void {
    for (const { path, owner } of this.found(ref)) {
      const gone = owner.vitality === 'dead' || owner.vitality === 'rebooted';
      if (!gone && owner.file.exit_code === undefined && owner.file.exit_signal === undefined) continue;
      this.remove(path);
    }
  }

  /**
   * Removes windows that died while another owned the task too: that was no crash, and must not look like one when the
   * other signs off.
   */
  removeDeadWindows(ref: TaskRef): void {
    for (const { path, owner } of this.found(ref)) {
      if (owner.file.kind !== 'window' || owner.file.signed_off_at !== undefined) continue;
      if (owner.vitality === 'dead' || owner.vitality === 'rebooted') this.remove(path);
    }
  }

  private forgetOld(ref: TaskRef): void {
    for (const { path, owner } of this.found(ref)) {
      if (owner.file.signed_off_at === undefined || this.ports.clock.now() - owner.lastTouch < FORGET_MS) continue;
      this.remove(path);
    }
  }

  protected remove(path: string): void {
    removeFile(this.ports.files, path);
  }

  protected write(ref: TaskRef, file: OwnerFile, path = this.pathOf(ref, file.kind)): void {
    const { files, ids, clock } = this.ports;
    replaceFile(files, ids, path, `${JSON.stringify(file, null, 2)}\n`, { durable: false });
    files.touch(path, clock.now());
  }

  private readFile(path: string): OwnerFile | undefined {
    return readJson(this.ports.files, path, MAX_OWNER_BYTES, ownerFileSchema);
  }
}
