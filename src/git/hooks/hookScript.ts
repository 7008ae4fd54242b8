import { jsonOf } from '../../system/files/readJson';

/** The hooks that Atlas puts in. Git has none after a push, so the one before it says whom to wait for. */
export const GIT_HOOK_NAMES = ['post-commit', 'post-merge', 'pre-push'] as const;

/** The name of one of {@link GIT_HOOK_NAMES}. */
export type GitHookName = (typeof GIT_HOOK_NAMES)[number];

/** What a hook's text is made from. */
export interface HookScriptOptions {
  /** The store's root. */
  readonly root: string;
  /** How `atlas` is started: a program and its first arguments. */
  readonly command: readonly string[];
  readonly platform: NodeJS.Platform;
}

/**
 * How a block stands in its file: alone in a file that we made (`own`), before the body of one that was there
 * (`around`: it runs the file again, where it lets the body through), or in our file that runs the one that was moved
 * aside (`front`).
 */
export type BlockKind = 'own' | 'around' | 'front';

/** The end of the name of a hook that was moved aside, since a block can't stand in it. */
export const ASIDE = '.before-atlas';

/** The first line of a hook that we make. */
export const OWN_SHEBANG = '#!/bin/sh\n';

const VERSION = 1;

/** Git sets these for its hooks; a program that is started from one would look at this repository whatever it is told. */
const GIT_VARIABLES = [
  'GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_DATE',
  'GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME GIT_COMMON_DIR GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_DIR',
  'GIT_EDITOR GIT_EXEC_PATH GIT_GRAFT_FILE GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX',
  'GIT_NAMESPACE GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_PUSH_OPTION_COUNT GIT_QUARANTINE_PATH',
  'GIT_REFLOG_ACTION GIT_REPLACE_REF_BASE GIT_SEQUENCE_EDITOR GIT_SHALLOW_FILE GIT_WORK_TREE',
];

/** A word that the shell takes as it is. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Git for Windows' sh takes a backslash in a path for a quote in some places; slashes are right everywhere. */
function slashed(word: string, platform: NodeJS.Platform): string {
  return platform === 'win32' && /^[A-Za-z]:\\|^\\\\/u.test(word) ? word.replaceAll('\\', '/') : word;
}

function isPath(word: string): boolean {
  return word.startsWith('/') || /^[A-Za-z]:\//u.test(word);
}

/** Starts the drain, without a tie to git: not its streams, its signals, its folder nor its variables. */
function startLines(words: readonly string[], home: string): string[] {
  const there = words.filter(isPath).map((word) => `[ -e ${shellQuote(word)} ]`);
  return [
    '    (',
    "      trap '' HUP INT QUIT TSTP",
    ...GIT_VARIABLES.map((names) => `      unset ${names}`),
    '      unset NODE_OPTIONS NODE_EXTRA_CA_CERTS',
    `      export ATLAS_HOME=${home}`,
    '      cd /',
    `      if ${there.length === 0 ? ':' : there.join(' && ')}; then exec ${words.map(shellQuote).join(' ')} spool drain; fi`,
    '      atlas_found=$(command -v atlas)',
    '      case $atlas_found in /*) exec "$atlas_found" spool drain ;; esac',
    '    ) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &',
    `    printf '%s -\\n' "$!" >|"$atlas_spool/claim"`,
  ];
}

/** Whether a drain or an open window lives: then it sees the event, which was written before this was asked. */
const BUSY_LINES = [
  '  atlas_busy=',
  '  for atlas_claim in "$atlas_spool/claim" "$atlas_spool"/window.*; do',
  '    [ -f "$atlas_claim" ] || continue',
  '    atlas_pid=',
  '    read -r atlas_pid atlas_start atlas_rest <"$atlas_claim"',
  "    case $atlas_pid in '' | *[!0-9]*) continue ;; esac",
  '    kill -0 "$atlas_pid" || continue',
  '    # Where the system tells, a process that only has the same number, or is dead and not buried, counts for nothing.',
  '    if [ -r "/proc/$atlas_pid/stat" ] && read -r atlas_stat <"/proc/$atlas_pid/stat"; then',
  `      case $atlas_stat in *') Z '* | *') X '*) continue ;; esac`,
  '      case $atlas_start in',
  "        '' | *[!0-9]*) ;;",
  '        *) case $atlas_stat in *" $atlas_start "*) ;; *) continue ;; esac ;;',
  '      esac',
  '    fi',
  '    atlas_busy=1',
  '    break',
  '  done',
];

