import * as z from 'zod/mini';
import { MAX_CONTENT, MAX_ITEM_ID, MAX_LABEL, MAX_SUMMARY } from '../../core/inbox/inbox';
import type { Handler } from '../parse/commandLine';
import { Call } from '../parse/call';

/** The longest text that a tool takes, in characters. */
const MAX_TEXT = 1_000_000;
const MAX_LINE = 10_000;

const line = (does: string) => z.string().check(z.maxLength(MAX_LINE), z.describe(does));
const text = (does: string, max = MAX_TEXT) => z.string().check(z.maxLength(max), z.describe(does));

const WORKSPACE = { workspace: z.optional(line("The workspace's name, where it isn't that of the folder.")) };
/** By which a task is named; a folder's only open task needs no name. */
const TASK = {
  task: z.optional(line('The task as <id> or <workspace>/<id>; without it, the open task of the folder.')),
  ...WORKSPACE,
};
/** By which a caller says where it believes the task to be; a mismatch is refused. */
const BOUND = {
  step: z.optional(line('Refuses unless this is the current step.')),
  attempt: z.optional(
    z.int().check(z.gte(1), z.describe('Refuses unless the step is at this attempt, as HOOK.md says.')),
  ),
  ...TASK,
};

/** What a command gets of a tool's arguments. */
interface Given {
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

/** A tool's name where others of that name are about: the newest VS Code has a `task_complete` of its own. */
export function prefixed(name: string): string {
  return name.startsWith('atlas_') ? name : `atlas_${name}`;
}

/** A tool's arguments as a command's, with what its standard input would hold. */
export function callOf(
  wanted: Tool,
  args: Readonly<Record<string, unknown>>,
): { call: Call; input: string | undefined } {
  const { operands = [], options = {}, input } = wanted.given(args);
  return { call: new Call(operands, [], { ...bound(args), ...options }), input };
}

/**
 * Everything that an agent may do by a tool. What only a human decides (approve, reject, resume, abandon, another plan than
 * the computed one, a command to run) is none of them.
 */
export const TOOLS: readonly Tool[] = [
  tool({
    name: 'atlas_status',
    title: 'Task Status',
    description: 'Says where the task stands, how it fares, and what is next.',
    shape: TASK,
    readOnly: true,
    load: async () => (await import('../commands/task/status')).status,
  }),
  tool({
    name: 'atlas_read_hook',
    title: 'Read HOOK.md',
    description:
      'Gives HOOK.md: where the task stands, what is done, and what to do now. Read it first when you begin or wake up.',
    shape: TASK,
    readOnly: true,
    load: async () => (await import('./readHook')).readHook,
  }),
  tool({
    name: 'atlas_start_step',
    title: 'Start Step',
    description: 'Starts the current step; after a crash, its plan is applied first. Name what you are about to do.',
    shape: {
      working_on: z.optional(line('What is worked on now.')),
      prompt: z.optional(text('The prompt that you were given for the step.')),
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
      'Notes what you are working on, so that a crash leaves it behind; without anything to note, that the work goes on.',
    shape: {
      working_on: z.optional(line('What is worked on now.')),
      output: z.optional(text('The last output; its first 500 characters are kept.')),
      files: z.optional(z.array(line('A file that was touched, relative to the repository.')).check(z.maxLength(1000))),
      ...BOUND,
    },
    load: async () => (await import('../commands/task/step')).note,
    given: ({ working_on: workingOn, output, files }) => ({ options: { workingOn, output, file: files } }),
  }),
  tool({
    name: 'atlas_checkpoint',
    title: 'Make Checkpoint',
    description: 'Records how far the work is, with the state of git and of the files.',
    shape: { description: line('What is done by now, in one line.'), ...BOUND },
    load: async () => (await import('../commands/task/checkpoint')).checkpoint,
    given: ({ description }) => ({ operands: [description] }),
  }),
  tool({
    name: 'atlas_validate',
    title: 'Run Validation',
    description:
      'Runs the checks that the task declares for the step, signs a receipt for each, and passes or fails the step. Takes no command: only what the task was given, and a human allowed, is run.',
    shape: {
      keep_going: z.optional(z.boolean().check(z.describe('Runs the rest after a check that failed.'))),
      ...BOUND,
    },
    load: async () => (await import('../commands/task/validate')).validate,
    given: ({ keep_going: keepGoing }) => ({ options: { keepGoing } }),
  }),
  tool({
    name: 'atlas_submit_output',
    title: 'Submit Output',
    description: "Submits the step's output; validation comes next.",
    shape: { output: z.optional(text('What came of the step.')), ...BOUND },
    load: async () => (await import('../commands/task/step')).output,
    given: ({ output }) => (output === undefined ? {} : { operands: ['-'], input: output }),
  }),
  tool({
    name: 'atlas_complete_step',
    title: 'Complete Step',
    description: 'Ends a step that declares no checks.',
    shape: { output: z.optional(text('What came of the step.')), ...BOUND },
    load: async () => (await import('../commands/task/step')).complete,
    given: ({ step, output }) => ({
      operands: [step],
      options: output === undefined ? {} : { outputFile: '-' },
      input: output,
    }),
  }),
  tool({
    name: 'atlas_ask_human',
    title: 'Ask the Human',
    description: 'Hands the step to the human with a question, or for review. Stop working until they have answered.',
    shape: { question: line('What they have to decide.'), ...BOUND },
    load: async () => (await import('../commands/task/step')).ask,
    given: ({ question }) => ({ operands: [question] }),
  }),
  tool({
    name: 'atlas_recover',
    title: 'Recover Task',
    description: 'Finds out what a crash left and applies the computed plan; with dry_run, only says what it is.',
    shape: { dry_run: z.optional(z.boolean().check(z.describe('Says the plan and applies nothing.'))), ...TASK },
    load: async () => (await import('../commands/task/recover')).recover,
    given: ({ dry_run: dryRun }) => ({ options: { dryRun } }),
  }),
  tool({
    name: 'atlas_verify_receipts',
    title: 'Verify Receipts',
    description:
      "Verifies the task's receipts and says which are true, and which still hold for the files as they are.",
    shape: TASK,
    readOnly: true,
    rest: '"atlas receipts list" in a shell gives all of it.',
    load: async () => (await import('../commands/receipts/receipts')).list,
  }),
  tool({
    name: 'get_next_task',
    title: 'Get Next Task',
    description:
      'Takes the next item of the inbox, which nobody else gets then; your own unfinished one comes first. What it asks was written by others.',
    shape: {
      lease: z.optional(line('For how long nobody else gets it, such as 2h; an hour without it, a day at most.')),
      ...WORKSPACE,
    },
    rest: '"atlas inbox list --status processing --json" in a shell gives all of it.',
    load: async () => (await import('../commands/inbox/inbox')).next,
    given: ({ lease }) => ({ options: { lease } }),
  }),
  tool({
    name: 'task_complete',
    title: 'Complete Inbox Task',
    description: 'Says what came of an item that you took from the inbox; the session that waits for it is woken.',
    shape: {
      task_id: z.int().check(z.gte(1), z.lte(MAX_ITEM_ID), z.describe("The item's number.")),
      response_summary: text('What came of it, for whoever asked.', MAX_SUMMARY),
      ...WORKSPACE,
    },
    load: async () => (await import('../commands/inbox/inbox')).complete,
    given: ({ task_id: id, response_summary: input }) => ({ operands: [id.toFixed(), '-'], input }),
  }),
  tool({
    name: 'inbox_add',
    title: 'Add to Inbox',
    description: 'Asks the sessions of this workspace for something: one of them takes it from the inbox.',
    shape: {
      content: text('What is to be done.', MAX_CONTENT),
      channel: z.optional(text('Where it comes from, such as email.', MAX_LABEL)),
      ...WORKSPACE,
    },
    load: async () => (await import('../commands/inbox/inbox')).add,
    given: ({ content: input, channel }) => ({ operands: ['-'], options: { channel }, input }),
  }),
];
