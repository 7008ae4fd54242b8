import type { SessionChange } from '../../../core/session/sessionEvent';
import type { Observed, SpoolEnvelope } from '../../../service/sessions/sessionHosts';
import {
  type HookReport,
  askOf,
  commonChanges,
  endOf,
  exitCodeIn,
  hookReport,
  listItems,
  observedBy,
  isByCopilot,
} from '../hookReport';
import { otherReport } from '../otherReports';
import { fieldsOf, reportFields, textOf } from '../reportText';

/** What a report of Claude Code's hooks says. See https://code.claude.com/docs/en/hooks. */
export function claudeReport(body: string, envelope: SpoolEnvelope): Observed | undefined {
  const report = hookReport(reportFields(body));
  // VS Code runs these hooks too.
  if (isByCopilot(report.fields)) {
    const observed = otherReport('vscode')(body, envelope);
    return observed === undefined ? undefined : { ...observed, host: 'vscode' };
  }
  return observedBy(report.fields, envelope, changesOf(report));
}

function changesOf(report: HookReport): SessionChange[] {
  const { fields, event, tool, input } = report;
  switch (event) {
    case 'PreToolUse':
      return [
        askOf(report),
        ...(tool === 'TodoWrite' ? [{ kind: 'list' as const, items: listItems(input['todos']) }] : []),
      ];
    case 'PostToolUse':
      return [{ ...endOf(report), ...successOf(report) }];
    case 'PostToolUseFailure': {
      const exitCode = exitCodeIn(textOf(fields['error']));
      return [{ ...endOf(report), failed: true, ...(exitCode === undefined ? {} : { exitCode }) }];
    }
    case 'PermissionRequest': {
      const id = textOf(fields['tool_use_id']);
      return [{ kind: 'permission_asked', ...(id === undefined ? {} : { id }) }];
    }
    case 'Notification':
      return notified(textOf(fields['notification_type']));
    case 'PostCompact':
      return [compaction(report)];
    case 'TaskCreated':
    case 'TaskCompleted':
      return ownTask(report, event === 'TaskCompleted' ? 'completed' : 'pending');
    default:
      return commonChanges(report);
  }
}

/** A command that ended well has exit code 0, unless another code means no failure (grep's 1), or it still runs. */
function successOf({ fields, tool }: HookReport): { exitCode?: number } {
  const response = fieldsOf(fields['tool_response']);
  const isPlain =
    textOf(response['returnCodeInterpretation']) === undefined &&
    response['interrupted'] !== true &&
    response['backgroundTaskId'] === undefined &&
    fields['tool_response'] !== undefined;
  return tool === 'Bash' && isPlain ? { exitCode: 0 } : {};
}

function notified(type: string | undefined): SessionChange[] {
  if (type === 'permission_prompt') return [{ kind: 'permission_asked' }];
  if (type === 'elicitation_dialog') return [{ kind: 'phase', phase: 'waiting_answer' }];
  return type === 'idle_prompt' ? [{ kind: 'phase', phase: 'idle' }] : [];
}

function compaction({ fields }: HookReport): SessionChange {
  const trigger = textOf(fields['trigger']);
  const summary = textOf(fields['compact_summary']);
  return {
    kind: 'compacted',
    ...(trigger === undefined ? {} : { trigger }),
    ...(summary === undefined ? {} : { summary }),
  };
}

function ownTask({ fields }: HookReport, status: string): SessionChange[] {
  const id = textOf(fields['task_id']) ?? textOf(fields['id']);
  const text = textOf(fields['task_subject']) ?? textOf(fields['subject']) ?? '';
  return id === undefined ? [] : [{ kind: 'list_item', item: { id, text, status } }];
}
