import { unwrap } from '../../../core/shared/errors';
import { synopsisOf } from '../../../service/tasks/advice';
import type { Handler } from '../../parse/commandLine';
import { EXIT, toJson } from '../../render/output';
import type { AnswerData } from '../schemas';
import { needRecord, sessionsInNeed } from '../sessions/needed';
import { sessionData } from '../sessions/sessionAnswer';
import { taken, taskData, taskToRead, taskToTell } from './taskAnswer';

/** `hook show`: HOOK.md, with what has changed in the worktree since it was written. */
export const show: Handler = async (context, call) => {
  const { stored, notes, newer } = await taskToTell(context, call);
  const atlas = await context.drive();
  // What a newer version of Atlas wrote is shown as it stands.
  const text =
    (newer === undefined ? undefined : atlas.writtenMarkdown(stored.ref)) ?? (await atlas.hookMarkdown(stored));
  const data: AnswerData<'hook show'> = { task: taskData(atlas, stored), markdown: text };
  return { exit: EXIT.done, text, wanted: true, data, notes };
};

/** `hook regenerate`: writes HOOK.md again. */
export const regenerate: Handler = async (context, call) => {
  const chosen = await taskToRead(context, call);
  const atlas = await context.drive();
  const written = taken(context, chosen, await atlas.regenerate(chosen.stored.ref));
  const path = atlas.ports.paths.markdown(written.ref);
  const data: AnswerData<'hook regenerate'> = { task: taskData(atlas, written), hook_path: path };
  return { exit: EXIT.done, text: `Regenerated HOOK.md: ${path}\n`, data, notes: chosen.notes };
};

/** `hook export`: everything that is known of a task, as JSON. */
export const exportHook: Handler = async (context, call) => {
  const { stored, notes } = await taskToRead(context, call);
  const data = unwrap((await context.atlas()).export(stored.ref));
  return { exit: EXIT.done, text: toJson(data), wanted: true, data, notes };
};

/** `hook synopsis`: a line on the open task for an agent's context, and at most two on sessions that need the user. */
export const synopsis: Handler = async (context, call) => {
  const chosen = await taskToTell(context, call).catch((error: unknown) => {
    // Not by its class: what repairs a task is in another file of the program, with its own.
    if (error instanceof Error && 'code' in error && error.code === 'not_found') return undefined;
    throw error;
  });
  if (chosen?.newer !== undefined) throw chosen.newer;
  const line = chosen === undefined ? '' : synopsisOf((await context.atlas()).ports, chosen.stored);
  const sessions = await sessionsInNeed(context);
  const record = needRecord(sessions, (await context.atlas()).ports.clock.now());
  const data: AnswerData<'hook synopsis'> = { synopsis: line, sessions: sessions.map(sessionData) };
  const notes = line === '' ? [] : (chosen?.notes ?? []);
  const text = [line, record ?? ''].flatMap((each) => (each === '' ? [] : [`${each}\n`])).join('');
  return { exit: EXIT.done, text, wanted: true, data, notes };
};