/**
 * Writes the event and starts a drain if nobody is there to see it. Builtins of the shell only, but for the one
 * process that goes into the background.
 * @param trigger how the shell says the hook's name
 * @param parent how the shell says the process that git runs as
 */
function eventLines(options: HookScriptOptions, trigger: string, parent: string): string[] {
  const root = slashed(options.root, options.platform);
  const words = options.command.map((word) => slashed(word, options.platform));
  return [
    `atlas_spool=${shellQuote(`${root}/spool`)}`,
    'if [ -d "$atlas_spool" ]; then {',
    '  atlas_n=0',
    '  while [ -e "$atlas_spool/event.$$.$atlas_n" ]; do atlas_n=$((atlas_n + 1)); done',
    '  set -C',
    `  printf 'atlas-event ${VERSION}\\ntrigger %s\\nfolder %s\\nparent %s\\nend\\n' \\`,
    `    ${trigger} "$PWD" ${parent} >"$atlas_spool/event.$$.$atlas_n"`,
    '  set +C',
    ...BUSY_LINES,
    '  if [ -z "$atlas_busy" ]; then',
    ...startLines(words, shellQuote(root)),
    '  fi',
    '} 2>/dev/null; fi',
    '# Whatever went wrong is no failure of the hook.',
    ':',
  ];
}

/** Git for Windows counts its processes by numbers of its own; 0 says that nobody can be waited for. */
function parentOf(name: GitHookName, platform: NodeJS.Platform): string {
  return name === 'pre-push' && platform === 'win32' ? '0' : '"$PPID"';
}

const START = /^# >>> atlas task recovery (\d+) (own|around|front)( eol)? >>>\r?$/gmu;
const END = '# <<< atlas task recovery <<<';

function markedBlock(options: HookScriptOptions, kind: BlockKind, eol: boolean, lines: readonly string[]): string {
  return [
    `# >>> atlas task recovery ${VERSION} ${kind}${eol ? ' eol' : ''} >>>`,
    '# Put here by "atlas hook install"; "atlas hook uninstall" takes out what stands between these marks.',
    `# command: ${JSON.stringify(options.command)}`,
    ...lines,
    END,
    '',
  ].join('\n');
}

/** Runs a hook first and keeps its status; a push that it refuses will not happen. */
function runFirst(name: GitHookName, run: string, event: readonly string[]): string[] {
  const wanted = name === 'pre-push' ? ['if [ "$atlas_status" -eq 0 ]; then', ...event, 'fi'] : event;
  return [run, 'atlas_status=$?', ...wanted, 'exit "$atlas_status"'];
}

/**
 * The block of a hook, with its marks.
 * @param eol whether the line break before it is ours too
 */
export function hookBlock(name: GitHookName, kind: BlockKind, options: HookScriptOptions, eol = false): string {
  const event = eventLines(options, name, parentOf(name, options.platform));
  if (kind === 'own') return markedBlock(options, kind, eol, event);
  if (kind === 'front') {
    const aside = `"\${0%/*}/${name}${ASIDE}"`;
    const run = `if [ -x ${aside} ]; then ${aside} "$@"; else :; fi`;
    return markedBlock(options, kind, eol, runFirst(name, run, event));
  }
  return markedBlock(options, kind, eol, [
    '# The file runs itself once more, and that time goes on below: whatever stands there, this comes after it.',
    'case ${ATLAS_HOOK_BODY-}:$0 in',
    `  :*/${name}) if [ -x "$0" ]; then`,
    '    set +efux',
    '    [ -z "${ZSH_VERSION-}" ] || emulate sh',
    ...runFirst(name, 'ATLAS_HOOK_BODY=1 "$0" "$@"', event),
    '  fi ;;',
    'esac',
    'unset ATLAS_HOOK_BODY',
  ]);
}

