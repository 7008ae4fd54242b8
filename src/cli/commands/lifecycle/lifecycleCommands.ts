import type { HostName, LifecycleEvent } from '../../../agents/hosts/hosts';
import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

// Written out, since only types may come from where the work is done.
const HOSTS = ['claude', 'vscode', 'codex', 'gemini', 'cursor'] as const satisfies readonly HostName[];

/** The host whose file or form is meant. */
const HOST: OptionSpec = { flags: '--host <host>', does: 'the program that runs the agent', choices: HOSTS };

const SECTION: OptionSpec = {
  flags: '--section',
  does: "also adds a section to the agent's instructions (CLAUDE.md or AGENTS.md) that has it ask for its task",
};
const DRY_RUN: OptionSpec = { flags: '-n, --dry-run', does: 'shows the change, makes none' };
const YES: OptionSpec = { flags: '-y, --yes', does: 'answers the question with yes' };

function eventCommand(event: LifecycleEvent, does: string): CommandSpec {
  return {
    name: `lifecycle ${event}`,
    does: `${does} A host's hook calls it.`,
    options: [HOST],
    example: `atlas lifecycle ${event} --host claude`,
    load: async () => (await import('./lifecycle')).lifecycleEvent(event),
  };
}

/** What agents' hosts call, and what wires them. */
export const LIFECYCLE_COMMANDS: readonly CommandSpec[] = [
  eventCommand('session-start', 'Tells an agent where the task stands, what is remembered and what waits.'),
  eventCommand('stop', 'Tells an agent that wants to stop what is left; exits 2 where it has to go on.'),
  eventCommand('pre-compact', 'Makes a checkpoint before context is compacted, and says what to write down.'),
  eventCommand('subagent-stop', "Asks for a review of a subagent's result."),
  eventCommand('session-end', 'Records how a session ended.'),
  eventCommand('stop-failure', 'Records that a turn ended with an error of the service.'),
  {
    name: 'lifecycle install',
    does: "Wires the hooks into a host's settings file of this repository, beside what is there; shows the change first.",
    options: [HOST, SECTION, DRY_RUN, YES],
    example: 'atlas lifecycle install --host claude --section',
    load: async () => (await import('./lifecycleInstall')).installLifecycle,
  },
  {
    name: 'lifecycle uninstall',
    does: 'Takes the hooks out; everything else in the file stays as it is.',
    options: [HOST, DRY_RUN, YES],
    example: 'atlas lifecycle uninstall --host claude',
    load: async () => (await import('./lifecycleInstall')).uninstallLifecycle,
  },
  {
    name: 'lifecycle status',
    does: 'Says which hooks are installed, when each was called last, and what comes of its answer.',
    example: 'atlas lifecycle status',
    load: async () => (await import('./lifecycleReport')).lifecycleStatus,
  },
  {
    name: 'lifecycle doctor',
    does: 'Fires each installed hook as its host would, and says whether it works.',
    example: 'atlas lifecycle doctor',
    load: async () => (await import('./lifecycleReport')).lifecycleDoctor,
  },
];
