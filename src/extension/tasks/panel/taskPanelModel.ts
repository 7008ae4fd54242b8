import type { TaskRef } from '../../../core/task/taskRef';
import type { FileDrift } from '../../../core/checkpoint/checkpoint';
import type { Diagnosis } from '../../../core/recovery/liveness';
import { foreignEdits } from '../../../core/task/foreignEdits';
import { flat } from '../../../core/hookMarkdown/escape';
import { acceptedFailures } from '../../../core/task/acceptedFailure';
import { openActions } from '../../../core/task/taskActions';
import type { Task } from '../../../core/task/task';
import type { TaskRecord } from '../../../core/task/taskRecord';
import { alignTask } from '../../../core/task/taskAlignment';
import { toMs, toTimestamp } from '../../../core/shared/time';
import { waitingSince } from '../../../core/task/waiting';
import type { DocumentNode } from '../../../protocol/document';
import type { TaskPanelAction, TaskPanelModel, TaskPanelNotice, TimelineMark } from '../../../protocol/taskPanel';
import { type TaskPanelTexts, taskPanelTexts } from './taskPanelTexts';

/** What the panel is made from: as stored, nothing translated. */
export interface TaskPanelData {
  readonly hook: TaskRecord;
  readonly task: Task;
  /** The text of HOOK.md. */
  readonly markdown: string;
  /** Where HOOK.md is (absolute). */
  readonly hookPath: string;
  /** Files compared with the last checkpoint's snapshots; undefined where there is nothing to compare with. */
  readonly drift?: readonly FileDrift[] | undefined;
  /** Whether hook.json was found to be edited since the journal's last entry. */
  readonly suspect?: boolean;
  readonly diagnosis?: Diagnosis | undefined;
  /** In an untrusted folder nothing can be done about the task. */
  readonly untrusted?: boolean;
}

/** Makes all that the panel shows. No clock, and of the editor only its language. */
export function taskPanelModel(ref: TaskRef, data: TaskPanelData, document: DocumentNode[]): TaskPanelModel {
  const texts = taskPanelTexts();
  const { hook } = data;
  const task = alignTask(data.task, hook);
  const step = hook.current_step;
  const stateLabel = texts.state(hook.state);
  const stepText =
    step === undefined ? undefined : texts.step(flat(step.step_name, 64), step.step_index + 1, task.steps.length);
  return {
    ref,
    title: flat(task.description, 300) || hook.task_id,
    state: hook.state,
    stateLabel,
    facts: facts(data, stepText, texts),
    announcement: texts.announcement(stateLabel, stepText),
    updatedAt: hook.updated_at,
    notices: notices(data, texts),
    actions: data.untrusted === true ? [] : panelActions(data, task, texts),
    timeline: { ...span(hook), marks: marks(hook, texts) },
    files: (data.drift ?? []).map((file) => ({ path: file.path, kind: file.kind, label: texts.drift(file.kind) })),
    document,
    strings: texts.strings,
  };
}

function facts(
  { hook, task }: TaskPanelData,
  stepText: string | undefined,
  texts: TaskPanelTexts,
): TaskPanelModel['facts'] {
  const { labels } = texts;
  const step = hook.current_step;
  const branch = hook.checkpoints.findLast((checkpoint) => checkpoint.git_branch !== '')?.git_branch ?? '';
  const all = [
    { label: labels.step, text: stepText ?? '' },
    { label: labels.attempt, text: step === undefined ? '' : texts.attempt(step.attempt, step.max_attempts) },
    { label: labels.workingOn, text: flat(step?.working_on ?? '', 300) },
    { label: labels.workspace, text: flat(hook.workspace_id, 255) },
    { label: labels.template, text: flat(task.template_id, 100) },
    { label: labels.branch, text: flat(branch, 255) },
  ];
  return all.filter((fact) => fact.text !== '');
}

function notices(
  { hook, task, suspect, diagnosis, untrusted }: TaskPanelData,
  texts: TaskPanelTexts,
): TaskPanelNotice[] {
  const found: TaskPanelNotice[] = [];
  if (untrusted === true) found.push({ id: 'untrusted', level: 'info', text: texts.untrusted() });
  if (suspect === true) found.push({ id: 'journal', level: 'warning', text: texts.journalEdited() });
  const edits = foreignEdits(hook);
  if (edits !== undefined) {
    found.push({ id: 'edited', level: 'warning', text: texts.edited(edits.count), at: edits.at });
  }
  if (diagnosis?.kind === 'quiet') {
    found.push({ id: 'quiet', level: 'warning', text: texts.quiet(), at: toTimestamp(diagnosis.since) });
  }
  if (diagnosis?.kind === 'crashed') {
    found.push({ id: 'crashed', level: 'error', text: texts.crashed(), at: toTimestamp(diagnosis.lastSign) });
  }
  if (hook.state === 'recovering') {
    const reason = flat(hook.recovery?.reason ?? '', 500);
    found.push({ id: 'recovering', level: 'warning', text: texts.recovering(reason), at: hook.recovery?.detected_at });
  }
  for (const { stepIndex, reason, at } of acceptedFailures(hook).values()) {
    const step = flat(task.steps[stepIndex]?.name ?? '', 64);
    found.push({ id: `accepted-${stepIndex}`, level: 'warning', text: texts.accepted(step, flat(reason, 500)), at });
  }
  if (hook.state === 'awaiting_human') {
    const { kind, message, since } = waitingSince(hook);
    const level = kind === 'validation_failed' ? 'error' : 'info';
    found.push({ id: 'waiting', level, text: texts.waiting(kind, flat(message ?? '', 500)), at: since });
  }
  return found;
}

/** From the start of the task to its last change; a checkpoint outside, of a wrong clock, widens it. */
function span(hook: TaskRecord): { from: string; to: string } {
  const times = [hook.created_at, hook.updated_at, ...hook.checkpoints.map((checkpoint) => checkpoint.created_at)]
    .map(toMs)
    .filter((time) => !Number.isNaN(time));
  return { from: toTimestamp(Math.min(...times)), to: toTimestamp(Math.max(...times)) };
}

function marks(hook: TaskRecord, texts: TaskPanelTexts): TimelineMark[] {
  return hook.checkpoints
    .map((checkpoint): TimelineMark => {
      const triggerLabel = texts.trigger(checkpoint.trigger);
      const dirty = checkpoint.git_dirty === true ? `, ${texts.uncommitted()}` : '';
      return {
        id: checkpoint.checkpoint_id,
        at: checkpoint.created_at,
        trigger: checkpoint.trigger,
        triggerLabel,
        label: `${texts.mark(triggerLabel, flat(checkpoint.description, 200), flat(checkpoint.step_name, 64))}${dirty}`,
      };
    })
    .sort((a, b) => toMs(a.at) - toMs(b.at));
}

/** The open actions in words. */
function panelActions({ hook, diagnosis }: TaskPanelData, task: Task, texts: TaskPanelTexts): TaskPanelAction[] {
  return openActions(hook, task, diagnosis?.kind).map((open) => ({ ...open, ...texts.action(open, hook) }));
}
