import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOSTS, HOST_NAMES, type HostName } from '../../../src/agents/hosts/hosts';
import { type FileChange, Installer } from '../../../src/agents/install/installer';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* `atlas lifecycle install|uninstall|status`, on settings files of every shape. */

let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

function desk(): Desk {
  desks += 1;
  return new Desk(cli, `install-${desks}`);
}

const fileOf = (at: Desk, host: HostName): string => path.join(at.folder, HOSTS[host].file);
const install = async (at: Desk, host: HostName, ...more: string[]): Promise<Said> =>
  at.run('lifecycle', 'install', '--host', host, '--yes', ...more);
const uninstall = async (at: Desk, host: HostName): Promise<Said> =>
  at.run('lifecycle', 'uninstall', '--host', host, '--yes');

const OTHER = `{
  // why this is here
  "permissions": { "allow": ["Bash(ls)"] }, /* kept */
  "hooks": {
      "Stop": [
        { "hooks": [ { "type": "command", "command": "say done" } ] } // theirs
      ],
      "PreToolUse": [],
  },
}
`;

const SHAPES: Readonly<Record<string, string>> = {
  'an empty file': '',
  'white space': ' \n',
  'a mark alone': '\uFEFF',
  'an empty object': '{}',
  'an empty object on two lines': '{\n}',
  'a comment alone': '{ // nothing yet\n}\n',
  'one line': '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
  'empty hooks': '{ "hooks": {} }',
  'an empty event': '{ "hooks": { "Stop": [ ], "sessionStart": [] } }\n',
  'comments and trailing commas': OTHER,
  tabs: '{\n\t"a": 1,\n\t"hooks": {\n\t\t"Notification": []\n\t}\n}\n',
  'odd indentation': '{\n   "a": 1\n  , "b": 2 // last\n      }',
  'Windows line ends': OTHER.replaceAll('\n', '\r\n'),
  'a mark before': `\uFEFF${OTHER}`,
};

describe.each(HOST_NAMES)('%s', (host) => {
  // As the command and the editor do it; only a process of its own is left out.
  it.each(Object.entries(SHAPES))(
    '%s: install twice is install once, uninstall gives the bytes back',
    (_name, before) => {
      const at = desk();
      at.write(HOSTS[host].file, before);
      const installer = new Installer(systemPorts(at.root, 'test', silentLog), at.folder);
      const carryOut = (changes: readonly FileChange[]): boolean[] =>
        changes.map((change) => {
          unwrap(installer.apply(change));
          return change.before !== change.after;
        });
      expect(carryOut(unwrap(installer.planInstall(HOSTS[host], 'atlas', false)))).toEqual([true]);
      const wired = readFileSync(fileOf(at, host), 'utf8');
      expect(wired).not.toBe(before);
      expect(carryOut(unwrap(installer.planInstall(HOSTS[host], 'atlas', false)))).toEqual([false]);
      expect(readFileSync(fileOf(at, host), 'utf8')).toBe(wired);
      if (before.includes('\r\n')) expect(wired.replaceAll('\r\n', '')).not.toContain('\n');
      expect(carryOut(unwrap(installer.planUninstall(HOSTS[host])))).toEqual([true, false]);
      expect(readFileSync(fileOf(at, host), 'utf8')).toBe(before);
      expect(carryOut(unwrap(installer.planUninstall(HOSTS[host])))).toEqual([false, false]);
    },
  );

  it('no file: one is made, and is gone again', async () => {
    const at = desk();
    const before = readdirSync(at.folder);
    expect((await install(at, host)).code).toBe(0);
    const settings = JSON.parse(readFileSync(fileOf(at, host), 'utf8')) as {
      hooks: Record<string, unknown>;
      version?: number;
    };
    expect(Object.keys(settings.hooks)).toEqual(HOSTS[host].events.map(({ key }) => key));
    expect(settings.version).toBe(HOSTS[host].version);
    for (const { event, key } of HOSTS[host].events)
      expect(JSON.stringify(settings.hooks[key])).toContain(`lifecycle ${event} --host ${host}`);
    await uninstall(at, host);
    expect(existsSync(fileOf(at, host))).toBe(false);
    expect(readdirSync(at.folder), 'the folders that were made are gone too').toEqual(before);
  });

  it('no file: a folder stays that was there, or in which something is by now', async () => {
    const [there, used] = [desk(), desk()];
    mkdirSync(path.dirname(fileOf(there, host)), { recursive: true });
    for (const at of [there, used]) expect((await install(at, host)).code).toBe(0);
    writeFileSync(path.join(path.dirname(fileOf(used, host)), 'theirs.json'), '{}');
    for (const at of [there, used]) await uninstall(at, host);
    expect(readdirSync(path.dirname(fileOf(there, host)))).toEqual([]);
    expect(readdirSync(path.dirname(fileOf(used, host)))).toEqual(['theirs.json']);
  });
});

it.each(Object.entries(SHAPES))('by the command, %s: as often as one likes', async (_name, before) => {
  const at = desk();
  at.write(HOSTS.claude.file, before);
  const first = await install(at, 'claude');
  expect(first, first.err).toMatchObject({ code: 0 });
  const wired = readFileSync(fileOf(at, 'claude'), 'utf8');
  expect(wired).not.toBe(before);
  expect((await install(at, 'claude')).out).toContain('already installed');
  expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(wired);
  expect((await uninstall(at, 'claude')).code).toBe(0);
  expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(before);
  expect((await uninstall(at, 'claude')).out).toContain('already removed');
});

