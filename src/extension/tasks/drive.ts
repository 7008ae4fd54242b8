import type { Result } from '../../core/shared/errors';
import * as vscode from 'vscode';
import type { TaskInput } from '../../core/transition/events';
import type { RecoveryAction } from '../../core/task/taskRecord';
import { RECOVERY_ACTIONS, isTerminal } from '../../core/task/taskRecord';
import { failedChecks, passesOverFailure } from '../../core/task/acceptedFailure';
import { reasonLabel } from '../../core/task/labels';
import { waitingSince } from '../../core/task/waiting';
import type { StoredTask, Updated } from '../../core/task/storedTask';
import { type TaskAction, openActions, otherRecoveries } from '../../core/task/taskActions';
import type { Atlas } from '../../service/atlas';
import { plain } from '../shared/messages';
import { chosen, taskToChange } from '../shared/arguments';
import { askOneText } from '../shared/questions';
import { continueWithAgent } from './startAgent';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { confirm } from '../shared/dialogs';
import { recoveryLabel } from '../shared/stateLook';

type Drive = () => Promise<Atlas>;

/** Which tasks an action fits, by the same table that the panel's buttons and the menus come from. */
function offers(action: TaskAction): (task: StoredTask) => boolean {
  return ({ hook, task }) => openActions(hook, task).some((offered) => offered.action === action);
}

/** The command of an action that changes a task. */
function command(
  action: TaskAction,
  change: (task: StoredTask, drive: Drive) => Promise<Result<Updated>>,
): CommandHandler {
  return async (context, argument) => {
    const task = await taskToChange(context.session, argument, offers(action));
    took(context, await change(task, async () => context.session.atlas.drive()));
  };
}

/** Sends an event with the step and attempt that the person saw: a task that moved on meanwhile refuses. */
async function send({ ref, hook }: StoredTask, drive: Drive, input: TaskInput): Promise<Result<Updated>> {
  const step = hook.current_step;
  const seen = step === undefined ? {} : { expect: { step: step.step_name, attempt: step.attempt } };
  return (await drive()).send(ref, { ...input, ...seen, by: 'human' }, { patient: true });
}

/** A text that may be left empty; a box that was closed ends the command. */
async function ask(title: string, prompt: string): Promise<string> {
  return chosen(await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true }));
}

/** Atlas: Start Step. */
export const startStep = command('startStep', async ({ ref }, drive) => (await drive()).startStep(ref));

/** Atlas: Complete Step. A git step that git shows no result of ends only with a reason. */
export const completeStep = command('completeStep', async (task, drive) => {
  const sent = await send(task, drive, { type: 'step_complete' });
  if (sent.ok || sent.error.code !== 'not_done') return sent;
  const prompt = vscode.l10n.t('{0} If there is nothing to do, say why. The reason is recorded.', sent.error.message);
  const title = vscode.l10n.t('Complete Step for "{0}"', plain(task.task.description, 60));
  const nothingToDo = await ask(title, prompt);
  return send(task, drive, { type: 'step_complete', nothingToDo });
});

/** Atlas: Submit Step Output. */
export const submitStepOutput = command('submitStepOutput', async (task, drive) => {
  const prompt = vscode.l10n.t('What was done? The first 500 characters are recorded. Validation comes next.');
  const title = vscode.l10n.t('Submit Step Output for "{0}"', plain(task.task.description, 60));
  return send(task, drive, { type: 'step_output', output: await ask(title, prompt) });
});

/** Atlas: Record Checkpoint. */
export const checkpoint = command('checkpoint', async ({ ref, task }, drive) => {
  const title = vscode.l10n.t('Record Checkpoint for "{0}"', plain(task.description, 60));
  const description = await ask(title, vscode.l10n.t('What is done so far? (optional)'));
  return (await drive()).checkpoint(ref, description);
});

/** Atlas: Approve Step. Where a check failed, that takes a reason, whichever way it was asked for. */
export const approve: CommandHandler = async (context, argument) => {
  const task = await taskToChange(context.session, argument, canAccept);
  const reason = passesOverFailure(task.hook) ? { reason: await askWhyAccepted(task) } : {};
  took(context, await send(task, async () => context.session.atlas.drive(), { type: 'human_approve', ...reason }));
};

/** Atlas: Accept Despite Failure. */
export const acceptDespiteFailure: CommandHandler = async (context, argument) => approve(context, argument);

function canAccept(task: StoredTask): boolean {
  return offers('approve')(task) || offers('acceptDespiteFailure')(task);
}

async function askWhyAccepted({ hook, task }: StoredTask): Promise<string> {
  const [failed] = failedChecks(hook);
  const what =
    failed === undefined
      ? vscode.l10n.t('A check failed.')
      : vscode.l10n.t('"{0}" exited with code {1}.', plain(failed.command, 100), failed.exit_code);
  return askOneText({
    title: vscode.l10n.t('Accept "{0}" Despite the Failure', plain(task.description, 60)),
    prompt: vscode.l10n.t('{0} Why do you accept the step anyway? The reason stays with the task.', what),
    value: undefined,
    empty: vscode.l10n.t('Enter a reason.'),
  });
}

