import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Result } from '../../core/shared/errors';
import { HOST_TITLES, type SessionHost, type TranscriptHost, TRANSCRIPT_HOSTS } from '../../core/session/sessionHost';
import type { ServicePorts } from '../../service/ports';
import { observingHooks, wireObserver } from './hookEntries';
import { type FileChange, Installer } from './installer';
import { HOSTS } from '../hosts/hosts';
import { PLUGIN_MARK, isSamePlugin, pluginText } from '../hosts/opencode/pluginText';
import { claudeFolder } from '../hosts/claude/claudeTranscript';
import { codexFolder } from '../hosts/codex/codexTranscript';

/** The hosts whose sessions can be observed everywhere, by their settings in the user's home folder. */
export const OBSERVE_HOSTS = [
  'claude',
  'codex',
  'opencode',
  'gemini',
  'cursor',
  'vscode',
] as const satisfies readonly SessionHost[];

/** One of them. */
export type ObserveHost = (typeof OBSERVE_HOSTS)[number];

/** What is known about observing a host. */
export interface ObserveSetUp {
  readonly host: ObserveHost;
  readonly title: string;
  /** The file that is changed. */
  readonly path: string;
  /** Whether all that is needed stands in it. */
  readonly installed: boolean;
  /** What of ours in it doesn't do its work, for people; nothing where nothing of ours is there. */
  readonly faults: readonly string[];
  /** What the user has to do or know beside. */
  readonly notes: readonly string[];
}

/** The events of each host that are reported; see docs/agents.md for what each tells. */
const EVENTS: Readonly<Record<Exclude<ObserveHost, 'opencode'>, readonly string[]>> = {
  claude: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionRequest'],
    ...[
      'Notification',
      'PostCompact',
      'TaskCreated',
      'TaskCompleted',
      'CwdChanged',
      'Stop',
      'StopFailure',
      'SessionEnd',
    ],
  ],
  codex: [
    ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PermissionRequest', 'PostCompact'],
    ...['Stop', 'SessionEnd'],
  ],
  gemini: ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
  cursor: [
    ...['sessionStart', 'beforeSubmitPrompt', 'beforeShellExecution', 'afterShellExecution', 'afterFileEdit'],
    ...['afterAgentResponse', 'stop', 'sessionEnd'],
  ],
  vscode: ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'],
};

/** Copilot CLI reads the same folder, and only files of this version. */
const COPILOT_VERSION = 1;

/** What hosts can be told that keeps them from reporting anything; see docs/agents.md for the sources. */
const SKIPPED_BY: Readonly<Partial<Record<ObserveHost, string>>> = {
  claude: '"claude --bare" and "claude --safe-mode" skip hooks.',
  codex: '"codex exec" skips hooks that are not trusted.',
  opencode: '"opencode --pure" skips plugins.',
  vscode: 'With "chat.useHooks" off, VS Code skips hooks. Copilot CLI runs these hooks too.',
};

/** What the script is told of an event beside its host: what to do at once. */
const NOW: Readonly<Record<string, 'start' | 'turn' | 'tool'>> = {
  SessionStart: 'start',
  sessionStart: 'start',
  UserPromptSubmit: 'turn',
  BeforeAgent: 'turn',
  beforeSubmitPrompt: 'turn',
  PreToolUse: 'tool',
  BeforeTool: 'tool',
  beforeShellExecution: 'tool',
};
const TIMEOUT_SECONDS = 10;
/** Codex allows no more at the end of a session. */
const ENDING_SECONDS = 3;

/** Where hosts keep what a user set for all repositories. */
export interface UserPlaces {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
}

/** The places of whoever runs this. */
export function userPlaces(env: NodeJS.ProcessEnv = process.env): UserPlaces {
  return { env, home: homedir() };
}

function placeOf(host: ObserveHost, { env, home }: UserPlaces): { readonly folder: string; readonly file: string } {
  switch (host) {
    case 'claude':
      return { folder: claudeFolder(env, home), file: 'settings.json' };
    case 'codex':
      return { folder: codexFolder(env, home), file: 'hooks.json' };
    case 'opencode': {
      const config = env['XDG_CONFIG_HOME'] ?? '';
      const folder = join(config === '' ? join(home, '.config') : config, 'opencode');
      return { folder, file: join('plugins', 'atlas.js') };
    }
    case 'gemini':
      return { folder: join(home, '.gemini'), file: 'settings.json' };
    case 'cursor':
      return { folder: join(home, '.cursor'), file: 'hooks.json' };
    case 'vscode':
      return { folder: join(home, '.copilot'), file: join('hooks', 'atlas.json') };
  }
}

