import { type AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import { count, oneLine } from '../../core/shared/text';
import type { ConfigIssue } from '../../core/config/configIssue';
import { insideWorktree } from '../../system/files/worktreePath';
import type { ConfigSource } from './configSource';

/** How many issues one message lists. */
const SHOWN = 10;

/** All that is wrong in the settings and templates that hold in a worktree. */
export async function configIssues(configs: ConfigSource, worktree: string): Promise<ConfigIssue[]> {
  const [{ issues }, templates] = [await configs.forWorktree(worktree), await configs.templates(worktree)];
  return [...issues, ...templates.issues];
}

/** An issue as compilers say it: `.atlas/config.yaml:3:5: …`. Files outside the worktree have their whole path. */
export function describeIssue({ file, position, message }: ConfigIssue, worktree: string): string {
  return `${oneLine(insideWorktree(worktree, file) ?? file, 300)}:${position.line}:${position.column}: ${oneLine(message, 300)}`;
}

/** One line on what is ignored; `undefined` where nothing is. */
export function issuesLine(issues: readonly ConfigIssue[], worktree: string): string | undefined {
  const [first, ...others] = issues;
  if (first === undefined) return undefined;
  const more = others.length === 0 ? '' : ` For ${count(others.length, 'more problem')}, run: atlas doctor`;
  return `Ignored: ${describeIssue(first, worktree)}${more}`;
}

/**
 * Fails with `invalid_config` where a task's checks could be missing because of a mistake in the configuration.
 * @param wanted the mistake of the template that was asked for, which is said first
 */
export function refuseIssues(found: readonly ConfigIssue[], worktree: string, wanted?: ConfigIssue): Result<void> {
  if (found.length === 0) return ok(undefined);
  const issues = wanted === undefined ? found : [wanted, ...found.filter((issue) => !isSame(issue, wanted))];
  const lines = issues.slice(0, SHOWN).map((issue) => `  ${describeIssue(issue, worktree)}`);
  const rest = issues.length > SHOWN ? [`  … and ${issues.length - SHOWN} more`] : [];
  const head = `The task was not started. ${count(issues.length, 'problem')} in its configuration may disable its checks:`;
  return fail('invalid_config', [head, ...lines, ...rest].join('\n'), {
    hint: 'Fix the configuration, then start the task again.',
    cause: issues,
  });
}

function isSame(one: ConfigIssue, other: ConfigIssue): boolean {
  return one.file === other.file && one.message === other.message;
}

/** Why there is no template of a name though a file would make one: `invalid_template`, with its mistake and place. */
export function brokenTemplate(name: string, issue: ConfigIssue, worktree: string): Result<never> {
  return fail('invalid_template', `Template ${JSON.stringify(name)} has a mistake: ${describeIssue(issue, worktree)}`, {
    hint: 'Fix the file, then start the task again.',
  });
}

/** The issues for which a start was refused; empty where it failed for another reason. */
export function refusedIssues({ code, cause }: AtlasError): readonly ConfigIssue[] {
  return code === 'invalid_config' && Array.isArray(cause) ? (cause as ConfigIssue[]) : [];
}
