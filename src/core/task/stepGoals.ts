import { defined } from '../shared/defined';
import type { TaskStep } from './task';

/** What a step must deliver. */
export interface StepGoal {
  /** In the imperative, without a full stop: "Fix the cause of the bug". */
  readonly goal: string;
  /** A statement that is true once the step is done, without a full stop. */
  readonly doneWhen: string;
}

const COMMIT: StepGoal = {
  goal: "Commit this task's changes",
  doneWhen: 'git log shows the commit, and no change of this task is uncommitted',
};
const PUSH: StepGoal = { goal: 'Push the branch', doneWhen: 'the upstream branch has every commit' };
const PULL_REQUEST: StepGoal = {
  goal: 'Open a pull request for the branch',
  doneWhen: 'the pull request is open and its address is recorded',
};

/** By the step's name, where its template says nothing else. */
const BY_NAME: Readonly<Record<string, StepGoal>> = {
  analyze: {
    goal: 'Find out what has to change and why',
    doneWhen: 'the cause, the places in the code and the risks are written down',
  },
  analyze_changes: {
    goal: 'Read every uncommitted change and group them into commits',
    doneWhen: 'each change belongs to one planned commit or is to be left out',
  },
  plan: {
    goal: 'Plan the change',
    doneWhen: 'each file to change is named, and how the result will be tested is known',
  },
  specify: {
    goal: 'Write the specification: what it does, for whom, and what it leaves out',
    doneWhen: 'each requirement is written down and can be tested',
  },
  review_spec: { goal: 'Have a human review the specification', doneWhen: 'a human approved it' },
  tasks: {
    goal: 'Split the plan into tasks that can be done one at a time',
    doneWhen: 'each task names its files and its test',
  },
  implement: {
    goal: 'Make the change, with its tests',
    doneWhen: 'the change is complete and its tests pass',
  },
  fix: { goal: 'Make the fix, with a test', doneWhen: 'the fix is complete and its test passes' },
  verify: {
    goal: 'Check that the result does what was asked',
    doneWhen: 'each requirement was tried, and what differs is fixed or reported',
  },
  validate: {
    goal: 'Show that the checks pass',
    doneWhen: 'every check has passed in this attempt, with a receipt',
  },
  checklist: {
    goal: 'Update what belongs to the change: documents, changelog, examples; remove leftovers',
    doneWhen: 'nothing that the change made untrue or useless remains',
  },
  commit: COMMIT,
  smart_commit: {
    goal: 'Commit the changes, one commit a topic',
    doneWhen: 'git log shows the commits, and nothing that belongs to them is uncommitted',
  },
  git_commit: COMMIT,
  git_push: PUSH,
  pr: PULL_REQUEST,
  git_pr: PULL_REQUEST,
  ci_wait: { goal: 'Wait for the CI checks of the pushed commit', doneWhen: 'every check has passed' },
  review: { goal: 'Have a human review the result', doneWhen: 'a human approved it' },
};

/** What the first steps of a built-in template deliver, where that isn't what their names say. */
const BY_TEMPLATE: Readonly<Record<string, Readonly<Record<string, StepGoal>>>> = {
  bug: {
    analyze: {
      goal: 'Reproduce the bug and find its cause',
      doneWhen: 'the cause, its place in the code and the steps that reproduce it are written down',
    },
    plan: { goal: 'Plan the fix', doneWhen: 'each file to change and the test that will catch the bug are named' },
    implement: {
      goal: 'Fix the cause, with a test that fails without the fix',
      doneWhen: 'the bug no longer occurs and the new test passes',
    },
  },
  patch: {
    fix: {
      goal: 'Make the fix, as small as it can be, with a test',
      doneWhen: 'the problem no longer occurs and the test passes',
    },
  },
  'go-optimize': {
    analyze: {
      goal: 'Measure where the Go code spends time and memory',
      doneWhen: 'the hot spots are listed with benchmark figures',
    },
    fix: {
      goal: 'Make the hot spots faster without changing behavior',
      doneWhen: 'the benchmarks show the gain, and the tests pass',
    },
  },
  dedup: {
    analyze: {
      goal: 'Find duplicated code that has one reason to change',
      doneWhen: 'each group of duplicates is listed with its places',
    },
    fix: { goal: 'Replace each group by one implementation', doneWhen: 'the duplicates are gone, and the tests pass' },
  },
  'goroutine-leak': {
    analyze: {
      goal: 'Find goroutines that never end',
      doneWhen: 'each leak is listed with the place that starts it and why it stays',
    },
    fix: {
      goal: 'Give each leaking goroutine an end, with a test',
      doneWhen: 'a test shows for each leak that the goroutine ends',
    },
  },
  'jr-to-sr': {
    analyze: {
      goal: "Find code below a senior engineer's standard",
      doneWhen: 'each finding is listed with its place and what is wrong',
    },
    fix: {
      goal: 'Rewrite what was found without changing behavior',
      doneWhen: 'each finding is fixed or its reason to stay is written down, and the tests pass',
    },
  },
  'constant-hunter': {
    analyze: { goal: 'Find magic values', doneWhen: 'each value is listed with its places and its meaning' },
    fix: { goal: 'Replace each magic value by a named constant', doneWhen: 'none of the listed values is left' },
  },
  'config-hunter': {
    analyze: {
      goal: 'Find hard-coded settings',
      doneWhen: 'each setting is listed with its places and its default',
    },
    fix: {
      goal: 'Move each setting to the configuration, with its old value as the default',
      doneWhen: 'none of the listed settings is hard-coded, and the defaults behave as before',
    },
  },
  'test-creator': {
    analyze: {
      goal: 'Find behavior that no test checks',
      doneWhen: 'each gap is listed with its place and its risk',
    },
    fix: {
      goal: 'Write the missing tests',
      doneWhen: 'each listed gap has a test that fails when the behavior breaks',
    },
  },
};

/** What a step of a task must deliver: as its template said, else by its name; `undefined` where nobody says. */
export function stepGoal(templateId: string, step: Pick<TaskStep, 'name' | 'goal' | 'done_when'>): Partial<StepGoal> {
  const own = BY_TEMPLATE[templateId] ?? {};
  const table = Object.hasOwn(own, step.name) ? own : BY_NAME;
  const known = Object.hasOwn(table, step.name) ? table[step.name] : undefined;
  const said = defined({ goal: step.goal, doneWhen: step.done_when });
  // A template that names its own goal doesn't mean the usual end of a step of this name.
  return step.goal === undefined ? { ...known, ...said } : said;
}
