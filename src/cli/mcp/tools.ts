import * as z from 'zod/mini';
import { MAX_CONTENT, MAX_ITEM_ID, MAX_LABEL, MAX_SUMMARY } from '../../core/inbox/inbox';
import { MAX_SUMMARY_LENGTH } from '../../core/shared/text';
import type { Handler } from '../parse/commandLine';
import { Call } from '../parse/call';

/** The longest text that a tool takes, in characters. */
const MAX_TEXT = 1_000_000;
const MAX_LINE = 10_000;

const line = (does: string) => z.string().check(z.maxLength(MAX_LINE), z.describe(does));
const text = (does: string, max = MAX_TEXT) => z.string().check(z.maxLength(max), z.describe(does));

const WORKSPACE = { workspace: z.optional(line("The workspace (default: the folder's).")) };
/** By which a task is named; a folder's only open task needs no name. */
const TASK = {
  task: z.optional(line('The task as <id> or <workspace>/<id> (default: the open task of the folder).')),
  ...WORKSPACE,
};
/** By which a caller says where it believes the task to be; a mismatch is refused. */
const BOUND = {
  step: z.optional(line('Fail unless this is the current step.')),
  attempt: z.optional(
    z.int().check(z.gte(1), z.describe('Fail unless the step is at this attempt, as shown in HOOK.md.')),
  ),
  ...TASK,
};

/** What a step came to, and whether the next one begins at once. */
const RESULT = {
  summary: z.optional(text('The result of the step, in full: later steps read it.', MAX_SUMMARY_LENGTH)),
  start_next: z.optional(z.boolean().check(z.describe('Also start the next step.'))),
};

/** What a command gets of a tool's arguments. */
interface Given {
  /** What an operand with `…` takes. */
  readonly rest?: readonly string[];
  readonly operands?: readonly (string | undefined)[];
  readonly options?: Readonly<Record<string, unknown>>;
  /** What standard input would hold. */
  readonly input?: string | undefined;
}

/** A tool that an agent may call: one of the commands, with its arguments as JSON. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodMiniObject;
  /** Changes nothing. */
  readonly readOnly?: true;
  /** Where the rest is of an answer that had to be cut, if not in HOOK.md. */
  readonly rest?: string;
  load(): Promise<Handler>;
  /** The command's arguments, of arguments that fit the schema. */
  given(args: Readonly<Record<string, unknown>>): Given;
}

function tool<S extends z.core.$ZodLooseShape>(
  spec: Omit<Tool, 'input' | 'given'> & {
    readonly shape: S;
    given?(args: z.infer<z.ZodMiniObject<S, z.core.$strict>>): Given;
  },
): Tool {
  const { shape, ...rest } = spec;
  const input = z.strictObject(shape);
  return { ...rest, input, given: (args) => spec.given?.(args as z.infer<typeof input>) ?? {} };
}

/** What is named everywhere, as a command's options; a number as it is typed. */
function bound(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = ['task', 'workspace', 'step'].map((name) => [name, args[name]] as const);
  const { attempt: number } = args;
  const attempt = typeof number === 'number' ? number.toFixed() : undefined;
  return Object.fromEntries([...named, ['attempt', attempt] as const].filter(([, value]) => value !== undefined));
}

function givenResult({
  summary,
  start_next: startNext,
}: {
  summary?: string | undefined;
  start_next?: boolean | undefined;
}): Given {
  return { options: { startNext, ...(summary === undefined ? {} : { summaryFile: '-' }) }, input: summary };
}

/** A tool's name where others of that name are about: the newest VS Code has a `task_complete` of its own. */
export function prefixed(name: string): string {
  return name.startsWith('atlas_') ? name : `atlas_${name}`;
}

/** A tool's arguments as a command's, with what its standard input would hold. */
export function callOf(
  wanted: Tool,
  args: Readonly<Record<string, unknown>>,
): { call: Call; input: string | undefined } {
  const { operands = [], rest = [], options = {}, input } = wanted.given(args);
  return { call: new Call(operands, rest, { ...bound(args), ...options }), input };
}

/**
 * Everything that an agent may do by a tool. What only a human decides (approve, reject, resume, abandon, another plan than
 * the computed one, a command to run) is none of them.
 */
