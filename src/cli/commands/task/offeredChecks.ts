import { commandsOf, declaredCommands, worktreeOf } from '../../../core/task/task';
import { oneLine, sentenceList } from '../../../core/shared/text';
import type { Atlas } from '../../../service/atlas';
import type { StoredTask } from '../../../core/task/storedTask';
import type { DeclaredCheck } from '../../../validation/declaredChecks';

/** So many a sentence names. */
const NAMED = 5;

/** The checks that a task's repository has, to be offered. Only read: none is ever run unasked. */
export async function checksOf(atlas: Pick<Atlas, 'ports'>, { task }: StoredTask): Promise<DeclaredCheck[]> {
  const worktree = worktreeOf(task);
  if (worktree === undefined) return [];
  const { declaredChecks } = await import('../../../validation/declaredChecks');
  return declaredChecks(atlas.ports.files, worktree);
}

/** The checks that a step's repository has, where the step declares none and is there to validate. */
export async function offeredChecks(atlas: Pick<Atlas, 'ports'>, stored: StoredTask): Promise<DeclaredCheck[]> {
  const { hook, task } = stored;
  const step = hook.state === 'step_running' ? task.steps[hook.current_step?.step_index ?? -1] : undefined;
  return step?.type === 'validation' && commandsOf(step).length === 0 ? checksOf(atlas, stored) : [];
}

/** How each check is run, a line each, below a line that says so; empty where there are none. */
export function offeredLines(checks: readonly DeclaredCheck[]): string[] {
  const lines = checks.map(
    ({ command, source }) => `  atlas validate --command ${quoted(command)} (${oneLine(source, 100)})`,
  );
  return lines.length === 0 ? [] : ['Checks found in this repository:', ...lines];
}

/** Where a task starts that declares none: which it could. */
export async function offeredAtStart(atlas: Pick<Atlas, 'ports'>, stored: StoredTask): Promise<string[]> {
  if (declaredCommands(stored.task).length > 0 || !stored.task.steps.some(({ type }) => type === 'validation'))
    return [];
  const found = (await checksOf(atlas, stored)).map(({ command }) => oneLine(command, 200));
  if (found.length === 0) return [];
  return [
    `This task declares no checks. Found in this repository: ${sentenceList(found.slice(0, NAMED), 'and')}. To declare checks, list them below hooks.validation.commands in .atlas/config.yaml.`,
  ];
}

function quoted(text: string): string {
  return /^[\w./:=@-]+$/u.test(text) ? text : `'${oneLine(text, 200).replaceAll("'", "'\\''")}'`;
}
