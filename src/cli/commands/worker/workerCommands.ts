import type { SlotStatus } from '../../../core/worker/slotContent';
import type { CommandSpec, Operand, OptionSpec } from '../../parse/commandLine';

// Written out, since only types may come from where the work is done.
const STATUSES = ['OPEN', 'PENDING', 'IN_PROGRESS', 'COMPLETE', 'FAILED'] as const satisfies readonly (
  SlotStatus | 'OPEN'
)[];
const REASONS = ['context_limit', 'timeout', 'error'] as const;

const WORKER: Operand = { usage: '<worker>', does: 'worker, as <name> or <pool>/<name>' };
const TYPE: OptionSpec = { flags: '--type <type>', does: 'kind of work, such as translate (default: task)' };
const INPUT: OptionSpec = { flags: '--input <json>', does: 'input of the task, as a JSON object' };
const DEADLINE: OptionSpec = {
  flags: '--timeout <when>',
  does: 'deadline: a time such as 2026-01-31T12:00:00Z, or a duration such as 2h',
};
const TOOL: OptionSpec = {
  flags: '--tool <name>',
  does: 'tool that the worker may use; repeatable, at most 5',
  list: true,
};
const CONVOY: OptionSpec = { flags: '--convoy <id>', does: 'convoy that the task belongs to' };
const GONE: OptionSpec = {
  flags: '--owner-is-gone',
  does: "take over work whose owner is gone but can't be checked from this machine (human only)",
};
const LIMIT: OptionSpec = { flags: '--timeout <time>', does: 'stop the program after this time, such as 30m' };
/** By which a worker says which claim it speaks for; a later one is not changed by it. */
const LEASE: readonly OptionSpec[] = [
  { flags: '--task <id>', does: 'task of the claim (default: $FORGE_TASK)' },
  { flags: '--claim <n>', does: 'number of the claim (default: $FORGE_CLAIM)' },
  { flags: '--incarnation <n>', does: 'incarnation of the claim (default: $FORGE_INCARNATION)' },
];
const RESULT: OptionSpec = {
  flags: '--result <file>',
  does: 'JSON with output, discoveredTasks or error, in addition to the files (- for standard input)',
};

