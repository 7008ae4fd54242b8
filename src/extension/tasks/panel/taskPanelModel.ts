import type { TaskRef } from '../../../core/task/taskRef';
import type { Diagnosis } from '../../../core/recovery/liveness';
import { foreignEdits } from '../../../core/task/foreignEdits';
import { flat } from '../../../core/hookMarkdown/escape';
import { acceptedFailures, failedChecks } from '../../../core/task/acceptedFailure';
import { WAIT_LABELS, stepLabel } from '../../../core/task/labels';
import { type OpenAction, openActions } from '../../../core/task/taskActions';
import { type Task, isHumanStep, startBranchOf, worktreeOf } from '../../../core/task/task';
import { type TaskRecord, isTerminal } from '../../../core/task/taskRecord';
import { alignTask } from '../../../core/task/taskAlignment';
import { toMs } from '../../../core/shared/time';
import { waitKind } from '../../../core/task/waiting';
import type { DocumentNode } from '../../../protocol/document';
import type {
  PanelActivity,
  PanelChanges,
  PanelFile,
  TaskPanelAction,
  TaskPanelModel,
  TaskPanelNotice,
} from '../../../protocol/taskPanel';
import type { ReceiptStatus } from '../../receipts/verdicts';
import { activities } from '../activity';
import type { ChangedFiles } from './changedFiles';
import { panelChecks, tallyOf } from './checks';
import { taskNeed } from './need';
import { panelSteps } from './stepRow';
import { type TaskPanelTexts, taskPanelTexts } from './taskPanelTexts';

/** The newest of what happened; HOOK.md and the tree have all of it. */
const MAX_ACTIVITIES = 200;
/** More files than these are counted. */
const MAX_FILES = 200;
/** The lines of a failed check's output that stand where the decision is. */
const DECISION_LINES = 5;

/** What the panel is made from: as stored, nothing translated. */
export interface TaskPanelData {
  readonly hook: TaskRecord;
  readonly task: Task;
  /** The text of HOOK.md. */
  readonly markdown: string;
  /** Where HOOK.md is (absolute). */
  readonly hookPath: string;
  /** What the task changed; undefined until it was looked at. */
  readonly files?: ChangedFiles | undefined;
  /** What is kept of the files of checkpoints, in words, by their ids. */
  readonly captured?: ReadonlyMap<string, string>;
  /** The last lines that failed checks printed, by their receipts. */
  readonly outputs?: ReadonlyMap<string, string>;
  /** What the agent said last. */
  readonly said?: string | undefined;
  /** What is known of the receipts, by their ids. */
  readonly receipts?: ReadonlyMap<string, ReceiptStatus>;
  /** Whether hook.json was found to be edited since the journal's last entry. */
  readonly suspect?: boolean;
  readonly diagnosis?: Diagnosis | undefined;
  /** Whether a process runs the step's checks. */
  readonly validated?: boolean;
  /** In an untrusted folder nothing can be done about the task. */
  readonly untrusted?: boolean;
}

/** Makes all that the panel shows. No clock, and of the editor only its language. */
export function taskPanelModel(ref: TaskRef, data: TaskPanelData, document: DocumentNode[]): TaskPanelModel {
  const texts = taskPanelTexts();
  const { hook, outputs = new Map<string, string>(), receipts = new Map<string, ReceiptStatus>() } = data;
  const task = alignTask(data.task, hook);
  const step = hook.current_step;
  const stateLabel = texts.state(hook.state);
  const stepText =
    step === undefined ? undefined : texts.step(stepLabel(step.step_name), step.step_index + 1, task.steps.length);
  const health = data.diagnosis?.kind;
  const decided = hook.state === 'awaiting_human' ? failedChecks(hook).at(-1)?.receipt_id : undefined;
  const output = decided === undefined ? undefined : outputs.get(decided);
  const changed = data.files?.recent.size;
  return {
    ref,
    title: flat(task.description, 300) || hook.task_id,
    state: hook.state,
    stateLabel: shownState(hook, health, stateLabel, texts),
    since: isTerminal(hook.state) ? hook.updated_at : (enteredAt(hook) ?? hook.updated_at),
    facts: facts(data, texts),
    announcement: texts.announcement(stateLabel, stepText),
    notices: notices(data, texts),
    steps: panelSteps(hook, task, health, texts, data.captured),
    need: taskNeed(hook, {
      diagnosis: data.diagnosis,
      changed,
      output: lastLines(output),
      checks: tallyOf(hook, receipts),
      validated: data.validated === true,
      isHumanStep: isHumanStep(step === undefined ? undefined : task.steps[step.step_index]),
    }),
    actions: data.untrusted === true ? [] : panelActions(data, task, texts),
    ...changesOf(data, texts),
    checks: panelChecks(hook, receipts, withoutKey(outputs, decided), texts),
    ...(data.said === undefined ? {} : { agentSaid: flat(data.said, 500) }),
    activity: panelActivity(hook),
    document,
    strings: texts.strings,
  };
}