/**
 * The script for hooks that another program manages: `sh <script> <hook>`. Between it and git are that program's
 * processes, so the one that pushes is looked for.
 */
export function managedScript(options: HookScriptOptions): string {
  return [
    '#!/bin/sh',
    '# Made by "atlas hook install" for hooks that another program manages.',
    `# command: ${JSON.stringify(options.command)}`,
    `case \${1-} in ${GIT_HOOK_NAMES.join(' | ')}) ;; *) exit 0 ;; esac`,
    'atlas_parent=0',
    'atlas_at=$PPID',
    '{ while [ "$atlas_at" -gt 1 ] && read -r atlas_stat <"/proc/$atlas_at/stat"; do',
    `  case $atlas_stat in *'(git) '*) atlas_parent=$atlas_at && break ;; esac`,
    "  atlas_stat=${atlas_stat##*') '}",
    '  atlas_stat=${atlas_stat#* }',
    '  atlas_at=${atlas_stat%% *}',
    'done; } 2>/dev/null',
    ...eventLines(options, '"$1"', '"$atlas_parent"'),
    'exit 0',
    '',
  ].join('\n');
}

/** A hook's text around our block. The text is the file's bytes, one character each. */
export interface SplitHook {
  readonly before: string;
  readonly after: string;
  readonly block: string;
  readonly kind: BlockKind;
  readonly eol: boolean;
  /** How the block starts `atlas`; `undefined` if it doesn't say so. */
  readonly command: readonly string[] | undefined;
}

function commandOf(block: string): readonly string[] | undefined {
  const line = /^# command: (.*)$/mu.exec(block)?.[1];
  if (line === undefined) return undefined;
  const words = jsonOf(Buffer.from(line, 'latin1').toString('utf8'));
  return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : undefined;
}

/** Finds our block; `undefined` where there is none, `broken` where the marks don't belong together. */
export function splitHook(text: string): SplitHook | 'broken' | undefined {
  const starts = [...text.matchAll(START)];
  const end = text.indexOf(END);
  const [start] = starts;
  if (start === undefined) return end < 0 ? undefined : 'broken';
  if (starts.length > 1 || end < start.index || text.includes(END, end + 1)) return 'broken';
  const eol = start[3] !== undefined;
  const from = start.index - (eol && text[start.index - 1] === '\n' ? 1 : 0);
  const lineEnd = text.indexOf('\n', end);
  const to = lineEnd < 0 ? text.length : lineEnd + 1;
  const block = text.slice(start.index, to);
  return {
    before: text.slice(0, from),
    after: text.slice(to),
    block,
    kind: start[2] as BlockKind,
    eol,
    command: commandOf(block),
  };
}

/** Text as the characters that its bytes are, so that files in any encoding stay as they are. */
export function asBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Puts a block of kind `around` into a hook that has none: behind its first line if that names its interpreter. */
export function wrapBody(text: string, name: GitHookName, options: HookScriptOptions): string {
  if (!text.startsWith('#!')) return asBytes(hookBlock(name, 'around', options)) + text;
  const line = text.indexOf('\n') + 1;
  if (line > 0) return text.slice(0, line) + asBytes(hookBlock(name, 'around', options)) + text.slice(line);
  return `${text}\n${asBytes(hookBlock(name, 'around', options, true))}`;
}

const SHELL =
  /^#![ \t]*(?:[^ \t\r\n]*\/)?(?:env(?:\.exe)?[ \t]+(?:-S[ \t]+)?(?:[^ \t\r\n]*\/)?)?(?:sh|bash|dash|ash|ksh|ksh93|mksh|zsh)(?:\.exe)?(?=[ \t\r\n]|$)/u;

/** Whether a hook is run by a shell that understands our block. Without a first line that names another, git takes sh. */
export function isShellScript(text: string): boolean {
  return text.startsWith('#!') ? SHELL.test(text) : !text.slice(0, 4096).includes('\0');
}