/** The command that a host runs at an event. Whatever becomes of the script, it says nothing and exits with 0. */
export function observeCommand(script: string, host: ObserveHost, event: string): string {
  const now = NOW[event];
  return `sh ${scriptWord(script)} ${host}${now === undefined ? '' : ` ${now}`} 2>/dev/null || true`;
}

/** A path as one word of the shell in which hosts run hooks. */
function scriptWord(script: string): string {
  const path = script.replaceAll('\\', '/');
  return /^[\w@%+=:,./-]+$/u.test(path) ? path : `'${path.replaceAll("'", '')}'`;
}

/** Puts what observes a host's sessions into the user's own settings of it, and takes it out again. */
export class ObserveInstaller {
  constructor(
    private readonly ports: Pick<ServicePorts, 'files' | 'ids' | 'paths'>,
    private readonly places: UserPlaces,
    /** Where the script and the folder for reports lie. */
    private readonly spool: { readonly scriptPath: string; readonly folder: string },
  ) {}

  private desk(host: ObserveHost): { readonly installer: Installer; readonly file: string; readonly path: string } {
    const { folder, file } = placeOf(host, this.places);
    return { installer: new Installer(this.ports, folder), file, path: join(folder, file) };
  }

  /**
   * What installing changes.
   * @param start how `atlas` is started, as a shell's words
   */
  planInstall(host: ObserveHost, start: string): Result<FileChange> {
    const { installer, file } = this.desk(host);
    if (host === 'opencode') return installer.planOwnFile(file, pluginText(this.spool.folder, start), isOurPlugin);
    const { form, timeoutUnit, type, version: own } = HOSTS[host];
    const version = host === 'vscode' ? COPILOT_VERSION : own;
    const events = EVENTS[host].map((key) => ({
      key,
      command: observeCommand(this.spool.scriptPath, host, key),
      timeout: (key === 'SessionEnd' ? ENDING_SECONDS : TIMEOUT_SECONDS) * (timeoutUnit === 'ms' ? 1000 : 1),
    }));
    const shape = { form, type, ...(version === undefined ? {} : { version }) };
    return installer.planSettings(file, (text) => wireObserver(text, shape, events));
  }

  /** What taking it out changes: every other byte stays. */
  planUninstall(host: ObserveHost): Result<FileChange> {
    const { installer, file } = this.desk(host);
    if (host !== 'opencode') return installer.planClean(file);
    const text = installer.textOf(file);
    if (!text.ok) return text;
    // A plugin by somebody else stays.
    const isOther = text.value !== undefined && !isOurPlugin(text.value);
    return installer.planOwnFile(file, isOther ? text.value : undefined, () => true);
  }

  apply(host: ObserveHost, change: FileChange): Result<void> {
    return this.desk(host).installer.apply(change);
  }

  /** Whether something that Atlas put into a host's settings wasn't taken out by it. */
  wasChanged(host: ObserveHost): boolean {
    const { installer, file } = this.desk(host);
    return installer.hasChanged(file);
  }

  /** How each host stands. A file that can't be read counts as one without it. */
  setUp(of: (host: ObserveHost) => boolean = () => true): ObserveSetUp[] {
    return OBSERVE_HOSTS.filter(of).map((host) => {
      const { installer, file, path } = this.desk(host);
      const text = installer.textOf(file);
      const found = text.ok ? text.value : undefined;
      const installed = found !== undefined && this.isInstalled(host, found);
      return {
        ...{ host, title: HOST_TITLES[host], path, installed },
        faults: text.ok ? this.faults(host, found ?? '') : [text.error.message],
        notes: installed ? this.notes(host) : [],
      };
    });
  }

  private isInstalled(host: ObserveHost, text: string): boolean {
    if (host === 'opencode') return isOurPlugin(text);
    const hooks = observingHooks(text);
    return hooks.ok && EVENTS[host].every((event) => hooks.value.some(({ key }) => key === event));
  }

