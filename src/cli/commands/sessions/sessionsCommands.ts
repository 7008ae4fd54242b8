import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

const ID = { usage: '<id>', does: 'ID of the session, or its beginning' };
const YES: OptionSpec = { flags: '-y, --yes', does: 'answer yes to the question' };

/** What is known of agents' sessions. */
export const SESSIONS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'sessions list',
    does: 'List the sessions of agents in this repository, with their status.',
    options: [{ flags: '--all', does: 'list the sessions of all repositories' }],
    example: 'atlas sessions list',
    load: async () => (await import('./sessions')).listSessions,
  },
  {
    name: 'sessions show',
    does: "Print a session's HOOK.md: what was asked, what was under way, and what changed.",
    operands: [ID],
    example: 'atlas sessions show 01a20f69',
    load: async () => (await import('./sessions')).showSession,
  },
  {
    name: 'sessions forget',
    does: 'Delete everything that Atlas keeps about a session (human only).',
    operands: [{ usage: '[id]', does: 'ID of the session, or its beginning' }],
    options: [{ flags: '--all', does: 'delete all sessions of all repositories' }, YES],
    example: 'atlas sessions forget 01a20f69',
    load: async () => (await import('./sessions')).forgetSession,
  },
  {
    name: 'sessions end-processes',
    does: 'End what a dead session started and what still runs (human only).',
    operands: [ID],
    options: [YES],
    example: 'atlas sessions end-processes 01a20f69',
    load: async () => (await import('./sessions')).endSessionProcesses,
  },
  {
    name: 'sessions use-template',
    does: 'Start a task from a session. HOOK.md of the task keeps what is known of it.',
    operands: [ID, { usage: '<template>', does: 'template of the task' }],
    example: 'atlas sessions use-template 01a20f69 bugfix',
    load: async () => (await import('./sessions')).useTemplate,
  },
  {
    name: 'sessions refresh',
    does: 'Take in what agents reported. Run by lifecycle hooks.',
    example: 'atlas sessions refresh',
    hidden: true,
    load: async () => (await import('./sessions')).refreshSessions,
  },
];
