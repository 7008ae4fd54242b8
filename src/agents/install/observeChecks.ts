import { basename, dirname, join } from 'node:path';
import type { Result } from '../../core/shared/errors';
import { namesIn } from '../../core/shared/namesIn';
import type { FileSystem } from '../../core/shared/ports';
import type { SessionRecord } from '../../core/session/sessionRecord';
import type { Examination } from '../../service/doctor/report';
import { trackedSessions } from '../sessions/trackedSessions';
import { hookStart, hookStarts } from './hookStart';
import { type ObserveHost, ObserveInstaller, type ObserveSetUp, userPlaces } from './observeInstall';
import { SettingsText } from './settingsText';
import { Installer } from './installer';

const SET_UP = 'Run "Atlas: Set Up Agent", or: atlas lifecycle install --host <host>';

/**
 * The doctor's look at observed sessions: whether each host that was set up reports, and what to do where it doesn't.
 * @param command how `atlas` is started: the program and its first arguments
 */
export function observeChecks(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): (exam: Examination) => Promise<void> {
  return async (exam) => {
    const { ports } = exam.atlas;
    const service = trackedSessions(exam.atlas, env);
    const installer = new ObserveInstaller(ports, userPlaces(env), service.spool);
    const { track } = await service.config();
    if (track !== true) {
      // Without consent, only what Atlas itself changed is looked at.
      const changed = installer.setUp((each) => installer.wasChanged(each));
      for (const each of changed)
        exam.ok('sessions', each.path, ...(track === false ? unobserved(each) : unread(each)));
      return;
    }
    const there = installer.setUp().filter(({ installed, faults }) => installed || faults.length > 0);
    await checkSpoolOf(exam, command, env, service.spool);
    if (there.length === 0)
      exam.ok('sessions', ports.paths.root, 'Sessions are observed, but no host reports any.', SET_UP);
    const folders = await worktreesOf(exam);
    const records = service.records.all();
    for (const setUp of there)
      await exam.check('sessions', setUp.path, () => tell(exam, setUp, { installer, env, folders, records }));
  };
}

function unobserved({ title, host }: ObserveSetUp): [message: string, hint: string] {
  return [
    `${title} has Atlas's hooks, but sessions are not observed.`,
    `To observe them, run: atlas lifecycle install --host ${host}. To remove the hooks: atlas lifecycle uninstall --host ${host}`,
  ];
}

/** The mistake itself is told by who looks at the settings. */
function unread({ title }: ObserveSetUp): [message: string, hint: string] {
  return [
    `${title} has Atlas's hooks. What they report waits, since the settings could not be read.`,
    'Correct config.yaml.',
  ];
}

async function checkSpoolOf(
  exam: Examination,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  spool: ReturnType<typeof trackedSessions>['spool'],
): Promise<void> {
  for (const wrong of spool.faults(hookStarts(command)).slice(0, 1))
    await exam.repair('sessions', spool.folder, {
      wrong: `${wrong} Sessions are not observed.`,
      done: 'What hooks need to report was made again.',
      byHand: `Move away what stands in the place of ${spool.folder}, and run: atlas doctor --fix`,
      act: () => spool.repair(hookStart(env, command)),
    });
}

async function worktreesOf({ atlas, options }: Examination): Promise<string[]> {
  const located = await Promise.all(options.folders.map(async (folder) => (await atlas.locate(folder)).worktree));
  return [...new Set(located)];
}

interface Known {
  readonly installer: ObserveInstaller;
  readonly env: NodeJS.ProcessEnv;
  readonly folders: readonly string[];
  readonly records: readonly SessionRecord[];
}

function tell(exam: Examination, setUp: ObserveSetUp, { installer, env, folders, records }: Known): void {
  const { host, title, path, faults, notes } = setUp;
  const problem = (message: string, hint: string): void => exam.problem('sessions', path, `${title}: ${message}`, hint);
  for (const fault of faults) problem(fault, `Run: atlas lifecycle install --host ${host}`);
  const off = turnedOff(exam, host, { env, folders });
  for (const { message, hint } of off) problem(message, hint);
  const blocked = host === 'codex' ? notes : [];
  for (const note of blocked) problem(note, 'Start "codex" in a terminal and choose Trust.');
  if (faults.length + off.length + blocked.length > 0) return;
  const last = records
    .filter((record) => record.host === host)
    .map(({ seen_at: at }) => at)
    .sort()
    .at(-1);
  const seen = last === undefined ? 'no session was seen so far' : `the last one was seen at ${last}`;
  const beside = [...(host === 'opencode' ? notes : []), ...installer.skippedBy(host)];
  exam.ok(
    'sessions',
    path,
    `${title} sessions are observed; ${seen}.`,
    beside.length === 0 ? undefined : beside.join(' '),
  );
}

