/** Words before a program's name that start it. */
const STARTERS = new Set(
  ['sudo', 'command', 'builtin', 'exec', 'env', 'time', 'nohup', 'nice', 'then', 'do', 'else', '!'].concat([
    'sh',
    'bash',
    'dash',
    'zsh',
    'busybox',
  ]),
);
/** Options of git's own, before its subcommand, that are followed by a value. */
const WITH_VALUE = new Set(['-C', '-c', '--git-dir', '--work-tree', '--namespace', '--exec-path']);
const BETWEEN_COMMANDS = /&&|\|\||[;|&\n(){}`]/u;

type Names = (args: readonly string[]) => string | undefined;

function has(args: readonly string[], ...options: readonly string[]): boolean {
  return args.some((arg) => options.includes(arg.split('=')[0] ?? ''));
}

/** Whether one of the letters is among the short options. */
function hasShort(args: readonly string[], letters: RegExp): boolean {
  return args.some((arg) => /^-[A-Za-z]+$/u.test(arg) && letters.test(arg));
}

const GIT: Readonly<Record<string, Names>> = {
  reset: (args) => (has(args, '--hard', '--merge') ? 'git reset --hard' : undefined),
  clean: (args) => (has(args, '--dry-run') || hasShort(args, /n/u) ? undefined : 'git clean'),
  restore: (args) => {
    const isOfIndex = has(args, '--staged') || hasShort(args, /S/u);
    return isOfIndex && !has(args, '--worktree') && !hasShort(args, /W/u) ? undefined : 'git restore';
  },
  switch: (args) =>
    has(args, '--force', '--discard-changes') || hasShort(args, /f/u) ? 'git switch --discard-changes' : undefined,
  checkout: (args) => {
    if (has(args, '-b', '-B', '--orphan')) return undefined;
    const operands = args.filter((arg) => !arg.startsWith('-'));
    // One name may be a branch, which git switches to without losing a change; one with an ending is a file's.
    const isFile = operands.length > 1 || operands.some((each) => each === '.' || /\.\w+$/u.test(each));
    return isFile || has(args, '--', '--force') || hasShort(args, /f/u) ? 'git checkout --' : undefined;
  },
};

function ofGit(args: readonly string[]): string | undefined {
  let at = 0;
  while (args[at]?.startsWith('-') === true) at += WITH_VALUE.has(args[at] ?? '') ? 2 : 1;
  return GIT[args[at] ?? '']?.(args.slice(at + 1));
}

/**
 * The name of what throws files or changes away in a shell command: `git reset --hard`, `git clean`, `git checkout --`,
 * `git restore`, `git switch --discard-changes`, `rm -r`. Best effort: a script that does the same isn't seen.
 */
export function discardingCommand(command: string): string | undefined {
  for (const part of command.split(BETWEEN_COMMANDS)) {
    const words = part
      .replaceAll(/["'\\]/gu, '')
      .split(/\s+/u)
      .filter((word) => word !== '');
    const isBefore = (word: string): boolean =>
      STARTERS.has(word.replace(/^.*\//u, '')) || /^-|^[A-Za-z_]\w*=/u.test(word);
    const start = words.findIndex((word) => !isBefore(word));
    const [program = '', ...args] = start === -1 ? [] : words.slice(start);
    const name = program.replace(/^.*\//u, '').replace(/\.exe$/iu, '');
    if (name === 'rm' && (has(args, '--recursive') || hasShort(args, /[rR]/u))) return 'rm -r';
    const found = name === 'git' ? ofGit(args) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The words of git's that may throw changes away. */
const MAY_DISCARD_BY_GIT = ['reset', 'clean', 'checkout', 'restore', 'switch'];

/** The same as a regular expression that lets more through: what a plugin can ask for quickly, of a command. */
export const MAY_DISCARD = String.raw`git.*(${MAY_DISCARD_BY_GIT.join('|')})|rm .*-[A-Za-z-]*[rR]`;

/**
 * The same as a function of a POSIX shell, `may_discard TEXT`, of a host's report of a command: only builtins, and patterns
 * with one word between two stars, as shells take quadratic time for two. It knows five options together before the `r` of `rm`.
 */
export const MAY_DISCARD_IN_SHELL = `may_discard() {
  case $1 in *git*) case \${1#*git} in ${MAY_DISCARD_BY_GIT.map((word) => `*${word}*`).join(' | ')}) return 0 ;; esac ;; esac
  w='[A-Za-z-]'
  case $1 in *'rm '*) ;; *) return 1 ;; esac
  case \${1#*'rm '} in *-[rR]* | *-$w[rR]* | *-$w$w[rR]* | *-$w$w$w[rR]* | *-$w$w$w$w[rR]* | *-$w$w$w$w$w[rR]*) ;; *) return 1 ;; esac
}`;
