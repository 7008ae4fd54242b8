import type { SessionChange } from '../../core/session/sessionEvent';
import type { Observed, SpoolEnvelope } from '../../service/sessions/sessionHosts';
import { type HookReport, askOf, commandOf, endOf, hookReport, isTyped, observedBy } from './hookReport';
import { numberOf, reportFields, textOf } from './reportText';

type Told = (report: HookReport) => readonly SessionChange[];

function request({ fields }: HookReport): SessionChange[] {
  const text = textOf(fields['prompt']);
  return text === undefined || !isTyped(text) ? [] : [{ kind: 'request', text }];
}

function started({ fields }: HookReport): SessionChange[] {
  const start = textOf(fields['source']);
  return [{ kind: 'started', ...(start === undefined ? {} : { start }) }];
}

function turnEnded({ fields }: HookReport): SessionChange[] {
  const message = textOf(fields['prompt_response']) ?? textOf(fields['last_assistant_message']);
  return [{ kind: 'turn_ended', ...(message === undefined ? {} : { message }) }];
}

function ended({ fields }: HookReport): SessionChange[] {
  const reason = textOf(fields['reason']);
  return [{ kind: 'ended', ...(reason === undefined ? {} : { reason }) }];
}

/** A shell command of Cursor's: its reports name it, but nothing that ties an end to its beginning. */
function shellId(report: HookReport): string {
  return `shell:${(commandOf(report.fields) ?? '').slice(0, 200)}`;
}

function shellAsked(report: HookReport): SessionChange[] {
  const command = commandOf(report.fields);
  return command === undefined ? [] : [{ kind: 'tool_asked', id: shellId(report), name: 'shell', command }];
}

function shellEnded(report: HookReport): SessionChange[] {
  const durationMs = numberOf(report.fields['duration']);
  return [{ kind: 'tool_ended', id: shellId(report), ...(durationMs === undefined ? {} : { durationMs }) }];
}

function fileEdited({ fields }: HookReport): SessionChange[] {
  const path = textOf(fields['file_path']);
  return path === undefined ? [] : [{ kind: 'files', paths: [path], tool: 'edit' }];
}

function answered({ fields }: HookReport): SessionChange[] {
  const text = textOf(fields['text']);
  return text === undefined ? [] : [{ kind: 'message', text }];
}

/** What the hooks of the other hosts tell, by their events. Sources: docs/agents.md. */
const TOLD: Readonly<Record<'gemini' | 'cursor' | 'vscode', Readonly<Record<string, Told>>>> = {
  gemini: {
    SessionStart: started,
    BeforeAgent: request,
    BeforeTool: (report) => [askOf(report)],
    AfterTool: (report) => [endOf(report)],
    AfterAgent: turnEnded,
    SessionEnd: ended,
  },
  cursor: {
    sessionStart: started,
    beforeSubmitPrompt: request,
    beforeShellExecution: shellAsked,
    afterShellExecution: shellEnded,
    afterFileEdit: fileEdited,
    afterAgentResponse: answered,
    stop: turnEnded,
    sessionEnd: ended,
  },
  vscode: {
    SessionStart: started,
    UserPromptSubmit: request,
    PreToolUse: (report) => [askOf(report)],
    PostToolUse: (report) => [endOf(report)],
    Stop: turnEnded,
  },
};

/** How to read what a host's hooks report. */
export function otherReport(host: keyof typeof TOLD): (body: string, envelope: SpoolEnvelope) => Observed | undefined {
  return (body, envelope) => {
    const report = hookReport(reportFields(body));
    return observedBy(report.fields, envelope, TOLD[host][report.event]?.(report) ?? []);
  };
}