/** Atlas: Answer. The question is the input's title. */
export const answer = command('answer', async (task, drive) => {
  const { message } = waitingSince(task.hook);
  const asked = message ?? vscode.l10n.t('The agent has a question.');
  const text = await askOneText({
    title: plain(asked, 200),
    prompt: vscode.l10n.t('Your answer for "{0}". The agent reads it in HOOK.md.', plain(task.task.description, 60)),
    value: undefined,
    empty: vscode.l10n.t('Enter an answer.'),
  });
  return send(task, drive, { type: 'human_resume', answer: text });
});

/** Atlas: Send Back with Note. */
export const reject = command('reject', async (task, drive) => {
  const title = vscode.l10n.t('Send Back "{0}"', plain(task.task.description, 60));
  const reason = await ask(
    title,
    vscode.l10n.t('What should be different? The agent sees it and does the step again.'),
  );
  return send(task, drive, { type: 'human_reject', ...(reason === '' ? {} : { reason }) });
});

/** Atlas: Acknowledge Edit. A person has seen that something other than Atlas changed hook.json. */
export const acknowledge = command('acknowledge', async ({ ref }, drive) =>
  (await drive()).send(ref, { type: 'acknowledge', by: 'human' }),
);

/** Atlas: Mark Task as Failed. */
export const failTask = command('failTask', async ({ ref, task }, drive) => {
  const title = vscode.l10n.t('Mark "{0}" as Failed', plain(task.description, 60));
  const reason = await ask(title, vscode.l10n.t('Why did it fail? This ends the task.'));
  return (await drive()).send(ref, { type: 'fail', by: 'human', ...(reason === '' ? {} : { reason }) });
});

/** Atlas: Abandon Task. */
export const abandonTask = command('abandonTask', async ({ ref, task }, drive) => {
  const detail = vscode.l10n.t(
    "You can't continue it later. Its record is kept for 7 days, unless your settings say otherwise.",
  );
  const question = vscode.l10n.t('Abandon the task "{0}"?', plain(task.description, 80));
  await confirm(question, detail, vscode.l10n.t('Abandon'));
  return (await drive()).send(ref, { type: 'abandon', by: 'human' });
});

/** Atlas: Recover Task. What was named is done at once; else the plan is shown, and a human may choose another action. */
export const recover: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskToChange(session, argument, offers('recover'));
  const named = (argument as { recovery?: unknown } | undefined)?.recovery;
  const known = RECOVERY_ACTIONS.find((each) => each === named);
  const action = known ?? (await chooseAction(context, task));
  const atlas = await session.atlas.drive();
  const result = took(context, await atlas.recover(task.ref, { action, by: 'human', takeOver: true }));
  context.panels.open(result.ref);
  if (result.hook.state === 'step_running') continueWithAgent(context, result.ref);
};

async function chooseAction(context: CommandContext, task: StoredTask): Promise<RecoveryAction | undefined> {
  const { recovery } = await context.session.atlas.drive();
  const { plan } = await recovery.plan(task);
  const others = otherRecoveries(task.hook, task.task);
  const description = vscode.l10n.t('instead of the plan');
  const items: (vscode.QuickPickItem & { readonly action: RecoveryAction | undefined })[] = [
    {
      label: `$(check) ${recoveryLabel(plan.action)}`,
      description: vscode.l10n.t('recovery plan'),
      detail: plain(reasonLabel(plan.reason), 300),
      action: undefined,
    },
    ...others
      .filter((action) => action !== plan.action)
      .map((action) => ({ label: recoveryLabel(action), description, action })),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('Recover "{0}"', plain(task.task.description, 60)),
    placeHolder: vscode.l10n.t('How should the step continue?'),
  });
  return chosen(picked).action;
}

/** Atlas: Resume. Applies a crashed task's plan, opens HOOK.md, and starts the agent that the settings name. */
export const resume: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskToChange(session, argument, canResume);
  const atlas = await session.atlas.drive();
  const fares = session.view(task.ref)?.diagnosis.kind;
  if (task.hook.state === 'recovering' || task.hook.state === 'awaiting_human') {
    took(context, await atlas.resume(task.ref, 'human'));
  } else if (fares === 'crashed') {
    took(context, await atlas.recover(task.ref, { by: 'human' }));
  }
  context.panels.open(task.ref);
  continueWithAgent(context, task.ref);
};

function canResume({ hook }: StoredTask): boolean {
  return hook.state !== 'initializing' && !isTerminal(hook.state);
}

/** Says that a quiet agent is still at work. */
export const stillWorking: CommandHandler = async (context, argument) => {
  const task = await taskToChange(context.session, argument, ({ hook }) => hook.state === 'step_running');
  const result = await send(task, async () => context.session.atlas.drive(), { type: 'note', stillWorking: true });
  took(context, result);
};
