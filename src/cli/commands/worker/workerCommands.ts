import type { HookStatus } from '../../../core/worker/slotContent';
import type { CommandSpec, Operand, OptionSpec } from '../../parse/commandLine';

// Written out, since only types may come from where the work is done.
const STATUSES = ['OPEN', 'PENDING', 'IN_PROGRESS', 'COMPLETE', 'FAILED'] as const satisfies readonly (
  HookStatus | 'OPEN'
)[];
const REASONS = ['context_limit', 'timeout', 'error'] as const;

const WORKER: Operand = { usage: '<worker>', does: 'the worker, <name> or <pool>/<name>' };
const TYPE: OptionSpec = { flags: '--type <type>', does: 'what kind of work it is, such as translate (else task)' };
const INPUT: OptionSpec = { flags: '--input <json>', does: 'what the work is about, as a JSON object' };
const DEADLINE: OptionSpec = {
  flags: '--timeout <when>',
  does: 'when it has to be done: a time such as 2026-01-31T12:00:00Z, or from now on, such as 2h',
};
const TOOL: OptionSpec = { flags: '--tool <name>', does: 'a tool that the worker may use; at most 5', list: true };
const CONVOY: OptionSpec = { flags: '--convoy <id>', does: 'the convoy that it belongs to' };
const GONE: OptionSpec = {
  flags: '--owner-is-gone',
  does: 'whoever had the work is gone, though that can not be seen from here; a human says so',
};
const LIMIT: OptionSpec = { flags: '--timeout <time>', does: 'ends the program after this time, such as 30m' };
/** By which a worker says which claim it speaks for; a later one is not changed by it. */
const LEASE: readonly OptionSpec[] = [
  { flags: '--task <id>', does: 'the task of the claim (else FORGE_TASK)' },
  { flags: '--claim <n>', does: 'its number (else FORGE_CLAIM)' },
  { flags: '--incarnation <n>', does: 'its incarnation (else FORGE_INCARNATION)' },
];
const RESULT: OptionSpec = {
  flags: '--result <file>',
  does: 'JSON with output, discoveredTasks or error, beside what lies in the folder (- for standard input)',
};

