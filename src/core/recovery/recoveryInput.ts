import { defined } from '../shared/defined';
import { ACTION_LABELS } from '../task/labels';
import { type Result, fail, ok } from '../shared/errors';
import type { TaskInput } from '../transition/events';
import type { TaskRecord, RecoveryAction } from '../task/taskRecord';

type RecoveryInput = Extract<
  TaskInput,
  { readonly type: 'retry_step' | 'retry_from_checkpoint' | 'retry_validation' | 'skip_step' | 'manual_required' }
>;

function crashesOf(hook: TaskRecord): number {
  return hook.history.filter((event) => event.trigger === 'crash_detected').length;
}

/**
 * The event that applies a recovery to a hook. Refused (`stale_caller`) when the crash that it was chosen for has been
 * dealt with and another one happened since: else whoever was slow would skip a step that nobody did.
 * @param seen the hook in which the recovery was read or chosen
 * @param now the hook as it is under the lock
 */
export function recoveryInput(
  action: Exclude<RecoveryAction, 'await_human'>,
  seen: TaskRecord,
  now: TaskRecord,
): Result<RecoveryInput> {
  if (now.state === 'recovering' && crashesOf(now) !== crashesOf(seen)) {
    return fail(
      'stale_caller',
      `"${ACTION_LABELS[action]}" was chosen for an earlier interruption that has since been resolved.`,
      {
        hint: 'Review the current recovery plan.',
      },
    );
  }
  if (action !== 'manual') return ok({ type: action });
  // The reason for another plan says nothing to somebody who has set that plan aside.
  const message = now.recovery?.recommended_action === 'manual' ? now.recovery.reason : undefined;
  return ok({ type: 'manual_required', ...defined({ message }) });
}
