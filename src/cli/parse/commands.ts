import { CHECKPOINT_COMMANDS } from '../commands/checkpoint/checkpointCommands';
import type { CommandSpec, OptionSpec } from './commandLine';
import { INBOX_COMMANDS } from '../commands/inbox/inboxCommands';
import { LIFECYCLE_COMMANDS } from '../commands/lifecycle/lifecycleCommands';
import { SESSIONS_COMMANDS } from '../commands/sessions/sessionsCommands';
import { TASK } from './options';
import { TASK_COMMANDS } from '../commands/task/taskCommands';
import { VERIFY_COMMANDS } from '../commands/verify/verifyCommands';
import { WORKER_COMMANDS } from '../commands/worker/workerCommands';

const YES: OptionSpec = { flags: '-y, --yes', does: 'answer yes to the question' };

const ALLOW_SHORT: OptionSpec = {
  flags: '--allow-short',
  does: 'also accept short receipts, which other programs make without a signed statement',
};

/** Everything that `atlas` can be told to do. */
export const COMMANDS: readonly CommandSpec[] = [
  ...TASK_COMMANDS,
  ...CHECKPOINT_COMMANDS,
  {
    name: 'hook status',
    does: 'Show the status of a task. Same as "atlas status".',
    options: TASK,
    example: 'atlas hook status',
    load: async () => (await import('../commands/task/status')).status,
  },
  {
    name: 'hook show',
    does: 'Print HOOK.md, with what has changed in the worktree since it was written.',
    options: TASK,
    example: 'atlas hook show',
    load: async () => (await import('../commands/task/hook')).show,
  },
  {
    name: 'hook checkpoints',
    does: 'List the checkpoints of a task.',
    options: TASK,
    example: 'atlas hook checkpoints',
    load: async () => (await import('../commands/checkpoint/checkpoint')).checkpoints,
  },
  {
    name: 'hook regenerate',
    does: 'Regenerate HOOK.md.',
    options: TASK,
    example: 'atlas hook regenerate',
    load: async () => (await import('../commands/task/hook')).regenerate,
  },
  {
    name: 'hook export',
    does: 'Print the complete record of a task.',
    options: [{ flags: '--format <format>', does: 'output format', choices: ['json'] }, ...TASK],
    example: 'atlas hook export --format json > hook-debug.json',
    load: async () => (await import('../commands/task/hook')).exportHook,
  },
  {
    name: 'hook verify-receipt',
    does: "Verify a receipt's signature and whether its files are unchanged.",
    operands: [{ usage: '<receipt-id>', does: 'ID of a receipt of this workspace, rcpt-…' }],
    options: [ALLOW_SHORT, ...TASK],
    example: 'atlas hook verify-receipt rcpt-0a1b2c3d',
    load: async () => (await import('../commands/receipts/receipts')).verifyReceipt,
  },
  {
    name: 'hook synopsis',
    does: "Print a one-line summary for an agent's context. Prints nothing if no task is open.",
    options: TASK,
    example: 'atlas hook synopsis',
    load: async () => (await import('../commands/task/hook')).synopsis,
  },
  {
    name: 'hook install',
    does: 'Install git hooks that record a checkpoint on commit and push, even when no window is open.',
    options: [{ flags: '--force', does: 'install even into a folder that another program manages' }, YES],
    example: 'atlas hook install',
    load: async () => (await import('../commands/maintenance/gitHooks')).installHooks,
  },
  {
    name: 'hook uninstall',
    does: 'Remove the git hooks. Hooks that were there before stay unchanged.',
    example: 'atlas hook uninstall',
    load: async () => (await import('../commands/maintenance/gitHooks')).uninstallHooks,
  },
  {
    name: 'spool drain',
    does: 'Record checkpoints for events queued by git hooks. Run by the hooks themselves.',
    example: 'atlas spool drain',
    load: async () => (await import('../commands/maintenance/gitHooks')).drainSpool,
  },
  {
    name: 'receipts list',
    does: 'List the receipts of a task and verify each.',
    options: TASK,
    example: 'atlas receipts list',
    load: async () => (await import('../commands/receipts/receipts')).list,
  },
  {
    name: 'receipts export',
    does: 'Export receipts as a bundle that others can verify.',
    options: [
      { flags: '-o, --output <file>', does: 'write to this file instead of standard output' },
      { flags: '--force', does: 'overwrite an existing file' },
      ...TASK,
    ],
    example: 'atlas receipts export --output receipts.json',
    load: async () => (await import('../commands/receipts/receipts')).exportReceipts,
  },
  {
    name: 'receipts verify',
    does: 'Verify a bundle of receipts using only public keys. Needs no Atlas store.',
    operands: [{ usage: '<bundle.json>', does: 'file written by "atlas receipts export" (- for standard input)' }],
    options: [
      { flags: '--keys <receipts.pub.json>', does: "trust these public keys instead of the bundle's own" },
      ALLOW_SHORT,
    ],
    example: 'atlas receipts verify receipts.json --keys receipts.pub.json',
    load: async () => (await import('../commands/receipts/receipts')).verify,
  },
  ...VERIFY_COMMANDS,
  ...INBOX_COMMANDS,
  ...WORKER_COMMANDS,
  {
    name: 'cleanup',
    does: 'Delete the files of finished tasks that are past their retention.',
    options: [
      { flags: '--hooks', does: 'delete task records and HOOK.md; keep task.json, task.log and artifacts' },
      {
        flags: '--retention <time>',
        does: 'retention for all finished tasks, such as 7d (default: from the settings)',
      },
      { flags: '-n, --dry-run', does: 'show what would be deleted without deleting it' },
    ],
    example: 'atlas cleanup --hooks --retention 7d --dry-run',
    load: async () => (await import('../commands/maintenance/maintain')).cleanup,
  },
  {
    name: 'workspace list',
    does: 'List workspaces and their tasks.',
    example: 'atlas workspace list',
    load: async () => (await import('../commands/maintenance/maintain')).listWorkspaces,
  },
  {
    name: 'workspace destroy',
    does: 'Delete a workspace and all its tasks (human only).',
    operands: [{ usage: '<workspace>', does: 'name of the workspace' }],
    options: [YES],
    example: 'atlas workspace destroy my-workspace',
    load: async () => (await import('../commands/maintenance/maintain')).destroyWorkspace,
  },
  {
    name: 'doctor',
    does: 'Check the store, locks, keys, journals and git hooks, and report how to fix each problem.',
    options: [{ flags: '--fix', does: 'fix what is safe to fix, and ask about the rest' }, YES],
    example: 'atlas doctor --fix',
    load: async () => (await import('../commands/maintenance/doctor')).doctor,
  },
  ...LIFECYCLE_COMMANDS,
  ...SESSIONS_COMMANDS,
  {
    name: 'mcp',
    does: 'Start an MCP server on standard input and output that gives an agent tools and HOOK.md.',
    options: [
      { flags: '--prefixed', does: 'prefix every tool name with atlas_, for hosts with other tools of the same names' },
    ],
    example: 'atlas mcp',
    load: async () => (await import('../mcp/server')).serveMcp,
  },
  {
    name: 'completion',
    does: 'Print a shell completion script.',
    operands: [{ usage: '<shell>', does: 'shell to complete in', choices: ['bash', 'zsh', 'fish'] }],
    example: 'source <(atlas completion bash)',
    load: async () => (await import('./completion')).completionOf(COMMANDS),
  },
];
