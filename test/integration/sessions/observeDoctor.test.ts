import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';

/* `atlas doctor` on observed sessions: what keeps a host from reporting, and what to do about it. */

interface Finding {
  readonly area: string;
  readonly level: 'ok' | 'fixed' | 'problem';
  readonly subject: string;
  readonly message: string;
  readonly hint: string | null;
}

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

const home = (...names: string[]): string => path.join(cli.home, ...names);
const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));
const install = async (host: string): Promise<void> => {
  const said = await cli.runIn({ folder }, 'lifecycle', 'install', '--host', host, '--yes');
  expect(said.code, said.err).toBe(0);
};
async function findings(...more: string[]): Promise<Finding[]> {
  const said = await cli.runIn({ folder }, 'doctor', '--json', ...more);
  return (JSON.parse(said.out) as { findings: Finding[] }).findings.filter(({ area }) => area === 'sessions');
}
/** What is wrong, with what to do about it. */
async function problems(): Promise<string[]> {
  return (await findings())
    .filter(({ level }) => level === 'problem')
    .map((each) => `${each.message} ${each.hint ?? ''}`);
}
function put(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

describe('the doctor on observed sessions', () => {
  it('says nothing where nothing is observed', async () => {
    expect(await findings()).toEqual([]);
  });

  it.each(['claude', 'gemini', 'cursor', 'vscode', 'opencode'])('%s: finds nothing wrong after setup', async (host) => {
    await install(host);
    const found = await findings();
    expect(found.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(found.map(({ message }) => message).join()).toMatch(/sessions are observed; no session was seen so far\./u);
  });

  it('says how many of its hooks Codex trusts, and how to trust them', async () => {
    await install('codex');
    const hint = 'Start "codex" in a terminal and choose Trust.';
    expect(await problems()).toEqual([expect.stringMatching(/^Codex: Codex runs none of these hooks .*Trust\.$/u)]);
    expect((await problems())[0]).toContain(hint);
    const hooks = home('.codex', 'hooks.json');
    const events = Object.keys((JSON.parse(readFileSync(hooks, 'utf8')) as { hooks: object }).hooks);
    const snake = (event: string): string => event.replace(/(?<!^)([A-Z])/gu, '_$1').toLowerCase();
    const trust = (all: readonly string[]): string =>
      all.map((event) => `[hooks.state."${hooks}:${snake(event)}:0:0"]\ntrusted_hash = "sha256:x"\n`).join('\n');
    put(home('.codex', 'config.toml'), trust(events.slice(0, 2)));
    expect((await problems())[0]).toContain(`2 of ${events.length}`);
    put(home('.codex', 'config.toml'), trust(events));
    expect(await problems()).toEqual([]);
    edit(home('.codex', 'config.toml'), (text) => `[features]\nhooks = false # not now\n\n${text}`);
    expect(await problems()).toEqual([expect.stringMatching(/\[features\] in .*config\.toml turns hooks off/u)]);
  });

  it('tells when OpenCode still has to download its plugin package, and when the plugin is of another store', async () => {
    await install('opencode');
    expect((await findings())[0]?.hint).toContain('63 MB');
    mkdirSync(home('.config', 'opencode', 'node_modules', '@opencode-ai', 'plugin'), { recursive: true });
    expect((await findings())[0]?.hint).not.toContain('63 MB');
    edit(home('.config', 'opencode', 'plugins', 'atlas.js'), (text) => text.replace('/observed"', '/elsewhere"'));
    expect(await problems()).toEqual([
      expect.stringContaining('reports to another store. Run: atlas lifecycle install'),
    ]);
  });

  it.each([
    ['the user', () => home('.claude', 'settings.json')],
    ['the repository', () => path.join(folder, '.claude', 'settings.json')],
    ['the user in the repository', () => path.join(folder, '.claude', 'settings.local.json')],
  ])('finds hooks of Claude Code that are turned off by %s', async (_who, fileOf) => {
    await install('claude');
    const file = fileOf();
    const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
    put(
      file,
      isThere ? readFileSync(file, 'utf8').replace('{', '{ "disableAllHooks": true,') : '{"disableAllHooks":true}',
    );
    expect(await problems()).toEqual([
      `Claude Code: "disableAllHooks" in ${file} turns hooks off. Remove that setting, and restart Claude Code.`,
    ]);
  });

  it.runIf(process.platform === 'win32')('finds hooks of Claude Code that an administrator turned off', async () => {
    await install('claude');
    const file = home('Programs', 'ClaudeCode', 'managed-settings.json');
    put(file, '{"allowManagedHooksOnly":true}');
    const env = { ProgramFiles: home('Programs') };
    const { findings: found } = await cli.json({ folder, env }, 'doctor');
    expect(found).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        message: `Claude Code: "allowManagedHooksOnly" in ${file} turns hooks off.`,
        hint: 'Ask your administrator to allow the hooks.',
      }),
    );
    const added = (name: string): string => home('Programs', 'ClaudeCode', 'managed-settings.d', name);
    const problemsNow = async (): Promise<string[]> => {
      const said = await cli.json({ folder, env }, 'doctor');
      return (said['findings'] as Finding[]).filter(({ level }) => level === 'problem').map(({ message }) => message);
    };
    put(added('10-allow.json'), '{"allowManagedHooksOnly":false}');
    put(added('.20-hidden.json'), '{"disableAllHooks":true}');
    expect(await problemsNow()).toEqual([]);
    put(added('20-off.json'), '{"disableAllHooks":true}');
    expect(await problemsNow()).toEqual([`Claude Code: "disableAllHooks" in ${added('20-off.json')} turns hooks off.`]);
  });

  it('finds hooks of Gemini CLI that are turned off, and hooks that are missing', async () => {
    await install('gemini');
    const file = home('.gemini', 'settings.json');
    edit(file, (text) => text.replace('{', '{ "hooksConfig": { "enabled": false },'));
    expect(await problems()).toEqual([expect.stringContaining('"hooksConfig.enabled"')]);
    edit(file, (text) => text.replace('{ "hooksConfig": { "enabled": false },', '{').replace('"AfterTool"', '"Other"'));
    expect(await problems()).toEqual([
      'Gemini CLI: Its hooks for AfterTool are missing. Run: atlas lifecycle install --host gemini',
    ]);
  });

  it.runIf(process.platform !== 'win32')(
    'finds a folder or a script that is gone or closed, and makes it again',
    async () => {
      await install('cursor');
      const [observed, script] = [path.join(cli.root, 'observed'), path.join(cli.root, 'observe.sh')];
      const text = readFileSync(script, 'utf8');
      for (const [spoil, wrong] of [
        [() => rmSync(observed, { recursive: true }), 'The folder for reports is missing.'],
        [() => chmodSync(observed, 0o500), 'other permissions'],
        [() => rmSync(script), 'The script that hooks run is missing'],
        [() => edit(script, (old) => `${old}# old\n`), "isn't this version's"],
      ] as const) {
        spoil();
        expect(await problems()).toEqual([expect.stringContaining(wrong)]);
        const fixed = await findings('--fix');
        expect(fixed.filter(({ level }) => level === 'fixed')).toHaveLength(1);
        expect(await problems()).toEqual([]);
        expect(statSync(observed).mode & 0o777).toBe(0o700);
        expect(readFileSync(script, 'utf8')).toBe(text);
      }
    },
  );

  it('says that hooks are left where nothing is observed any more', async () => {
    await install('claude');
    edit(path.join(cli.root, 'config.yaml'), (text) => text.replace('track: true', 'track: false'));
    expect(await findings()).toMatchObject([
      { level: 'ok', message: "Claude Code has Atlas's hooks, but sessions are not observed." },
    ]);
  });

  it('says that reports wait where config.yaml can not be read', async () => {
    await install('claude');
    edit(path.join(cli.root, 'config.yaml'), (text) => text.replace('track: true', 'track: ['));
    expect(await findings()).toMatchObject([
      {
        level: 'ok',
        message: "Claude Code has Atlas's hooks. What they report waits, since the settings could not be read.",
        hint: 'Correct config.yaml.',
      },
    ]);
  });
});
