import { join } from 'node:path';
import type { FileSystem } from '../core/shared/ports';
import { jsonOf } from '../system/files/readJson';

/** A command that a repository declares, to be offered where a step has none of its own. */
export interface DeclaredCheck {
  readonly command: string;
  /** Where it was found, for people: `package.json script "test"`. */
  readonly source: string;
}

/** The largest file that is looked into, in bytes; what is larger wasn't written by hand. */
const MAX_BYTES = 1024 * 1024;
/** More than these nobody chooses from. */
const MAX_CHECKS = 30;

/** Names that a shell takes for nothing but a word, and a program not for an option. */
const SAFE_NAME = /^\w[\w:.-]*$/;
const MAX_NAME = 100;

/** What checks are called, the likeliest first; `test:unit` counts as `test`. */
const CHECKS = ['test', 'tests', 'check', 'checks', 'lint', 'typecheck', 'type-check', 'types', 'tsc', 'verify']
  .concat(['validate', 'vet', 'format:check', 'fmt:check', 'format-check', 'unit', 'e2e', 'spec', 'ci', 'build'])
  .concat(['compile']);
/** Parts of a name that tell of something that doesn't end or that changes the work tree. */
const NO_CHECK = /(^|[:._-])(watch|dev|serve|start|fix|update|write|ui|open|debug|publish|release|deploy)([:._-]|$)/;

/** A check's rank; `undefined` for what doesn't look like one. */
function rankOf(name: string): number | undefined {
  if (!SAFE_NAME.test(name) || name.length > MAX_NAME || NO_CHECK.test(name)) return undefined;
  const exact = CHECKS.indexOf(name);
  if (exact !== -1) return exact;
  const family = CHECKS.findIndex((check) => [':', '-', '.', '_'].some((mark) => name.startsWith(check + mark)));
  return family === -1 ? undefined : family + 0.5;
}

/** The names that look like checks, the likeliest first. */
function checksAmong(names: readonly string[]): string[] {
  return [...new Set(names)]
    .map((name) => ({ name, rank: rankOf(name) }))
    .filter((each): each is { name: string; rank: number } => each.rank !== undefined)
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Looks into one folder. What can't be read, is too large, or isn't a file of its own isn't there. */
class Folder {
  constructor(
    private readonly files: FileSystem,
    private readonly path: string,
  ) {}

  names(): readonly string[] {
    try {
      return this.files.list(this.path);
    } catch {
      return [];
    }
  }

  has(name: string): boolean {
    try {
      return this.files.stat(join(this.path, name))?.kind === 'file';
    } catch {
      return false;
    }
  }

  text(name: string): string | undefined {
    if (!this.has(name)) return undefined;
    try {
      return new TextDecoder().decode(this.files.read(join(this.path, name), MAX_BYTES));
    } catch {
      return undefined;
    }
  }

  json(name: string): unknown {
    return jsonOf(this.text(name) ?? 'null');
  }
}

const LOCK_FILES = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
] as const;

/** What runs the scripts: the manager that the manifest names, or else the one whose lock file lies there. */
function packageManager(folder: Folder, manifest: Readonly<Record<string, unknown>>): 'npm' | 'pnpm' | 'yarn' | 'bun' {
  const declared = manifest['packageManager'];
  const named = typeof declared === 'string' ? /^(npm|pnpm|yarn|bun)(@|$)/.exec(declared)?.[1] : undefined;
  if (named === 'npm' || named === 'pnpm' || named === 'yarn' || named === 'bun') return named;
  return LOCK_FILES.find(([file]) => folder.has(file))?.[1] ?? 'npm';
}

/** What `npm init` writes for want of a test: it always fails. */
const NO_TEST = /no test specified/;

function packageScripts(folder: Folder): DeclaredCheck[] {
  const manifest = folder.json('package.json');
  if (!isRecord(manifest) || !isRecord(manifest['scripts'])) return [];
  const manager = packageManager(folder, manifest);
  const scripts = Object.entries(manifest['scripts'])
    .filter(([, script]) => typeof script === 'string' && script.trim() !== '' && !NO_TEST.test(script))
    .map(([name]) => name);
  return checksAmong(scripts).map((name) => ({
    command: manager === 'npm' && name === 'test' ? 'npm test' : `${manager} run ${name}`,
    source: `package.json script "${name}"`,
  }));
}

/** The names before the colon of a rule; assignments (`:=`), patterns and special targets aren't any. */
function makeTargets(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const names = /^([^\s#:=][^#:=]*?)\s*::?(?!=|:)/.exec(line.slice(0, 1000))?.[1] ?? '';
    return names.split(/\s+/).filter((name) => !name.startsWith('.'));
  });
}

function makefile(folder: Folder): DeclaredCheck[] {
  // The order in which make itself looks for them. Where case makes no other name, only a list has the right one.
  const names = folder.names();
  const name = ['GNUmakefile', 'makefile', 'Makefile'].find((each) => names.includes(each) && folder.has(each));
  const text = name === undefined ? undefined : folder.text(name);
  if (name === undefined || text === undefined) return [];
  return checksAmong(makeTargets(text)).map((target) => ({
    command: `make ${target}`,
    source: `${name} target "${target}"`,
  }));
}

