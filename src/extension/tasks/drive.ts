import { defined } from '../../core/shared/defined';
import { worktreeOf } from '../../core/task/task';
import { refKey } from '../../core/task/taskRef';
import * as vscode from 'vscode';
import type { TaskInput } from '../../core/transition/events';
import type { RecoveryAction } from '../../core/task/taskRecord';
import { RECOVERY_ACTIONS } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import { type TaskAction, openActions } from '../../core/task/taskActions';
import { setting } from '../shared/config';
import { plain } from '../shared/messages';
import { chosen, taskFor } from '../shared/arguments';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { recoveryLabel } from '../shared/stateLook';

/** Which tasks an action fits, by the same table that the panel's buttons and the menus come from. */
export function offers(action: TaskAction): (task: StoredTask) => boolean {
  return ({ hook, task }) => openActions(hook, task).some((offered) => offered.action === action);
}

/** The step and attempt that the person saw: a task that moved on meanwhile refuses. */
function seen({ hook }: StoredTask): Pick<TaskInput, 'expect'> {
  const step = hook.current_step;
  return step === undefined ? {} : { expect: { step: step.step_name, attempt: step.attempt } };
}

async function send(context: CommandContext, task: StoredTask, input: TaskInput): Promise<void> {
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.send(task.ref, { ...input, ...seen(task), by: 'human' }, { patient: true }));
}

/** Atlas: Start Step. */
export const startStep: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('startStep'));
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.startStep(task.ref));
};

/** Atlas: Complete Step. */
export const completeStep: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('completeStep'));
  await send(context, task, { type: 'step_complete' });
};

/** Atlas: Submit Step Output. */
export const submitStepOutput: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('submitStepOutput'));
  const output = chosen(
    await vscode.window.showInputBox({
      title: vscode.l10n.t('Submit Step Output'),
      prompt: vscode.l10n.t('What was done? The first 500 characters are recorded. Validation comes next.'),
    }),
  );
  await send(context, task, { type: 'step_output', output });
};

/** Atlas: Record Checkpoint. */
export const checkpoint: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('checkpoint'));
  const description = chosen(
    await vscode.window.showInputBox({
      title: vscode.l10n.t('Record Checkpoint for "{0}"', plain(task.task.description, 60)),
      prompt: vscode.l10n.t('What is done so far? (optional)'),
    }),
  );
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.checkpoint(task.ref, description));
};

/** Atlas: Approve Step. */
export const approve: CommandHandler = async (context, argument) => {
  await send(context, await taskFor(context.session, argument, offers('approve')), { type: 'human_approve' });
};

/** Atlas: Reject Step. */
export const reject: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('reject'));
  const reason = chosen(
    await vscode.window.showInputBox({
      title: vscode.l10n.t('Reject Step'),
      prompt: vscode.l10n.t('Why? The agent sees the reason and does the step again.'),
    }),
  );
  await send(context, task, { type: 'human_reject', ...(reason === '' ? {} : { reason }) });
};

/** Atlas: Acknowledge Edit. A person has seen that something other than Atlas changed hook.json. */
export const acknowledge: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('acknowledge'));
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.send(task.ref, { type: 'acknowledge', by: 'human' }));
};

/** Atlas: Mark Task as Failed. */
export const failTask: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('failTask'));
  const reason = chosen(
    await vscode.window.showInputBox({
      title: vscode.l10n.t('Mark "{0}" as Failed', plain(task.task.description, 60)),
      prompt: vscode.l10n.t('Why did it fail? This ends the task.'),
    }),
  );
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.send(task.ref, { type: 'fail', by: 'human', ...(reason === '' ? {} : { reason }) }));
};

/** Atlas: Abandon Task. */
export const abandonTask: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, offers('abandonTask'));
  const abandon = vscode.l10n.t('Abandon');
  const answer = await vscode.window.showWarningMessage(
    vscode.l10n.t('Abandon the task "{0}"?', plain(task.task.description, 80)),
    {
      modal: true,
      detail: vscode.l10n.t(
        "You can't continue it later. Its record is kept for 7 days, unless your settings say otherwise.",
      ),
    },
    abandon,
  );
  if (chosen(answer) !== abandon) return;
  const atlas = await context.session.atlas.drive();
  took(context, await atlas.send(task.ref, { type: 'abandon', by: 'human' }));
};

/** Atlas: Recover Task. In `recovering` the plan is shown, and a human may choose another action. */
export const recover: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskFor(session, argument, offers('recover'));
  const named = (argument as { recovery?: unknown } | undefined)?.recovery;
  const action = RECOVERY_ACTIONS.find((each) => each === named) ?? (await chooseAction(context, task));
  const atlas = await session.atlas.drive();
  const result = took(context, await atlas.recover(task.ref, { action, by: 'human' }));
  context.panels.open(result.ref);
};

interface ActionItem extends vscode.QuickPickItem {
  readonly action: RecoveryAction | undefined;
}

async function chooseAction(context: CommandContext, task: StoredTask): Promise<RecoveryAction | undefined> {
  const { recovery } = await context.session.atlas.drive();
  const { plan } = await recovery.plan(task);
  const items: ActionItem[] = [
    {
      label: `$(check) ${recoveryLabel(plan.action)}`,
      description: vscode.l10n.t('recovery plan'),
      detail: plain(plan.reason, 300),
      action: undefined,
    },
    ...openActions(task.hook, task.task).flatMap((offered): ActionItem[] =>
      offered.action === 'recover' && offered.recovery !== undefined && offered.recovery !== plan.action
        ? [
            {
              label: recoveryLabel(offered.recovery),
              description: vscode.l10n.t('instead of the plan'),
              action: offered.recovery,
            },
          ]
        : [],
    ),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('Recover "{0}"', plain(task.task.description, 60)),
    placeHolder: plain(plan.reason, 200),
  });
  return chosen(picked).action;
}

/** Atlas: Resume Task. Applies a crashed task's plan, opens HOOK.md, and starts the agent that the settings name. */
export const resume: CommandHandler = async (context, argument) => {
  const { session } = context;
  const task = await taskFor(session, argument, canResume);
  const atlas = await session.atlas.drive();
  const fares = session.view(task.ref)?.diagnosis.kind;
  if (task.hook.state === 'recovering' || task.hook.state === 'awaiting_human') {
    took(context, await atlas.resume(task.ref, 'human'));
  } else if (fares === 'crashed') {
    took(context, await atlas.recover(task.ref, { by: 'human' }));
  }
  context.panels.open(task.ref);
  startAgent(context, task);
};

function canResume({ hook }: StoredTask): boolean {
  return hook.state !== 'initializing';
}

function startAgent(context: CommandContext, task: StoredTask): void {
  const command = setting('agent.command').trim();
  if (command === '') return;
  const hookMd = context.session.atlas.ports.paths.markdown(task.ref);
  const prompt = vscode.l10n.t('Read {0} and follow its section "What To Do Now".', hookMd);
  const cwd = worktreeOf(task.task);
  const terminal = vscode.window.createTerminal({
    name: vscode.l10n.t('Atlas agent'),
    env: { ATLAS_TASK: refKey(task.ref) },
    ...defined({ cwd }),
  });
  terminal.show();
  terminal.sendText(`${command} ${quote(prompt)}`);
}

/** One argument for the terminal's shell; in single quotes nothing is expanded. */
function quote(text: string): string {
  if (process.platform === 'win32') return `"${text.replaceAll('"', "'")}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Says that a quiet agent is still at work. */
export const stillWorking: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, ({ hook }) => hook.state === 'step_running');
  await send(context, task, { type: 'note', stillWorking: true });
};
