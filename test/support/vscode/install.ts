import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PROJECT } from '../project';
import { run } from '../drivers/run';

/**
 * The VS Code servers that can be laid out, by the version of the npm package `code-server` that carries each.
 * `node` names the npm package version of the Node.js that one needs when it isn't ours.
 */
const HOSTS = {
  '4.104.0': { vscode: '1.104.0', node: undefined },
  '4.139.1': { vscode: '1.139.1', node: '24.21.0' },
} as const satisfies Record<string, { vscode: string; node: string | undefined }>;

/** A version of the host, as the `code-server` package numbers it: VS Code 1.x.y is 4.x.y. */
export type HostVersion = keyof typeof HOSTS;

/** The lowest VS Code that we support, and the one that tests use unless told otherwise. */
export const DEFAULT_HOST: HostVersion = '4.104.0';

/** A laid-out VS Code server. */
export interface InstalledHost {
  readonly version: HostVersion;
  /** The script that starts the server. */
  readonly server: string;
  /** The Node.js that runs it. */
  readonly node: string;
}

const CACHE = path.join(PROJECT, '.vscode-test');
const RIPGREP = '1.18.0';

// No install script runs and nothing is compiled: the server does without its optional native modules.
const INSTALL = ['install', '--silent', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'];

/** Narrows text from outside (an environment variable, an argument) to a version that can be laid out. */
export function hostVersion(text: string | undefined): HostVersion {
  if (text === undefined || text === '') return DEFAULT_HOST;
  if (Object.hasOwn(HOSTS, text)) return text as HostVersion;
  throw new Error(`no VS Code host ${text}; there are ${Object.keys(HOSTS).join(', ')}`);
}

/** Lays out the VS Code server of that version in `.vscode-test/` from the npm registry, unless it is there already. */
export async function installHost(version: HostVersion = DEFAULT_HOST): Promise<InstalledHost> {
  const folder = path.join(CACHE, `server-${version}`);
  if (!isComplete(folder, version)) await layOut(folder, version, layOutServer);
  return { version, server: path.join(folder, 'out', 'server-main.js'), node: await nodeFor(version) };
}

function isComplete(folder: string, version: string): boolean {
  const mark = path.join(folder, '.version');
  return existsSync(mark) && readFileSync(mark, 'utf8').trim() === version;
}

/** Fills a temporary folder and renames it into place, so that an interrupted install is never taken for a whole one. */
async function layOut(folder: string, version: string, fill: (tmp: string, version: string) => Promise<string>) {
  mkdirSync(CACHE, { recursive: true });
  const tmp = mkdtempSync(path.join(CACHE, 'tmp-'));
  try {
    const filled = await fill(tmp, version);
    writeFileSync(path.join(filled, '.version'), `${version}\n`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(filled, folder);
  } finally {
    rmSync(tmp, { recursive: true, force: true });
  }
}

async function layOutServer(tmp: string, version: string): Promise<string> {
  const tarball = await run('npm', ['pack', '--silent', `code-server@${version}`], { cwd: tmp });
  await run('tar', ['xzf', tarball, 'package/lib/vscode'], { cwd: tmp });
  const vscode = path.join(tmp, 'package', 'lib', 'vscode');
  await run('npm', INSTALL, { cwd: vscode }); // exact versions, from the package's own shrinkwrap
  const ripgrep = path.join(vscode, 'node_modules', '@vscode', 'ripgrep');
  // Up to 1.117 the server's ripgrep is a download; quick open and findFiles need one.
  if (existsSync(ripgrep)) await installRipgrep(tmp, path.join(ripgrep, 'bin'));
  return vscode;
}

async function installRipgrep(tmp: string, bin: string): Promise<void> {
  const name = `@vscode/ripgrep-${os.platform()}-${os.arch()}`;
  const prefix = path.join(tmp, 'ripgrep');
  mkdirSync(prefix);
  await run('npm', [...INSTALL, '--prefix', prefix, `${name}@${RIPGREP}`], { cwd: prefix });
  mkdirSync(bin, { recursive: true });
  await copyFile(path.join(prefix, 'node_modules', ...name.split('/'), 'bin', 'rg'), path.join(bin, 'rg'));
  await chmod(path.join(bin, 'rg'), 0o755);
}

async function nodeFor(version: HostVersion): Promise<string> {
  const { node } = HOSTS[version];
  if (node === undefined) return process.execPath;
  const name = `node-${os.platform()}-${os.arch()}`;
  const folder = path.join(CACHE, `node-${node}`);
  if (!isComplete(folder, node)) {
    await layOut(folder, node, async (tmp) => {
      await run('npm', [...INSTALL, '--prefix', tmp, `${name}@${node}`], { cwd: tmp });
      return path.join(tmp, 'node_modules', name);
    });
  }
  return path.join(folder, 'bin', 'node');
}
