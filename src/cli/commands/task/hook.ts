import { type Result, ok } from '../../../core/shared/errors';
import { synopsisOf } from '../../../service/tasks/advice';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT, toJson } from '../../render/output';
import type { AnswerData } from '../schemas';
import { refusal, taskData, taskToRead } from './taskAnswer';

/** `hook regenerate`: writes HOOK.md again. */
export async function regenerate(context: CliContext, call: Call): Promise<Result<Answer>> {
  const chosen = await taskToRead(context, call);
  if (!chosen.ok) return chosen;
  const atlas = await context.drive();
  const written = await atlas.regenerate(chosen.value.stored.ref);
  if (!written.ok) return { ok: false, error: refusal(context, chosen.value, written.error) };
  const path = atlas.ports.paths.markdown(written.value.ref);
  const data: AnswerData<'hook regenerate'> = { task: taskData(atlas, written.value), hook_path: path };
  return ok({ exit: EXIT.done, text: `Regenerated HOOK.md: ${path}\n`, data, notes: chosen.value.notes });
}

/** `hook export`: everything that is known of a task, as JSON. */
export async function exportHook(context: CliContext, call: Call): Promise<Result<Answer>> {
  const chosen = await taskToRead(context, call);
  if (!chosen.ok) return chosen;
  const atlas = await context.atlas();
  const exported = atlas.export(chosen.value.stored.ref);
  if (!exported.ok) return exported;
  return ok({
    exit: EXIT.done,
    text: toJson(exported.value),
    wanted: true,
    data: exported.value,
    notes: chosen.value.notes,
  });
}

/** `hook synopsis`: one line for an agent's context; nothing where no task is open. */
export async function synopsis(context: CliContext, call: Call): Promise<Result<Answer>> {
  const chosen = await taskToRead(context, call);
  if (!chosen.ok && chosen.error.code !== 'not_found') return chosen;
  const atlas = await context.atlas();
  const line = chosen.ok ? synopsisOf(atlas.ports, chosen.value.stored) : '';
  const data: AnswerData<'hook synopsis'> = { synopsis: line };
  const notes = chosen.ok && line !== '' ? chosen.value.notes : [];
  return ok({ exit: EXIT.done, text: line === '' ? '' : `${line}\n`, wanted: true, data, notes });
}
