import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { schemaFiles } from '../../../scripts/schemaFiles.mts';
import { BuiltCli } from '../../support/drivers/cli';
import { PROJECT } from '../../support/project';

/* The command as an npm package: packed from what a build leaves, installed where nothing else is, and used. */

const runFile = promisify(execFile);
let cli: BuiltCli;
/** A copy of the project as it lies after a build, with what must not be packed. */
let project: string;
/** Somebody's project that the package is installed into. */
let user: string;
let env: NodeJS.ProcessEnv;

async function npm(folder: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile('npm', args, { cwd: folder, env });
  return stdout;
}

beforeAll(async () => {
  cli = await BuiltCli.open();
  project = path.join(cli.home, 'project');
  user = path.join(cli.home, 'user');
  env = cli.environment({ npm_config_cache: path.join(cli.home, 'npm-cache'), npm_config_update_notifier: 'false' });
  mkdirSync(project);
  for (const name of [
    'package.json',
    'package-lock.json',
    'README.md',
    'LICENSE',
    'THIRD-PARTY-NOTICES.txt',
    'CHANGELOG.md',
    '.npmignore',
    '.gitignore',
    '.vscodeignore',
  ])
    copyFileSync(path.join(PROJECT, name), path.join(project, name));
  cpSync(path.dirname(cli.entry), path.join(project, 'dist'), { recursive: true });
  mkdirSync(path.join(project, 'dist', 'schemas'));
  for (const [name, schema] of schemaFiles())
    writeFileSync(path.join(project, 'dist', 'schemas', name), JSON.stringify(schema));
  for (const name of [
    'dist/extension.js',
    'dist/editor/a.js',
    'dist/parts/a.js.map',
    'src/a.ts',
    'test/a.ts',
    '.env',
    'out/a.js',
    'media/a.png',
  ]) {
    mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
    writeFileSync(path.join(project, name), 'x');
  }
  const [packed] = JSON.parse(await npm(project, 'pack', '--json', '--pack-destination', cli.home)) as [
    { filename: string; files: { path: string }[] },
  ];
  files = packed.files.map((file) => file.path);
  mkdirSync(user);
  writeFileSync(path.join(user, 'package.json'), '{ "name": "user", "private": true }');
  await npm(user, 'install', '--offline', '--no-audit', '--no-fund', path.join(cli.home, packed.filename));
}, 120_000);

let files: readonly string[] = [];

afterAll(() => {
  cli.dispose();
});

/** Runs the installed command. */
async function atlas(folder: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile(path.join(user, 'node_modules', '.bin', 'atlas'), args, { cwd: folder, env });
  return stdout;
}

describe('the npm package', { timeout: 60_000 }, () => {
  it('holds the command and its texts, nothing else', () => {
    const others = files.filter((file) => !/^dist\/(parts\/[\w.-]+\.js|schemas\/[\w-]+\.schema\.json)$/u.test(file));
    expect(others.sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES.txt',
      'dist/changing.js',
      'dist/cli.js',
      'dist/command.js',
      'dist/forge.js',
      'dist/hook.js',
      'dist/package.json',
      'dist/reading.js',
      'package.json',
    ]);
    const parts = readdirSync(path.join(path.dirname(cli.entry), 'parts')).map((name) => `dist/parts/${name}`);
    for (const part of parts) expect(files).toContain(part);
    for (const name of schemaFiles().keys()) expect(files).toContain(`dist/schemas/${name}`);
  });

  it('brings no other package', () => {
    expect(readdirSync(path.join(user, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'atlas-hooks',
    ]);
    const manifest = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as Record<string, unknown>;
    for (const key of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundledDependencies', 'files'])
      expect(manifest[key], key).toBeUndefined();
    const scripts = Object.keys(manifest['scripts'] as object);
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toContain(name);
  });

  it('leaves to vsce what the extension is packed by', () => {
    // vsce reads .vscodeignore, and falls back to .npmignore only where there is none.
    expect(existsSync(path.join(PROJECT, '.vscodeignore'))).toBe(true);
  });

  it('starts as atlas, and by npx', async () => {
    const { version } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as { version: string };
    expect(await atlas(user, '--version')).toBe(`${version}\n`);
    expect(await npm(user, 'exec', '--offline', '--', 'atlas', '--version')).toBe(`${version}\n`);
    expect(await npm(user, 'exec', '--offline', '--', 'forge', '--version')).toBe(`${version}\n`);
    expect(await npm(user, 'exec', '--offline', '--', 'forge', 'hook', 'list', '--help')).toMatch(
      /^Usage: forge hook list/u,
    );
  });

  it('works: a task, git hooks, a commit that makes a checkpoint, receipts that others can check', async () => {
    const folder = cli.repository('npm');
    const git = async (...args: readonly string[]): Promise<unknown> => runFile('git', args, { cwd: folder, env });
    await atlas(folder, 'start', 'fix it', '--template', 'commit');
    await atlas(folder, 'step', 'start');
    expect(await atlas(folder, 'hook', 'install')).toContain('Installed the git hooks.');
    const hook = readFileSync(path.join(folder, '.git', 'hooks', 'post-commit'), 'utf8');
    expect(hook).toContain(path.join(user, 'node_modules', 'atlas-hooks', 'dist', 'cli.js'));
    await git('commit', '-q', '--allow-empty', '-m', 'from npm');
    // The hook drains by itself, beside us; whoever drains first makes the checkpoint, and the other doesn't wait for it.
    await vi.waitFor(
      async () => expect(await atlas(folder, 'hook', 'checkpoints')).toMatch(/ git_commit .*from npm/u),
      {
        timeout: 30_000,
      },
    );
    await atlas(folder, 'validate', '--command', 'git --version', '-q');
    await atlas(folder, 'receipts', 'export', '--output', 'bundle.json');
    expect(await atlas(folder, 'receipts', 'verify', 'bundle.json')).toContain('1 receipt: 1 passed; 1 valid.');
    expect(await atlas(folder, 'doctor')).toContain('No problems found.');
  });
});
