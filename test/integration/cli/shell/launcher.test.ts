import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import { launcherFiles, launcherPath, writeLauncher } from '../../../../src/system/launcher/launcher';
import { type LinkRequest, linkLauncher, pathLines } from '../../../../src/system/launcher/launcherLink';
import { NodeFileSystem } from '../../../../src/system/files/nodeFileSystem';
import { systemIds } from '../../../../src/system/systemPorts';

const PORTS = { files: new NodeFileSystem(), ids: systemIds };

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-launcher-')));
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

/** A stand-in for the bundle: says what it was given, and exits with what its first argument says. */
const BUNDLE = `
const { ATLAS_LAUNCHER, ELECTRON_RUN_AS_NODE, ATLAS_NODE_EXTRA_CA_CERTS, NODE_EXTRA_CA_CERTS } = process.env;
const variables = { ATLAS_LAUNCHER, ELECTRON_RUN_AS_NODE, ATLAS_NODE_EXTRA_CA_CERTS, NODE_EXTRA_CA_CERTS };
process.stdout.write(JSON.stringify({ args: process.argv.slice(2), ...variables }));
process.exitCode = Number(process.argv[2] ?? 0);
`;

function makeLauncher(folder: string): { folder: string; cli: string; node: string; run: string } {
  const cli = path.join(folder, 'extension', 'cli.cjs');
  mkdirSync(path.dirname(cli), { recursive: true });
  writeFileSync(cli, BUNDLE);
  const node = path.join(folder, 'node');
  symlinkSync(process.execPath, node);
  const target = { folder: path.join(folder, 'storage', 'bin'), node, cli };
  unwrap(writeLauncher(PORTS, target));
  return { ...target, run: launcherPath(target.folder) };
}

const HOSTILE = ['3', '', ' ', "it's", '"quoted"', '$HOME `id` $(id)', 'a\nb', '\\', '*', '--', '-x', '%PATH%', 'ä€😀'];

describe.runIf(process.platform !== 'win32')('the launcher', () => {
  it.each(['plain', 'with space', "it's", 'per%cent & "more" $HOME', 'ünï\\cöde', '-dash'])(
    'in a folder named %s passes arguments, variables and the exit code on',
    (name) => {
      const { run } = makeLauncher(path.join(base, name));
      const env = { PATH: process.env['PATH'] };
      const { status, stdout } = spawnSync(run, HOSTILE, { encoding: 'utf8', env });
      expect(JSON.parse(stdout)).toEqual({ args: HOSTILE, ATLAS_LAUNCHER: run, ELECTRON_RUN_AS_NODE: '1' });
      expect(status).toBe(3);
    },
  );

  it('keeps certificates from Node, which would read them at every start, for what the command starts', () => {
    const { run } = makeLauncher(base);
    const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: '/ca certs.pem' };
    const { stdout } = spawnSync(run, ['0'], { encoding: 'utf8', env });
    const told = JSON.parse(stdout) as Record<string, string>;
    expect(told['ATLAS_NODE_EXTRA_CA_CERTS']).toBe('/ca certs.pem');
    expect(told).not.toHaveProperty('NODE_EXTRA_CA_CERTS');
  });

  it('without arguments gives none', () => {
    const { run } = makeLauncher(base);
    expect(JSON.parse(execFileSync(run, { encoding: 'utf8' }))).toMatchObject({ args: [] });
  });

  it('becomes the program, so that its signals and its process id are its own', () => {
    const { run, cli } = makeLauncher(base);
    writeFileSync(cli, 'process.kill(process.pid, "SIGTERM"); setInterval(() => undefined, 1000);');
    expect(spawnSync(run).signal).toBe('SIGTERM');
  });

  it.each(['cli', 'node'] as const)('says what to do where the %s is gone, with 127', (gone) => {
    const made = makeLauncher(base);
    rmSync(made[gone]);
    const { status, stderr, stdout } = spawnSync(made.run, ['status'], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 127, stdout: '' });
    expect(stderr).toContain('Open your editor once');
    expect(stderr).toContain(made.run);
  });

  it('is written once, and again when it differs or can not be run', () => {
    const { folder, node, cli, run } = makeLauncher(base);
    const write = (target = { folder, node, cli }): boolean => unwrap(writeLauncher(PORTS, target));
    expect(statSync(run).mode & 0o777).toBe(0o755);
    const { ino } = statSync(run);
    expect(write()).toBe(false);
    expect(statSync(run).ino).toBe(ino);
    chmodSync(run, 0o644);
    expect(write()).toBe(true);
    expect(statSync(run).mode & 0o777).toBe(0o755);
    expect(write({ folder, node, cli: `${cli}.2` })).toBe(true);
    expect(readFileSync(run, 'utf8')).toContain(`${cli}.2`);
  });

  it('is an error, not a throw, where its folder can not be made', () => {
    writeFileSync(path.join(base, 'file'), '');
    const target = { folder: path.join(base, 'file', 'bin'), node: 'n', cli: 'c' };
    expect(writeLauncher(PORTS, target)).toMatchObject({ ok: false, error: { code: 'write_failed' } });
  });
});