function goModule(folder: Folder): DeclaredCheck[] {
  if (!folder.has('go.mod')) return [];
  return ['go test ./...', 'go vet ./...'].map((command) => ({ command, source: 'go.mod' }));
}

function cargo(folder: Folder): DeclaredCheck[] {
  return folder.has('Cargo.toml') ? [{ command: 'cargo test', source: 'Cargo.toml' }] : [];
}

/** What is run for a tool that has a section in pyproject.toml. */
const PYTHON_TOOLS = [
  ['pytest', 'pytest'],
  ['ruff', 'ruff check .'],
  ['mypy', 'mypy .'],
  ['pyright', 'pyright'],
] as const;

/** Files of pytest's and mypy's own, and the section that others' files have for them. */
const PYTHON_FILES = [
  ['pytest.ini', undefined, 'pytest'],
  ['setup.cfg', /^\[tool:pytest\]/m, 'pytest'],
  ['tox.ini', /^\[pytest\]/m, 'pytest'],
  ['mypy.ini', undefined, 'mypy .'],
  ['ruff.toml', undefined, 'ruff check .'],
] as const;

function python(folder: Folder): DeclaredCheck[] {
  const project = folder.text('pyproject.toml') ?? '';
  const sections = new Set(
    Array.from(project.matchAll(/^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*(\w+)/gm), ([, name]) => name),
  );
  const found: DeclaredCheck[] = PYTHON_TOOLS.filter(([tool]) => sections.has(tool)).map(([tool, command]) => ({
    command,
    source: `pyproject.toml section "tool.${tool}"`,
  }));
  for (const [file, section, command] of PYTHON_FILES) {
    const declared = section === undefined ? folder.has(file) : section.test(folder.text(file) ?? '');
    if (declared) found.push({ command, source: file });
  }
  return found;
}

/** JSON as VS Code writes it, with comments and trailing commas. What isn't closed ends with the text. */
function commentedJson(text: string): unknown {
  const plain = text.replace(/("(?:\\[^]|[^"\\])*(?:"|$))|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g, '$1');
  return jsonOf(plain.replace(/("(?:\\[^]|[^"\\])*(?:"|$))|,(?=\s*[}\]])/g, '$1'));
}

/** A command longer than this can't be read before it is chosen. */
const MAX_COMMAND = 200;
/** What a shell takes for a word of its own. */
const WORD = /^[\w./:=@%+,-]+$/;

/** A task's command as it is typed; `undefined` where it needs more than a shell in the folder. */
function taskCommand({ command, args = [], type, options, isBackground }: Readonly<Record<string, unknown>>): string {
  if (typeof command !== 'string' || !Array.isArray(args) || options !== undefined || isBackground === true) return '';
  if (type !== undefined && type !== 'shell' && type !== 'process') return '';
  const words = args.map((arg: unknown) => (isRecord(arg) ? arg['value'] : arg));
  if (!words.every((word) => typeof word === 'string')) return '';
  const quoted = words.map((word) => (WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  // The line of a shell task is its own; the program of a process is one word.
  const line = [type === 'process' && !WORD.test(command) ? '' : command, ...quoted].join(' ').trim();
  const isPlain = line.length <= MAX_COMMAND && !/\p{Cc}|\$\{/u.test(line) && command.trim() !== '';
  return isPlain && !line.startsWith("'") ? line : '';
}

function editorTasks(folder: Folder): DeclaredCheck[] {
  const data = commentedJson(folder.text('.vscode/tasks.json') ?? 'null');
  const tasks: unknown[] = isRecord(data) && Array.isArray(data['tasks']) ? data['tasks'] : [];
  return tasks.filter(isRecord).flatMap((task) => {
    const label = task['label'] ?? task['taskName'];
    const group = isRecord(task['group']) ? task['group']['kind'] : task['group'];
    const command = taskCommand(task);
    if (typeof label !== 'string' || command === '') return [];
    const isCheck = group === 'test' || rankOf(label.trim().toLowerCase().replaceAll(/\s+/g, '-')) !== undefined;
    return isCheck ? [{ command, source: `.vscode/tasks.json task "${label}"` }] : [];
  });
}

/**
 * The checks that a folder's manifests declare, the likeliest of each manifest first, each command once. Only reads;
 * never fails. Names that a shell would take for more than a word are left out.
 */
export function declaredChecks(files: FileSystem, folder: string): DeclaredCheck[] {
  const place = new Folder(files, folder);
  const all = [packageScripts, makefile, goModule, cargo, python, editorTasks].flatMap((find) => find(place));
  const first = new Map<string, DeclaredCheck>();
  for (const check of all) if (!first.has(check.command)) first.set(check.command, check);
  return [...first.values()].slice(0, MAX_CHECKS);
}
