import { flat } from '../../../core/hookMarkdown/escape';
import type { Diagnosis } from '../../../core/recovery/liveness';
import { acceptedFailures } from '../../../core/task/acceptedFailure';
import { stepLabel } from '../../../core/task/labels';
import type { Task, TaskStep } from '../../../core/task/task';
import { type StepCheckpoint, type TaskRecord, isTerminal } from '../../../core/task/taskRecord';
import { toMs } from '../../../core/shared/time';
import type { PanelStep, StepMark } from '../../../protocol/taskPanel';
import { activityOf } from '../activity';
import type { TaskPanelTexts } from './taskPanelTexts';

/** More marks on a step than these say no more. */
const MAX_MARKS = 12;

/**
 * All steps with what happened on them.
 * @param captured what is kept of the files of checkpoints, in words, by their ids
 */
export function panelSteps(
  hook: TaskRecord,
  task: Task,
  health: Diagnosis['kind'] | undefined,
  texts: TaskPanelTexts,
  captured: ReadonlyMap<string, string> = new Map<string, string>(),
): PanelStep[] {
  const accepted = acceptedFailures(hook);
  return task.steps.map((step, index): PanelStep => {
    const isCurrent = hook.current_step?.step_index === index && !isTerminal(hook.state);
    const look = isCurrent ? currentLook(hook, health) : lookOf(step, accepted.has(index));
    const marks = marksOf(hook, index, step.name, texts, captured);
    const earlier = marks.length - MAX_MARKS;
    const attempt = isCurrent ? (hook.current_step?.attempt ?? 0) : step.attempts;
    return {
      name: stepLabel(step.name),
      look,
      lookLabel: texts.stepLook(look),
      isCurrent,
      ...(attempt > 1 ? { attempt: texts.attempt(attempt) } : {}),
      marks: marks.slice(-MAX_MARKS),
      ...(earlier > 0 ? { earlier: texts.earlierMarks(earlier) } : {}),
    };
  });
}

function currentLook(hook: TaskRecord, health: Diagnosis['kind'] | undefined): PanelStep['look'] {
  if (health === 'crashed' || hook.state === 'recovering') return 'interrupted';
  if (hook.state === 'awaiting_human') return 'waiting';
  return hook.state === 'step_running' || hook.state === 'step_validating' ? 'running' : 'ready';
}

function lookOf({ status }: TaskStep, isAccepted: boolean): PanelStep['look'] {
  switch (status) {
    case 'completed':
      return isAccepted ? 'accepted' : 'done';
    case 'skipped':
      return 'skipped';
    case 'failed':
      return 'failed';
    default:
      return 'pending';
  }
}

/** A step's checkpoints, failures, waits and interruptions, oldest first; of periodic checkpoints only the last. */
function marksOf(
  hook: TaskRecord,
  index: number,
  name: string,
  texts: TaskPanelTexts,
  captured: ReadonlyMap<string, string>,
): StepMark[] {
  const own = hook.checkpoints.filter((each) => each.step_index === index || each.step_name === name);
  const periodic = own.filter(({ trigger }) => trigger === 'interval');
  const shown = own.filter((each) => each.trigger !== 'interval' || each === periodic.at(-1));
  const events = hook.history.flatMap((event, at): StepMark[] => {
    if (event.step_name !== name) return [];
    const kind = eventKind(event.trigger, event.from_state, event.to_state);
    if (kind === undefined) return [];
    const label = activityOf(hook, at)?.text ?? '';
    return [{ id: `event-${at}`, at: event.timestamp, kind, kindLabel: texts.markKind(kind), label }];
  });
  const checkpoints = shown.map((each) =>
    checkpointMark(each, periodic.length, texts, captured.get(each.checkpoint_id) ?? ''),
  );
  return [...checkpoints, ...events].sort((a, b) => toMs(a.at) - toMs(b.at));
}

function eventKind(trigger: string, from: string, to: string): 'failure' | 'wait' | 'interruption' | undefined {
  if (trigger === 'validate_fail') return 'failure';
  if (trigger === 'crash_detected') return 'interruption';
  return to === 'awaiting_human' && from !== to ? 'wait' : undefined;
}

function checkpointMark(
  checkpoint: StepCheckpoint,
  periodic: number,
  texts: TaskPanelTexts,
  captured: string,
): StepMark {
  const { checkpoint_id: id, created_at: at, trigger } = checkpoint;
  const dirty = checkpoint.git_dirty === true ? `, ${texts.uncommitted()}` : '';
  const said = flat(checkpoint.description, 200);
  const label =
    trigger === 'interval' && periodic > 1
      ? texts.lastOf(periodic)
      : trigger === 'manual' || said === ''
        ? texts.mark(texts.markKind(trigger), said)
        : said;
  return {
    id,
    at,
    kind: trigger,
    kindLabel: texts.markKind(trigger),
    label: [`${label}${dirty}`, captured].filter((part) => part !== '').join(' · '),
    checkpoint: id,
  };
}
