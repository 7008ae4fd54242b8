/** What happens in an agent's life, as `atlas lifecycle <event>` is called. */
export const LIFECYCLE_EVENTS = [
  'session-start',
  'stop',
  'pre-compact',
  'subagent-stop',
  'session-end',
  'stop-failure',
  'turn-start',
  'before-discard',
] as const;

/** One of them. */
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

/** The programs that run agents. */
export const HOST_NAMES = ['claude', 'vscode', 'codex', 'gemini', 'cursor'] as const;

/** One of them. */
export type HostName = (typeof HOST_NAMES)[number];

/** How an event is wired in a host, and what comes of our answer. */
export interface HostEvent {
  readonly event: LifecycleEvent;
  /** The host's own name of it. */
  readonly key: string;
  /** Whether what we print reaches the model. */
  readonly inject: boolean;
  /** Whether we can make the agent go on. */
  readonly block: boolean;
  /** Seconds that the host waits at most. */
  readonly seconds: number;
}

/** A host: where its hooks are written, and in which form. */
export interface Host {
  readonly name: HostName;
  /** For people. */
  readonly title: string;
  readonly file: string;
  /** Where its agent reads instructions. */
  readonly instructions: string;
  /** `grouped`: a list of groups with a list of hooks each; `flat`: a list of hooks. */
  readonly form: 'grouped' | 'flat';
  readonly timeoutUnit: 's' | 'ms';
  /** What a hook of it says beside its command. */
  readonly type: boolean;
  /** A `version` that the file has to have. */
  readonly version?: number;
  readonly events: readonly HostEvent[];
  /** Where all this is documented. */
  readonly source: string;
}

const event = (
  name: LifecycleEvent,
  key: string,
  can: '' | 'inject' | 'block' | 'inject block' = '',
  seconds = 30,
): HostEvent => ({ event: name, key, inject: can.includes('inject'), block: can.includes('block'), seconds });

/** The hosts. docs/agents.md has the same with the sources of each line. */
export const HOSTS: Readonly<Record<HostName, Host>> = {
  claude: {
    name: 'claude',
    title: 'Claude Code',
    file: '.claude/settings.json',
    instructions: 'CLAUDE.md',
    form: 'grouped',
    timeoutUnit: 's',
    type: true,
    events: [
      event('session-start', 'SessionStart', 'inject'),
      event('stop', 'Stop', 'inject block'),
      event('pre-compact', 'PreCompact'),
      event('subagent-stop', 'SubagentStop', 'block'),
      event('session-end', 'SessionEnd'),
      event('stop-failure', 'StopFailure'),
    ],
    source: 'https://code.claude.com/docs/en/hooks',
  },
  vscode: {
    name: 'vscode',
    title: 'VS Code',
    file: '.github/hooks/atlas.json',
    instructions: 'AGENTS.md',
    form: 'flat',
    timeoutUnit: 's',
    type: true,
    events: [
      event('session-start', 'SessionStart', 'inject'),
      event('stop', 'Stop', 'inject block'),
      event('pre-compact', 'PreCompact'),
      event('subagent-stop', 'SubagentStop'),
    ],
    source: 'https://code.visualstudio.com/docs/agents/reference/hooks-reference',
  },
  codex: {
    name: 'codex',
    title: 'Codex',
    file: '.codex/hooks.json',
    instructions: 'AGENTS.md',
    form: 'grouped',
    timeoutUnit: 's',
    type: true,
    events: [
      event('session-start', 'SessionStart', 'inject'),
      event('stop', 'Stop', 'inject block'),
      event('pre-compact', 'PreCompact'),
      event('subagent-stop', 'SubagentStop'),
    ],
    source: 'https://developers.openai.com/codex/hooks',
  },
  gemini: {
    name: 'gemini',
    title: 'Gemini CLI',
    file: '.gemini/settings.json',
    instructions: 'AGENTS.md',
    form: 'grouped',
    timeoutUnit: 'ms',
    type: true,
    events: [
      event('session-start', 'SessionStart', 'inject'),
      event('stop', 'AfterAgent', 'inject block'),
      event('pre-compact', 'PreCompress'),
      event('session-end', 'SessionEnd'),
    ],
    source: 'https://geminicli.com/docs/hooks/reference',
  },
  cursor: {
    name: 'cursor',
    title: 'Cursor',
    file: '.cursor/hooks.json',
    instructions: 'AGENTS.md',
    form: 'flat',
    timeoutUnit: 's',
    type: false,
    version: 1,
    events: [
      event('session-start', 'sessionStart', 'inject'),
      event('stop', 'stop', 'inject block'),
      event('pre-compact', 'preCompact'),
      event('subagent-stop', 'subagentStop'),
      event('session-end', 'sessionEnd'),
    ],
    source: 'https://cursor.com/docs/hooks',
  },
};

/** What a tool for the inbox is called in a host: VS Code has tools of its own by some of these names. */
export function toolOf(host: HostName | undefined, name: 'get_next_task' | 'task_complete'): string {
  return host === 'vscode' ? `atlas_${name}` : name;
}
