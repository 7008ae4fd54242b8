import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { WRITERS } from '../../src/system/compileCache';
import { PROJECT } from './project';

const WORKERS = 'test/support/processes';

/** Where a run of tests has what is built once for all of its files; by its environment, which every test process inherits. */
export const BUILT_FOLDER = 'ATLAS_TEST_BUILT';

/** Builds the command as it is shipped into a folder. */
export function buildCommand(folder: string): void {
  const args = [path.join(PROJECT, 'esbuild.mjs'), '--production', '--only=cli', `--out=${folder}`];
  execFileSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Bundles programs of the project, each to `<name>.cjs` of a folder. */
export async function bundlePrograms(programs: readonly string[], folder: string): Promise<void> {
  await build({
    entryPoints: programs.map((program) => path.join(PROJECT, program)),
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
  });
}

/** What was built for this run of tests, `undefined` where it wasn't. */
export function builtOnce(name: string): string | undefined {
  const folder = process.env[BUILT_FOLDER];
  const file = folder === undefined ? undefined : path.join(folder, name);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** Has the command used until what was compiled is kept: then no test waits for that, not even with its own copy. */
function compileCommand(command: string): void {
  const home = mkdtempSync(path.join(os.tmpdir(), 'atlas-home-'));
  const env = { PATH: process.env['PATH'], HOME: home, ATLAS_HOME: path.join(home, 'store'), ATLAS_SNAPSHOTS: 'off' };
  const use = (...args: readonly string[]): void => {
    spawnSync(process.execPath, [path.join(command, 'cli.js'), ...args], { cwd: home, env, input: '{}' });
  };
  use('start', 'Use the command', '--template', 'patch');
  for (const args of [['step', 'start'], ['checkpoint', 'Used it'], ['receipts'], ['doctor'], ['sessions', 'list']])
    use(...args);
  for (const word of ['install', 'uninstall']) use('lifecycle', word, '--host', 'claude', '--yes');
  use('run', '--', process.execPath, '--version');
  use('validate', '--command', 'echo used');
  use('worker', 'list');
  for (let times = 0; times < WRITERS; times += 1) {
    use('status', '--json');
    use('step', 'note', 'Used it');
    use('lifecycle', 'session-start', '--host', 'claude');
  }
  rmSync(home, { recursive: true, force: true });
}

/** Builds the command and the worker programs into a folder, where tests find them by {@link BUILT_FOLDER}. */
export async function buildForTests(folder: string): Promise<void> {
  buildCommand(path.join(folder, 'command'));
  const workers = readdirSync(path.join(PROJECT, WORKERS)).filter((name) => name.endsWith('Worker.ts'));
  await bundlePrograms(
    workers.map((name) => `${WORKERS}/${name}`),
    folder,
  );
}

/** The same, with the command used already, into the folder that {@link BUILT_FOLDER} names. */
export async function buildOnce(): Promise<void> {
  const folder = process.env[BUILT_FOLDER];
  if (folder === undefined) throw new Error(`Set ${BUILT_FOLDER} to the folder to build into.`);
  await buildForTests(folder);
  compileCommand(path.join(folder, 'command'));
}

/** Vitest's set-up of a whole run: builds all that once instead of in each of sixty files, unless `npm test` has. */
export async function setup(): Promise<() => void> {
  if (builtOnce('command') !== undefined) return () => undefined;
  const folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-built-'));
  process.env[BUILT_FOLDER] = folder;
  await buildOnce();
  return () => rmSync(folder, { recursive: true, force: true });
}
