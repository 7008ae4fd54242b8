import type { RecoveryAction } from '../../../core/task/taskRecord';
import type { CommandSpec, OptionSpec } from '../../parse/commandLine';
import { ATTEMPT, BOUND, TASK } from '../../parse/options';

const STEP_NAME = { usage: '[name]', does: 'refuse unless this is the current step' } as const;
const PROMPT: OptionSpec = {
  flags: '--prompt-file <file>',
  does: 'the prompt that the agent was given (- for standard input)',
};

// Written out, since the hook's schemas are several times what a command line needs.
const ACTIONS = [
  'retry_step',
  'retry_from_checkpoint',
  'retry_validation',
  'skip_step',
  'manual',
] as const satisfies readonly RecoveryAction[];

/** The commands that drive a task. */
export const TASK_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'start',
    does: 'Starts a task: its files, its steps, its HOOK.md.',
    operands: [{ usage: '<description>', does: 'what is to be done, in a few words' }],
    options: [
      {
        flags: '-t, --template <name>',
        does: 'bug, feature, task (the default), patch, commit, … or one of .atlas/templates',
      },
      { flags: '-w, --workspace <name>', does: 'in the repository of this workspace instead of this folder' },
      { flags: '--git-hooks', does: 'installs the git hooks too, without asking' },
      { flags: '--ignore-config', does: 'start although the configuration has mistakes, without what they concern' },
    ],
    example: 'atlas start "fix null pointer in config" --template bugfix',
    load: async () => (await import('./start')).start,
  },
  {
    name: 'status',
    does: 'Says where the task stands and how it fares.',
    options: TASK,
    example: 'atlas status --json',
    load: async () => (await import('./status')).status,
  },
  {
    name: 'step start',
    does: 'Starts the current step; the plan of a crashed task is applied first.',
    operands: [STEP_NAME],
    options: [{ flags: '--working-on <text>', does: 'what is worked on now' }, PROMPT, ATTEMPT, ...TASK],
    example: 'atlas step start analyze --working-on "reading the parser"',
    load: async () => (await import('./step')).startStep,
  },
  {
    name: 'step note',
    does: 'Notes what is worked on; without anything to note, that the work goes on.',
    operands: [{ usage: '[working-on]', does: 'what is worked on now' }],
    options: [
      { flags: '--working-on <text>', does: 'the same' },
      { flags: '--output <text>', does: 'the last output; its first 500 characters are kept' },
      { flags: '--file <path>', does: 'a file that was touched, relative to the repository', list: true },
      PROMPT,
      ...BOUND,
    ],
    example: 'atlas step note --working-on "the nil checks" --step implement --attempt 1',
    load: async () => (await import('./step')).note,
  },
  {
    name: 'step output',
    does: "Submits the step's output; validation comes next.",
    operands: [{ usage: '[file]', does: 'the output (- for standard input)' }],
    options: BOUND,
    example: 'atlas step output result.md --step implement --attempt 1',
    load: async () => (await import('./step')).output,
  },
  {
    name: 'step complete',
    does: 'Ends a step that declares no checks.',
    operands: [STEP_NAME],
    options: [{ flags: '--output-file <file>', does: 'its output (- for standard input)' }, ATTEMPT, ...TASK],
    example: 'atlas step complete analyze --attempt 1',
    load: async () => (await import('./step')).complete,
  },
  {
    name: 'step ask',
    does: 'Asks the human, and waits for them.',
    operands: [{ usage: '<question>', does: 'what they have to decide' }],
    options: BOUND,
    example: 'atlas step ask "Which database?" --step plan --attempt 1',
    load: async () => (await import('./step')).ask,
  },
  {
    name: 'step fail',
    does: "Says that the step can't be done; a human decides what now.",
    operands: [{ usage: '<why>', does: 'why it failed' }],
    options: BOUND,
    example: 'atlas step fail "the API is gone" --step implement --attempt 1',
    load: async () => (await import('./step')).failStep,
  },
  {
    name: 'validate',
    does: "Runs the step's checks, signs a receipt for each, and passes or fails the step. Exits 0 only if it passed.",
    options: [
      {
        flags: '-c, --command <command>',
        does: 'a check beside those declared; it decides only where none is',
        list: true,
      },
      { flags: '-k, --keep-going', does: 'runs the rest after a check that failed' },
      ...BOUND,
    ],
    example: 'atlas validate --command "npm test" --step validate --attempt 1',
    load: async () => (await import('./validate')).validate,
  },
  {
    name: 'approve',
    does: 'A human accepts the step that waits for them.',
    options: BOUND,
    example: 'atlas approve',
    load: async () => (await import('./decisions')).approve,
  },
  {
    name: 'reject',
    does: 'A human has the step that waits done again.',
    operands: [{ usage: '[why]', does: 'what is to be done otherwise' }],
    options: BOUND,
    example: 'atlas reject "the error is swallowed"',
    load: async () => (await import('./decisions')).reject,
  },
  {
    name: 'acknowledge',
    does: 'Acknowledge that hook.json was edited outside Atlas (human only).',
    options: TASK,
    example: 'atlas acknowledge',
    load: async () => (await import('./decisions')).acknowledge,
  },
  {
    name: 'fail',
    does: 'A human ends the task as failed.',
    operands: [{ usage: '<why>', does: 'why it failed' }],
    options: TASK,
    example: 'atlas fail "cannot be reproduced"',
    load: async () => (await import('./decisions')).failTask,
  },
  {
    name: 'abandon',
    does: 'A human gives the task up.',
    operands: [{ usage: '[why]', does: 'why' }],
    options: TASK,
    example: 'atlas abandon --task task-20260117-143022',
    load: async () => (await import('./decisions')).abandon,
  },
  {
    name: 'resume',
    does: 'Applies the plan of a crashed task, or goes on after a wait; says what to do now.',
    options: TASK,
    example: 'atlas resume',
    load: async () => (await import('./recover')).resume,
  },
  {
    name: 'run',
    does: 'Starts an agent on the task and watches it: its death is found at once. Exits as the agent does.',
    operands: [{ usage: '<agent…>', does: 'the command that starts the agent, after two dashes' }],
    options: TASK,
    example: 'atlas run -- claude',
    load: async () => (await import('./agentRun')).runAgent,
  },
  {
    name: 'recover',
    does: 'Diagnoses an interrupted task, plans, and applies the plan.',
    options: [
      { flags: '-n, --dry-run', does: 'shows the plan and why, changes nothing' },
      {
        flags: '--action <action>',
        does: "another action than the plan's, which a human decides",
        choices: ACTIONS,
      },
      ...TASK,
    ],
    example: 'atlas recover --dry-run',
    load: async () => (await import('./recover')).recover,
  },
  {
    name: 'checkpoint',
    does: 'Records how far the work is.',
    operands: [{ usage: '[description]', does: 'what was accomplished' }],
    options: [
      {
        flags: '--trigger <trigger>',
        does: 'what caused it',
        choices: ['manual', 'git_commit', 'git_push', 'pr_created'],
      },
      { flags: '--auto', does: 'for programs: as the settings say, and silent where there is nothing to do' },
      ...BOUND,
    ],
    example: 'atlas checkpoint "added nil check for config.Server" --step implement --attempt 1',
    load: async () => (await import('./checkpoint')).checkpoint,
  },
];
