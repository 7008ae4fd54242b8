import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { BuiltCli, type Said } from '../../support/drivers/cli';

/* Observing a host's sessions: what it changes in the user's own settings, and what consent allows to be read. */

const clis: BuiltCli[] = [];
let cli: BuiltCli;
let folder: string;

beforeEach(async () => {
  cli = await BuiltCli.open();
  clis.push(cli);
  folder = cli.repository('repo');
}, 60_000);
afterAll(() => {
  for (const each of clis) each.dispose();
});

const atlas = async (...args: readonly string[]): Promise<Said> => cli.runIn({ folder }, ...args);
const install = async (host: string, ...more: readonly string[]): Promise<Said> =>
  atlas('lifecycle', 'install', '--host', host, '--yes', ...more);
const home = (...names: readonly string[]): string => path.join(cli.home, ...names);
const config = (): string => readFileSync(path.join(cli.root, 'config.yaml'), 'utf8');

const OWN =
  '// mine\n{\n\t"model": "x", // keep\n\t"hooks": {\n\t\t"PreToolUse": [\n\t\t\t{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] },\n\t\t],\n\t},\n}\n';
const FLAT = '{"version":1,"hooks":{"stop":[{"command":"mine"}]}}';

describe('observing', () => {
  it.each([
    ['claude', '.claude/settings.json', OWN],
    [
      'codex',
      '.codex/hooks.json',
      '{\n  "hooks": {\n    "PreToolUse": [{ "hooks": [{ "type": "command", "command": "mine" }] }]\n  }\n}',
    ],
    ['gemini', '.gemini/settings.json', '{ "theme": "dark" }\r\n'],
    ['cursor', '.cursor/hooks.json', FLAT],
    ['vscode', '.copilot/hooks/atlas.json', '{ "version": 1 }\n'],
  ])("%s adds to the user's settings, and gives them back byte for byte", async (host, name, before) => {
    const file = home(...name.split('/'));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, before);
    expect((await install(host)).code).toBe(0);
    const after = readFileSync(file, 'utf8');
    expect(after).toContain(`observe.sh ${host}`);
    // Codex trusts by position: whatever else is there stays before ours.
    if (before.includes('mine"'))
      expect(after.indexOf('"mine"')).toBeLessThan(after.indexOf('observe.sh', after.indexOf('"mine"')));
    expect(config()).toContain('track: true');
    const again = await install(host);
    expect(again.out).toContain('Nothing to do');
    expect((await atlas('lifecycle', 'uninstall', '--host', host, '--yes')).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(config()).toContain('track: false');
    expect(existsSync(path.join(cli.root, 'observed'))).toBe(false);
  });

  it('VS Code has a file of its own, in the form that it and Copilot CLI read', async () => {
    expect((await install('vscode')).code).toBe(0);
    const written = JSON.parse(readFileSync(home('.copilot', 'hooks', 'atlas.json'), 'utf8')) as {
      version: number;
      hooks: Record<string, { type: string; command: string; timeout: number }[]>;
    };
    expect(written.version).toBe(1);
    expect(Object.keys(written.hooks)).toEqual([
      'SessionStart',
      'UserPromptSubmit',
      'PreToolUse',
      'PostToolUse',
      'Stop',
    ]);
    for (const [hook, ...more] of Object.values(written.hooks)) {
      expect(hook).toMatchObject({ type: 'command', timeout: 10 });
      expect(hook?.command).toMatch(/observe\.sh vscode/u);
      expect(more).toEqual([]);
    }
    expect((await atlas('lifecycle', 'uninstall', '--host', 'vscode', '--yes')).code).toBe(0);
    expect(existsSync(home('.copilot', 'hooks'))).toBe(false);
  });

  it('OpenCode is a plugin of its own, which replaces nobody else’s', async () => {
    const plugins = home('.config', 'opencode', 'plugins');
    expect((await install('opencode')).err).toContain('63 MB');
    expect(readdirSync(plugins)).toEqual(['atlas.js']);
    expect((await atlas('lifecycle', 'uninstall', '--host', 'opencode', '--yes')).code).toBe(0);
    expect(existsSync(path.join(plugins, 'atlas.js'))).toBe(false);
    mkdirSync(plugins, { recursive: true });
    writeFileSync(path.join(plugins, 'atlas.js'), 'export const Mine = 1;\n');
    const refused = await install('opencode');
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('Another program made this file');
    await atlas('lifecycle', 'uninstall', '--host', 'opencode', '--yes');
    expect(readFileSync(path.join(plugins, 'atlas.js'), 'utf8')).toBe('export const Mine = 1;\n');
  });

  it('is not begun where only hooks are wanted, or nothing is to be changed', async () => {
    expect((await install('claude', '--hooks-only')).code).toBe(0);
    expect(existsSync(home('.claude'))).toBe(false);
    expect((await atlas('lifecycle', 'install', '--host', 'codex', '--dry-run')).code).toBe(0);
    expect(existsSync(home('.codex'))).toBe(false);
    expect(existsSync(path.join(cli.root, 'config.yaml'))).toBe(false);
  });

  it('keeps what else is in config.yaml, and refuses one that is broken before anything is changed there', async () => {
    mkdirSync(cli.root, { recursive: true });
    const file = path.join(cli.root, 'config.yaml');
    writeFileSync(file, '# mine\nhooks:\n  max_checkpoints: 7 # seven\nother: [1,2]\n');
    expect((await install('claude', '--transcripts')).code).toBe(0);
    expect(config()).toBe(
      '# mine\nhooks:\n  max_checkpoints: 7 # seven\nother: [1,2]\nsessions:\n  track: true\n  read_transcripts: [claude]\n',
    );
    writeFileSync(file, 'hooks: [\n');
    expect((await install('codex')).code).not.toBe(0);
    expect(readFileSync(file, 'utf8')).toBe('hooks: [\n');
    expect(existsSync(home('.codex'))).toBe(false);
  });
});

