import type { SessionChange, SessionEvent } from '../../core/session/sessionEvent';
import type { Observed, SpoolEnvelope } from '../../service/sessions/sessionHosts';
import { sessionIdOf } from './sessionId';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './reportText';

/** What stands before the words of a prompt that no user wrote. */
const NOT_TYPED =
  /^\s*<(?:command-|local-command|bash-|task-notification|system-reminder|environment_context|user_instructions|ide_|atlas-)/u;

/** Whether a request holds the user's words. */
export function isTyped(text: string): boolean {
  return !NOT_TYPED.test(text);
}

const QUESTIONS = new Set(['AskUserQuestion', 'ExitPlanMode', 'request_user_input', 'question']);
/** The tools that change the file that they name, by host: Claude Code, OpenCode, Gemini CLI, VS Code. */
const WRITERS = new Set([
  ...['Write', 'Edit', 'MultiEdit', 'NotebookEdit'],
  ...['write', 'edit', 'multiedit'],
  ...['write_file', 'replace'],
  ...['create_file', 'insert_edit_into_file', 'replace_string_in_file', 'edit_notebook_file'],
]);

/** What a tool is asked to do, as hosts of the same kind name it. */
export function askedOf(
  name: string,
  input: Fields,
): Pick<SessionChange & { kind: 'tool_asked' }, 'command' | 'files' | 'about' | 'asksUser'> {
  const command = commandOf(input);
  const path = textOf(input['file_path']) ?? textOf(input['filePath']) ?? textOf(input['notebook_path']);
  const about =
    textOf(input['description']) ?? textOf(input['pattern']) ?? textOf(input['url']) ?? textOf(input['query']) ?? path;
  return {
    ...(command === undefined ? {} : { command }),
    ...(WRITERS.has(name) && path !== undefined ? { files: [path] } : {}),
    ...(about === undefined ? {} : { about }),
    ...(QUESTIONS.has(name) ? { asksUser: true } : {}),
  };
}

/** A command, as one text; some hosts give its words. */
export function commandOf(input: Fields): string | undefined {
  const said = input['command'] ?? input['cmd'];
  const words = listOf(said).filter((word) => typeof word === 'string');
  return textOf(said) ?? (words.length === 0 ? undefined : words.join(' '));
}

/** Whether VS Code or Copilot CLI wrote a report, and not Claude Code, whose hooks VS Code runs too: only those give the time. */
export function isByCopilot(fields: Fields): boolean {
  return textOf(fields['timestamp']) !== undefined;
}

/** A report with what every host's hooks say in the same way. */
export interface HookReport {
  readonly fields: Fields;
  readonly event: string;
  readonly tool: string;
  readonly toolId: string;
  readonly input: Fields;
}

/** Reads what is common to reports; the id of a tool that names none is made of what it is asked. */
export function hookReport(fields: Fields): HookReport {
  const event = textOf(fields['hook_event_name']) ?? textOf(fields['hookEventName']) ?? '';
  const tool = textOf(fields['tool_name']) ?? textOf(fields['toolName']) ?? '';
  const input = fieldsOf(fields['tool_input'] ?? fields['toolInput']);
  const asked = commandOf(input) ?? textOf(input['file_path']) ?? '';
  const toolId = textOf(fields['tool_use_id']) ?? textOf(fields['toolUseId']) ?? `${tool}:${asked.slice(0, 200)}`;
  return { fields, event, tool, toolId, input };
}

/** How a tool ended: what a host tells of it in its answer. */
export function endOf({ fields, tool, toolId, input }: HookReport): SessionChange & { kind: 'tool_ended' } {
  const { command, files } = askedOf(tool, input);
  const durationMs = numberOf(fields['duration_ms']);
  return {
    kind: 'tool_ended',
    id: toolId,
    name: tool,
    ...(command === undefined ? {} : { command }),
    ...(files === undefined ? {} : { files }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}

/** A tool that was asked for. */
export function askOf({ tool, toolId, input }: HookReport): SessionChange {
  return { kind: 'tool_asked', id: toolId, name: tool, ...askedOf(tool, input) };
}

/** The exit code that a text of Claude Code's kind names. */
export function exitCodeIn(text: string | undefined): number | undefined {
  const code = /^(?:Error: )?Exit code (\d{1,10})\b/u.exec(text ?? '')?.[1];
  return code === undefined ? undefined : Number(code);
}

/** What the events say that Claude Code and Codex report in the same way; nothing for any other. */
export function commonChanges({ fields, event }: HookReport): SessionChange[] {
  switch (event) {
    case 'SessionStart': {
      const start = textOf(fields['source']);
      return [{ kind: 'started', ...(start === undefined ? {} : { start }) }];
    }
    case 'UserPromptSubmit': {
      const text = textOf(fields['prompt']);
      return text === undefined || !isTyped(text) ? [] : [{ kind: 'request', text }];
    }
    case 'Stop':
    case 'StopFailure': {
      const message = textOf(fields['last_assistant_message']);
      return [{ kind: 'turn_ended', ...(message === undefined ? {} : { message }) }];
    }
    case 'SessionEnd': {
      const reason = textOf(fields['reason']);
      return [{ kind: 'ended', ...(reason === undefined ? {} : { reason }) }];
    }
    default:
      return [];
  }
}

/** The session of a report and what happened in it; `undefined` where it names none. */
export function observedBy(
  fields: Fields,
  { at, marks }: SpoolEnvelope,
  changes: readonly SessionChange[],
): Observed | undefined {
  const sessionId =
    sessionIdOf(textOf(fields['session_id'])) ??
    sessionIdOf(textOf(fields['sessionId'])) ??
    sessionIdOf(textOf(fields['conversation_id']));
  if (sessionId === undefined) return undefined;
  const cwd = textOf(fields['cwd']) ?? textOf(listOf(fields['workspace_roots'])[0]);
  const transcript = textOf(fields['transcript_path']);
  const beside = {
    ...(cwd === undefined ? {} : { cwd }),
    ...(transcript === undefined ? {} : { transcript }),
    ...(marks.length === 0 ? {} : { marks }),
  };
  const told: readonly SessionChange[] = changes.length === 0 ? [{ kind: 'seen' }] : changes;
  return {
    sessionId,
    events: told.map((change): SessionEvent => ({ at, source: 'hook', change, ...beside })),
  };
}

/** The items of a list as `TodoWrite` and `update_plan` have them; an id is a place in the list. */
export function listItems(value: unknown): { id: string; text: string; status: string }[] {
  return listOf(value).flatMap((item, index) => {
    const fields = fieldsOf(item);
    const text = textOf(fields['content']) ?? textOf(fields['step']) ?? textOf(fields['subject']);
    return text === undefined ? [] : [{ id: String(index + 1), text, status: textOf(fields['status']) ?? '' }];
  });
}
