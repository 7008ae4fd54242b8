import { AtlasError } from '../../core/shared/errors';
import type { GitEvidence } from '../../core/recovery/recovery';
import type { TaskRecord } from '../../core/task/taskRecord';
import { stepTypeOf } from '../../core/task/task';
import { type GitEffect, gitEffect } from '../../core/task/templates/template';
import type { StoredTask } from '../../core/task/storedTask';
import { repositoryOf } from '../checkpoints/worktreeState';
import type { ServicePorts } from '../ports';

/** Whether this attempt's pull request was recorded. */
function hasPullRequest({ checkpoints, current_step: step }: TaskRecord): boolean {
  return checkpoints.some(
    ({ trigger, step_index: index, attempt }) =>
      trigger === 'pr_created' && index === step?.step_index && attempt === step.attempt,
  );
}

/** What git and the task's record say about the effect of its current step; `undefined` where that isn't a git step. */
export async function gitEvidence(
  ports: ServicePorts,
  { hook, task }: StoredTask,
): Promise<{ readonly effect: GitEffect; readonly evidence: GitEvidence | undefined } | undefined> {
  const current = hook.current_step;
  const step = current === undefined ? undefined : task.steps[current.step_index];
  const effect = step !== undefined && stepTypeOf(step) === 'git' ? gitEffect(step.name) : undefined;
  if (effect === undefined) return undefined;
  if (effect === 'pr' && hasPullRequest(hook)) return { effect, evidence: { pullRequest: true } };
  const repository = await repositoryOf(ports, task);
  if (repository === undefined) return { effect, evidence: undefined };
  return { effect, evidence: await ports.git.evidence(repository, effect, current?.started_at) };
}

const MISSING: Readonly<
  Record<
    GitEffect,
    { readonly isThere: (evidence: GitEvidence) => boolean; readonly what: string; readonly way: string }
  >
> = {
  commit: {
    isThere: ({ commitsOfAttempt: commits }) => commits !== undefined && commits.length > 0,
    what: 'Git shows no commit since this attempt started.',
    way: 'Commit the changes of this task. If there is nothing to commit',
  },
  push: {
    isThere: ({ upstreamHasHead }) => upstreamHasHead === true,
    what: 'Git shows no upstream branch that has the newest commit.',
    way: 'Push the branch. If it is not to be pushed',
  },
  pr: {
    isThere: ({ pullRequest }) => pullRequest === true,
    what: 'No pull request for this branch is known.',
    way: 'Open one, and record it: atlas checkpoint "<its address>" --trigger pr_created. If none is to be opened',
  },
};

/** Whether the task's work was committed in the steps before the one for it, and nothing is left. */
async function isCommitted(ports: ServicePorts, { hook, task }: StoredTask): Promise<boolean> {
  const repository = await repositoryOf(ports, task);
  const since = repository && (await ports.git.evidence(repository, 'commit', hook.created_at));
  return (since?.commitsOfAttempt ?? []).length > 0;
}

/** That a git step can't end yet, because git doesn't show its result; `undefined` where it does, or where there is none to show. */
export async function missingResult(ports: ServicePorts, stored: StoredTask): Promise<AtlasError | undefined> {
  const found = await gitEvidence(ports, stored);
  if (found === undefined) return undefined;
  const { isThere, what, way } = MISSING[found.effect];
  if (found.evidence !== undefined && isThere(found.evidence)) return undefined;
  if (found.effect === 'commit' && found.evidence?.clean === true && (await isCommitted(ports, stored)))
    return undefined;
  return new AtlasError('not_done', what, { hint: `${way}: atlas step complete --nothing-to-do "<why>"` });
}