interface Off {
  readonly message: string;
  readonly hint: string;
}

/** The settings by which a host skips hooks, as far as they can be read. */
function turnedOff(exam: Examination, host: ObserveHost, { env, folders }: Pick<Known, 'env' | 'folders'>): Off[] {
  const read = (file: string): string | undefined =>
    textOf(new Installer(exam.atlas.ports, dirname(file)).textOf(basename(file)));
  const places = userPlaces(env);
  switch (host) {
    case 'claude': {
      const user = ObserveInstaller.folderOf(host, places);
      const own = folders.flatMap((folder) =>
        ['settings.json', 'settings.local.json'].map((name) => join(folder, '.claude', name)),
      );
      const managed = managedSettings(exam.atlas.ports.files, env).map((file) => ({ file, text: read(file) }));
      const offIn = (file: string, key: string, hint: string): Off => ({
        message: `"${key}" in ${file} turns hooks off.`,
        hint,
      });
      return [
        ...[join(user, 'settings.json'), ...own]
          .filter((file) => valueOf(read(file), [SKIP_ALL]) === true)
          .map((file) => offIn(file, SKIP_ALL, 'Remove that setting, and restart Claude Code.')),
        ...[SKIP_ALL, SKIP_USERS].flatMap((key) => {
          const last = managed.findLast(({ text }) => valueOf(text, [key]) !== undefined);
          return last !== undefined && valueOf(last.text, [key]) === true
            ? [offIn(last.file, key, 'Ask your administrator to allow the hooks.')]
            : [];
        }),
      ];
    }
    case 'codex': {
      const file = join(ObserveInstaller.folderOf(host, places), 'config.toml');
      return isOffInToml(read(file) ?? '')
        ? [
            {
              message: `[features] in ${file} turns hooks off.`,
              hint: 'Remove "hooks = false", and restart Codex.',
            },
          ]
        : [];
    }
    case 'gemini': {
      const file = join(ObserveInstaller.folderOf(host, places), 'settings.json');
      return valueOf(read(file), ['hooksConfig', 'enabled']) === false
        ? [
            {
              message: `"hooksConfig.enabled" in ${file} turns hooks off.`,
              hint: 'Set it to true, and restart Gemini CLI.',
            },
          ]
        : [];
    }
    case 'opencode':
    case 'cursor':
    case 'vscode':
      return [];
  }
}

/** By which Claude Code skips hooks. See https://code.claude.com/docs/en/settings. */
const SKIP_ALL = 'disableAllHooks';
/** By which it skips those that users set; it counts only where an administrator sets it. */
const SKIP_USERS = 'allowManagedHooksOnly';

/** Where administrators set what no user can change, each file over those before it. */
function managedSettings(files: FileSystem, env: NodeJS.ProcessEnv): string[] {
  const folder = managedFolder(env);
  const added = join(folder, 'managed-settings.d');
  const names = namesIn(files, added).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  return [join(folder, 'managed-settings.json'), ...names.sort().map((name) => join(added, name))];
}

function managedFolder(env: NodeJS.ProcessEnv): string {
  switch (process.platform) {
    case 'darwin':
      return '/Library/Application Support/ClaudeCode';
    case 'win32':
      return join(env['ProgramFiles'] ?? 'C:\\Program Files', 'ClaudeCode');
    default:
      return '/etc/claude-code';
  }
}

function textOf(text: Result<string | undefined>): string | undefined {
  return text.ok ? text.value : undefined;
}

/** What a settings file says at a path of keys; `undefined` where it says nothing or can't be read. */
function valueOf(text: string | undefined, keys: readonly string[]): unknown {
  const settings = text === undefined ? undefined : SettingsText.parse(text);
  if (settings?.ok !== true) return undefined;
  const found = keys.reduce<ReturnType<SettingsText['member']>>(
    (node, key) => settings.value.member(node, key),
    settings.value.root,
  );
  return found?.value;
}

/** Whether Codex's settings turn hooks off; `codex_hooks` is the older name. See https://developers.openai.com/codex/hooks. */
function isOffInToml(text: string): boolean {
  let table = '';
  for (const line of text.split('\n')) {
    table = /^\s*\[([^[\]]+)\]/u.exec(line)?.[1]?.trim() ?? table;
    const [, key = '', value = ''] = /^\s*([\w.]+)\s*=\s*(\w+)/u.exec(line) ?? [];
    const full = table === '' ? key : `${table}.${key}`;
    if (/^features\.(?:codex_)?hooks$/u.test(full) && value === 'false') return true;
  }
  return false;
}
