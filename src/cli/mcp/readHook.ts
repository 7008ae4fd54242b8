import { AtlasError, unwrap } from '../../core/shared/errors';
import type { Handler } from '../parse/commandLine';
import { readTextFile } from '../context';
import { EXIT } from '../render/output';
import { taskData, taskToTell } from '../commands/task/taskAnswer';

/** The largest HOOK.md that is read, in bytes; far above any that Atlas writes. */
const MAX_HOOK_MD_BYTES = 4 * 1024 * 1024;

/** HOOK.md of a task, whole. One that is missing is written anew. */
export const readHook: Handler = async (context, call) => {
  const { stored, notes } = await taskToTell(context, call);
  const atlas = await context.drive();
  const path = atlas.ports.paths.markdown(stored.ref);
  const text = await readTextFile(path, MAX_HOOK_MD_BYTES).catch(async (error: unknown) => {
    if (!(error instanceof AtlasError) || error.code !== 'not_found') throw error;
    unwrap(await atlas.regenerate(stored.ref));
    return readTextFile(path, MAX_HOOK_MD_BYTES);
  });
  return { exit: EXIT.done, text, wanted: true, data: { task: taskData(atlas, stored) }, notes };
};
