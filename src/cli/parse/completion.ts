import { AtlasError } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { CommandSpec, Handler } from './commandLine';
import { groupText } from './groups';
import { EXIT } from '../render/output';
import type { AnswerData } from '../commands/schemas';

/** An option as shells need it. */
interface CompletedOption {
  readonly names: readonly string[];
  readonly does: string;
  /** What its value can be: one of these, a file, or anything; `undefined` for a flag. */
  readonly value: readonly string[] | 'file' | 'any' | undefined;
}

/** A line of words after `atlas`, and what can follow it. */
interface CompletedWord {
  /** `''` is the beginning. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly does: string }[];
  readonly options: readonly CompletedOption[];
  readonly files: boolean;
}

const EVERYWHERE: readonly CompletedOption[] = [
  { names: ['--json'], does: 'print one JSON document to standard output', value: undefined },
  { names: ['-q', '--quiet'], does: 'print only what was asked for', value: undefined },
  { names: ['-h', '--help'], does: 'show help for a command', value: undefined },
];

/** `completion`: a script for a shell, made from the table of commands. It starts no program when it is used. */
export function completionOf(specs: readonly CommandSpec[]): Handler {
  return async (_context, call) => {
    const shell = call.operands[0] ?? '';
    const make = SCRIPTS[shell];
    if (make === undefined) throw new AtlasError('usage', `There is no completion for ${oneLine(shell, 40)}.`);
    const script = make(completedWords(specs));
    const data: AnswerData<'completion'> = { shell, script };
    return Promise.resolve({ exit: EXIT.done, text: script, wanted: true, data });
  };
}

function optionOf({ flags, does, choices }: NonNullable<CommandSpec['options']>[number]): CompletedOption {
  const value = /<([^>]+)>/u.exec(flags)?.[1];
  const names = flags.replace(/\s*<[^>]+>/u, '').split(', ');
  const files = value !== undefined && /file|\.json|path/u.test(value);
  return { names, does, value: value === undefined ? undefined : (choices ?? (files ? 'file' : 'any')) };
}

/** Every line of words that something can follow. */
function completedWords(specs: readonly CommandSpec[]): CompletedWord[] {
  const shown = specs.filter(({ hidden }) => hidden !== true);
  const paths = new Set(['']);
  for (const { name } of shown) {
    const words = name.split(' ');
    for (const [index] of words.entries()) paths.add(words.slice(0, index + 1).join(' '));
  }
  return [...paths].map((path) => {
    const own = shown.find(({ name }) => name === path);
    const operand = own?.operands?.[0];
    const after = shown.filter(({ name }) => path === '' || name.startsWith(`${path} `));
    const words = new Map<string, string>();
    for (const { name, does } of after) {
      const rest = path === '' ? name : name.slice(path.length + 1);
      const [word = ''] = rest.split(' ');
      if (!words.has(word)) words.set(word, rest === word ? does : groupText(path === '' ? word : `${path} ${word}`));
    }
    for (const choice of operand?.choices ?? []) words.set(choice, operand?.does ?? '');
    return {
      path,
      words: [...words].map(([word, does]) => ({ word, does })),
      options: [...(own?.options ?? []).map(optionOf), ...EVERYWHERE],
      files: operand !== undefined && /file|\.json|agent/u.test(operand.usage),
    };
  });
}

/** A word for a shell's single quotes. */
function sh(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** In fish, a backslash is special in single quotes too. */
function fishWord(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** In zsh's `_describe`, a colon ends the word. */
function zshItem(word: string, does: string): string {
  return sh(`${word.replaceAll(':', '\\:')}:${does}`);
}

const SCRIPTS: Readonly<Record<string, (words: readonly CompletedWord[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function valuesOf(words: readonly CompletedWord[], use: (path: string, option: CompletedOption) => string[]): string[] {
  return words.flatMap(({ path, options }) =>
    options.flatMap((option) => (option.value === undefined ? [] : use(path, option))),
  );
}

/** Patterns for options that take a value, which is no word of a command. */
function valued(words: readonly CompletedWord[]): string {
  const names = new Set(valuesOf(words, (_path, { names: own }) => [...own]));
  return [...names].join('|');
}

const KNOWN_WORDS = (words: readonly CompletedWord[]): string =>
  words.flatMap(({ path }) => (path === '' ? [] : [sh(path)])).join('|');

/**
 * Which command the words before the cursor name, for bash and zsh.
 * @param afterDashes completes what is no longer ours
 */
function readLine(words: readonly CompletedWord[], range: string, list: string, afterDashes: string): string {
  return `  for ((${range}; i++)); do
    word=\${${list}[i]}
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      --) ${afterDashes}; return ;;
      ${valued(words)}) skip=1 ;;
      -*) ;;
      *)
        case "\${line:+$line }$word" in
          ${KNOWN_WORDS(words)}) line="\${line:+$line }$word" ;;
          *) [[ -n $line ]] || return 0 ;;
        esac ;;
    esac
  done`;
}

/** What completes the values of options, for bash and zsh. */
function valueBranches(
  words: readonly CompletedWord[],
  files: string,
  oneOf: (choices: readonly string[]) => string,
  any: string,
): string {
  const branches = valuesOf(words, (path, { names, value }) => {
    const reply = value === 'file' ? files : Array.isArray(value) ? oneOf(value as readonly string[]) : any;
    return names.map((name) => `    ${sh(`${path} ${name}`)}) ${reply}; return ;;`);
  });
  return branches.join('\n');
}

function bashScript(words: readonly CompletedWord[]): string {
  const branches = words.map(({ path, words: next, options, files }) => {
    const names = [...next.map(({ word }) => word), ...options.flatMap(({ names: own }) => own)];
    return `    ${sh(path)}) words=${sh(names.join(' '))}${files ? '; files=1' : ''} ;;`;
  });
  const oneOf = (choices: readonly string[]): string => `_atlas_words ${sh(choices.join(' '))} "$cur"`;
  return `# bash completion for atlas; use it with: source <(atlas completion bash)
_atlas_words() {
  local each IFS=$' \\t\\n'
  for each in $1; do [[ $each == "$2"* ]] && COMPREPLY+=("$each"); done
}
_atlas_files() {
  local each
  while IFS= read -r each; do COMPREPLY+=("$each"); done < <(compgen -f -- "$1")
  compopt -o filenames 2>/dev/null
}
_atlas() {
  local cur prev line word words files skip i
  COMPREPLY=()
  cur=\${COMP_WORDS[COMP_CWORD]}
  prev=\${COMP_WORDS[COMP_CWORD-1]}
  line=
  skip=
${readLine(words, 'i = 1; i < COMP_CWORD', 'COMP_WORDS', 'compopt -o default 2>/dev/null')}
  case "$line $prev" in
${valueBranches(words, '_atlas_files "$cur"', oneOf, ':')}
  esac
  words=
  files=
  case $line in
${branches.join('\n')}
  esac
  _atlas_words "$words" "$cur"
  if [[ -n $files && $cur != -* ]]; then _atlas_files "$cur"; fi
}
complete -F _atlas atlas
`;
}

function zshScript(words: readonly CompletedWord[]): string {
  const branches = words.map(({ path, words: next, options, files }) => {
    const items = next.map(({ word, does }) => zshItem(word, does));
    const flags = options.flatMap(({ names, does }) => names.map((name) => zshItem(name, does)));
    return `    ${sh(path)})
      items=(${items.join(' ')})
      flags=(${flags.join(' ')})
      files=${files ? '1' : ''} ;;`;
  });
  const oneOf = (choices: readonly string[]): string => `compadd -- ${choices.map(sh).join(' ')}`;
  return `#compdef atlas
# zsh completion for atlas; put it into a folder of $fpath as _atlas, or use: source <(atlas completion zsh)
_atlas() {
  local line word skip files i
  local -a items flags
${readLine(words, 'i = 2; i < CURRENT', 'words', '_default')}
  case "$line \${words[CURRENT-1]}" in
${valueBranches(words, '_files', oneOf, '_message value')}
  esac
  case $line in
${branches.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe option flags
  else
    (( \${#items} )) && _describe command items
    [[ -n $files ]] && _files
    (( \${#items} )) || [[ -n $files ]] || _describe option flags
  fi
}
if [[ \${funcstack[1]} == _atlas ]]; then _atlas "$@"; else compdef _atlas atlas; fi
`;
}

function fishScript(words: readonly CompletedWord[]): string {
  const lines = words.flatMap(({ path, words: next, options, files }) => {
    const when = `-n ${fishWord(`__atlas_at ${fishWord(path)}`)}`;
    return [
      ...next.map(({ word, does }) => `complete -c atlas ${when} -a ${fishWord(word)} -d ${fishWord(does)}`),
      ...options.map((option) => `complete -c atlas ${when} ${fishOption(option)}`),
      ...(files ? [`complete -c atlas ${when} -F`] : []),
    ];
  });
  return `# fish completion for atlas; put it into ~/.config/fish/completions/atlas.fish, or use: atlas completion fish | source
function __atlas_at
  set -l line
  set -l skip
  for word in (commandline -opc)[2..-1]
    if test -n "$skip"
      set skip
      continue
    end
    switch $word
      case --
        return 1
      case ${valued(words).split('|').map(fishWord).join(' ')}
        set skip 1
      case '-*'
      case '*'
        switch (string trim "$line $word")
          case ${words.flatMap(({ path }) => (path === '' ? [] : [fishWord(path)])).join(' ')}
            set line (string trim "$line $word")
          case '*'
            test -n "$line"; or return 1
        end
    end
  end
  test "$line" = "$argv[1]"
end
complete -c atlas -f
${lines.join('\n')}
`;
}

function fishOption({ names, does, value }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ');
  const takes =
    value === undefined
      ? ''
      : value === 'file'
        ? ' -r -F'
        : value === 'any'
          ? ' -x'
          : ` -x -a ${fishWord(value.join(' '))}`;
  return `${flags} -d ${fishWord(does)}${takes}`;
}