describe('a file that others change too', () => {
  it.each(['', '{}', OTHER])('only ours go: %j', async (before) => {
    const at = desk();
    at.write(HOSTS.claude.file, before);
    await install(at, 'claude');
    const wired = readFileSync(fileOf(at, 'claude'), 'utf8');
    const added = wired.replace(
      /"Stop": \[/u,
      '"Stop": [\n { "hooks": [ { "type": "command", "command": "added" } ] },',
    );
    expect(added).not.toBe(wired);
    writeFileSync(fileOf(at, 'claude'), added);
    expect((await uninstall(at, 'claude')).code).toBe(0);
    const left = readFileSync(fileOf(at, 'claude'), 'utf8');
    expect(left).toContain('"added"');
    expect(left).not.toContain('lifecycle');
    expect(left).not.toContain('SUBAGENT');
    for (const theirs of ['// why this is here', '/* kept */', '"say done"', '// theirs'])
      expect(left.includes(theirs), theirs).toBe(before.includes(theirs));
  });

  it('ours are found without the store that noted them', async () => {
    const at = desk();
    at.write(HOSTS.claude.file, OTHER);
    await install(at, 'claude');
    rmSync(at.root, { recursive: true });
    await uninstall(at, 'claude');
    expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(OTHER);
  });

  it("another's command that only mentions ours stays", async () => {
    const at = desk();
    const text =
      '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo x; atlas lifecycle stop --host claude"}]}]}}';
    at.write(HOSTS.claude.file, text);
    expect((await uninstall(at, 'claude')).code).toBe(0);
    expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(text);
  });
});

describe('what can not be changed', () => {
  it.each(['{', '{"a":1,}}', 'hooks: yes', '[]', '{"hooks":[]}', '{"hooks":{"Stop":{}}}', '\0\0', '{"a":tru}'])(
    '%j is refused and untouched',
    async (text) => {
      const at = desk();
      at.write(HOSTS.claude.file, text);
      const { code, err } = await install(at, 'claude');
      expect(code).not.toBe(0);
      expect(err).toContain('was not changed');
      expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(text);
    },
  );

  it('bytes that are no text, a folder and a huge file are refused', async () => {
    const at = desk();
    mkdirSync(fileOf(at, 'codex'), { recursive: true });
    expect((await install(at, 'codex')).code).not.toBe(0);
    at.write(HOSTS.gemini.file, '');
    writeFileSync(fileOf(at, 'gemini'), Buffer.from([0x7b, 0xff, 0x7d]));
    expect((await install(at, 'gemini')).code).not.toBe(0);
    expect(readFileSync(fileOf(at, 'gemini'))).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
    at.write(HOSTS.cursor.file, `{"a":"${'x'.repeat(2_000_000)}"}`);
    expect((await install(at, 'cursor')).code).not.toBe(0);
  });

  it('a link stays a link', async () => {
    const at = desk();
    const target = at.write('shared.json', '{}');
    mkdirSync(path.dirname(fileOf(at, 'claude')));
    symlinkSync(target, fileOf(at, 'claude'));
    expect((await install(at, 'claude')).code).toBe(0);
    expect(readFileSync(target, 'utf8')).toContain('lifecycle stop');
    await uninstall(at, 'claude');
    expect(readFileSync(target, 'utf8')).toBe('{}');
  });
});

it('the change is shown first, and made only when somebody agrees', async () => {
  const at = desk();
  at.write(HOSTS.claude.file, OTHER);
  const dry = await at.run('lifecycle', 'install', '--host', 'claude', '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });
  expect(dry.out).toMatch(
    /^\.claude.settings\.json\n[^]*\n\+ .*"SessionStart": \[\n[^]*Dry run: nothing was changed\.\n$/u,
  );
  const asked = await at.run('lifecycle', 'install', '--host', 'claude');
  expect(asked.code).toBe(1);
  expect(asked.err).toContain('+ ');
  expect(readFileSync(fileOf(at, 'claude'), 'utf8')).toBe(OTHER);
});

describe('the section of the instructions', () => {
  it.each(['', 'Be kind.', 'Be kind.\n', 'Be kind.\n\n\n', 'Be kind.\r\n'])(
    'goes into %j and out again',
    async (before) => {
      const at = desk();
      const file = at.write('CLAUDE.md', before);
      await install(at, 'claude', '--section');
      const text = readFileSync(file, 'utf8');
      expect(text.startsWith(before)).toBe(true);
      expect(text).toContain('atlas hook synopsis');
      await install(at, 'claude', '--section');
      expect(readFileSync(file, 'utf8')).toBe(text);
      await uninstall(at, 'claude');
      expect(readFileSync(file, 'utf8')).toBe(before);
    },
  );

  it('makes AGENTS.md where there is none, and takes it away', async () => {
    const at = desk();
    await install(at, 'codex', '--section');
    expect(readFileSync(path.join(at.folder, 'AGENTS.md'), 'utf8')).toContain('## ATLAS Task Recovery');
    await uninstall(at, 'codex');
    expect(existsSync(path.join(at.folder, 'AGENTS.md'))).toBe(false);
  });
});

it('status shows what is installed, and what was never called', async () => {
  const at = desk();
  await install(at, 'claude');
  const fired = await at.runWith({ input: '{}' }, 'lifecycle', 'stop', '--host', 'claude');
  expect(fired.code).toBe(0);
  const { hooks } = (await at.json('lifecycle', 'status')) as unknown as { hooks: Record<string, unknown>[] };
  expect(hooks.filter(({ installed }) => installed).map(({ host, key }) => [host, key])).toEqual(
    HOSTS.claude.events.map(({ key }) => ['claude', key]),
  );
  expect(hooks.filter(({ last_fired: last }) => last !== null)).toMatchObject([
    { host: 'claude', event: 'stop', can_block: true },
  ]);
  expect(await at.ok('lifecycle', 'status')).toMatch(/^claude +SessionStart +yes +never +yes +no$/mu);
});
