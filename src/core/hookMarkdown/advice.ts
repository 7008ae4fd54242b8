import { attemptsSpent, nextAttempt } from '../task/stepAttempt';
import { type GitEffect, gitEffect, isAiLike } from '../task/templates/template';
import { sentenceList } from '../shared/text';
import { command, completeCommand, nothingToDoCommand, startCommand, validateCommand } from './commands';
import { bullets, code, numbered } from './escape';
import { whenToCommit } from './plan';
import { type HookView, doneSteps } from './view';

/** The one thing to do now, and what not to do. All texts are Markdown on one line. */
export interface Advice {
  readonly heading: string;
  readonly intro?: string;
  readonly steps: readonly string[];
  readonly donts: readonly string[];
}

/** The section's Markdown. */
export function renderAdvice(advice: Advice): string {
  return [
    `### ${advice.heading}`,
    ...(advice.intro === undefined ? [] : [advice.intro]),
    numbered(advice.steps),
    '### ❌ DO NOT:',
    bullets([...advice.donts, 'Edit `hook.json`, `task.json` or this file: the `atlas` commands keep them']),
  ].join('\n\n');
}

const MAX_NAMED = 8;

/** The step's name as code. */
export function stepName(view: HookView): string {
  return code(view.step?.step_name ?? 'next', 64);
}

