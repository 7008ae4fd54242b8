import { type ForeignEdits, foreignEdits } from '../../../core/task/foreignEdits';
import { recoveryDetails } from '../../../core/recovery/recoveryDetails';
import { worktreeOf } from '../../../core/task/task';
import { type StepCheckpoint, type TaskRecord, isTerminal } from '../../../core/task/taskRecord';
import type { Diagnosis } from '../../../core/recovery/liveness';
import { VERDICTS, type Verdict } from '../../../core/receipt/receipt';
import { count, oneLine } from '../../../core/shared/text';
import { roughAge, toMs, toTimestamp } from '../../../core/shared/time';
import { WAIT_LABELS, actionLabel, healthLabel } from '../../../core/task/labels';
import { waitKind, waitingSince } from '../../../core/task/waiting';
import type { AtlasReader } from '../../../service/atlasReader';
import { otherOpenTasks, unreadableNotes } from '../../../service/tasks/taskChoice';
import type { StoredTask } from '../../../core/task/storedTask';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { EXIT } from '../../render/output';
import type { AnswerData, CheckpointData, VerdictCounts } from '../schemas';
import { needLine, sessionsInNeed } from '../sessions/needed';
import { sessionData } from '../sessions/sessionAnswer';
import { paint } from '../../render/style';
import { fields } from '../../render/table';
import { describeState, nextData, nextOf, taskData, taskToTell, unreadableData } from './taskAnswer';

/** `status` and `hook status`: where a task stands. */
export const status: Handler = async (context, call) => {
  const chosen = await taskToTell(context, call);
  const atlas = await context.atlas();
  const { stored, notes } = chosen;
  const { hook, ref } = stored;
  const { config } = await atlas.configs.forTask(stored.task);
  const diagnosis = atlas.diagnose(stored, config.staleThresholdMs);
  const receipts = await verdictCounts(atlas, stored);
  const failed = hook.receipts.filter(({ exit_code: code }) => code !== 0).length;
  const others = otherOpenTasks(atlas, ref);
  const unreadable = atlas.catalog.unreadable(ref.workspace).filter((each) => each.ref.id !== ref.id);
  const sessions = await sessionsInNeed(context);
  const last = hook.checkpoints.at(-1);
  const waiting = hook.state === 'awaiting_human' ? waitingSince(hook) : undefined;
  const data: AnswerData<'status'> = {
    task: taskData(atlas, stored),
    health: healthData(diagnosis, hook),
    waiting: waiting === undefined ? null : { ...waiting, message: waiting.message ?? null },
    recovery:
      hook.recovery === undefined
        ? null
        : {
            action: hook.recovery.recommended_action,
            reason: hook.recovery.reason,
            crash_type: hook.recovery.crash_type,
          },
    last_checkpoint: last === undefined ? null : checkpointData(last),
    checkpoints: hook.checkpoints.length,
    receipts: receipts.counts,
    results: { passed: hook.receipts.length - failed, failed },
    foreign_edits: foreignEdits(hook) ?? null,
    ...(chosen.newer === undefined ? nextData(nextOf(atlas, stored)) : { next: 'Update Atlas', next_command: null }),
    other_open_tasks: others.map((other) => ({
      task_id: other.ref.id,
      state: other.hook.state,
      description: other.task.description,
    })),
    unreadable_tasks: unreadableData(unreadable),
    sessions: sessions.map(sessionData),
  };
  const now = atlas.ports.clock.now();
  const text = statusText(context, stored, data, { diagnosis, now, sessions: needLine(sessions, now) });
  return {
    exit: EXIT.done,
    text,
    wanted: true,
    data,
    notes: [...notes, ...missingWorktree(atlas, stored), ...receipts.notes, ...unreadableNotes(unreadable)],
  };
};

/** What to do where the folder in which the work is done is gone. */
function missingWorktree({ ports }: AtlasReader, { hook, task }: StoredTask): string[] {
  const worktree = worktreeOf(task);
  if (worktree === undefined || isTerminal(hook.state) || ports.files.stat(worktree) !== undefined) return [];
  return [`The task's worktree ${oneLine(worktree, 500)} is missing. If it was moved, move it back.`];
}

