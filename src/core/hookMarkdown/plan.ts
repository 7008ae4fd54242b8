import { acceptedFailures } from '../task/acceptedFailure';
import { stepGoal } from '../task/stepGoals';
import { type TaskStep, commandsOf, stepTypeOf } from '../task/task';
import { gitEffect } from '../task/templates/template';
import { sentenceList } from '../shared/text';
import { code, codeCell, prose, table } from './escape';
import type { HookView } from './view';

const MAX_GOAL = 300;
const MAX_COMMANDS = 3;

/** `## The Plan`: all steps, what each must deliver, who or what decides that it is done, and where the task is. */
export function thePlan(view: HookView): string {
  const { steps } = view.task;
  if (steps.length === 0) return '## The Plan\n\nThis task has no steps.';
  const rows = steps.map((step, index) => [
    `${index + 1}. ${prose(step.name, 64)}`,
    prose(stepGoal(view.task.template_id, step).goal ?? 'Not described by the template', MAX_GOAL),
    endsWhen(view, step),
    progress(view, step, index),
  ]);
  return [
    '## The Plan',
    table(['Step', 'Must deliver', 'Ends when', 'Status'], rows),
    ...publishing(view),
    'Each `atlas step start` uses one of the attempts of its step; continuing a step that runs uses none. When all are used, a human decides. With `--step` and `--attempt`, a command is refused if the task has moved on meanwhile.',
  ].join('\n\n');
}

/** What stands in the way of the steps that push or open a pull request, said before they come. */
function publishing({ hook, task }: HookView): string[] {
  const { remotes, base_branch: base, branch } = hook.worktree_state ?? {};
  const later = task.steps.filter(({ status }) => status !== 'completed' && status !== 'skipped');
  const named = (effects: readonly (string | undefined)[]): string[] =>
    later
      .filter((step) => stepTypeOf(step) === 'git' && effects.includes(gitEffect(step.name)))
      .map(({ name }) => code(name, 64));
  const how = 'with `--nothing-to-do "<why>"`';
  if (remotes === 0 && named(['push', 'pr']).length > 0) {
    const steps = named(['push', 'pr']);
    return [
      `The repository has no remote: unless somebody adds one, ${sentenceList(steps)} ${steps.length === 1 ? 'ends' : 'end'} ${how}.`,
    ];
  }
  const isBase = branch !== undefined && (base === undefined ? /^(main|master)$/u.test(branch) : branch === base);
  if (!isBase || named(['pr']).length === 0) return [];
  if (named(['commit']).length === 0) {
    return [
      `The worktree is on ${code(branch)}, the base branch, so there is no branch to open a pull request for: ${sentenceList(named(['pr']))} ends ${how}.`,
    ];
  }
  return [
    `The worktree is on ${code(branch)}, the base branch. A pull request needs a branch of its own: create one before the first commit, or ${sentenceList(named(['pr']))} ends ${how}.`,
  ];
}

/** Who or what decides that a step is done, and by what. */
function endsWhen(view: HookView, step: TaskStep): string {
  const { doneWhen } = stepGoal(view.task.template_id, step);
  const type = stepTypeOf(step);
  if (type === 'human') return 'a human approves it';
  const commands = commandsOf(step);
  if (commands.length > 0) {
    const shown = commands.slice(0, MAX_COMMANDS).map((command) => codeCell(command));
    const more = commands.length - shown.length;
    const list = sentenceList(more === 0 ? shown : [...shown, `${more} more`]);
    return `${list} ${commands.length === 1 ? 'passes' : 'pass'}`;
  }
  if (doneWhen !== undefined) return prose(doneWhen, MAX_GOAL);
  return type === 'validation' ? 'a check that you name passes' : 'its work is done';
}

function progress({ hook, step: current }: HookView, step: TaskStep, index: number): string {
  if (step.status === 'completed')
    return acceptedFailures(hook).has(index) ? '⚠️ accepted with a failed check' : '✅ done';
  if (step.status === 'skipped') return '⏭️ done';
  if (current?.step_index !== index) return 'to come';
  return hook.state === 'step_pending' ? '▶️ next' : '▶️ current';
}

/** What the present step must deliver and how one knows that it has; empty where nobody says. */
export function goalLines(view: HookView): string[] {
  if (view.planned === undefined) return [];
  const { goal, doneWhen } = stepGoal(view.task.template_id, view.planned);
  return [
    ...(goal === undefined ? [] : [`**Must deliver:** ${prose(goal, MAX_GOAL)}`]),
    ...(doneWhen === undefined ? [] : [`**Done when:** ${prose(doneWhen, MAX_GOAL)}`]),
  ];
}

/** When to commit, for a step in which an agent changes files. */
export function whenToCommit(view: HookView): string {
  const { task, step } = view;
  const index = task.steps.findIndex((each) => stepTypeOf(each) === 'git' && gitEffect(each.name) === 'commit');
  const own = task.steps[index];
  if (own === undefined || index <= (step?.step_index ?? 0))
    return 'Commit each piece that works: the plan has no later step for it';
  return `Committing is step ${index + 1}, ${code(own.name, 64)}. You may commit a piece that works before that; Atlas records each commit as a checkpoint`;
}