/** Work that hangs on the hooks of workers: git-backed, for several agents. */
export const WORKER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'worker task add',
    does: 'Adds tasks to the ledger; those that it has stay as they are.',
    operands: [{ usage: '[id]', does: 'the id of the task; none with --from' }],
    options: [
      TYPE,
      INPUT,
      { flags: '--from <file>', does: 'tasks as JSON or JSON lines, instead of an id (- for standard input)' },
      { flags: '--blocked-by <id>', does: 'a task that has to be complete before', list: true },
      DEADLINE,
      CONVOY,
      { flags: '--discovered-from <id>', does: 'the task during whose work it was found' },
    ],
    example: 'atlas worker task add parse-header --type translate --blocked-by read-file --timeout 2h',
    load: async () => (await import('./workerTasks')).addTasks,
  },
  {
    name: 'worker task show',
    does: 'Shows a task with all that was recorded of it, its evidence and what it waits for.',
    operands: [{ usage: '<id>', does: 'the id of the task' }],
    example: 'atlas worker task show parse-header',
    load: async () => (await import('./workerTasks')).showTask,
  },
  {
    name: 'worker task list',
    does: 'Lists the tasks of the ledger.',
    options: [{ flags: '--status <status>', does: 'only these', choices: STATUSES }],
    example: 'atlas worker task list --status OPEN',
    load: async () => (await import('./workerTasks')).listTasks,
  },
  {
    name: 'worker ready',
    does: 'Lists the tasks that nobody has and nothing blocks.',
    options: [{ ...CONVOY, does: 'only those of this convoy' }],
    example: 'atlas worker ready',
    load: async () => (await import('./workerTasks')).ready,
  },
  {
    name: 'worker sling',
    does: "Hangs a task on a worker's hook; a task that the ledger doesn't have is added.",
    operands: [{ usage: '<task>', does: 'the id of the task' }, WORKER],
    options: [
      TYPE,
      INPUT,
      TOOL,
      { flags: '--context <file>', does: 'a JSON object with more for context.json (- for standard input)' },
      DEADLINE,
    ],
    example: 'atlas worker sling fix-1 w1 --type translate --tool file-system',
    load: async () => (await import('./workerTasks')).sling,
  },
  {
    name: 'worker list',
    does: 'Lists the workers with what hangs on their hooks, and what is wrong.',
    example: 'atlas worker list',
    load: async () => (await import('./worker')).list,
  },
  {
    name: 'worker status',
    does: "Says where the work on a worker's hook stands, and what mends it where that is needed.",
    operands: [WORKER],
    example: 'atlas worker status w1',
    load: async () => (await import('./worker')).status,
  },
  {
    name: 'worker show',
    does: "Shows all that is on a worker's hook: task, context, result, evidence.",
    operands: [WORKER],
    example: 'atlas worker show w1',
    load: async () => (await import('./worker')).show,
  },
  {
    name: 'worker run',
    does: "Has a program do the work on a worker's hook, to its end: one task, no asking.",
    operands: [WORKER, { usage: '<command…>', does: 'behind two dashes, the program and its arguments' }],
    options: [{ flags: '--wait', does: 'waits until there is work' }, LIMIT, GONE],
    interleaved: true,
    example: 'atlas worker run w1 -- claude -p "Do the task that FORGE_HOOK holds"',
    load: async () => (await import('./workerRun')).run,
  },
  {
    name: 'worker claim',
    does: 'Takes the work on a hook for a worker that runs itself, and prints the lease that its later calls name.',
    operands: [WORKER],
    options: [
      { flags: '--pid <n>', does: 'a process that lives as long as the work, so that its death is seen' },
      GONE,
    ],
    example: 'atlas worker claim w1 --json',
    load: async () => (await import('./workerLease')).claim,
  },
  {
    name: 'worker complete',
    does: 'Says that the work is done; the hashes that prove it are made.',
    operands: [WORKER],
    options: [RESULT, ...LEASE],
    example: 'atlas worker complete w2 --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).complete,
  },
  {
    name: 'worker fail',
    does: 'Says that the work failed, and why.',
    operands: [WORKER],
    options: [
      { flags: '--code <code>', does: 'a short name of what went wrong (else failed)' },
      { flags: '--message <text>', does: 'what went wrong' },
      { flags: '--final', does: 'trying again is of no use' },
      RESULT,
      ...LEASE,
    ],
    example:
      'atlas worker fail w2 --code no_input --message "The file is empty" --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).failWork,
  },
  {
    name: 'worker handoff',
    does: 'Gives the work to the next incarnation, with what was done until now.',
    operands: [WORKER],
    options: [
      { flags: '--reason <reason>', does: 'why', choices: REASONS },
      { flags: '--resume-point <text>', does: 'where the next one goes on' },
      ...LEASE,
    ],
    example:
      'atlas worker handoff w2 --reason context_limit --resume-point "step 3" --task fix-1 --claim 1 --incarnation 1',
    load: async () => (await import('./workerLease')).handoff,
  },
  {
    name: 'worker recover',
    does: "Says what becomes of a worker's work after a crash, makes its folder again, and with a program goes on.",
    operands: [WORKER, { usage: '[command…]', does: 'behind two dashes, the program that goes on' }],
    options: [LIMIT, GONE],
    interleaved: true,
    example: 'atlas worker recover w1',
    load: async () => (await import('./workerRun')).recover,
  },
  {
    name: 'worker clear',
    does: 'Empties a hook whose work is over; its history keeps all of it.',
    operands: [WORKER],
    example: 'atlas worker clear w2',
    load: async () => (await import('./worker')).clear,
  },
  {
    name: 'worker repair',
    does: 'Says what crashes, cleaning and hands left around hooks and ledger; with --yes, mends it. Nothing finished or unshared is deleted.',
    options: [{ flags: '-y, --yes', does: 'does what the plan says' }],
    example: 'atlas worker repair',
    load: async () => (await import('./workerSync')).repair,
  },
  {
    name: 'worker sync',
    does: 'Shares hooks and ledger with other clones by a remote: fetches and pushes forge/*.',
    operands: [
      { usage: '[remote]', does: 'which one; else that of .forge/config.yaml, the one that shares already, or origin' },
    ],
    example: 'atlas worker sync origin',
    load: async () => (await import('./workerSync')).sync,
  },
  {
    name: 'worker convoy create',
    does: 'Groups tasks of the ledger.',
    operands: [
      { usage: '<id>', does: 'the id of the convoy' },
      { usage: '<task…>', does: 'its tasks' },
    ],
    options: [{ flags: '--title <text>', does: 'what it is for' }],
    interleaved: true,
    example: 'atlas worker convoy create release-2 fix-1 fix-2 --title "Release 2"',
    load: async () => (await import('./workerTasks')).createConvoy,
  },
  {
    name: 'worker convoy status',
    does: 'Says how far convoys are, and which of their tasks are ready.',
    operands: [{ usage: '[id]', does: 'the convoy; all of them without it' }],
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
