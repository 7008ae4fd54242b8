import type { TaskRef } from '../../../core/task/taskRef';
import { foreignEdits } from '../../../core/task/foreignEdits';
import { flat } from '../../../core/hookMarkdown/escape';
import { openActions } from '../../../core/task/taskActions';
import type { Task } from '../../../core/task/task';
import { RECOVERY_ACTIONS, type TaskRecord } from '../../../core/task/taskRecord';
import { alignTask } from '../../../core/task/taskAlignment';
import { toMs, toTimestamp } from '../../../core/shared/time';
import { waitingSince } from '../../../core/task/waiting';
import type { DocumentNode } from '../../../protocol/document';
import type { HookPanelAction, HookPanelModel, HookPanelNotice, TimelineMark } from '../../../protocol/hookPanel';
import type { HookPanelData } from './hookPanelSource';
import type { HookPanelTexts } from './hookPanelTexts';

/** Makes all that the panel shows. Pure: no clock, no editor. */
export function hookPanelModel(
  ref: TaskRef,
  data: HookPanelData,
  document: DocumentNode[],
  texts: HookPanelTexts,
): HookPanelModel {
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
    actions: data.untrusted === true ? [] : panelActions(hook, task, texts),
    timeline: { ...span(hook), marks: marks(hook, texts) },
    files: (data.drift ?? []).map((file) => ({ path: file.path, kind: file.kind, label: texts.drift(file.kind) })),
    document,
    strings: texts.strings,
  };
}

function facts(
  { hook, task }: HookPanelData,
  stepText: string | undefined,
  texts: HookPanelTexts,
): HookPanelModel['facts'] {
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

function notices({ hook, journal, diagnosis, untrusted }: HookPanelData, texts: HookPanelTexts): HookPanelNotice[] {
  const found: HookPanelNotice[] = [];
  if (untrusted === true) found.push({ id: 'untrusted', level: 'info', text: texts.untrusted() });
  if (journal !== undefined && journal !== 'sound') {
    found.push({ id: 'journal', level: 'warning', text: texts.journal(journal) });
  }
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
  if (hook.state === 'awaiting_human') {
    const { message, since } = waitingSince(hook);
    found.push({ id: 'waiting', level: 'info', text: texts.waiting(flat(message ?? '', 500)), at: since });
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

function marks(hook: TaskRecord, texts: HookPanelTexts): TimelineMark[] {
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
function panelActions(hook: TaskRecord, task: Task, texts: HookPanelTexts): HookPanelAction[] {
  const plan = RECOVERY_ACTIONS.find((name) => name === hook.recovery?.recommended_action);
  return openActions(hook, task).map((open): HookPanelAction => {
    if (open.action !== 'recover' || hook.state !== 'recovering') return { ...open, ...texts.action(open.action) };
    const computed = open.recovery === undefined;
    return { ...open, ...texts.recovery(open.recovery ?? plan ?? 'manual', computed) };
  });
}
