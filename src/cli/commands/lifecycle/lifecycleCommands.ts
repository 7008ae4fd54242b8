import type { HostName, LifecycleEvent } from '../../../agents/hosts/hosts';
import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

// Written out, since only types may come from where the work is done.
const HOSTS = ['claude', 'vscode', 'codex', 'gemini', 'cursor'] as const satisfies readonly HostName[];

/** Those that can be set up: of OpenCode, sessions are observed by a plugin. */
const SET_UP: OptionSpec = {
  flags: '--host <host>',
  does: 'program that runs the agent',
  choices: [...HOSTS, 'opencode'],
};
const HOOKS_ONLY: OptionSpec = {
  flags: '--hooks-only',
  does: "change only this repository's hooks; leave the observation of sessions as it is",
};
const TRANSCRIPTS: OptionSpec = {
  flags: '--transcripts',
  does: "also read the host's transcripts (claude, codex, opencode), for what its hooks don't tell",
};

/** The host whose file or form is meant. */
const HOST: OptionSpec = { flags: '--host <host>', does: 'program that runs the agent', choices: HOSTS };

const SECTION: OptionSpec = {
  flags: '--section',
  does: "also add a section to the agent's instructions (CLAUDE.md or AGENTS.md) that tells it to check for a task",
};
const DRY_RUN: OptionSpec = { flags: '-n, --dry-run', does: 'show the change without making it' };
const YES: OptionSpec = { flags: '-y, --yes', does: 'answer yes to the question' };

function eventCommand(event: LifecycleEvent, does: string): CommandSpec {
  return {
    name: `lifecycle ${event}`,
    does: `${does} Called by a lifecycle hook.`,
    options: [HOST],
    example: `atlas lifecycle ${event} --host claude`,
    load: async () => (await import('./lifecycle')).lifecycleEvent(event),
  };
}

/** What agents' hosts call, and what wires them. */
export const LIFECYCLE_COMMANDS: readonly CommandSpec[] = [
  eventCommand('session-start', "Give a starting agent the task's status, its memory and the agent queue."),
  eventCommand('stop', 'Tell a stopping agent what is left to do. Exits 2 if it must continue.'),
  eventCommand(
    'pre-compact',
    'Record a checkpoint before context is compacted, and tell the agent what to write down.',
  ),
  eventCommand('subagent-stop', "Ask for a review of a subagent's result."),
  eventCommand('session-end', 'Record how a session ended.'),
  eventCommand('stop-failure', 'Record that a turn ended with a service error.'),
  eventCommand('turn-start', 'Capture the files when a turn begins, as a restore point.'),
  eventCommand(
    'before-discard',
    'Capture the files before a command that discards work, as a restore point. The command waits for 2 seconds at most.',
  ),
  {
    name: 'lifecycle install',
    does: "Install lifecycle hooks in a host's settings file in this repository, and observe its sessions in all repositories. Shows the change first and keeps other settings.",
    options: [SET_UP, SECTION, HOOKS_ONLY, TRANSCRIPTS, DRY_RUN, YES],
    example: 'atlas lifecycle install --host claude --section',
    load: async () => (await import('./lifecycleInstall')).installLifecycle,
  },
  {
    name: 'lifecycle uninstall',
    does: 'Remove the lifecycle hooks. Other settings stay unchanged.',
    options: [SET_UP, HOOKS_ONLY, DRY_RUN, YES],
    example: 'atlas lifecycle uninstall --host claude',
    load: async () => (await import('./lifecycleInstall')).uninstallLifecycle,
  },
  {
    name: 'lifecycle status',
    does: 'Show which lifecycle hooks are installed, when each last ran, and what it can do.',
    example: 'atlas lifecycle status',
    load: async () => (await import('./lifecycleReport')).lifecycleStatus,
  },
  {
    name: 'lifecycle doctor',
    does: 'Run each installed lifecycle hook as its host would, and report whether it works.',
    example: 'atlas lifecycle doctor',
    load: async () => (await import('./lifecycleReport')).lifecycleDoctor,
  },
];
