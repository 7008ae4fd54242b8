import { type Result, fail, ok } from '../../../core/shared/errors';
import type { Caller } from '../../../core/transition/events';
import { RECOVERY_ACTIONS, type RecoveryAction, isTerminal } from '../../../core/task/taskRecord';
import { otherActionDecision } from '../../../core/transition/authority';
import { ACTION_LABELS, STATE_LABELS, healthLabel } from '../../../core/task/labels';
import { oneLine } from '../../../core/shared/text';
import type { PrintablePlan } from '../../../service/recovery/recoveryService';
import type { Updated } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { fields, fitted, table } from '../../render/table';
import { type Driven, changed, nextOf, refusal, taskData, taskToDrive, taskToRead } from './taskAnswer';

/** `resume`: applies the plan of a crashed task, or goes on after a wait; says what to do now. */
export async function resume(context: CliContext, call: Call): Promise<Result<Answer>> {
  const driven = await taskToDrive(context, call);
  if (!driven.ok) return driven;
  const { atlas, stored } = driven.value;
  const resumed = await goOn(driven.value, context.caller);
  if (!resumed.ok) return { ok: false, error: refusal(context, driven.value, resumed.error) };
  const toDo = nextOf(atlas, resumed.value).markdown;
  const what = resumed.value.changed
    ? `Resumed: ${STATE_LABELS[stored.hook.state]} → ${STATE_LABELS[resumed.value.hook.state]}.`
    : `The task was not interrupted. State: ${STATE_LABELS[stored.hook.state]}.`;
  const answer = changed(context, driven.value, resumed.value, what, { to_do: toDo });
  return ok({ ...answer, text: `${answer.text}\n${toDo}`, wanted: true });
}

async function goOn({ atlas, stored }: Driven, by: Caller): Promise<Result<Updated>> {
  const { state } = stored.hook;
  if (isTerminal(state)) {
    return fail(
      'illegal_transition',
      `Task ${stored.ref.id} has ended (${STATE_LABELS[state]}). There is nothing to resume.`,
      {
        hint: 'Start a new task.',
      },
    );
  }
  if (state === 'recovering' || state === 'awaiting_human') return atlas.resume(stored.ref, by);
  return ok({ ...stored, changed: false, findings: [] });
}

/** `recover`: diagnoses, plans and applies. */
export async function recover(context: CliContext, call: Call): Promise<Result<Answer>> {
  const wanted = RECOVERY_ACTIONS.find((action) => action === call.text('action'));
  if (call.flag('dryRun')) return dryRun(context, call);
  const driven = await taskToDrive(context, call);
  if (!driven.ok) return driven;
  const { atlas, stored } = driven.value;
  if (isTerminal(stored.hook.state)) {
    const message = `Task ${stored.ref.id} has ended (${STATE_LABELS[stored.hook.state]}). There is nothing to recover.`;
    return fail('illegal_transition', message, { hint: 'Start a new task.' });
  }
  const planned = await atlas.recovery.plan(stored);
  const computed = recordedAction(stored) ?? planned.plan.action;
  if (wanted !== undefined && wanted !== computed) {
    const allowed = context.humanOnly(otherActionDecision(wanted, computed));
    if (!allowed.ok) return allowed;
  }
  const recovered = await atlas.recover(stored.ref, { action: wanted, by: context.caller });
  if (!recovered.ok) return { ok: false, error: refusal(context, driven.value, recovered.error) };
  const what = `Recovered (${ACTION_LABELS[wanted ?? computed]}): ${STATE_LABELS[stored.hook.state]} → ${STATE_LABELS[recovered.value.hook.state]}.`;
  const answer = changed(context, driven.value, recovered.value, what, planData(planned, false));
  return ok({ ...answer, text: `${answer.text}\n${nextOf(atlas, recovered.value).markdown}` });
}

function recordedAction({ hook }: Driven['stored']): RecoveryAction | undefined {
  return RECOVERY_ACTIONS.find((action) => action === hook.recovery?.recommended_action);
}

async function dryRun(context: CliContext, call: Call): Promise<Result<Answer>> {
  const chosen = await taskToRead(context, call);
  if (!chosen.ok) return chosen;
  const { stored, notes } = chosen.value;
  const atlas = await context.drive();
  if (isTerminal(stored.hook.state)) {
    return fail(
      'illegal_transition',
      `Task ${stored.ref.id} has ended (${STATE_LABELS[stored.hook.state]}). There is nothing to recover.`,
    );
  }
  const planned = await atlas.recovery.plan(stored);
  const data: AnswerData<'recover'> = {
    task: taskData(atlas, stored),
    changed: false,
    next: nextOf(atlas, stored).heading,
    ...planData(planned, true),
  };
  const health = healthLabel(stored.hook, planned.diagnosis, atlas.ports.clock.now());
  return ok({ exit: EXIT.done, text: planText(context, planned, health), wanted: true, data, notes });
}

function planData(
  planned: PrintablePlan,
  dry: boolean,
): Pick<AnswerData<'recover'>, 'dry_run' | 'diagnosis' | 'plan' | 'files'> {
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
    [{ title: 'RULE' }, { title: 'MATCHED' }, { title: 'WHY', flexible: true }],
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
