import { execFileSync } from 'node:child_process';

/** A shell that `atlas completion` knows. */
export type Shell = 'bash' | 'zsh' | 'fish';

/** Whether a shell is installed here. */
export function hasShell(shell: Shell): boolean {
  try {
    execFileSync(shell, ['-c', 'exit 0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A word for the shells' single quotes; none of the tests' words holds a backslash. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function quotedForFish(line: string): string {
  return `'${line.replaceAll("'", "\\'")}'`;
}

/*
 * What the shell's own completion calls, called as it does: bash and zsh get the words that are typed, the last one of
 * them unfinished. In zsh, what would show the choices is replaced by what prints them.
 */
const ASK: Readonly<Record<Shell, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) => `
    set -u
    source ${quoted(script)}
    COMP_WORDS=(${words.map(quoted).join(' ')}); COMP_CWORD=${words.length - 1}; COMPREPLY=()
    compopt() { [[ $* == '-o default' ]] && echo '<default>'; return 0; }
    _atlas atlas "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
    for each in "\${COMPREPLY[@]:-}"; do echo "$each"; done`,
  zsh: (script, words) => `
    compdef() { : }
    _describe() { local -a list; list=("\${(@P)2}"); for each in $list; do print -r -- "\${each%%:*}"; done }
    compadd() { shift; print -rl -- "$@" }
    _files() { print -r -- '<files>' }
    _default() { print -r -- '<default>' }
    _message() { : }
    source ${quoted(script)}
    words=(${words.map(quoted).join(' ')}); CURRENT=${words.length}
    _atlas`,
  fish: (script, words) => `
    source ${quoted(script)}
    complete -C ${quotedForFish(words.join(' '))} | string replace -r '\\t.*' ''; exit 0`,
};

/** What a shell offers after these words, the last of which is unfinished; `''` where nothing is typed of it yet. */
export function offered(shell: Shell, script: string, words: readonly string[], folder: string): string[] {
  const own = shell === 'fish' ? ['--no-config'] : shell === 'zsh' ? ['-f'] : ['--noprofile', '--norc'];
  const out = execFileSync(shell, [...own, '-c', ASK[shell](script, words)], { cwd: folder, encoding: 'utf8' });
  const lines = out.split('\n').filter((line) => line !== '');
  // zsh leaves it to its matcher what fits, and fish's takes what only contains the word.
  const last = words.at(-1) ?? '';
  return shell === 'bash' ? lines : lines.filter((line) => line.startsWith('<') || line.startsWith(last));
}
