import { AtlasError, type Result, fail, ok } from '../../../core/shared/errors';
import type { Caller } from '../../../core/transition/events';
import { RECOVERY_ACTIONS, type RecoveryAction, isTerminal } from '../../../core/task/taskRecord';
import { otherActionDecision } from '../../../core/transition/authority';
import { ACTION_LABELS, STATE_LABELS, healthLabel } from '../../../core/task/labels';
import { oneLine } from '../../../core/shared/text';
import type { PrintablePlan } from '../../../service/recovery/recoveryService';
import type { Updated } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { fields, fitted, table } from '../../render/table';
import { type Driven, changed, nextData, nextOf, taken, taskData, taskToDrive, taskToRead } from './taskAnswer';

/** `resume`: applies the plan of a crashed task, or goes on after a wait; says what to do now. */
export const resume: Handler = async (context, call) => {
  if (call.text('with') !== undefined) return (await import('../sessions/resumeWith')).resumeWith(context, call);
  if (call.rest.length > 0)
    throw new AtlasError('usage', 'Arguments for an agent need an agent.', {
      hint: 'Name it: atlas resume --with codex',
    });
  const driven = await taskToDrive(context, call);
  const { atlas, stored } = driven;
  const resumed = taken(context, driven, await goOn(driven, context.caller));
  const toDo = nextOf(atlas, resumed).markdown;
  const what = resumed.changed
    ? `Resumed: ${STATE_LABELS[stored.hook.state]} → ${STATE_LABELS[resumed.hook.state]}.`
    : `The task was not interrupted. State: ${STATE_LABELS[stored.hook.state]}.`;
  const answer = await changed(context, driven, resumed, what, { to_do: toDo });
  return { ...answer, text: `${answer.text}\n${toDo}` };
};

async function goOn({ atlas, stored }: Driven, by: Caller): Promise<Result<Updated>> {
  const { state } = stored.hook;
  if (isTerminal(state)) {
    const message = `Task ${stored.ref.id} has ended (${STATE_LABELS[state]}). There is nothing to resume.`;
    return fail('illegal_transition', message, { hint: 'Start a new task.' });
  }
  if (state === 'recovering' || state === 'awaiting_human') return atlas.resume(stored.ref, by);
  return ok({ ...stored, changed: false, findings: [] });
}

/** `recover`: diagnoses, plans and applies. */
export const recover: Handler = async (context, call) => {
  const wanted = RECOVERY_ACTIONS.find((action) => action === call.text('action'));
  if (call.flag('dryRun')) return dryRun(context, call);
  const takeOver = call.flag('takeOver');
  if (takeOver) context.humanOnly('take over work that is not known to be interrupted');
  const driven = await taskToDrive(context, call);
  const { atlas, stored } = driven;
  if (isTerminal(stored.hook.state)) {
    const message = `Task ${stored.ref.id} has ended (${STATE_LABELS[stored.hook.state]}). There is nothing to recover.`;
    throw new AtlasError('illegal_transition', message, { hint: 'Start a new task.' });
  }
  const planned = await atlas.recovery.plan(stored);
  const computed = recordedAction(stored) ?? planned.plan.action;
  if (wanted !== undefined && wanted !== computed) context.humanOnly(otherActionDecision(wanted, computed));
  const result = await atlas.recover(stored.ref, { action: wanted, by: context.caller, takeOver });
  const recovered = taken(context, driven, result);
  if (!recovered.changed) {
    const how = takeOver || context.caller !== 'human' ? '' : ' To take it over anyway: atlas recover --take-over';
    const said = `The task isn't interrupted. Nothing was changed.${how}`;
    const answer = await changed(context, driven, recovered, said, planData(planned, false));
    return { ...answer, text: `${answer.text}\n${nextOf(atlas, recovered).markdown}` };
  }
  const what = `Recovered (${ACTION_LABELS[wanted ?? computed]}): ${STATE_LABELS[stored.hook.state]} → ${STATE_LABELS[recovered.hook.state]}.`;
  const answer = await changed(context, driven, recovered, what, planData(planned, false));
  return { ...answer, text: `${answer.text}\n${nextOf(atlas, recovered).markdown}` };
};

function recordedAction({ hook }: Driven['stored']): RecoveryAction | undefined {
  return RECOVERY_ACTIONS.find((action) => action === hook.recovery?.recommended_action);
}

async function dryRun(context: CliContext, call: Call): Promise<Answer> {
  const { stored, notes } = await taskToRead(context, call);
  const atlas = await context.drive();
  if (isTerminal(stored.hook.state)) {
    const message = `Task ${stored.ref.id} has ended (${STATE_LABELS[stored.hook.state]}). There is nothing to recover.`;
    throw new AtlasError('illegal_transition', message);
  }
  const planned = await atlas.recovery.plan(stored);
  const data: AnswerData<'recover'> = {
    task: taskData(atlas, stored),
    changed: false,
    ...nextData(nextOf(atlas, stored)),
    ...planData(planned, true),
  };
  const health = healthLabel(stored.hook, planned.diagnosis, atlas.ports.clock.now());
  return { exit: EXIT.done, text: planText(context, planned, health), wanted: true, data, notes };
}

function planData(
  planned: PrintablePlan,
  dry: boolean,
): Omit<AnswerData<'recover'>, 'task' | 'changed' | 'next' | 'next_command'> {
  const { plan, diagnosis, drift } = planned;
  return {
    dry_run: dry,
    diagnosis: diagnosis.kind === 'crashed' ? diagnosis.cause : diagnosis.kind,
    plan: {
      action: plan.action,
      rule: plan.rule,
      reason: plan.reason,
      checkpoint_id: plan.checkpoint?.checkpoint_id ?? null,
      considered: plan.considered.map(({ rule, matched, why }) => ({ rule, matched, why })),
    },
    files: drift.map(({ path, kind }) => ({ path, kind })),
  };
}

function planText({ streams }: CliContext, { plan, drift }: PrintablePlan, health: string): string {
  const differing = drift.filter(({ kind }) => kind !== 'unchanged');
  const head = fields(
    [
      ['Diagnosis', health],
      ['Plan', ACTION_LABELS[plan.action]],
      ['Reason', oneLine(plan.reason, 500)],
      ['Checkpoint', plan.checkpoint?.checkpoint_id],
    ],
    streams.columns,
  );
  const rules = table(
    ['RULE', 'MATCHED', { flexible: 'WHY' }],
    plan.considered.map(({ rule, matched, why }) => [rule, matched ? 'yes' : 'no', why]),
    streams.columns,
  );
  const files =
    differing.length === 0
      ? ''
      : `\nFiles changed since the last checkpoint:\n${differing.map(({ kind, path }) => `  ${kind}  ${oneLine(path, 300)}\n`).join('')}`;
  const end = fitted(`${files}\nDry run: nothing was changed.\n`, streams.columns);
  return `${head}\n${rules}${end}`;
}
