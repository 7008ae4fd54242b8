import type { CommandSpec, OptionSpec } from './commandLine';
import { INBOX_COMMANDS } from '../commands/inbox/inboxCommands';
import { LIFECYCLE_COMMANDS } from '../commands/lifecycle/lifecycleCommands';
import { TASK } from './options';
import { TASK_COMMANDS } from '../commands/task/taskCommands';
import { WORKER_COMMANDS } from '../commands/worker/workerCommands';

const YES: OptionSpec = { flags: '-y, --yes', does: 'answers the question with yes' };

const ALLOW_SHORT: OptionSpec = {
  flags: '--allow-short',
  does: 'also accept receipts of other programs, which have no signed statement',
};

/** Everything that `atlas` can be told to do. */
export const COMMANDS: readonly CommandSpec[] = [
  ...TASK_COMMANDS,
  {
    name: 'hook status',
    does: 'Says where the task stands; the same as status.',
    options: TASK,
    example: 'atlas hook status',
    load: async () => (await import('../commands/task/status')).status,
  },
  {
    name: 'hook checkpoints',
    does: 'Lists the checkpoints with what caused them.',
    options: TASK,
    example: 'atlas hook checkpoints',
    load: async () => (await import('../commands/task/checkpoint')).checkpoints,
  },
  {
    name: 'hook regenerate',
    does: 'Writes HOOK.md again.',
    options: TASK,
    example: 'atlas hook regenerate',
    load: async () => (await import('../commands/task/hook')).regenerate,
  },
  {
    name: 'hook export',
    does: 'Prints everything that is known of the task.',
    options: [{ flags: '--format <format>', does: 'the form', choices: ['json'] }, ...TASK],
    example: 'atlas hook export --format json > hook-debug.json',
    load: async () => (await import('../commands/task/hook')).exportHook,
  },
  {
    name: 'hook verify-receipt',
    does: 'Says whether a receipt is true, and whether the files are still those that it was made on.',
    operands: [{ usage: '<receipt-id>', does: 'rcpt-… of any task of the workspace' }],
    options: [ALLOW_SHORT, ...TASK],
    example: 'atlas hook verify-receipt rcpt-0a1b2c3d',
    load: async () => (await import('../commands/receipts/receipts')).verifyReceipt,
  },
  {
    name: 'hook synopsis',
    does: "Prints one line for an agent's context; nothing where no task is open.",
    options: TASK,
    example: 'atlas hook synopsis',
    load: async () => (await import('../commands/task/hook')).synopsis,
  },
  {
    name: 'hook install',
    does: 'Installs git hooks, so that commits and pushes make checkpoints also where no window is open.',
    options: [{ flags: '--force', does: 'also into a folder that another program manages' }, YES],
    example: 'atlas hook install',
    load: async () => (await import('../commands/maintenance/gitHooks')).installHooks,
  },
  {
    name: 'hook uninstall',
    does: 'Takes the git hooks out; what was there before stays as it was.',
    example: 'atlas hook uninstall',
    load: async () => (await import('../commands/maintenance/gitHooks')).uninstallHooks,
  },
  {
    name: 'spool drain',
    does: 'Turns what git hooks noted into checkpoints; the hooks start it.',
    example: 'atlas spool drain',
    load: async () => (await import('../commands/maintenance/gitHooks')).drainSpool,
  },
  {
    name: 'receipts list',
    does: 'Lists the receipts with their verdicts.',
    options: TASK,
    example: 'atlas receipts list',
    load: async () => (await import('../commands/receipts/receipts')).list,
  },
  {
    name: 'receipts export',
    does: 'Writes the receipts as a bundle that others can check.',
    options: [
      { flags: '-o, --output <file>', does: 'where to; without it, standard output' },
      { flags: '--force', does: 'replaces a file that is there' },
      ...TASK,
    ],
    example: 'atlas receipts export --output receipts.json',
    load: async () => (await import('../commands/receipts/receipts')).exportReceipts,
  },
  {
    name: 'receipts verify',
    does: 'Checks a bundle of receipts with public keys alone; needs no store.',
    operands: [{ usage: '<bundle.json>', does: 'what "atlas receipts export" wrote (- for standard input)' }],
    options: [
      { flags: '--keys <receipts.pub.json>', does: "trusts these public keys instead of the bundle's own" },
      ALLOW_SHORT,
    ],
    example: 'atlas receipts verify receipts.json --keys receipts.pub.json',
    load: async () => (await import('../commands/receipts/receipts')).verify,
  },
  ...INBOX_COMMANDS,
  ...WORKER_COMMANDS,
  {
    name: 'cleanup',
    does: 'Removes the hook files of finished tasks whose retention is over.',
    options: [
      { flags: '--hooks', does: 'the hook files; task.json, task.log and artifacts are kept' },
      { flags: '--retention <time>', does: 'for all finished tasks, such as 7d, instead of the settings' },
      { flags: '-n, --dry-run', does: 'shows what would go, changes nothing' },
    ],
    example: 'atlas cleanup --hooks --retention 7d --dry-run',
    load: async () => (await import('../commands/maintenance/maintain')).cleanup,
  },
  {
    name: 'workspace list',
    does: 'Lists the workspaces with their tasks.',
    example: 'atlas workspace list',
    load: async () => (await import('../commands/maintenance/maintain')).listWorkspaces,
  },
  {
    name: 'workspace destroy',
    does: 'Removes a workspace with all its tasks; a human decides that.',
    operands: [{ usage: '<workspace>', does: 'its name' }],
    options: [YES],
    example: 'atlas workspace destroy my-workspace',
    load: async () => (await import('../commands/maintenance/maintain')).destroyWorkspace,
  },
  {
    name: 'doctor',
    does: 'Looks at store, locks, keys, journals, git hooks and spool, and says what mends each finding.',
    options: [{ flags: '--fix', does: 'mends what needs no decision, and asks about the rest' }, YES],
    example: 'atlas doctor --fix',
    load: async () => (await import('../commands/maintenance/doctor')).doctor,
  },
  ...LIFECYCLE_COMMANDS,
  {
    name: 'mcp',
    does: 'Serves tools and HOOK.md to an agent, by the Model Context Protocol on standard input and output.',
    options: [{ flags: '--prefixed', does: 'names every tool atlas_…, for hosts that have others of such names' }],
    example: 'atlas mcp',
    load: async () => (await import('../mcp/server')).serveMcp,
  },
  {
    name: 'completion',
    does: 'Prints a script that completes atlas in a shell.',
    operands: [{ usage: '<shell>', does: 'the shell', choices: ['bash', 'zsh', 'fish'] }],
    example: 'source <(atlas completion bash)',
    load: async () => (await import('./completion')).completionOf(COMMANDS),
  },
];