  private faults(host: ObserveHost, text: string): string[] {
    if (host === 'opencode')
      return isOurPlugin(text) && !isSamePlugin(text, this.spool.folder)
        ? ['The plugin is from another version of Atlas, or reports to another store.']
        : [];
    const hooks = observingHooks(text);
    if (!hooks.ok || hooks.value.length === 0) return [];
    const missing = EVENTS[host].filter((event) => !hooks.value.some(({ key }) => key === event));
    const script = scriptWord(this.spool.scriptPath);
    return [
      ...(missing.length === 0 ? [] : [`Its hooks for ${missing.join(', ')} are missing.`]),
      ...(hooks.value.every(({ command }) => command.startsWith(`sh ${script} `))
        ? []
        : ['Its hooks report to another store.']),
    ];
  }

  /** The file in which a host's hooks or plugin are put. */
  pathOf(host: ObserveHost): string {
    return this.desk(host).path;
  }

  /** What the user has to know before a host's sessions are observed. */
  needs(host: ObserveHost): string[] {
    const first =
      host === 'codex'
        ? ['Codex runs hooks only once you trust them: start "codex" in a terminal and choose Trust.']
        : this.notes(host);
    return [...first, ...this.skippedBy(host)];
  }

  /** What keeps a host from reporting although it was set up. */
  skippedBy(host: ObserveHost): string[] {
    const skipped = SKIPPED_BY[host];
    return skipped === undefined ? [] : [skipped];
  }

  /** Where a host keeps what a user set for all repositories. */
  static folderOf(host: ObserveHost, places: UserPlaces): string {
    return placeOf(host, places).folder;
  }

  /** What has to be done beside, or isn't done yet. */
  notes(host: ObserveHost): string[] {
    if (host === 'codex') {
      const trusted = this.codexTrusts();
      return trusted === EVENTS.codex.length
        ? []
        : [
            `Codex runs ${trusted === 0 ? 'none' : `${trusted} of ${EVENTS.codex.length}`} of these hooks until you trust them: start "codex" once in a terminal and choose Trust. "codex exec" skips hooks that are not trusted.`,
          ];
    }
    if (host !== 'opencode') return [];
    const { folder } = placeOf(host, this.places);
    const isThere = this.ports.files.stat(join(folder, 'node_modules', '@opencode-ai', 'plugin')) !== undefined;
    return isThere
      ? []
      : [
          'At its next start, OpenCode downloads its plugin package (63 MB). Without a network, it does not start then.',
        ];
  }

  /** How many of our entries Codex trusts, by its own account: Atlas reads that, and never writes it. */
  private codexTrusts(): number {
    const { installer } = this.desk('codex');
    const { path } = this.desk('codex');
    const config = installer.textOf('config.toml');
    const hooks = installer.textOf('hooks.json');
    if (!config.ok || !hooks.ok || config.value === undefined || hooks.value === undefined) return 0;
    const trusted = [
      ...config.value.matchAll(/^\s*\[hooks\.state\."([^"]+)"\]\s*\n(?:[^[]*\n)?\s*trusted_hash\s*=/gmu),
    ];
    const keys = new Set(trusted.map(([, key = '']) => key.replace(/:\d+:\d+$/u, '')));
    const snake = (event: string): string => event.replace(/(?<!^)([A-Z])/gu, '_$1').toLowerCase();
    return EVENTS.codex.filter((event) => keys.has(`${path}:${snake(event)}`)).length;
  }
}

function isOurPlugin(text: string): boolean {
  return text.startsWith(PLUGIN_MARK);
}

/** Whether a host's transcripts can be read. */
export function hasTranscripts(host: SessionHost): host is TranscriptHost {
  return TRANSCRIPT_HOSTS.some((each) => each === host);
}

/** The sessions settings after a host was set up, or given up. */
export function settingsAfter(
  readTranscripts: readonly TranscriptHost[],
  host: ObserveHost,
  wish: { readonly track: boolean; readonly transcripts: boolean | undefined },
): { readonly name: string; readonly value: boolean | readonly string[] }[] {
  const others = readTranscripts.filter((each) => each !== host);
  const keeps = wish.transcripts ?? (wish.track && readTranscripts.some((each) => each === host));
  const read = keeps && hasTranscripts(host) ? [...others, host] : others;
  return [
    { name: 'track', value: wish.track },
    { name: 'read_transcripts', value: read },
  ];
}