/** Files as code, the first few named. */
export function namedFiles(view: HookView): string {
  const shown = view.files.slice(0, MAX_NAMED).map((file) => code(file.path));
  const more = view.files.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** What must not be repeated: the steps that are over and the branch that exists. */
export function keepWhatIsDone(view: HookView): string[] {
  const done = doneSteps(view);
  const named = done.slice(-MAX_NAMED).map((step) => `${code(step.name, 64)} (step ${step.number})`);
  const earlier = done.length - named.length;
  return [
    ...(done.length === 0
      ? []
      : [`Repeat what is done: ${earlier > 0 ? `steps 1 to ${earlier}, ` : ''}${sentenceList(named)}`]),
    ...(view.branch === undefined ? [] : [`Recreate the branch (already exists: ${code(view.branch)})`]),
  ];
}

/** How the present step is ended, by whom and with which command. */
export function endingOf(view: HookView, attempt?: number): string[] {
  const name = stepName(view);
  if (view.type === 'human') {
    return [
      `Only a human can end ${name}. When there is something to decide, run ${command(view, 'step ask "<what to decide>"', attempt)} and stop`,
    ];
  }
  if (view.commands.length > 0) {
    return [
      `When complete, run ${validateCommand(view, attempt)}: it runs ${commandList(view)}, and ${name} ends only if that passes`,
    ];
  }
  if (view.type === 'validation') {
    return [
      `${name} declares no commands: take those that this repository uses to check itself and run ${validateCommand(view, attempt)} for each. If you can't tell which, ask: ${command(view, 'step ask "Which commands validate this task?"', attempt)}`,
    ];
  }
  if (view.type === 'ci') {
    return [
      `When every check passed, run ${completeCommand(view, attempt)}`,
      `When one failed, run ${command(view, 'step fail "<which check failed and why>"', attempt)} and tell the human`,
    ];
  }
  const effect = view.type === 'git' ? gitEffect(view.step?.step_name ?? '') : undefined;
  const complete = `When complete, run ${completeCommand(view, attempt)}`;
  if (effect === undefined) return [complete];
  return [
    `${complete}: it is refused until git shows the result`,
    `${NOTHING[effect]}, run ${nothingToDoCommand(view, attempt)}: the reason is recorded`,
  ];
}

/** When a git step honestly ends without a result. */
const NOTHING: Readonly<Record<GitEffect, string>> = {
  commit: 'If there is nothing to commit',
  push: 'If there is no remote to push to, or the branch is not to be pushed',
  pr: 'If no pull request can be opened (no remote, no forge, or this is the base branch)',
};

/** The commands that decide the step, as code. */
export function commandList(view: HookView): string {
  return sentenceList(view.commands.map((each) => code(each)));
}

/** What working on the step means, by its type. */
export function workOf(view: HookView, attempt?: number): string[] {
  const name = stepName(view);
  if (isAiLike(view.type)) {
    return [
      `Do the work of ${name} for the task named under Current State: the plan says what it must deliver. Leave the other steps alone`,
      `After each piece that works, record it: ${command(view, 'checkpoint "<what is done>" --next "<what you do next>"', attempt)}`,
      whenToCommit(view),
      `If you need a decision, run ${command(view, 'step ask "<your question>"', attempt)} and stop`,
    ];
  }
  switch (view.type) {
    case 'git':
      return gitWork(view, attempt);
    case 'ci':
      return ['Look at the checks of the pushed commit (for instance `gh pr checks`) and wait until they have ended'];
    case 'human':
      return [`Prepare what the human needs to decide ${name}: what was done, what was left out, what is uncertain`];
    case 'validation':
    case 'ai':
    case 'sdd':
    case 'verify':
    case 'loop':
      return [];
  }
}

function gitWork(view: HookView, attempt?: number): string[] {
  switch (gitEffect(view.step?.step_name ?? '')) {
    case 'commit':
      return [
        'Look whether it is committed already: `git status` and `git log -3 --oneline`',
        "If not, stage this task's files by name and commit them with a message that says what was changed and why",
      ];
    case 'push':
      return [
        ...lookForRemote(view, attempt),
        'Look whether it is pushed already: `git status -sb` must not say "ahead"',
        'If not, push the branch as it is: `git push` (with `-u <remote> <branch>` when it has no upstream yet)',
      ];
    case 'pr':
      return [
        ...lookForRemote(view, attempt),
        'Look whether there is a pull request for this branch already, for instance with `gh pr view`',
        'If not, open one for this branch, for instance with `gh pr create`',
        `Record it: ${command(view, 'checkpoint "<its address>" --trigger pr_created', attempt)}`,
      ];
    case undefined:
      return [
        'Look with `git status` and `git log -3 --oneline` whether it is done already',
        `If not, do in git what ${stepName(view)} asks for`,
      ];
  }
}

/** Where there was no remote, its way out comes before work that can't be done. */
function lookForRemote(view: HookView, attempt?: number): string[] {
  if (view.hook.worktree_state?.remotes !== 0) return [];
  return [
    `Look with \`git remote\` whether there is a remote by now. If there is none, run ${nothingToDoCommand(view, attempt)} and go on with the next step`,
  ];
}

/** What not to do in a step of this type. */
export function typeDonts(view: HookView): string[] {
  switch (view.type) {
    case 'git':
      return ['Commit, push or open a pull request a second time', 'Rewrite commits that exist, or force a push'];
    case 'validation':
      return [
        `Run the commands by hand instead of \`atlas validate\`: only its receipts count`,
        'Change a test or a command so that it passes',
      ];
    case 'human':
      return [`Decide ${stepName(view)} yourself: it is a human's`];
    case 'ci':
      return [`Complete ${stepName(view)} while checks are still running`];
    case 'ai':
    case 'sdd':
    case 'verify':
    case 'loop':
      return view.commands.length === 0
        ? []
        : [`Run the commands by hand instead of \`atlas validate\`: only its receipts count`];
  }
}

/** Starting the step that comes next, and what follows by its type. */
export function startAndWork(view: HookView): string[] {
  const { step } = view;
  if (step === undefined) return [];
  const attempt = nextAttempt(step);
  const start = startCommand(view, attempt);
  if (attemptsSpent(step)) {
    return [
      `All ${step.max_attempts} attempts of ${stepName(view)} are spent: run ${start} to hand the task to a human, and stop`,
    ];
  }
  if (view.type === 'human') {
    return [
      `Run ${start}: the task then waits for a human, there is nothing for you to do in this step`,
      `Ask the human to decide ${stepName(view)}, with a summary of what was done, and stop`,
    ];
  }
  return [`Run ${start}`, ...workOf(view, attempt), ...endingOf(view, attempt)];
}
