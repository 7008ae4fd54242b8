import { sentenceList } from '../shared/text';
import type { Caller } from './events';
import { ACTION_LABELS } from '../task/labels';
import type { TaskEventType } from './states';
import type { Task } from '../task/task';
import { openEvents } from '../task/taskActions';
import { type TaskRecord, isTerminal } from '../task/taskRecord';

/** What a caller can do about an event that was refused. What ends a task is never suggested. */
const POSSIBLE: Partial<Readonly<Record<TaskEventType, string>>> = {
  start_step: 'start the step',
  note: 'record progress',
  checkpoint: 'record a checkpoint',
  step_output: 'submit output',
  step_complete: 'complete the step',
  validation_command: 'validate the step',
  human_required: 'ask the human',
  human_approve: 'approve the step',
  human_reject: 'reject the step',
  human_resume: 'continue the step',
  retry_step: lowered(ACTION_LABELS.retry_step),
  retry_from_checkpoint: lowered(ACTION_LABELS.retry_from_checkpoint),
  retry_validation: lowered(ACTION_LABELS.retry_validation),
  skip_step: lowered(ACTION_LABELS.skip_step),
  acknowledge: 'acknowledge the edit made outside Atlas',
};

function lowered(label: string): string {
  return `${label.charAt(0).toLowerCase()}${label.slice(1)}`;
}

/** A sentence saying what a caller can do with a task now. */
export function possibleNow(hook: TaskRecord | undefined, task: Task, by: Caller): string {
  if (hook === undefined) return 'Create the task first.';
  if (isTerminal(hook.state)) return 'Start a new task.';
  const possible = openEvents(hook, task, by).flatMap((type) => POSSIBLE[type] ?? []);
  if (hook.state === 'initializing') return 'Wait until the task is set up.';
  return `You can ${sentenceList(possible, 'or')}.`;
}
