import { DEFAULT_CONFIG } from '../../../core/config/config';
import type { TaskInput, TransitionContext } from '../../../core/task/events';
import { guardOf } from '../../../core/task/guards';
import { type TaskRecord, RECOVERY_ACTIONS, type RecoveryAction } from '../../../core/task/taskRecord';
import { targetsOf } from '../../../core/task/states';
import { type Task, commandsOf, stepTypeOf } from '../../../core/task/task';
import type { HookPanelAction, HookPanelActionName } from '../../../protocol/hookPanel';
import type { HookPanelTexts } from './hookPanelTexts';

/** An action without its words. */
export type OfferedAction = Pick<HookPanelAction, 'action' | 'recovery' | 'rank'>;

/** For each action, the event that it sends; the table and the guards say whether it is offered. */
const EVENTS = {
  startStep: { type: 'start_step' },
  completeStep: { type: 'step_complete' },
  submitStepOutput: { type: 'step_output' },
  approve: { type: 'human_approve' },
  reject: { type: 'human_reject' },
  resume: { type: 'human_resume' },
  checkpoint: { type: 'checkpoint', trigger: 'manual', description: '' },
  acknowledge: { type: 'acknowledge' },
  failTask: { type: 'fail' },
  abandonTask: { type: 'abandon' },
} as const satisfies Partial<Record<HookPanelActionName, TaskInput>>;

const RECOVERIES = {
  retry_step: { type: 'retry_step' },
  retry_from_checkpoint: { type: 'retry_from_checkpoint' },
  retry_validation: { type: 'retry_validation' },
  skip_step: { type: 'skip_step' },
  manual: { type: 'manual_required' },
  await_human: undefined,
} as const satisfies Record<RecoveryAction, TaskInput | undefined>;

function isLegal(hook: TaskRecord, task: Task, input: TaskInput): boolean {
  if (targetsOf(hook.state, input.type).length === 0) return false;
  const context: TransitionContext = {
    now: hook.updated_at,
    task,
    config: DEFAULT_CONFIG,
    checkpointIds: ['ckpt-00000000', 'ckpt-00000001'],
  };
  return guardOf(hook, input, context) === undefined;
}

/** What a person can do about the task in its state, the likely thing first and what ends the task last. */
export function offeredActions(hook: TaskRecord, task: Task): OfferedAction[] {
  const legal = (name: keyof typeof EVENTS): boolean => isLegal(hook, task, EVENTS[name]);
  const secondary = (name: HookPanelActionName): OfferedAction => ({ action: name, rank: 'secondary' });
  const offered: OfferedAction[] = [];
  if (legal('startStep')) offered.push(secondary('startStep'));
  if (isDecidedByCommands(hook, task)) offered.push(secondary('runValidation'));
  if (legal('completeStep')) offered.push(secondary('completeStep'));
  for (const name of ['approve', 'resume', 'reject'] as const) if (legal(name)) offered.push(secondary(name));
  offered.push(...recoveries(hook, task));
  if (legal('submitStepOutput') && !isHumanStep(hook, task)) offered.push(secondary('submitStepOutput'));
  if (legal('checkpoint')) offered.push(secondary('checkpoint'));
  if (legal('acknowledge')) offered.push(secondary('acknowledge'));
  const [first, ...rest] = offered;
  const likely: OfferedAction[] = first === undefined ? [] : [{ ...first, rank: 'primary' }, ...rest];
  const ending = (['failTask', 'abandonTask'] as const).filter(legal);
  return [...likely, ...ending.map((action): OfferedAction => ({ action, rank: 'ending' }))];
}

function stepType(hook: TaskRecord, task: Task): string | undefined {
  const step = hook.current_step === undefined ? undefined : task.steps[hook.current_step.step_index];
  return step === undefined ? undefined : stepTypeOf(step);
}

function isHumanStep(hook: TaskRecord, task: Task): boolean {
  return stepType(hook, task) === 'human';
}

/** Validation is two events in one command: the output is submitted, then the commands run. */
export function canValidate(hook: TaskRecord, task: Task): boolean {
  return hook.state === 'step_validating' || (hook.state === 'step_running' && !isHumanStep(hook, task));
}

/** Whether the step that runs ends by its validation; any other may be validated too, but that isn't what it waits for. */
function isDecidedByCommands(hook: TaskRecord, task: Task): boolean {
  if (!canValidate(hook, task)) return false;
  const step = hook.current_step === undefined ? undefined : task.steps[hook.current_step.step_index];
  if (hook.state === 'step_validating' || step === undefined) return hook.state === 'step_validating';
  return stepTypeOf(step) === 'validation' || commandsOf(step).length > 0;
}

/** In `recovering`, the computed plan and every other that is legal; elsewhere, to look for a crash. */
function recoveries(hook: TaskRecord, task: Task): OfferedAction[] {
  if (hook.state !== 'recovering') {
    const possible = targetsOf(hook.state, 'crash_detected').length > 0;
    return possible ? [{ action: 'recover', rank: 'secondary' }] : [];
  }
  const computed = hook.recovery?.recommended_action;
  const others = RECOVERY_ACTIONS.filter((name) => {
    const input = RECOVERIES[name];
    return input !== undefined && name !== computed && isLegal(hook, task, input);
  });
  return [
    { action: 'recover', rank: 'secondary' },
    ...others.map((recovery): OfferedAction => ({ action: 'recover', recovery, rank: 'secondary' })),
  ];
}

/** The offered actions in words. */
export function panelActions(hook: TaskRecord, task: Task, texts: HookPanelTexts): HookPanelAction[] {
  const plan = RECOVERY_ACTIONS.find((name) => name === hook.recovery?.recommended_action);
  return offeredActions(hook, task).map((offered): HookPanelAction => {
    if (offered.action !== 'recover' || hook.state !== 'recovering') {
      return { ...offered, ...texts.action(offered.action) };
    }
    const computed = offered.recovery === undefined;
    return { ...offered, ...texts.recovery(offered.recovery ?? plan ?? 'manual', computed) };
  });
}
