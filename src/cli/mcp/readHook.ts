import { type Result, ok } from '../../core/shared/errors';
import type { Call } from '../parse/call';
import { type CliContext, readTextFile } from '../context';
import { type Answer, EXIT } from '../render/output';
import { taskData, taskToRead } from '../commands/task/taskAnswer';

/** The largest HOOK.md that is read, in bytes; far above any that Atlas writes. */
const MAX_HOOK_MD_BYTES = 4 * 1024 * 1024;

/** HOOK.md of a task, whole. One that is missing is written anew. */
export async function readHook(context: CliContext, call: Call): Promise<Result<Answer>> {
  const chosen = await taskToRead(context, call);
  if (!chosen.ok) return chosen;
  const atlas = await context.drive();
  const { stored, notes } = chosen.value;
  const path = atlas.ports.paths.markdown(stored.ref);
  let read = await readTextFile(path, MAX_HOOK_MD_BYTES);
  if (!read.ok && read.error.code === 'not_found') {
    const written = await atlas.regenerate(stored.ref);
    if (!written.ok) return written;
    read = await readTextFile(path, MAX_HOOK_MD_BYTES);
  }
  if (!read.ok) return read;
  return ok({ exit: EXIT.done, text: read.value, wanted: true, data: { task: taskData(atlas, stored) }, notes });
}
