import * as z from 'zod/mini';
import { defined } from '../../core/shared/defined';
import { commandOf } from './hookReport';
import type { HostName } from './hosts';
import { sessionIdOf } from './sessionId';

/** More than any host's input should have, in bytes: an agent's last message is part of it. */
export const MAX_INPUT_BYTES = 4 * 1024 * 1024;

const MAX_TEXT = 4096;
// A field that isn't what it should be is none; the others still count.
const text = z.catch(z.optional(z.string().check(z.maxLength(MAX_TEXT))), undefined);
const flag = z.catch(z.optional(z.boolean()), undefined);

const inputSchema = z.looseObject({
  session_id: text,
  sessionId: text,
  conversation_id: text,
  transcript_path: text,
  cwd: text,
  workspace_roots: z.catch(z.optional(z.array(z.string().check(z.maxLength(MAX_TEXT)))), undefined),
  hook_event_name: text,
  hookEventName: text,
  timestamp: text,
  source: text,
  trigger: text,
  stop_hook_active: flag,
  loop_count: z.catch(z.optional(z.number()), undefined),
  reason: text,
  status: text,
  error: text,
  error_message: text,
  permission_mode: text,
  agent_id: text,
  background_tasks: z.catch(z.optional(z.array(z.unknown())), undefined),
  command: z.catch(z.optional(z.unknown()), undefined),
  tool_input: z.catch(z.optional(z.looseObject({})), undefined),
  toolInput: z.catch(z.optional(z.looseObject({})), undefined),
});

/** What a host said of an event. Every text is another's. */
export interface HostInput {
  readonly sessionId?: string;
  readonly transcriptPath?: string;
  /** Where the agent works. */
  readonly folder?: string;
  /** How a session began. */
  readonly source?: string;
  /** What caused a compaction. */
  readonly trigger?: string;
  /** Whether a stop hook keeps the agent going already; absent where the host doesn't say. */
  readonly stopHookActive?: boolean;
  /** How the session or the turn ended. */
  readonly ending?: string;
  /** Whether the agent only plans: nothing is to be changed. */
  readonly isPlanning?: boolean;
  /** Whether something that it started goes on without it. */
  readonly hasBackgroundWork?: boolean;
  /** Whether it is a subagent. */
  readonly isSubagent?: boolean;
  /** What a shell is asked to run, before it does. */
  readonly command?: string;
  /** The host that writes like this, where that can be told. */
  readonly writtenBy?: HostName;
}

/** Reads what a host wrote on standard input: a problem for people where it is no JSON object, and what could be read. */
export function parseHostInput(written: string): { readonly input: HostInput; readonly problem?: string } {
  if (written.trim() === '') return { input: {} };
  let value: unknown;
  try {
    value = JSON.parse(written.replace(/^\uFEFF/u, ''));
  } catch {
    return { input: {}, problem: "The host's input is not JSON." };
  }
  const parsed = inputSchema.safeParse(value);
  return parsed.success
    ? { input: inputOf(parsed.data) }
    : { input: {}, problem: "The host's input is not a JSON object." };
}

function inputOf(data: z.infer<typeof inputSchema>): HostInput {
  const sessionId = sessionIdOf(data.session_id) ?? sessionIdOf(data.sessionId) ?? sessionIdOf(data.conversation_id);
  const folder = data.cwd ?? data.workspace_roots?.[0];
  const active = data.stop_hook_active ?? (data.loop_count === undefined ? undefined : data.loop_count > 0);
  const ending = data.error ?? data.reason ?? data.status;
  return {
    ...defined({
      sessionId,
      transcriptPath: data.transcript_path,
      folder,
      source: data.source,
      trigger: data.trigger,
      stopHookActive: active,
      ending,
      command: commandOf(data) ?? commandOf(data.tool_input ?? data.toolInput ?? {}),
    }),
    ...(data.permission_mode === 'plan' ? { isPlanning: true } : {}),
    ...((data.background_tasks ?? []).length > 0 ? { hasBackgroundWork: true } : {}),
    ...(data.agent_id === undefined ? {} : { isSubagent: true }),
    // It runs Claude Code's hooks too, and writes in its own way: by other names, in newer releases with the time.
    ...(data.timestamp !== undefined || (data.hookEventName !== undefined && data.hook_event_name === undefined)
      ? { writtenBy: 'vscode' as const }
      : {}),
  };
}