describe('the launcher for Windows', () => {
  const target = {
    folder: String.raw`C:\Users\Jörg\AppData\Roaming\Code\User\globalStorage\atlas-hooks.atlas-hooks\bin`,
    node: String.raw`C:\Users\Jörg\AppData\Local\Programs\100% Code & More\Code.exe`,
    cli: String.raw`C:\Users\Jörg\.vscode\extensions\atlas-hooks.atlas-hooks-0.1.0\dist\cli.js`,
  };
  const files = new Map(launcherFiles(target, 'win32').map(({ name, text }) => [name, text]));

  it('names no folder above, so that its text is plain ASCII, and doubles each percent sign', () => {
    const text = files.get('atlas.cmd') ?? '';
    // eslint-disable-next-line no-control-regex -- what a batch file can hold in every code page
    expect(text).toMatch(/^[\u0000-\u007f]*$/u);
    expect(text.split('\r\n')).toContain(
      String.raw`"%dp0%..\..\..\..\..\..\Local\Programs\100%% Code & More\Code.exe" "%dp0%..\..\..\..\..\..\..\.vscode\extensions\atlas-hooks.atlas-hooks-0.1.0\dist\cli.js" %*`,
    );
    expect(text).toContain('exit /b %ERRORLEVEL%');
  });

  it('has one for the shell of Git too, with forward slashes', () => {
    expect(files.get('atlas')).toContain(`cli='C:/Users/Jörg/.vscode/extensions/`);
    expect(files.get('atlas')).not.toContain('stop.sh');
  });
});

describe.runIf(process.platform !== 'win32')('the link for other shells', () => {
  let request: LinkRequest;
  const inHome = (...names: string[]): string => path.join(base, 'home', ...names);
  beforeEach(() => {
    const { run } = makeLauncher(path.join(base, 'globalStorage', 'atlas-hooks.atlas-hooks'));
    mkdirSync(inHome());
    request = { launcher: run, path: '/usr/bin', home: inHome(), name: 'atlas', platform: process.platform };
  });

  it('goes to the folder of the home that other shells look into, made if need be', () => {
    const made = unwrap(linkLauncher(PORTS, { ...request, path: `/usr/bin:${inHome('bin')}` }));
    expect(made).toEqual({ path: inHome('bin', 'atlas'), folder: inHome('bin'), onPath: true });
    expect(readlinkSync(made.path)).toBe(request.launcher);
    expect(spawnSync(made.path, ['4']).status).toBe(4);
  });

  it('prefers ~/.local/bin, and passes a folder that can not be written', () => {
    const both = `${inHome('bin')}:${inHome('.local', 'bin')}`;
    expect(unwrap(linkLauncher(PORTS, { ...request, path: both })).folder).toBe(inHome('.local', 'bin'));
    rmSync(inHome('.local'), { recursive: true });
    writeFileSync(inHome('.local'), 'a file');
    expect(unwrap(linkLauncher(PORTS, { ...request, path: both })).folder).toBe(inHome('bin'));
  });

  it('says that it is not on the PATH, and the line for each shell', () => {
    const made = unwrap(linkLauncher(PORTS, request));
    expect(made).toEqual({
      path: inHome('.local', 'bin', 'atlas'),
      folder: inHome('.local', 'bin'),
      onPath: false,
    });
    expect(pathLines(made.folder, inHome(), 'linux')).toEqual([
      { shell: 'bash', line: `echo 'export PATH="$HOME/.local/bin:$PATH"' >> ~/.bashrc` },
      { shell: 'zsh', line: `echo 'export PATH="$HOME/.local/bin:$PATH"' >> ~/.zshrc` },
      { shell: 'fish', line: 'fish_add_path "$HOME/.local/bin"' },
    ]);
  });

  it('again is fine, and one of another editor or of an uninstalled one is replaced', () => {
    const { path: link } = unwrap(linkLauncher(PORTS, request));
    expect(linkLauncher(PORTS, request)).toMatchObject({ ok: true });
    rmSync(link);
    symlinkSync('/gone/globalStorage/atlas-hooks.atlas-hooks/bin/atlas', link);
    expect(linkLauncher(PORTS, request)).toMatchObject({ ok: true });
    expect(readlinkSync(link)).toBe(request.launcher);
  });

  it.each([
    ['a program', (at: string) => writeFileSync(at, '#!/bin/sh\n', { mode: 0o755 })],
    ['a folder', (at: string) => mkdirSync(at)],
    ['a link to another program', (at: string) => symlinkSync('/bin/sh', at)],
    ['a link to nothing', (at: string) => symlinkSync('/gone/atlas', at)],
  ])('never replaces what is not ours: %s', (_what, make) => {
    const at = inHome('.local', 'bin', 'atlas');
    mkdirSync(path.dirname(at), { recursive: true });
    make(at);
    const before = lstatSync(at);
    const result = linkLauncher(PORTS, request);
    expect(result).toMatchObject({ ok: false, error: { code: 'unsafe_path' } });
    expect(!result.ok && result.error.message).toContain(at);
    expect(lstatSync(at).ino).toBe(before.ino);
    expect(unwrap(linkLauncher(PORTS, { ...request, name: 'atlas-task' })).path).toBe(`${at}-task`);
  });

  it('names a program that other shells find first', () => {
    mkdirSync(inHome('other'));
    writeFileSync(inHome('other', 'atlas'), '#!/bin/sh\n', { mode: 0o755 });
    const both = `${inHome('other')}:${inHome('bin')}`;
    expect(unwrap(linkLauncher(PORTS, { ...request, path: both })).shadowedBy).toBe(inHome('other', 'atlas'));
  });

  it.each(['', '../x', 'a b', '.hidden', 'a/b'])('refuses the name %j', (name) => {
    expect(linkLauncher(PORTS, { ...request, name })).toMatchObject({ ok: false, error: { code: 'usage' } });
    expect(existsSync(inHome('.local'))).toBe(false);
  });
});
