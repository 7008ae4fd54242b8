import { KEPT_CERTIFICATES } from '../system/launcher/launcher';

/** The variable that names the run a process belongs to. */
export const MARKER_VARIABLE = 'ATLAS_RECEIPT_ID';

/**
 * What the editor and our launcher set for their own processes; with these a command that starts an editor or Electron
 * misbehaves.
 */
const EDITORS_OWN = [
  /^ATLAS_LAUNCHER$/,
  /^ELECTRON_(RUN_AS_NODE|NO_ASAR|NO_ATTACH_CONSOLE|ENABLE_LOGGING|ENABLE_STACK_DUMPING)$/,
  /^VSCODE_(IPC_|HANDLES_|CRASH_REPORTER_|EXTHOST_|L10N_|AGENT_|RECONNECTION_)/,
  /^VSCODE_(AMD_ENTRYPOINT|ESM_ENTRYPOINT|CLI|CODE_CACHE_PATH|CWD|DEV|NLS_CONFIG|PID|PARENT_PID)$/,
  /^VSCODE_(INSPECTOR_OPTIONS|LOGS|LOG_STACK|PIPE_LOGGING|VERBOSE_LOGGING|WILL_SEND_SOCKET)$/,
];

/** What makes git look at another repository than the one a command runs in; set while git runs a hook. */
const REPOSITORY_OF_GIT = new Set(
  ['DIR', 'WORK_TREE', 'IMPLICIT_WORK_TREE', 'INDEX_FILE', 'OBJECT_DIRECTORY', 'ALTERNATE_OBJECT_DIRECTORIES']
    .concat(['COMMON_DIR', 'PREFIX', 'NAMESPACE', 'GRAFT_FILE', 'SHALLOW_FILE', 'REPLACE_REF_BASE'])
    .concat(['NO_REPLACE_OBJECTS', 'QUARANTINE_PATH', 'INTERNAL_SUPER_PREFIX', 'CONFIG_PARAMETERS'])
    .map((name) => `GIT_${name}`),
);

/** A word of NODE_OPTIONS as it is written: quotes hold spaces together. */
const OPTION = /(?:[^\s"]|"(?:\\.|[^"\\])*")+/g;
const INSPECTS = /^--(inspect|debug-port)/;
const LOADS = /^(-r|--require|--import)(=|$)/;
const DEBUGGER = /js-debug[\s\S]*bootloader|bootloader\.js/;

/** NODE_OPTIONS without what a debugger put there; `undefined` if nothing else is in it. */
function withoutDebugger(options: string): string | undefined {
  const words = options.match(OPTION) ?? [];
  const kept: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const next = words[index + 1];
    const takesNext = !word.includes('=') && next !== undefined && !next.startsWith('-');
    if (INSPECTS.test(word)) {
      if (takesNext) index += 1;
    } else if (LOADS.test(word) && DEBUGGER.test(word.includes('=') ? word : (next ?? ''))) {
      if (takesNext) index += 1;
    } else kept.push(word);
  }
  if (kept.length === words.length) return options;
  return kept.length === 0 ? undefined : kept.join(' ');
}

/**
 * The environment that a command gets: the user's, with the marker, but without what the editor, a debugger or a git
 * hook set for this process alone.
 */
export function commandEnvironment(
  env: NodeJS.ProcessEnv,
  marker: string,
  platform: NodeJS.Platform = process.platform,
): NodeJS.ProcessEnv {
  return { ...childEnvironment(env, platform), [MARKER_VARIABLE]: marker };
}

/** The environment for a program that the user asked to run: theirs, without what was set for this process alone. */
export function childEnvironment(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): NodeJS.ProcessEnv {
  const cleaned: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(env)) {
    const key = platform === 'win32' ? name.toUpperCase() : name;
    if (value === undefined || key === MARKER_VARIABLE) continue;
    if (REPOSITORY_OF_GIT.has(key) || EDITORS_OWN.some((pattern) => pattern.test(key))) continue;
    const kept = key === 'NODE_OPTIONS' ? withoutDebugger(value) : value;
    if (kept !== undefined) cleaned[name] = kept;
  }
  const { [KEPT_CERTIFICATES]: certificates, ...rest } = cleaned;
  return certificates === undefined ? rest : { NODE_EXTRA_CA_CERTS: certificates, ...rest };
}
