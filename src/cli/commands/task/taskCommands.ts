import type { RecoveryAction } from '../../../core/task/taskRecord';
import type { CommandSpec, OptionSpec } from '../../parse/commandLine';
import { BOUND, TASK } from '../../parse/options';

const STEP_NAME = { usage: '[name]', does: 'the step, as with --step' } as const;
const PROMPT: OptionSpec = {
  flags: '--prompt-file <file>',
  does: 'prompt given to the agent (- for standard input)',
};

/** What a step came to, and whether the next one begins at once. */
const RESULT: readonly OptionSpec[] = [
  { flags: '--summary <text>', does: 'result of the step; HOOK.md shows it in full to later steps' },
  { flags: '--summary-file <file>', does: 'file with the summary (- for standard input)' },
  { flags: '--start-next', does: 'also start the next step' },
];

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
    does: 'Start a task and create its HOOK.md.',
    operands: [{ usage: '<description>', does: 'what the agent should do' }],
    options: [
      {
        flags: '-t, --template <name>',
        does: 'bug, feature, task, patch, commit, … or a template of .atlas/templates (default: task)',
      },
      { flags: '-w, --workspace <name>', does: "start it in this workspace's repository instead of this folder" },
      { flags: '--git-hooks', does: 'also install git hooks without asking' },
      { flags: '--ignore-config', does: 'start despite errors in the configuration, ignoring the settings concerned' },
    ],
    example: 'atlas start "fix null pointer in config" --template bugfix',
    load: async () => (await import('./start')).start,
  },
  {
    name: 'status',
    does: 'Show the status of a task.',
    options: TASK,
    example: 'atlas status --json',
    load: async () => (await import('./status')).status,
  },
  {
    name: 'step start',
    does: 'Start the current step. Applies the recovery plan of an interrupted task first.',
    operands: [STEP_NAME],
    options: [{ flags: '--working-on <text>', does: 'current work' }, PROMPT, ...BOUND],
    example: 'atlas step start analyze --working-on "reading the parser"',
    load: async () => (await import('./step')).startStep,
  },
  {
    name: 'step note',
    does: 'Record progress on the current step. Without arguments, record that work continues.',
    operands: [{ usage: '[working-on]', does: 'current work' }],
    options: [
      { flags: '--working-on <text>', does: 'same as the argument' },
      { flags: '--output <text>', does: 'latest output; the first 500 characters are kept' },
      { flags: '--file <path>', does: 'modified file, relative to the repository; repeatable', list: true },
      PROMPT,
      ...BOUND,
    ],
    example: 'atlas step note --working-on "the nil checks" --step implement --attempt 1',
    load: async () => (await import('./step')).note,
  },
  {
    name: 'step output',
    does: "Submit the step's output for validation.",
    operands: [{ usage: '[file]', does: 'file with the output (- for standard input)' }],
    options: BOUND,
    example: 'atlas step output result.md --step implement --attempt 1',
    load: async () => (await import('./step')).output,
  },
  {
    name: 'step complete',
    does: 'Complete a step that declares no checks, with its result.',
    operands: [STEP_NAME],
    options: [
      ...RESULT,
      { flags: '--nothing-to-do <why>', does: 'end a git step without a result in git, and record the reason' },
      ...BOUND,
    ],
    example: 'atlas step complete analyze --summary "the parser drops the last byte" --attempt 1',
    load: async () => (await import('./step')).complete,
  },
  {
    name: 'step ask',
    does: 'Ask the human a question and pause the step until they answer.',
    operands: [{ usage: '<question>', does: 'what the human should decide' }],
    options: BOUND,
    example: 'atlas step ask "Which database?" --step plan --attempt 1',
    load: async () => (await import('./step')).ask,
  },
  {
    name: 'step fail',
    does: 'Report that the step cannot be done and leave the decision to the human.',
    operands: [{ usage: '<why>', does: 'reason' }],
    options: BOUND,
    example: 'atlas step fail "the API is gone" --step implement --attempt 1',
    load: async () => (await import('./step')).failStep,
  },
  {
    name: 'validate',
    does: "Run the step's checks, sign a receipt for each, and pass or fail the step. Exits 0 only if the step passes.",
    options: [
      {
        flags: '-c, --command <command>',
        does: 'extra check; decisive only if the step declares none; repeatable',
        list: true,
      },
      { flags: '--check <name>', does: 'check of .atlas/config.yaml to run beside them; repeatable', list: true },
      { flags: '-k, --keep-going', does: 'run the remaining checks after one fails' },
      ...RESULT,
      ...BOUND,
    ],
    example: 'atlas validate --command "npm test" --step validate --attempt 1',
    load: async () => (await import('./validate')).validate,
  },
  {
    name: 'approve',
    does: 'Approve the waiting step (human only). After a failed check, a reason is needed, and stays with the task.',
    options: [{ flags: '-m, --reason <why>', does: 'why the step is accepted' }, ...BOUND],
    example: 'atlas approve --reason "flaky test, tracked in #12"',
    load: async () => (await import('./decisions')).approve,
  },
  {
    name: 'answer',
    does: 'Answer the question that the task is waiting for, and continue the step.',
    operands: [{ usage: '<text>', does: 'the answer; HOOK.md shows it until the step ends' }],
    options: BOUND,
    example: 'atlas answer "Use PostgreSQL, as in production."',
    load: async () => (await import('./decisions')).answer,
  },
  {
    name: 'reject',
    does: 'Reject the waiting step and send it back (human only).',
    operands: [{ usage: '[why]', does: 'what to do differently' }],
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
    does: 'Mark the task as failed (human only).',
    operands: [{ usage: '<why>', does: 'reason' }],
    options: TASK,
    example: 'atlas fail "cannot be reproduced"',
    load: async () => (await import('./decisions')).failTask,
  },
  {
    name: 'abandon',
    does: 'Abandon the task (human only).',
    operands: [{ usage: '[why]', does: 'reason' }],
    options: TASK,
    example: 'atlas abandon --task task-20260117-143022',
    load: async () => (await import('./decisions')).abandon,
  },
  {
    name: 'resume',
    does: 'Apply the recovery plan of an interrupted task, or continue a waiting one. With --with, hand it to an agent.',
    operands: [{ usage: '[argument…]', does: 'with --with: more arguments for the agent, after --' }],
    options: [
      {
        flags: '--with <agent>',
        does: 'start this agent in the worktree, with what is known of the interrupted session or task',
        choices: ['claude', 'codex', 'opencode', 'gemini'],
      },
      { flags: '--session <id>', does: 'with --with: the session to hand over (default: the newest here)' },
      { flags: '--headless', does: 'with --with: start the agent without a terminal' },
      { flags: '-y, --yes', does: 'with --with: start beside what still runs' },
      ...TASK,
    ],
    interleaved: true,
    example: 'atlas resume --with codex',
    load: async () => (await import('./recover')).resume,
  },
  {
    name: 'run',
    does: "Start an agent on the task and watch it. Detects a crash immediately; exits with the agent's exit code.",
    operands: [{ usage: '<agent…>', does: 'command that starts the agent, after --' }],
    options: TASK,
    example: 'atlas run -- claude',
    load: async () => (await import('./agentRun')).runAgent,
  },
  {
    name: 'recover',
    does: 'Apply the recovery plan of an interrupted task. A task that is not interrupted stays as it is.',
    options: [
      { flags: '-n, --dry-run', does: 'show the plan and its reasons without applying it' },
      {
        flags: '--action <action>',
        does: 'take this action instead of the planned one (human only)',
        choices: ACTIONS,
      },
      { flags: '--take-over', does: 'take the step from whoever may still work on it (human only)' },
      ...TASK,
    ],
    example: 'atlas recover --dry-run',
    load: async () => (await import('./recover')).recover,
  },
];
