import { join } from 'node:path';
import { type Owner, type OwnerFile, type ProcessIdentity, ownerFileSchema } from '../core/liveness';
import type { Clock, FileSystem, Ids, Processes } from '../core/ports';
import { toTimestamp } from '../core/time';
import { ensureFolder, replaceFile, unlinkWithRetry } from './atomicFile';
import { codeOf } from './fileErrors';
import type { StorePaths, TaskRef } from './paths';

const MAX_OWNER_BYTES = 64 * 1024;
/** Owners that signed off are forgotten after this (ms): only what was touched lately says anything. */
const FORGET_MS = 24 * 3_600_000;

interface OwnerPorts {
  readonly paths: StorePaths;
  readonly files: FileSystem;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** An agent's process, which doesn't speak for itself: what its host runs does. */
export interface AgentSession {
  readonly process: ProcessIdentity;
  /** As the host names it. */
  readonly sessionId: string;
}

/** owners/: who is at work on a task. A process writes only its own file; an agent's session has those it starts write it. */
export class OwnerStore {
  constructor(private readonly ports: OwnerPorts) {}

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
      ...(exit.code === undefined ? {} : { exit_code: exit.code }),
      ...(exit.signal === undefined ? {} : { exit_signal: exit.signal }),
    });
  }

  /** Notes that this machine stood still in a span (ms) that this process lived through. */
  slept(ref: TaskRef, from: number, until: number): void {
    const own = this.readFile(this.pathOf(ref));
    if (own === undefined) return;
    this.write(ref, { ...own, slept: { from: toTimestamp(from), until: toTimestamp(until) } });
  }

  /** Makes an agent's session the one at work on a step and attempt; a session before it handed the work over. */
  adoptSession(ref: TaskRef, session: AgentSession, bound: { stepIndex: number; attempt: number }): void {
    const { files, paths, clock } = this.ports;
    ensureFolder(files, paths.owners(ref));
    for (const { path, owner } of this.found(ref)) {
      const { session_id: id, process } = owner.file;
      if (id !== undefined && process.incarnation !== session.process.incarnation) this.remove(path);
    }
    this.write(ref, {
      kind: 'agent',
      process: session.process,
      session_id: session.sessionId,
      step_index: bound.stepIndex,
      attempt: bound.attempt,
      started_at: toTimestamp(clock.now()),
    });
  }

  /** What a session owns of a task: its own file, if it is there and hasn't ended. */
  private ofSession(ref: TaskRef, sessionId: string): { path: string; file: OwnerFile } | undefined {
    const own = this.found(ref).find(
      ({ owner: { file } }) => file.session_id === sessionId && file.signed_off_at === undefined,
    );
    return own === undefined ? undefined : { path: own.path, file: own.owner.file };
  }

  /** Says that an agent's session gave a sign of life; `false` where it doesn't own the task. */
  touchSession(ref: TaskRef, sessionId: string): boolean {
    const own = this.ofSession(ref, sessionId);
    if (own !== undefined) this.ports.files.touch(own.path, this.ports.clock.now());
    return own !== undefined;
  }

  /** Says how an agent's session ended, and what its host said if it failed; `false` where it doesn't own the task. */
  endSession(ref: TaskRef, sessionId: string, exit: { code: number; failure?: string }): boolean {
    const own = this.ofSession(ref, sessionId);
    if (own === undefined) return false;
    this.write(ref, {
      ...own.file,
      signed_off_at: toTimestamp(this.ports.clock.now()),
      exit_code: exit.code,
      ...(exit.failure === undefined ? {} : { failure: exit.failure }),
    });
    return true;
  }

  /** Says that this process no longer validates a task. */
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

  /** Whether this process is an owner now. */
  isOwner(ref: TaskRef): boolean {
    const own = this.readFile(this.pathOf(ref));
    return own !== undefined && own.signed_off_at === undefined;
  }

  /** All owners of a task, observed now. A file that can't be read says nothing and is left alone. */
  list(ref: TaskRef): Owner[] {
    return this.found(ref).map(({ owner }) => owner);
  }

  /** A file's own name is what it is removed by, never what it says. */
  private found(ref: TaskRef): { path: string; owner: Owner }[] {
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
        return [{ path, owner: { file, vitality: processes.vitality(file.process), lastTouch: stat.mtimeMs } }];
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

  private remove(path: string): void {
    try {
      unlinkWithRetry(this.ports.files, path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  private write(ref: TaskRef, file: OwnerFile): void {
    const { files, ids, clock, paths } = this.ports;
    const { session_id: session, process } = file;
    const path =
      session === undefined ? this.pathOf(ref, file.kind) : join(paths.owners(ref), `${process.incarnation}.json`);
    replaceFile(files, ids, path, `${JSON.stringify(file, null, 2)}\n`, { durable: false });
    files.touch(path, clock.now());
  }

  private readFile(path: string): OwnerFile | undefined {
    try {
      const parsed = ownerFileSchema.safeParse(
        JSON.parse(Buffer.from(this.ports.files.read(path, MAX_OWNER_BYTES)).toString('utf8')),
      );
      return parsed.success ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }
}
