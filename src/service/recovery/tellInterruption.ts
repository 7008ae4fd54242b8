import { type Result, ok } from '../../core/shared/errors';
import { worktreeOf } from '../../core/task/task';
import { worktreeNow } from '../checkpoints/worktreeState';
import { isInFlight } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import type { OpenAtlas } from '../createAtlas';

/**
 * A task as it is told to whoever wakes up: an interruption that is found is recorded first, so that status, synopsis,
 * session start and HOOK.md say the same. Nothing is loaded or written for a task that isn't interrupted.
 */
export async function tellInterruption(
  atlas: Pick<OpenAtlas, 'configs' | 'diagnose' | 'drive' | 'ports' | 'snapshots'>,
  stored: StoredTask,
): Promise<Result<StoredTask>> {
  if (!isInFlight(stored.hook.state)) return ok(stored);
  const { config } = await atlas.configs.forTask(stored.task);
  if (atlas.diagnose(stored, config.staleThresholdMs).kind !== 'crashed') return tellMissing(atlas, stored);
  const detected = await (await atlas.drive()).recovery.detect(stored);
  return detected.ok ? ok(detected.value.task) : detected;
}

/** Records that the worktree is gone, or back again: everything else depends on that. */
async function tellMissing(
  atlas: Pick<OpenAtlas, 'ports' | 'drive' | 'snapshots'>,
  stored: StoredTask,
): Promise<Result<StoredTask>> {
  const worktree = worktreeOf(stored.task);
  if (worktree === undefined) return ok(stored);
  const isMissing = atlas.ports.files.stat(worktree) === undefined;
  if (isMissing === (stored.hook.worktree_state?.is_missing === true)) return ok(stored);
  return (await atlas.drive()).observe(stored, {}, await worktreeNow(atlas, stored));
}
