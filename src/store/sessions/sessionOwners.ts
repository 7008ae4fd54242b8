import { join } from 'node:path';
import type { OwnerFile, ProcessIdentity } from '../../core/recovery/liveness';
import { toTimestamp } from '../../core/shared/time';
import { ensureFolder } from '../../system/files/atomicFile';
import { OwnerStore } from './owners';
import type { TaskRef } from '../../core/task/taskRef';

/** An agent's process, which doesn't speak for itself: what its host runs does. */
export interface AgentSession {
  readonly process: ProcessIdentity;
  /** As the host names it. */
  readonly sessionId: string;
}

/** The owners' files of agents' sessions, each written by what the session runs. */
export class SessionOwners extends OwnerStore {
  /**
   * Makes an agent's session the one at work on a step and attempt; a session before it handed the work over.
   * @returns the session that was bound to the same attempt until now
   */
  bind(ref: TaskRef, session: AgentSession, bound: { stepIndex: number; attempt: number }): string | undefined {
    const own = { step_index: bound.stepIndex, attempt: bound.attempt };
    const from = this.boundTo(ref, own).find((id) => id !== session.sessionId);
    const { files, paths, clock } = this.ports;
    ensureFolder(files, paths.owners(ref));
    for (const { path, owner } of this.found(ref)) {
      const { session_id: id, process } = owner.file;
      if (id !== undefined && process.incarnation !== session.process.incarnation) this.remove(path);
    }
    const file: OwnerFile = {
      kind: 'agent',
      process: session.process,
      session_id: session.sessionId,
      ...own,
      started_at: toTimestamp(clock.now()),
    };
    this.write(ref, file, join(paths.owners(ref), `${session.process.incarnation}.json`));
    return from;
  }

  /** What a session owns of a task: its own file, if it is there and hasn't ended. */
  private ofSession(ref: TaskRef, sessionId: string): { path: string; file: OwnerFile } | undefined {
    const own = this.found(ref).find(
      ({ owner: { file } }) => file.session_id === sessionId && file.signed_off_at === undefined,
    );
    return own === undefined ? undefined : { path: own.path, file: own.owner.file };
  }

  /** The sessions at work on a step's attempt. */
  boundTo(ref: TaskRef, step: { step_index: number; attempt: number } | undefined): string[] {
    return this.found(ref).flatMap(({ owner: { file } }) =>
      file.session_id !== undefined &&
      file.signed_off_at === undefined &&
      file.step_index === step?.step_index &&
      file.attempt === step?.attempt
        ? [file.session_id]
        : [],
    );
  }

  /** Says that an agent's session gave a sign of life, where it owns the task. */
  sign(ref: TaskRef, sessionId: string): void {
    const own = this.ofSession(ref, sessionId);
    if (own !== undefined) this.ports.files.touch(own.path, this.ports.clock.now());
  }

  /** Says how an agent's session ended, and what its host said if it failed; `false` where it doesn't own the task. */
  end(ref: TaskRef, sessionId: string, exit: { code: number; failure?: string }): boolean {
    const own = this.ofSession(ref, sessionId);
    if (own === undefined) return false;
    const ended: OwnerFile = {
      ...own.file,
      signed_off_at: toTimestamp(this.ports.clock.now()),
      exit_code: exit.code,
      ...(exit.failure === undefined ? {} : { failure: exit.failure }),
    };
    this.write(ref, ended, own.path);
    return true;
  }
}