/** Work that hangs on the hooks of workers: git-backed, for several agents. */
export const WORKER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'worker task add',
    does: 'Add tasks to the ledger. Existing tasks stay unchanged.',
    operands: [{ usage: '[id]', does: 'ID of the task (omit with --from)' }],
    options: [
      TYPE,
      INPUT,
      { flags: '--from <file>', does: 'read tasks as JSON or JSON Lines (- for standard input)' },
      { flags: '--blocked-by <id>', does: 'task that must be complete first; repeatable', list: true },
      DEADLINE,
      CONVOY,
      { flags: '--discovered-from <id>', does: 'task during which this one was found' },
    ],
    example: 'atlas worker task add parse-header --type translate --blocked-by read-file --timeout 2h',
    load: async () => (await import('./workerTasks')).addTasks,
  },
  {
    name: 'worker task show',
    does: 'Show a task with its history, its evidence and what it waits for.',
    operands: [{ usage: '<id>', does: 'ID of the task' }],
    example: 'atlas worker task show parse-header',
    load: async () => (await import('./workerTasks')).showTask,
  },
  {
    name: 'worker task list',
    does: 'List the tasks in the ledger.',
    options: [{ flags: '--status <status>', does: 'only tasks with this status', choices: STATUSES }],
    example: 'atlas worker task list --status OPEN',
    load: async () => (await import('./workerTasks')).listTasks,
  },
  {
    name: 'worker ready',
    does: 'List the tasks that are unassigned and not blocked.',
    options: [{ ...CONVOY, does: 'only tasks of this convoy' }],
    example: 'atlas worker ready',
    load: async () => (await import('./workerTasks')).ready,
  },
  {
    name: 'worker sling',
    does: 'Assign a task to a worker. Adds the task if it is not in the ledger.',
    operands: [{ usage: '<task>', does: 'ID of the task' }, WORKER],
    options: [
      TYPE,
      INPUT,
      TOOL,
      { flags: '--context <file>', does: 'JSON object to merge into context.json (- for standard input)' },
      DEADLINE,
    ],
    example: 'atlas worker sling fix-1 w1 --type translate --tool file-system',
    load: async () => (await import('./workerTasks')).sling,
  },
  {
    name: 'worker list',
    does: 'List workers, their tasks and any problems.',
    example: 'atlas worker list',
    load: async () => (await import('./worker')).list,
  },
  {
    name: 'worker status',
    does: "Show a worker's task, state and any repair needed.",
    operands: [WORKER],
    example: 'atlas worker status w1',
    load: async () => (await import('./worker')).status,
  },
  {
    name: 'worker show',
    does: "Show everything about a worker's task: its input, context, result and evidence.",
    operands: [WORKER],
    example: 'atlas worker show w1',
    load: async () => (await import('./worker')).show,
  },
  {
    name: 'worker run',
    does: "Run a program on a worker's task and record its result.",
    operands: [WORKER, { usage: '<command…>', does: 'program and its arguments, after --' }],
    options: [{ flags: '--wait', does: 'wait until the worker has a task' }, LIMIT, GONE],
    interleaved: true,
    example: 'atlas worker run w1 -- claude -p "Do the task that FORGE_HOOK holds"',
    load: async () => (await import('./workerRun')).run,
  },
  {
    name: 'worker claim',
    does: "Claim a worker's task for a program that runs itself, and print the lease to pass to later calls.",
    operands: [WORKER],
    options: [{ flags: '--pid <n>', does: 'process that runs as long as the work, so that a crash is detected' }, GONE],
    example: 'atlas worker claim w1 --json',
    load: async () => (await import('./workerLease')).claim,
  },
  {
    name: 'worker complete',
    does: "Complete a worker's task and record the hashes of its result.",
    operands: [WORKER],
    options: [RESULT, ...LEASE],
    example: 'atlas worker complete w2 --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).complete,
  },
  {
    name: 'worker fail',
    does: "Mark a worker's task as failed, with the reason.",
    operands: [WORKER],
    options: [
      { flags: '--code <code>', does: 'short name of the error (default: failed)' },
      { flags: '--message <text>', does: 'what went wrong' },
      { flags: '--final', does: 'do not retry' },
      RESULT,
      ...LEASE,
    ],
    example:
      'atlas worker fail w2 --code no_input --message "The file is empty" --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).failWork,
  },
  {
    name: 'worker handoff',
    does: "Hand a worker's task over to its next incarnation, with the work done so far.",
    operands: [WORKER],
    options: [
      { flags: '--reason <reason>', does: 'reason', choices: REASONS },
      { flags: '--resume-point <text>', does: 'where to continue' },
      ...LEASE,
    ],
    example:
      'atlas worker handoff w2 --reason context_limit --resume-point "step 3" --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).handoff,
  },
  {
    name: 'worker recover',
    does: "Show what happens to a worker's task after a crash and restore its folder. With a program, continue the task.",
    operands: [WORKER, { usage: '[command…]', does: 'program that continues the task, after --' }],
    options: [LIMIT, GONE],
    interleaved: true,
    example: 'atlas worker recover w1',
    load: async () => (await import('./workerRun')).recover,
  },
  {
    name: 'worker clear',
    does: 'Clear a finished task from a worker. The branch keeps its history.',
    operands: [WORKER],
    example: 'atlas worker clear w2',
    load: async () => (await import('./worker')).clear,
  },
  {
    name: 'worker repair',
    does: 'List inconsistencies left by crashes or manual edits; --yes repairs them. Never deletes finished or unshared work.',
    options: [{ flags: '-y, --yes', does: 'repair them' }],
    example: 'atlas worker repair',
    load: async () => (await import('./workerSync')).repair,
  },
  {
    name: 'worker sync',
    does: 'Share workers and ledger with other clones: fetch and push the forge/* branches.',
    operands: [
      {
        usage: '[remote]',
        does: 'remote (default: from .forge/config.yaml, then the one already shared with, then origin)',
      },
    ],
    example: 'atlas worker sync origin',
    load: async () => (await import('./workerSync')).sync,
  },
  {
    name: 'worker convoy create',
    does: 'Group tasks of the ledger into a convoy.',
    operands: [
      { usage: '<id>', does: 'ID of the convoy' },
      { usage: '<task…>', does: 'IDs of its tasks' },
    ],
    options: [{ flags: '--title <text>', does: 'title of the convoy' }],
    interleaved: true,
    example: 'atlas worker convoy create release-2 fix-1 fix-2 --title "Release 2"',
    load: async () => (await import('./workerTasks')).createConvoy,
  },
  {
    name: 'worker convoy status',
    does: 'Show the progress of convoys and which of their tasks are ready.',
    operands: [{ usage: '[id]', does: 'ID of the convoy (default: all)' }],
    example: 'atlas worker convoy status',
    load: async () => (await import('./workerTasks')).convoyStatus,
  },
];

/** A command of workers as `forge` knows it. */
export function asForge(spec: CommandSpec): CommandSpec {
  const example = spec.example.replace(/^atlas worker /u, 'forge hook ');
  return { ...spec, name: spec.name.replace(/^worker /u, 'hook '), example };
}

/** The name by which answers and their schema know a command that was called as `forge hook …`. */
export function nameFromForge(name: string): string {
  return name.replace(/^hook /u, 'worker ');
}