/** Says which files a process opened, listed or looked at. */
const PROBE = `const fs = require('node:fs');
const seen = new Set();
for (const name of ['openSync', 'readFileSync', 'readdirSync', 'statSync', 'lstatSync', 'existsSync', 'accessSync', 'open', 'readFile', 'readdir', 'stat', 'lstat', 'readlinkSync', 'opendirSync']) {
  const original = fs[name];
  fs[name] = (path, ...rest) => { seen.add(String(path)); return original(path, ...rest); };
}
process.on('exit', () => fs.writeFileSync(process.env.PROBE_FILE, JSON.stringify([...seen])));`;

describe('without consent', () => {
  /** What the hosts leave in the home folder, as far as it could be read. */
  function leftBehind(): void {
    mkdirSync(home('.claude', 'sessions'), { recursive: true });
    mkdirSync(home('.codex', 'sessions'), { recursive: true });
    mkdirSync(home('.local', 'share', 'opencode'), { recursive: true });
    const session = { pid: process.pid, sessionId: 'found', cwd: folder, status: 'busy', startedAt: Date.now() };
    writeFileSync(home('.claude', 'sessions', `${process.pid}.json`), JSON.stringify(session));
    writeFileSync(home('.local', 'share', 'opencode', 'opencode.db'), '');
  }

  async function looked(): Promise<{ readonly files: readonly string[]; readonly sessions: number }> {
    const probe = home('probe.cjs');
    writeFileSync(probe, PROBE);
    const file = home('looked.json');
    const env = { NODE_OPTIONS: `--require ${probe}`, PROBE_FILE: file };
    const said = await cli.runIn({ folder, env }, 'sessions', 'list', '--all', '--json');
    const hosts = ['.claude', '.codex', '.local'].map((name) => home(name));
    const files = (JSON.parse(readFileSync(file, 'utf8')) as string[]).filter((each) =>
      hosts.some((host) => each.startsWith(host)),
    );
    return { files, sessions: (JSON.parse(said.out) as { sessions: unknown[] }).sessions.length };
  }

  it.each([
    ['where nothing is tracked', 'sessions:\n  track: false\n  read_transcripts: [claude, codex, opencode]\n'],
    ['where nobody allowed to read transcripts', 'sessions:\n  track: true\n'],
  ])('nothing of a host is looked at %s', async (_where, settings) => {
    leftBehind();
    mkdirSync(path.join(cli.root, 'observed'), { recursive: true, mode: 0o700 });
    writeFileSync(path.join(cli.root, 'config.yaml'), settings);
    expect(await looked()).toEqual({ files: [], sessions: 0 });
    // The probe sees what is looked at where it is allowed.
    writeFileSync(path.join(cli.root, 'config.yaml'), 'sessions:\n  track: true\n  read_transcripts: [claude]\n');
    const allowed = await looked();
    expect(allowed.sessions).toBe(1);
    expect(allowed.files.filter((file) => file.startsWith(home('.claude'))).length).toBeGreaterThan(0);
    expect(allowed.files.filter((file) => !file.startsWith(home('.claude')))).toEqual([]);
  });

  it('what was read of a transcript is deleted once reading is no longer allowed', async () => {
    leftBehind();
    const projects = home('.claude', 'projects', folder.replace(/[^A-Za-z0-9]/gu, '-'));
    mkdirSync(projects, { recursive: true });
    const line = { type: 'user', timestamp: new Date().toISOString(), message: { content: 'Only in the transcript' } };
    writeFileSync(path.join(projects, 'found.jsonl'), `${JSON.stringify(line)}\n`);
    mkdirSync(path.join(cli.root, 'observed'), { recursive: true, mode: 0o700 });
    writeFileSync(path.join(cli.root, 'config.yaml'), 'sessions:\n  track: true\n  read_transcripts: [claude]\n');
    expect((await atlas('sessions', 'list')).out).toContain('Only in the transcript');
    writeFileSync(path.join(cli.root, 'config.yaml'), 'sessions:\n  track: true\n');
    expect((await atlas('sessions', 'list')).out).not.toContain('Only in the transcript');
    const kept = readdirSync(path.join(cli.root, 'sessions'), { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of kept.filter((entry) => entry.isFile()))
      expect(readFileSync(path.join(parentPath, name), 'utf8')).not.toContain('Only in the transcript');
  });
});
