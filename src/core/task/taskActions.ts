import { DEFAULT_CONFIG } from '../config/config';
import { eventsFor } from '../transition/authority';
import type { Caller, TaskInput, TransitionContext } from '../transition/events';
import { guardOf } from '../transition/guards';
import { type TaskEventType, targetsOf } from '../transition/states';
import type { Diagnosis } from '../recovery/liveness';
import { failedChecks, passesOverFailure } from './acceptedFailure';
import { type Task, commandsOf, isHumanStep, stepTypeOf, worktreeOf } from './task';
import { RECOVERY_ACTIONS, type RecoveryAction, type TaskRecord } from './taskRecord';
import { type WaitKind, waitKind } from './waiting';

/** What a person can start; the editor's commands are `atlas.<action>`. */
export const TASK_ACTIONS = [
  'startAgent',
  'startStep',
  'completeStep',
  'runValidation',
  'submitStepOutput',
  'answer',
  'reviewChanges',
  'showOutput',
  'approve',
  'acceptDespiteFailure',
  'reject',
  'resume',
  'stillWorking',
  'recover',
  'checkpoint',
  'acknowledge',
  'failTask',
  'abandonTask',
] as const;

/** What a person can start. */
export type TaskAction = (typeof TASK_ACTIONS)[number];

/** An action that is open now. */
export interface OpenAction {
  readonly action: TaskAction;
  /** Of `recover`: what is done at once. Without it, the person is asked. */
  readonly recovery?: RecoveryAction;
  /** `primary`: the one next step, if there is one; `secondary`: beside it; `more` and `ending`: in a menu. */
  readonly rank: 'primary' | 'secondary' | 'more' | 'ending';
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

/** What a task needs of a person, finer than its state. */
export type Situation =
  'over' | 'setup' | 'ready' | 'running' | 'validating' | 'quiet' | 'left' | 'crashed' | 'recovering' | WaitKind;

/** What a task needs of a person now; `health` is how it is doing, where that was looked at. */
export function situationOf(hook: TaskRecord, health?: Diagnosis['kind']): Situation {
  if (health === 'crashed') return 'crashed';
  if (health === 'quiet') return 'quiet';
  if (health === 'agent_left') return 'left';
  switch (hook.state) {
    case 'initializing':
      return 'setup';
    case 'step_pending':
      return 'ready';
    case 'step_running':
      return 'running';
    case 'step_validating':
      return 'validating';
    case 'awaiting_human':
      return waitKind(hook);
    case 'recovering':
      return 'recovering';
    case 'completed':
    case 'failed':
    case 'abandoned':
      return 'over';
  }
}

/**
 * What fits a situation, first the one next step: of these, the first that is open is primary, and the others stand beside
 * it. What is open and isn't named here is in the menu.
 */
const FITTING: Readonly<Record<Situation, readonly TaskAction[]>> = {
  over: ['reviewChanges'],
  setup: [],
  ready: ['startAgent', 'startStep'],
  running: ['checkpoint', 'completeStep', 'runValidation'],
  validating: ['runValidation'],
  quiet: ['resume', 'stillWorking'],
  left: ['resume', 'stillWorking', 'runValidation'],
  crashed: ['resume', 'recover'],
  recovering: ['recover'],
  review: ['reviewChanges', 'approve', 'acceptDespiteFailure', 'reject'],
  question: ['answer', 'reject'],
  validation_failed: ['runValidation', 'reject', 'showOutput', 'acceptDespiteFailure'],
  step_failed: ['reject', 'resume', 'showOutput', 'approve', 'acceptDespiteFailure'],
  attempts_spent: ['reject', 'showOutput', 'approve', 'acceptDespiteFailure'],
  interrupted: ['resume', 'reject'],
};

const ENDING: readonly TaskAction[] = ['failTask', 'abandonTask'];

/** What a person can do about a task, the one next step first and what ends the task last. */
export function openActions(hook: TaskRecord, task: Task, health?: Diagnosis['kind']): OpenAction[] {
  const situation = situationOf(hook, health);
  const open = TASK_ACTIONS.filter((action) => IS_OPEN[action](hook, task, situation));
  const fitting = FITTING[situation].filter((action) => open.includes(action));
  const more = open.filter((action) => !fitting.includes(action) && !ENDING.includes(action));
  const ranked = fitting.map((action, at): OpenAction => ({ action, rank: at === 0 ? 'primary' : 'secondary' }));
  return [
    ...withPlan(hook, ranked),
    ...more.map((action): OpenAction => ({ action, rank: action === 'acknowledge' ? 'secondary' : 'more' })),
    ...ENDING.filter((action) => open.includes(action)).map((action): OpenAction => ({ action, rank: 'ending' })),
  ];
}

/** In `recovering` the plan is what one button does; another asks for a different one. */
function withPlan(hook: TaskRecord, actions: readonly OpenAction[]): OpenAction[] {
  const plan = RECOVERY_ACTIONS.find((name) => name === hook.recovery?.recommended_action);
  return actions.flatMap((open): OpenAction[] => {
    if (open.action !== 'recover' || hook.state !== 'recovering' || plan === undefined) return [open];
    return [
      { ...open, recovery: plan },
      { action: 'recover', rank: 'secondary' },
    ];
  });
}

/** Whether nobody is seen at work on a step that runs. */
function isSilent({ state }: TaskRecord, situation: Situation): boolean {
  return state === 'step_running' && (situation === 'quiet' || situation === 'left');
}

type IsOpen = (hook: TaskRecord, task: Task, situation: Situation) => boolean;

const legal =
  (action: keyof typeof EVENTS): IsOpen =>
  (hook, task) =>
    isOpen(hook, task, EVENTS[action]);

/** Whether a person can start an action: by the state table and the guards, and where these know nothing of it, by what fits. */
const IS_OPEN: Readonly<Record<TaskAction, IsOpen>> = {
  startAgent: (hook, task) => hook.state === 'step_pending' && !isHumanStep(currentStep(hook, task)),
  startStep: legal('startStep'),
  completeStep: legal('completeStep'),
  runValidation: (hook, task) => isDecidedByCommands(hook, task) || canRunAgain(hook, task),
  submitStepOutput: (hook, task) =>
    legal('submitStepOutput')(hook, task, 'running') && !isHumanStep(currentStep(hook, task)),
  answer: (hook, task, situation) => situation === 'question' && legal('resume')(hook, task, situation),
  reviewChanges: (_hook, task) => worktreeOf(task) !== undefined,
  showOutput: (hook) => hook.state === 'awaiting_human' && failedChecks(hook).length > 0,
  approve: (hook, task, situation) => legal('approve')(hook, task, situation) && !passesOverFailure(hook),
  acceptDespiteFailure: (hook, task, situation) => legal('approve')(hook, task, situation) && passesOverFailure(hook),
  reject: legal('reject'),
  resume: (hook, task, situation) =>
    legal('resume')(hook, task, situation) ||
    situation === 'crashed' ||
    situation === 'recovering' ||
    isSilent(hook, situation),
  stillWorking: (hook, _task, situation) => isSilent(hook, situation),
  recover: (hook) => hook.state === 'recovering' || targetsOf(hook.state, 'crash_detected').length > 0,
  checkpoint: legal('checkpoint'),
  acknowledge: legal('acknowledge'),
  failTask: legal('failTask'),
  abandonTask: legal('abandonTask'),
};

/** The recovery actions other than the computed one that an interrupted task can take. */
export function otherRecoveries(hook: TaskRecord, task: Task): RecoveryAction[] {
  if (hook.state !== 'recovering') return [];
  return RECOVERY_ACTIONS.filter(
    (name) =>
      name !== 'await_human' &&
      name !== hook.recovery?.recommended_action &&
      isOpen(hook, task, name === 'manual' ? 'manual_required' : name),
  );
}

/** Failed checks are run again in the same attempt, which a person's decision continues. */
export function canRunAgain(hook: TaskRecord, task: Task): boolean {
  return (
    hook.state === 'awaiting_human' &&
    waitKind(hook) === 'validation_failed' &&
    !isHumanStep(currentStep(hook, task)) &&
    isOpen(hook, task, 'human_resume')
  );
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
