import { join } from 'node:path';
import * as z from 'zod/mini';
import { messageOf } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { isInFlight } from '../../core/task/taskRecord';
import { processIdentitySchema } from '../../core/recovery/liveness';
import type { Atlas } from '../../service/atlas';
import { askAfterAgent } from '../../service/sessions/agentPresence';
import type { ServicePorts } from '../../service/ports';
import { ensureFolder, removeFile, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import type { TaskRef } from '../../core/task/taskRef';
import { type AgentSession, SessionOwners } from '../../store/sessions/sessionOwners';
import { SessionSpool } from '../../store/sessions/sessionSpool';
import { boundReport } from '../../service/sessions/boundReport';
import type { StoredTask } from '../../core/task/storedTask';
import { hostProcess } from '../hosts/hostProcess';
import { HOST_NAMES, type HostName } from '../hosts/hosts';
import { readJson } from '../../system/files/readJson';
import { sha256 } from '../../store/task/recordFile';

const MAX_SESSION_BYTES = 16 * 1024;
const MAX_SESSION_ID = 200;
/** Those of processes that ended are forgotten when there are more. */
const KEPT = 20;

const sessionSchema = z.looseObject({
  session_id: z.string(),
  process: processIdentitySchema,
  host: z.optional(z.enum(HOST_NAMES)),
});

const treeSchema = z.looseObject({ tree: z.string() });

/** Hosts whose agent is a process of its own. In VS Code and Cursor it is part of a window, which owns its tasks itself. */
const WITH_PROCESS: readonly (HostName | undefined)[] = ['claude', 'codex', 'gemini'];
/** The host goes on in the same process. */
const GOES_ON: readonly (string | undefined)[] = ['clear', 'resume'];

/**
 * What hosts set to name the session whose commands they run.
 * CLAUDE_CODE_SESSION_ID: https://code.claude.com/docs/en/env-vars; CODEX_THREAD_ID: https://github.com/openai/codex/pull/10096.
 */
const SESSION_VARIABLES = ['ATLAS_SESSION', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_SESSION_ID', 'CODEX_THREAD_ID'];

/** The session that a command is run by, as its host names it. */
export function callingSession(env: NodeJS.ProcessEnv): string | undefined {
  return SESSION_VARIABLES.map((name) => env[name]).find((value) => value !== undefined && value !== '');
}

/** A session that took a step over from another, both as a history shows them. */
export interface Takeover {
  readonly session: string;
  readonly tookOverFrom: string;
}

/** A session's id, which its host made, as a history shows it. */
export function shownSession(id: string): string {
  return oneLine(id, MAX_SESSION_ID);
}

/**
 * `sessions/` at the root of the store: which process runs which agent's session, as its hooks tell. What a session
 * then drives is bound to it, so that its end is known, and whether it was wanted.
 */
export class AgentSessions {
  private readonly folder: string;

  constructor(private readonly ports: ServicePorts) {
    this.folder = join(ports.paths.root, 'sessions');
  }

  /** Notes the process of a session that begins. Throws where it can't be written. */
  begin(host: HostName | undefined, sessionId: string): void {
    if (!WITH_PROCESS.includes(host)) return;
    const { files, ids, processes } = this.ports;
    const process = hostProcess(processes, incarnationOf(sessionId));
    if (process === undefined) return;
    ensureFolder(files, this.folder);
    this.forgetEnded();
    const text = `${JSON.stringify({ host, session_id: sessionId, process })}\n`;
    replaceFile(files, ids, this.pathOf(sessionId), text, { durable: false });
  }

  /**
   * Binds the session that runs this command to the step that it drives. What goes wrong keeps nobody from anything.
   * @returns both sessions, where another was bound to the step's attempt until now
   */
  drives(env: NodeJS.ProcessEnv, { ref, hook }: StoredTask): Takeover | undefined {
    const id = callingSession(env);
    const step = hook.current_step;
    // Under `atlas run`, that process is the owner.
    if (id === undefined || (env['ATLAS_AGENT'] ?? '') !== '' || step === undefined || !isInFlight(hook.state))
      return undefined;
    try {
      const session = this.read(this.pathOf(id));
      if (session?.sessionId !== id || this.ports.processes.vitality(session.process) !== 'alive') return undefined;
      const bound = { stepIndex: step.step_index, attempt: step.attempt };
      const from = new SessionOwners(this.ports).bind(ref, session, bound);
      if (session.host !== undefined) this.tellBound(session.host, id, ref);
      if (this.treeOf(id) === undefined)
        this.ports.recorded?.(ref, { event: 'session_started', checkpoints: [], mayCapture: false, session: id });
      return from === undefined ? undefined : { session: shownSession(id), tookOverFrom: shownSession(from) };
    } catch (error) {
      this.ports.log.warn("The agent's session could not be recorded.", { task: ref.id, error: messageOf(error) });
      return undefined;
    }
  }

  /** Has what is observed of the session count as the task's. */
  private tellBound(host: string, id: string, ref: TaskRef): void {
    const { clock } = this.ports;
    new SessionSpool(this.ports).put(host, boundReport(id, ref), clock.now());
  }

  /** Whether it may be the step's own agent that runs this command: nothing says that another session works on it. */
  mayWorkOn(env: NodeJS.ProcessEnv, { ref, hook }: StoredTask): boolean {
    const id = callingSession(env);
    const others = new SessionOwners(this.ports).boundTo(ref, hook.current_step).filter((each) => each !== id);
    // A session that Atlas knows is bound by all that it drives: here it would be the first time.
    return others.length === 0 && (id === undefined || this.read(this.pathOf(id)) === undefined);
  }

  /** The tree of the files that a session began with, as receipts name trees; `undefined` where it wasn't noted. */
  treeOf(sessionId: string): string | undefined {
    const { files } = this.ports;
    const path = this.treePath(sessionId);
    if (files.stat(path)?.kind !== 'file') return undefined;
    return readJson(files, path, MAX_SESSION_BYTES, treeSchema)?.tree;
  }

  /** Notes the tree that a session began with, unless that was done before: a session that goes on began then. */
  noteTree(sessionId: string, tree: string): void {
    const { files, ids } = this.ports;
    if (this.treeOf(sessionId) !== undefined || files.stat(this.pathOf(sessionId)) === undefined) return;
    replaceFile(files, ids, this.treePath(sessionId), `${JSON.stringify({ tree })}\n`, { durable: false });
  }

  private treePath(sessionId: string): string {
    return join(this.folder, `${incarnationOf(sessionId)}.tree`);
  }

  private pathOf(sessionId: string): string {
    return join(this.folder, `${incarnationOf(sessionId)}.json`);
  }

  private read(path: string): (AgentSession & { readonly host: string | undefined }) | undefined {
    const { files } = this.ports;
    if (files.stat(path)?.kind !== 'file') return undefined;
    const read = readJson(files, path, MAX_SESSION_BYTES, sessionSchema);
    return read === undefined ? undefined : { sessionId: read.session_id, process: read.process, host: read.host };
  }

  private forgetEnded(): void {
    const { files, processes } = this.ports;
    const names = files.list(this.folder).filter((name) => name.endsWith('.json'));
    if (names.length < KEPT) return;
    for (const name of names) {
      const path = join(this.folder, name);
      const session = this.read(path);
      const vitality = session === undefined ? 'dead' : processes.vitality(session.process);
      if (vitality !== 'dead' && vitality !== 'rebooted') continue;
      unlinkWithRetry(files, path);
      removeFile(files, path.replace(/json$/u, 'tree'));
    }
  }
}

/** How a session ended, as its host's hook says. */
export interface SessionEnd {
  readonly sessionId: string;
  /** In the host's words. */
  readonly ending: string | undefined;
  readonly failed: boolean;
}

/**
 * What a session's end means for the tasks that it worked on: a failure is a crash, which is recorded with its plan; after an
 * end that was wanted, a human is asked.
 */
export async function endSession(
  atlas: Atlas,
  refs: readonly TaskRef[],
  { sessionId, ending, failed }: SessionEnd,
): Promise<void> {
  if (!failed && GOES_ON.includes(ending)) return;
  const exit = failed ? { code: 1, failure: ending ?? 'no reason was given' } : { code: 0 };
  const owners = new SessionOwners(atlas.ports);
  for (const ref of refs) {
    if (!owners.end(ref, sessionId, exit)) continue;
    const read = atlas.catalog.read(ref);
    if (!read.ok) continue;
    const diagnosis = await atlas.recovery.diagnose(read.value);
    if (diagnosis.kind === 'crashed') await atlas.recovery.detect(read.value);
    else if (diagnosis.kind === 'agent_left') await askAfterAgent(atlas, read.value, diagnosis.exitCode);
  }
}

function incarnationOf(sessionId: string): string {
  return sha256(sessionId).slice(0, 16);
}
