import type { SessionChange } from '../../../core/session/sessionEvent';
import type { Observed, SpoolEnvelope } from '../../../service/sessions/sessionHosts';
import {
  type HookReport,
  askOf,
  commandOf,
  commonChanges,
  endOf,
  hookReport,
  listItems,
  observedBy,
} from '../hookReport';
import { filesOfPatch, reportFields, textOf } from '../reportText';

/** What a report of Codex's hooks says. They tell neither exit codes nor durations. */
export function codexReport(body: string, envelope: SpoolEnvelope): Observed | undefined {
  const report = hookReport(reportFields(body));
  return observedBy(report.fields, envelope, changesOf(report));
}

function changesOf(report: HookReport): SessionChange[] {
  const { fields, event, tool, input } = report;
  switch (event) {
    case 'PreToolUse':
      return [
        patched(report, askOf(report)),
        ...(tool === 'update_plan' ? [{ kind: 'list' as const, items: listItems(input['plan']) }] : []),
      ];
    case 'PostToolUse':
      return [patched(report, endOf(report))];
    case 'PermissionRequest':
      return [{ kind: 'permission_asked', id: report.toolId }];
    case 'PostCompact': {
      const trigger = textOf(fields['trigger']);
      return [{ kind: 'compacted', ...(trigger === undefined ? {} : { trigger }) }];
    }
    default:
      return commonChanges(report);
  }
}

/** A patch is no command: it names the files that it changes. */
function patched({ tool, input }: HookReport, change: SessionChange): SessionChange {
  const patch = commandOf(input) ?? textOf(input['input']) ?? '';
  if (tool !== 'apply_patch' || (change.kind !== 'tool_asked' && change.kind !== 'tool_ended')) return change;
  const { command: _patch, ...rest } = change;
  return { ...rest, files: filesOfPatch(patch) };
}
