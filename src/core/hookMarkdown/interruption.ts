import { recoveryDetails } from '../recovery/recoveryDetails';
import { formatDuration, toMs } from '../shared/time';
import { code, stacked } from './escape';
import { type HookView } from './view';
import { utc } from './utc';

const CAUSES: Readonly<Record<string, string>> = {
  agent_killed: 'The agent before you was killed',
  agent_failed: 'The agent before you ended with an error, or reported one',
  validation_died: 'The running validation was killed',
  window_died: 'The editor window ended without signing off',
  window_closed: 'The editor window was closed, and nobody continued the work',
  machine_slept: 'The agent before you failed right after the machine had slept',
  machine_rebooted: 'The machine was restarted',
  silence: 'The agent before you gave no sign of life any more',
  requested: 'Somebody asked for a recovery',
};

const SEEN: Readonly<Record<string, string>> = {
  signal: 'its end was seen',
  timeout: 'by its silence only, so it may still be running',
};

/** `## What Interrupted You`: who fell silent, when, how that was noticed, what is certain, and who takes over. */
export function whatInterruptedYou(view: HookView): string[] {
  const { interruption } = view;
  if (interruption === undefined) return [];
  const { cause, agentFailure, lastSignOfLife: sign } = recoveryDetails(interruption);
  const signMs = sign === undefined ? Number.NaN : toMs(sign);
  const quiet = toMs(interruption.detected_at) - signMs;
  const validating = interruption.was_validating;
  const lines = [
    `**What happened:** ${CAUSES[cause ?? ''] ?? 'Something interrupted the work'}, while the task was in \`${interruption.last_known_state}\``,
    ...(agentFailure === undefined ? [] : [`**What the agent's host said:** ${code(agentFailure)}`]),
    ...(sign === undefined ? [] : [`**Last sign of life:** ${utc(sign)}`]),
    `**Noticed:** ${utc(interruption.detected_at)}${Number.isNaN(quiet) ? '' : `, ${formatDuration(Math.max(0, quiet))} later`}: ${SEEN[interruption.crash_type] ?? 'there is no certain sign of what happened'}`,
    ...(interruption.validation_cmd === undefined
      ? []
      : [`**Command that was running:** ${code(interruption.validation_cmd)}`]),
    `**Certain:** what the checkpoints, commits and receipts below record`,
    `**Not certain:** ${
      validating
        ? 'whether the command that was running would have passed'
        : 'what was done after the last checkpoint, and whether the last change to each file is complete'
    }`,
    '**You take over:** continue as "What To Do Now" says',
  ];
  return [`## What Interrupted You\n\n${stacked(lines)}`];
}