/** The state, and where the state alone would hide it, how the task is doing. */
function shownState(
  hook: TaskRecord,
  health: Diagnosis['kind'] | undefined,
  label: string,
  texts: TaskPanelTexts,
): string {
  if (health === 'crashed') return texts.state('recovering');
  if (health === 'quiet') return texts.both(label, texts.quiet());
  if (health === 'agent_left') return texts.both(label, texts.left());
  return hook.state === 'awaiting_human' ? texts.both(label, texts.wait(WAIT_LABELS[waitKind(hook)])) : label;
}

/** When the task came to the state that it is in, RFC 3339. */
function enteredAt({ history, state }: TaskRecord): string | undefined {
  return history.findLast((event) => event.to_state === state && event.from_state !== state)?.timestamp;
}

function lastLines(output: string | undefined): string | undefined {
  return output?.split('\n').slice(-DECISION_LINES).join('\n');
}

/** Nothing stands twice: what the decision is about isn't among the checks again. */
function withoutKey(outputs: ReadonlyMap<string, string>, left: string | undefined): ReadonlyMap<string, string> {
  return new Map([...outputs].filter(([id]) => id !== left));
}

function facts({ hook, task }: TaskPanelData, { labels }: TaskPanelTexts): TaskPanelModel['facts'] {
  const last = hook.checkpoints.findLast((checkpoint) => checkpoint.git_branch !== '')?.git_branch;
  const branch = last ?? startBranchOf(task);
  const worktree = worktreeOf(task);
  const repository = worktree?.split(/[\\/]/u).findLast((part) => part !== '') ?? hook.workspace_id;
  const all = [
    { label: labels.template, text: flat(task.template_id, 100) },
    { label: labels.branch, text: flat(branch, 255) },
    { label: labels.repository, text: flat(repository, 255) },
  ];
  return all.filter((fact) => fact.text !== '');
}

/** What has to be told beside what is needed. */
function notices({ hook, task, suspect, untrusted }: TaskPanelData, texts: TaskPanelTexts): TaskPanelNotice[] {
  const found: TaskPanelNotice[] = [];
  if (untrusted === true) found.push({ id: 'untrusted', level: 'info', text: texts.untrusted() });
  // Where the folder is trusted, the window settles that at once, or another process is just writing.
  if (suspect === true && untrusted === true)
    found.push({ id: 'journal', level: 'warning', text: texts.journalEdited() });
  const edits = foreignEdits(hook);
  if (edits !== undefined) {
    found.push({ id: 'edited', level: 'warning', text: texts.edited(edits.count), at: edits.at });
  }
  for (const { stepIndex, reason, at } of acceptedFailures(hook).values()) {
    const step = stepLabel(task.steps[stepIndex]?.name ?? '');
    found.push({ id: `accepted-${stepIndex}`, level: 'warning', text: texts.accepted(step, flat(reason, 500)), at });
  }
  return found;
}

/** What the task changed since its start; what also changed after the last checkpoint comes first and says so. */
function changesOf({ hook, files }: TaskPanelData, texts: TaskPanelTexts): { changes?: PanelChanges } {
  if (files?.sinceStart === undefined) return {};
  const { sinceStart, recent } = files;
  const known = new Set(sinceStart.map(({ path }) => path));
  const undone = [...recent].filter((path) => !known.has(path));
  const all: PanelFile[] = [
    ...sinceStart.map(({ path, change, added, removed }) => ({
      path,
      kind: change,
      kindLabel: texts.change(change),
      ...(added === undefined ? {} : { added }),
      ...(removed === undefined ? {} : { removed }),
      ...(recent.has(path) ? { recent: texts.recent() } : {}),
      exists: change !== 'deleted',
    })),
    ...undone.map((path) => ({
      path,
      kind: 'unknown' as const,
      kindLabel: texts.change('unknown'),
      recent: texts.recent(),
      exists: false,
    })),
  ].sort((a, b) => Number(b.recent !== undefined) - Number(a.recent !== undefined));
  const sum = (of: 'added' | 'removed'): number => sinceStart.reduce((total, file) => total + (file[of] ?? 0), 0);
  const last = hook.checkpoints
    .map(({ created_at: at }) => at)
    .sort((a, b) => toMs(a) - toMs(b))
    .at(-1);
  const more = all.length - MAX_FILES;
  return {
    changes: {
      summary: texts.changed(sinceStart.length, sum('added'), sum('removed')),
      ...(last === undefined ? {} : { recent: { text: texts.changedSince(recent.size), at: last } }),
      files: all.slice(0, MAX_FILES),
      ...(more > 0 ? { more: texts.moreFiles(more) } : {}),
    },
  };
}

function panelActivity(hook: TaskRecord): PanelActivity[] {
  return activities(hook)
    .slice(0, MAX_ACTIVITIES)
    .map(({ index, at, text, level }) => ({ id: String(index), at, text, level }));
}

/** The open actions in words. */
function panelActions(
  { hook, diagnosis, validated }: TaskPanelData,
  task: Task,
  texts: TaskPanelTexts,
): TaskPanelAction[] {
  // Checks that run already are no next step.
  const rankOf = ({ action, rank }: OpenAction): OpenAction['rank'] =>
    validated === true && action === 'runValidation' ? 'more' : rank;
  return openActions(hook, task, diagnosis?.kind).map((open) => ({
    ...open,
    rank: rankOf(open),
    ...texts.action(open, hook),
  }));
}