export const TOOLS: readonly Tool[] = [
  tool({
    name: 'atlas_status',
    title: 'Task Status',
    description: 'Show the status of the task and what is next.',
    shape: TASK,
    readOnly: true,
    load: async () => (await import('../commands/task/status')).status,
  }),
  tool({
    name: 'atlas_read_hook',
    title: 'Read HOOK.md',
    description:
      'Read HOOK.md: the status of the task, what is done, and what to do now. Read it first when you start or resume.',
    shape: TASK,
    readOnly: true,
    load: async () => (await import('../commands/task/hook')).show,
  }),
  tool({
    name: 'atlas_start_step',
    title: 'Start Step',
    description:
      'Start the current step. Applies the recovery plan of an interrupted task first. Describe what you are about to do.',
    shape: {
      working_on: z.optional(line('Current work.')),
      prompt: z.optional(text('The prompt you were given for the step.')),
      ...BOUND,
    },
    load: async () => (await import('../commands/task/step')).startStep,
    given: ({ step, working_on: workingOn, prompt }) => ({
      operands: [step],
      options: { workingOn, ...(prompt === undefined ? {} : { promptFile: '-' }) },
      input: prompt,
    }),
  }),
  tool({
    name: 'atlas_note',
    title: 'Note Progress',
    description:
      'Record what you are working on so that it survives a crash. Without arguments, record that work continues.',
    shape: {
      working_on: z.optional(line('Current work.')),
      output: z.optional(text('Latest output; the first 500 characters are kept.')),
      files: z.optional(z.array(line('A modified file, relative to the repository.')).check(z.maxLength(1000))),
      ...BOUND,
    },
    load: async () => (await import('../commands/task/step')).note,
    given: ({ working_on: workingOn, output, files }) => ({ options: { workingOn, output, file: files } }),
  }),
  tool({
    name: 'atlas_checkpoint',
    title: 'Record Checkpoint',
    description: 'Record a checkpoint, with the state of git and of the files.',
    shape: {
      description: line('What has been done, in one line.'),
      next: z.optional(line('What you do next, in one line.')),
      ...BOUND,
    },
    load: async () => (await import('../commands/checkpoint/checkpoint')).checkpoint,
    given: ({ description, next }) => ({ operands: [description], options: { next } }),
  }),
  tool({
    name: 'atlas_list_checkpoints',
    title: 'List Checkpoints',
    description: 'List the checkpoints and restore points of the task, with how many files changed.',
    shape: TASK,
    readOnly: true,
    rest: 'Run "atlas checkpoint list" in a shell to see all of it.',
    load: async () => (await import('../commands/checkpoint/files')).list,
  }),
  tool({
    name: 'atlas_show_checkpoint',
    title: 'Show Checkpoint',
    description: 'Show what a checkpoint holds, or one of its files as it was. Only a human can restore files.',
    shape: {
      checkpoint: line('The ID of the checkpoint, ckpt-….'),
      path: z.optional(line('A file to show, relative to the repository.')),
      ...TASK,
    },
    readOnly: true,
    rest: 'Run "atlas checkpoint show" in a shell to see all of it.',
    load: async () => (await import('../commands/checkpoint/files')).show,
    given: ({ checkpoint, path }) => ({ operands: [checkpoint, path] }),
  }),
  tool({
    name: 'atlas_diff_checkpoint',
    title: 'Compare Checkpoint',
    description: 'List how the current files, or those of another checkpoint, differ from the files of a checkpoint.',
    shape: {
      checkpoint: z.optional(line('The ID of the checkpoint (default: the last one).')),
      other: z.optional(line('The ID of another checkpoint to compare with (default: the current files).')),
      paths: z.optional(z.array(line('A file or folder, relative to the repository.')).check(z.maxLength(1000))),
      ...TASK,
    },
    readOnly: true,
    rest: 'Run "atlas checkpoint diff" in a shell to see all of it.',
    load: async () => (await import('../commands/checkpoint/files')).diff,
    given: ({ checkpoint, other, paths = [] }) => ({
      rest: [checkpoint, other].filter((each) => each !== undefined).concat(paths),
    }),
  }),
  tool({
    name: 'atlas_validate',
    title: 'Run Validation',
    description:
      "Run the step's declared checks, sign a receipt for each, and pass or fail the step. Takes no command: runs only declared checks that a human has allowed.",
    shape: {
      keep_going: z.optional(z.boolean().check(z.describe('Run the remaining checks after one fails.'))),
      ...RESULT,
      ...BOUND,
    },
    load: async () => (await import('../commands/task/validate')).validate,
    given: ({ keep_going: keepGoing, ...result }) => {
      const { options, input } = givenResult(result);
      return { options: { ...options, keepGoing }, input };
    },
  }),
  tool({
    name: 'atlas_submit_output',
    title: 'Submit Output',
    description: "Submit the step's output for validation.",
    shape: { output: z.optional(text('The result of the step.')), ...BOUND },
    load: async () => (await import('../commands/task/step')).output,
    given: ({ output }) => (output === undefined ? {} : { operands: ['-'], input: output }),
  }),
  tool({
    name: 'atlas_complete_step',
    title: 'Complete Step',
    description: 'Complete a step that declares no checks, with its result.',
    shape: {
      nothing_to_do: z.optional(line('For a git step without a result in git: why there is nothing to do.')),
      ...RESULT,
      ...BOUND,
    },
    load: async () => (await import('../commands/task/step')).complete,
    given: ({ step, nothing_to_do: nothingToDo, ...result }) => {
      const { options, input } = givenResult(result);
      return { operands: [step], options: { ...options, nothingToDo }, input };
    },
  }),
  tool({
    name: 'atlas_ask_human',
    title: 'Ask the Human',
    description: 'Ask the human a question, or for a review, and pause the step. Stop working until they answer.',
    shape: { question: line('What the human should decide.'), ...BOUND },
    load: async () => (await import('../commands/task/step')).ask,
    given: ({ question }) => ({ operands: [question] }),
  }),
  tool({
    name: 'atlas_recover',
    title: 'Recover Task',
    description: 'Diagnose an interrupted task and apply its recovery plan. With dry_run, only show the plan.',
    shape: { dry_run: z.optional(z.boolean().check(z.describe('Show the plan without applying it.'))), ...TASK },
    load: async () => (await import('../commands/task/recover')).recover,
    given: ({ dry_run: dryRun }) => ({ options: { dryRun } }),
  }),
  tool({
    name: 'atlas_verify_receipts',
    title: 'Verify Receipts',
    description: "Verify the task's receipts, and whether the files are unchanged since each run.",
    shape: TASK,
    readOnly: true,
    rest: 'Run "atlas receipts list" in a shell to see all of it.',
    load: async () => (await import('../commands/receipts/receipts')).list,
  }),
  tool({
    name: 'atlas_list_sessions',
    title: 'List Sessions',
    description:
      "List the agents' sessions in this repository that Atlas observed, with their status. They are the user's: leave them alone unless the user asks.",
    shape: {},
    readOnly: true,
    rest: 'Run "atlas sessions list" in a shell to see all of it.',
    load: async () => (await import('../commands/sessions/sessions')).listSessions,
  }),
  tool({
    name: 'atlas_show_session',
    title: 'Show Session',
    description: 'Show what is known of a session: what was asked, what was under way, and what changed.',
    shape: { session: line('The ID of the session, or its beginning.') },
    readOnly: true,
    rest: 'Run "atlas sessions show" in a shell to see all of it.',
    load: async () => (await import('../commands/sessions/sessions')).showSession,
    given: ({ session }) => ({ operands: [session] }),
  }),
  tool({
    name: 'get_next_task',
    title: 'Get Next Item',
    description:
      'Claim the next item of the agent queue. Your own unfinished item comes first. Its request was written by others.',
    shape: {
      lease: z.optional(line('How long to hold the claim, such as 2h (default: 1h, at most 1d).')),
      ...WORKSPACE,
    },
    rest: 'Run "atlas inbox list --status processing --json" in a shell to see all of it.',
    load: async () => (await import('../commands/inbox/inbox')).next,
    given: ({ lease }) => ({ options: { lease } }),
  }),
  tool({
    name: 'task_complete',
    title: 'Complete Agent Queue Item',
    description: 'Complete an item that you claimed from the agent queue, and wake the session waiting for it.',
    shape: {
      task_id: z.int().check(z.gte(1), z.lte(MAX_ITEM_ID), z.describe("The item's number.")),
      response_summary: text('The result, for the sender.', MAX_SUMMARY),
      ...WORKSPACE,
    },
    load: async () => (await import('../commands/inbox/inbox')).complete,
    given: ({ task_id: id, response_summary: input }) => ({ operands: [id.toFixed(), '-'], input }),
  }),
  tool({
    name: 'inbox_add',
    title: 'Add to Agent Queue',
    description: 'Add an item to the agent queue of this workspace. The next agent session picks it up.',
    shape: {
      content: text('What the agent should do.', MAX_CONTENT),
      channel: z.optional(text('Where the item comes from, such as email.', MAX_LABEL)),
      ...WORKSPACE,
    },
    load: async () => (await import('../commands/inbox/inbox')).add,
    given: ({ content: input, channel }) => ({ operands: ['-'], options: { channel }, input }),
  }),
];
