import { DEFAULT_CONFIG } from '../config/config';
import { eventsFor } from '../transition/authority';
import type { Caller, TaskInput, TransitionContext } from '../transition/events';
import { guardOf } from '../transition/guards';
import { type TaskEventType, targetsOf } from '../transition/states';
import { type Task, commandsOf, isHumanStep, stepTypeOf } from './task';
import { RECOVERY_ACTIONS, type RecoveryAction, type TaskRecord } from './taskRecord';

/** What a person can start; the editor's commands are `atlas.<action>`. */
export const TASK_ACTIONS = [
  'startStep',
  'completeStep',
  'runValidation',
  'submitStepOutput',
  'approve',
  'reject',
  'resume',
  'recover',
  'checkpoint',
  'acknowledge',
  'failTask',
  'abandonTask',
] as const;

/** What a person can start. */
export type TaskAction = (typeof TASK_ACTIONS)[number];

/** An action that is open now; of `recover`, by another plan than the computed one where that is named. */
export interface OpenAction {
  readonly action: TaskAction;
  readonly recovery?: RecoveryAction;
  readonly rank: 'primary' | 'secondary' | 'ending';
}

/** For each action, the event that it sends; the state table and the guards say whether it is open. */
const EVENTS = {
  startStep: 'start_step',
  completeStep: 'step_complete',
  submitStepOutput: 'step_output',
  approve: 'human_approve',
  reject: 'human_reject',
  resume: 'human_resume',
  checkpoint: 'checkpoint',
  acknowledge: 'acknowledge',
  failTask: 'fail',
  abandonTask: 'abandon',
} as const satisfies Partial<Record<TaskAction, TaskEventType>>;

/** What asks the guards of an event: with fields of its own that nothing is wrong with. Other events need only a type. */
const ASKING: Partial<Readonly<Record<TaskEventType, TaskInput>>> = {
  checkpoint: { type: 'checkpoint', trigger: 'manual', description: '' },
  validation_command: { type: 'step_output' },
};

function isOpen(hook: TaskRecord, task: Task, type: TaskEventType): boolean {
  if (targetsOf(hook.state, type).length === 0) return false;
  const context: TransitionContext = {
    now: hook.updated_at,
    task,
    config: DEFAULT_CONFIG,
    checkpointIds: ['ckpt-00000000', 'ckpt-00000001'],
  };
  return guardOf(hook, ASKING[type] ?? ({ type } as TaskInput), context) === undefined;
}

/** The events that a task takes from a caller now: by its state, by whose decision they are, and by the guards. */
export function openEvents(hook: TaskRecord, task: Task, by: Caller): TaskEventType[] {
  return eventsFor(hook, by).filter((type) => isOpen(hook, task, type));
}

/** What a person can do about the task in its state, the likely thing first and what ends the task last. */
export function openActions(hook: TaskRecord, task: Task): OpenAction[] {
  const legal = (name: keyof typeof EVENTS): boolean => isOpen(hook, task, EVENTS[name]);
  const secondary = (name: TaskAction): OpenAction => ({ action: name, rank: 'secondary' });
  const offered: OpenAction[] = [];
  if (legal('startStep')) offered.push(secondary('startStep'));
  if (isDecidedByCommands(hook, task)) offered.push(secondary('runValidation'));
  if (legal('completeStep')) offered.push(secondary('completeStep'));
  for (const name of ['approve', 'resume', 'reject'] as const) if (legal(name)) offered.push(secondary(name));
  offered.push(...recoveries(hook, task));
  if (legal('submitStepOutput') && !isHumanStep(currentStep(hook, task))) offered.push(secondary('submitStepOutput'));
  if (legal('checkpoint')) offered.push(secondary('checkpoint'));
  if (legal('acknowledge')) offered.push(secondary('acknowledge'));
  const [first, ...rest] = offered;
  const likely: OpenAction[] = first === undefined ? [] : [{ ...first, rank: 'primary' }, ...rest];
  const ending = (['failTask', 'abandonTask'] as const).filter(legal);
  return [...likely, ...ending.map((action): OpenAction => ({ action, rank: 'ending' }))];
}

function currentStep(hook: TaskRecord, task: Task): Task['steps'][number] | undefined {
  return hook.current_step === undefined ? undefined : task.steps[hook.current_step.step_index];
}

/** Validation is two events in one command: the output is submitted, then the commands run. */
export function canValidate(hook: TaskRecord, task: Task): boolean {
  return hook.state === 'step_validating' || (hook.state === 'step_running' && !isHumanStep(currentStep(hook, task)));
}

/** Whether the step that runs ends by its validation; any other may be validated too, but that isn't what it waits for. */
function isDecidedByCommands(hook: TaskRecord, task: Task): boolean {
  if (!canValidate(hook, task)) return false;
  const step = currentStep(hook, task);
  if (hook.state === 'step_validating' || step === undefined) return hook.state === 'step_validating';
  return stepTypeOf(step) === 'validation' || commandsOf(step).length > 0;
}

/** In `recovering`, the computed plan and every other that is legal; elsewhere, to look for a crash. */
function recoveries(hook: TaskRecord, task: Task): OpenAction[] {
  if (hook.state !== 'recovering') {
    const possible = targetsOf(hook.state, 'crash_detected').length > 0;
    return possible ? [{ action: 'recover', rank: 'secondary' }] : [];
  }
  const computed = hook.recovery?.recommended_action;
  const others = RECOVERY_ACTIONS.filter(
    (name) =>
      name !== 'await_human' && name !== computed && isOpen(hook, task, name === 'manual' ? 'manual_required' : name),
  );
  return [
    { action: 'recover', rank: 'secondary' },
    ...others.map((recovery): OpenAction => ({ action: 'recover', recovery, rank: 'secondary' })),
  ];
}
