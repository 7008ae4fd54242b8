import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventLog } from '../../../src/agents/lifecycle/eventLog';
import { tryHook } from '../../../src/agents/install/hookTrial';
import { HOSTS, HOST_NAMES, type HostName } from '../../../src/agents/hosts/hosts';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { BuiltCli, type CliRun } from '../../support/drivers/cli';
import { Desk, type Printed } from '../../support/drivers/cliDesk';
import { isRunning } from '../../support/drivers/commandRuns';
import { contentsOf } from '../../support/fixtures/store';

/* `atlas lifecycle doctor`: every hook is fired in a real shell, as its host would. */

const WINDOWS = process.platform === 'win32';
let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

interface Hook {
  readonly host: HostName;
  readonly key: string;
  readonly installed: boolean;
  readonly works: boolean | null;
  readonly problem: string | null;
  readonly last_fired: string | null;
}

async function installed(host: HostName): Promise<Desk> {
  desks += 1;
  const at = new Desk(cli, `doctor-${desks}`);
  await at.ok('lifecycle', 'install', '--host', host, '--yes');
  return at;
}

async function diagnosed(at: Desk, how: CliRun = {}): Promise<{ exit: number | null; hooks: Hook[] }> {
  const said: Printed = await cli.json(at.how(how), 'lifecycle', 'doctor');
  return said as unknown as { exit: number | null; hooks: Hook[] };
}

const wired = (at: Desk, host: HostName): string => path.join(at.folder, HOSTS[host].file);

/** A program called `atlas` on the PATH of a desk, of Node, which has read its whole input before it does this. */
function program(at: Desk, does: string): CliRun {
  const bin = path.join(at.folder, '..', `bin-${path.basename(at.folder)}`);
  mkdirSync(bin, { recursive: true });
  const script = path.join(bin, 'program.js');
  writeFileSync(script, `process.stdin.resume().on('end', () => { ${does} });\n`);
  const [file, text] = WINDOWS
    ? ['atlas.cmd', `@"${process.execPath}" "${script}" %*\r\n`]
    : ['atlas', `#!/bin/sh\nexec '${process.execPath}' '${script}'\n`];
  writeFileSync(path.join(bin, file), text);
  chmodSync(path.join(bin, file), 0o755);
  return { env: { PATH: `${bin}${path.delimiter}${process.env['PATH'] ?? ''}` } };
}

/** Has the hooks of a file start `atlas` by its name. */
function startByName(at: Desk, host: HostName): void {
  const text = readFileSync(wired(at, host), 'utf8');
  const named = text.replace(/"command": "(?:[^"\\]|\\.)* lifecycle /gu, '"command": "atlas lifecycle ');
  expect(named).not.toBe(text);
  writeFileSync(wired(at, host), named);
}