function statusText(
  context: CliContext,
  stored: StoredTask,
  data: AnswerData<'status'>,
  {
    diagnosis,
    now,
    sessions,
  }: { readonly diagnosis: Diagnosis; readonly now: number; readonly sessions: string | undefined },
): string {
  const { hook, task, ref } = stored;
  const { last_checkpoint: last, waiting } = data;
  const age = (time: string): string => roughAge(toMs(time), now);
  const checkpoint =
    last === null
      ? 'none yet'
      : `${last.checkpoint_id} (${age(last.created_at)}, ${last.trigger}) ${oneLine(last.description, 80)}`;
  const others = data.other_open_tasks.length;
  return fields(
    [
      ['Task', `${ref.id}  ${oneLine(task.description, 120)}`],
      ['Workspace', ref.workspace],
      ['Template', oneLine(task.template_id, 64)],
      ['State', paint(context.streams, hook.state, describeState(stored))],
      ['Health', healthLabel(hook, diagnosis, now)],
      [
        'Waiting For',
        waiting === null ? undefined : oneLine(labelled(WAIT_LABELS[waitKind(hook)], waiting.message ?? ''), 300),
      ],
      [
        'Recovery Plan',
        data.recovery === null
          ? undefined
          : oneLine(labelled(actionLabel(data.recovery.action), data.recovery.reason), 300),
      ],
      ['Edited Outside', data.foreign_edits === null ? undefined : describeEdits(data.foreign_edits, age)],
      ['Working On', oneLine(hook.current_step?.working_on ?? '', 200)],
      ['Last Checkpoint', checkpoint],
      ['Receipts', describeReceipts(data)],
      ['Updated', `${hook.updated_at} (${age(hook.updated_at)})`],
      ['Next', data.next],
      [hook.state === 'step_running' ? 'When Done' : 'Run', data.next_command ?? undefined],
      ['HOOK.md', data.task.hook_path],
      ['Other Open Tasks', others === 0 ? undefined : String(others)],
      ['Sessions', sessions],
    ],
    context.streams.columns,
  );
}

/** A label, and what is known beside it. */
function labelled(label: string, text: string): string {
  return text === '' ? label : `${label}: ${text}`;
}

const EDITS: Readonly<Record<ForeignEdits['kind'], string>> = {
  adopted: 'hook.json was written by another program',
  edited: 'hook.json was edited by something other than Atlas',
  rolled_back: 'hook.json was restored to an older version',
};

function describeEdits({ count: times, kind, at }: ForeignEdits, age: (time: string) => string): string {
  const often = times === 1 ? '' : `${count(times, 'time')}, `;
  return `${EDITS[kind]} (${often}${age(at)}). Review the task, then run: atlas acknowledge`;
}

/** An interruption that is recorded keeps its cause and the last sign of life. */
function healthData(diagnosis: Diagnosis, { recovery }: TaskRecord): AnswerData<'status'>['health'] {
  const recorded = diagnosis.kind === 'recovering' ? recoveryDetails(recovery) : undefined;
  const since =
    diagnosis.kind === 'quiet' ? diagnosis.since : diagnosis.kind === 'crashed' ? diagnosis.lastSign : undefined;
  const known = since === undefined || Number.isNaN(since) ? undefined : toTimestamp(since);
  return {
    kind: diagnosis.kind,
    cause: (diagnosis.kind === 'crashed' ? diagnosis.cause : recorded?.cause) ?? null,
    since: known ?? recorded?.lastSignOfLife ?? null,
  };
}

const NONE: VerdictCounts = { valid: 0, valid_short: 0, invalid: 0, unsigned: 0, unknown_key: 0 };

/** The receipts of a task by their verdicts; where the keys can't be used, that is said. */
export async function verdictCounts(
  atlas: AtlasReader,
  stored: StoredTask,
): Promise<{ counts: VerdictCounts; notes: string[] }> {
  if (stored.hook.receipts.length === 0) return { counts: NONE, notes: [] };
  const reports = await (await atlas.receipts()).reports(stored);
  if (!reports.ok) {
    return {
      counts: NONE,
      notes: [`${count(stored.hook.receipts.length, 'receipt')} can't be verified: ${reports.error.message}`],
    };
  }
  return { counts: countVerdicts([...reports.value.values()].map(({ verdict }) => verdict)), notes: [] };
}

/** How many verdicts there are of each kind. */
export function countVerdicts(verdicts: readonly Verdict[]): VerdictCounts {
  const counts = { ...NONE };
  for (const verdict of verdicts) counts[verdict] += 1;
  return counts;
}

/** `2 valid, 1 invalid`, or `none`. */
export function describeVerdicts(counts: VerdictCounts): string {
  const parts = VERDICTS.flatMap((verdict) => {
    const number = counts[verdict];
    return number === 0 ? [] : [`${number} ${verdict === 'valid_short' ? 'valid (short)' : verdict.replace('_', ' ')}`];
  });
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/** Results and verdicts apart: a receipt can be valid and say that the check failed. */
function describeReceipts({ results: { passed, failed }, receipts }: AnswerData<'status'>): string {
  if (passed + failed === 0) return 'none';
  const results = failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} failed`;
  return `${results} (${describeVerdicts(receipts)})`;
}

/** What JSON says of a checkpoint. */
export function checkpointData(checkpoint: StepCheckpoint): CheckpointData {
  return {
    checkpoint_id: checkpoint.checkpoint_id,
    created_at: checkpoint.created_at,
    trigger: checkpoint.trigger,
    step_name: checkpoint.step_name,
    attempt: checkpoint.attempt ?? null,
    description: checkpoint.description,
    git_branch: checkpoint.git_branch === '' ? null : checkpoint.git_branch,
    git_commit: checkpoint.git_commit ?? null,
    git_dirty: checkpoint.git_dirty ?? null,
    files: checkpoint.files_snapshot?.length ?? 0,
  };
}