it.each(HOST_NAMES)('%s: every hook works, and firing them changes nothing', async (host) => {
  const at = await installed(host);
  at.template('task', { name: 'build' });
  await at.running();
  await at.ok('inbox', 'add', 'Was the invoice paid?', '--channel', 'email');
  const before = contentsOf(at.root);
  const { exit, hooks } = await diagnosed(at);
  expect(hooks.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  expect(exit).toBe(0);
  const own = hooks.filter((hook) => hook.host === host);
  expect(own.map(({ key }) => key)).toEqual(HOSTS[host].events.map(({ key }) => key));
  for (const hook of own) expect(hook, hook.key).toMatchObject({ installed: true, works: true, last_fired: null });
  expect(hooks.filter((hook) => hook.host !== host && hook.works !== null)).toEqual([]);
  const after = contentsOf(at.root);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  expect(changed).toEqual(['lifecycle.jsonl']);
});

it('says what works and what was never called, for people', async () => {
  const at = await installed('claude');
  await at.runWith({ input: '{}' }, 'lifecycle', 'stop', '--host', 'claude');
  const said = await at.ok('lifecycle', 'doctor');
  expect(said).toMatch(/^claude +SessionStart +\d+ ms +yes +never +yes +no$/mu);
  expect(said).toMatch(/^claude +Stop +\d+ ms +yes +(?:now|\d+ s ago|just now).* +yes +yes$/mu);
  expect(said).toMatch(/^codex +Stop +no +yes +yes$/mu);
});

it('runs no other program that a repository names', async () => {
  const at = await installed('claude');
  const marker = path.join(at.folder, 'fired');
  const evil = path.join(at.folder, 'evil.sh');
  writeFileSync(evil, `#!/bin/sh\n: > '${marker}'\n`);
  chmodSync(evil, 0o755);
  const text = readFileSync(wired(at, 'claude'), 'utf8');
  const start = /"command": "(.*) lifecycle session-start/u.exec(text)?.[1] ?? '';
  writeFileSync(wired(at, 'claude'), text.replaceAll(start, './evil.sh'));
  const { exit, hooks } = await diagnosed(at);
  expect(exit).toBe(1);
  expect(hooks.filter(({ works }) => works === true)).toEqual([]);
  expect(hooks.find(({ key }) => key === 'Stop')?.problem).toContain('a different program');
  expect(existsSync(marker)).toBe(false);
});

it('finds a command that the shell does not find', async () => {
  const at = await installed('gemini');
  startByName(at, 'gemini');
  const said = await at.run('lifecycle', 'doctor');
  expect(said.code).toBe(1);
  expect(said.out).toContain("The shell can't find the command");
  expect(said.out).toContain('atlas lifecycle install');
});

it.each([
  ['fails', 'codex', "console.error('broken'); process.exitCode = 5;", 'exited with code 5: broken'],
  ['writes more than JSON', 'codex', "console.log('welcome');", 'something else is written'],
  ['writes no object', 'vscode', 'console.log(1);', 'not a JSON object'],
  [
    'writes too much',
    'claude',
    "process.stdout.write('y'.repeat(1_000_000)); setInterval(() => 0, 60_000);",
    'more than',
  ],
  ['says nothing to a host that wants JSON', 'cursor', '', 'something else is written'],
  ['belongs to another store', 'claude', '', 'another store'],
] as const)('finds an atlas that %s (%s)', async (_what, host, does, problem) => {
  const at = await installed(host);
  startByName(at, host);
  const { exit, hooks } = await diagnosed(at, program(at, does));
  expect(exit).toBe(1);
  expect(hooks.find((hook) => hook.host === host)?.problem).toContain(problem);
});

it('ends a hook that answers nothing in its time, with what it started', async () => {
  const at = await installed('claude');
  const [event] = HOSTS.claude.events;
  if (event === undefined) throw new Error('no event');
  const ports = systemPorts(at.root, '0', silentLog);
  const pids = path.join(at.folder, 'pids');
  const waits = path.join(at.folder, 'waits.cjs');
  writeFileSync(
    waits,
    `const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 60_000)']);
     require('node:fs').writeFileSync(process.argv[2], String(child.pid));`,
  );
  const trial = await tryHook(
    { ids: ports.ids, log: new EventLog(ports.files, ports.paths), env: process.env, elapsed: () => performance.now() },
    {
      host: HOSTS.claude,
      event: { ...event, seconds: 3 },
      command: `"${process.execPath}" "${waits}" "${pids}"`,
      folder: at.folder,
    },
  );
  expect(trial.problem).toBe('It did not answer within 3 seconds.');
  const pid = Number(readFileSync(pids, 'utf8'));
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it('says so where a hook is there twice, in part, or in two hosts that share', async () => {
  const at = await installed('claude');
  await at.ok('lifecycle', 'install', '--host', 'vscode', '--yes');
  const text = readFileSync(wired(at, 'claude'), 'utf8');
  const settings = JSON.parse(text) as { hooks: Record<string, unknown[]> };
  settings.hooks['Stop'] = [...(settings.hooks['Stop'] ?? []), ...(settings.hooks['Stop'] ?? [])];
  delete settings.hooks['SessionEnd'];
  writeFileSync(wired(at, 'claude'), JSON.stringify(settings));
  const said = await at.run('lifecycle', 'doctor');
  expect(said.code).toBe(1);
  expect(said.out).toContain('Claude Code, Stop: It is installed more than once');
  expect(said.out + said.err).toContain('Claude Code: not all lifecycle hooks are installed');
  expect(said.out + said.err).toContain('each event arrives twice');
});
