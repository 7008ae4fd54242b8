import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EventLog } from '../../../src/agents/lifecycle/eventLog';
import { HOST_NAMES, type HostName } from '../../../src/agents/hosts/hosts';
import { unwrap } from '../../../src/core/shared/errors';
import { StorePaths } from '../../../src/store/paths';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { launcherPath, writeLauncher } from '../../../src/system/launcher/launcher';
import { systemIds } from '../../../src/system/systemPorts';
import { AgentHost } from '../../support/drivers/agentHost';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { until } from '../../support/drivers/taskFiles';
import { hostInputs } from '../../support/fixtures/hostInputs';

/*
 * An agent that stops where nothing keeps it, with hooks that start `atlas` by its launcher, as they are installed: the shell
 * answers as Node would, and Node is started as soon as there is anything to keep an agent for, whoever wrote it.
 */

const CHECK = 'test ! -e broken';

let cli: BuiltCli;
let launcher: string;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
  const node = path.join(cli.home, 'counted node');
  writeFileSync(node, `#!/bin/sh\n[ -z "$COUNTED" ] || echo "$*" >>"$COUNTED"\nexec '${process.execPath}' "$@"\n`);
  chmodSync(node, 0o755);
  const folder = path.join(cli.home, 'bin');
  unwrap(writeLauncher({ files: new NodeFileSystem(), ids: systemIds }, { folder, node, cli: cli.entry }));
  launcher = launcherPath(folder);
}, 60_000);

afterEach(() => {
  AgentHost.endAll();
});

afterAll(() => {
  cli.dispose();
});

/** A repository whose workspace is known, whose agent is started by the launcher. */
class QuietDesk extends Desk {
  constructor(name?: string) {
    desks += 1;
    super(cli, name ?? `quiet-${desks}`);
    this.counted = path.join(cli.home, `counted ${desks}`);
  }

  static async known(name?: string): Promise<QuietDesk> {
    const at = new QuietDesk(name);
    at.template('checked', { name: 'implement', validation: [CHECK] });
    at.write('a.txt', 'one\n');
    at.git('add', '-A');
    at.git('commit', '-qm', 'first');
    await at.runWith({ input: JSON.stringify(at.input()) }, 'lifecycle', 'stop', '--host', 'claude');
    return at;
  }

  input(host: HostName = 'claude'): object {
    return hostInputs(this.folder)[host].stop ?? {};
  }

  /** The file in which each start of Node is noted. */
  readonly counted: string;

  /** The commands that Node was started for since this was asked last. */
  starts(): readonly string[] {
    const lines = existsSync(this.counted) ? readFileSync(this.counted, 'utf8').trim().split('\n') : [];
    rmSync(this.counted, { force: true });
    return lines.map((line) => line.slice(line.indexOf('cli.js') + 7));
  }

  /** Fires the hook as its host would. */
  stops(
    how: { input?: object | string; host?: HostName; env?: NodeJS.ProcessEnv; folder?: string; shell?: string } = {},
  ): Said {
    const { host = 'claude', input = this.input(host), env = {}, folder = this.folder, shell = 'sh' } = how;
    const { status, stdout, stderr } = spawnSync(shell, ['-c', `'${launcher}' lifecycle stop --host ${host}`], {
      cwd: folder,
      env: cli.environment({ ...this.how().env, COUNTED: this.counted, ...env }),
      input: typeof input === 'string' ? input : JSON.stringify(input),
      encoding: 'utf8',
    });
    return { code: status, out: stdout, err: stderr };
  }

  log(): ReturnType<EventLog['entries']> {
    return new EventLog(new NodeFileSystem(), new StorePaths(this.root)).entries();
  }

  get workspace(): string {
    return path.join(this.root, 'workspaces', path.basename(this.folder));
  }
}

describe.runIf(process.platform !== 'win32')('an agent that stops where nothing keeps it', () => {
  it.each(HOST_NAMES)('is answered by the shell as by Node, in %s', async (host) => {
    const at = await QuietDesk.known();
    const byNode = await at.runWith({ input: JSON.stringify(at.input(host)) }, 'lifecycle', 'stop', '--host', host);
    const noted = at.log().at(-1);
    rmSync(path.join(at.workspace, '.last-session-id'));
    expect(at.stops({ host })).toEqual(byNode);
    expect(at.starts()).toEqual([]);
    expect({ ...at.log().at(-1), at: '' }).toEqual({ ...noted, at: '' });
    const age = Date.parse(at.log().at(-1)?.at ?? '') - Date.parse(noted?.at ?? '');
    expect(Math.abs(age)).toBeLessThan(60_000);
    const id = readFileSync(path.join(at.workspace, '.last-session-id'), 'utf8');
    expect(id).toBe('00893aaf-19fa-41d2-8238-13269b9b3ca0\n');
    expect(readdirSync(at.workspace).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it.each(['dash', 'bash', 'zsh'].filter((shell) => spawnSync(shell, ['-c', 'exit 0']).status === 0))(
    'is answered in %s too, and in a folder, a linked worktree and a repository with another name than its workspace',
    async (shell) => {
      const at = await QuietDesk.known(`it's "odd" — ${shell}`.replaceAll('"', '$'));
      at.write('deep/er/a.txt', '');
      const linked = path.join(cli.folder, `linked ${shell}`);
      at.git('worktree', 'add', '-q', '--detach', linked);
      for (const folder of [at.folder, path.join(at.folder, 'deep', 'er'), linked]) {
        const script = path.join(path.dirname(cli.entry), 'stop.sh');
        const emulated = shell === 'zsh' ? ['--emulate', 'sh'] : [];
        const command = `node=/nowhere cli=/nowhere; . '${script}'; exit 7`;
        const env = cli.environment(at.how().env);
        const input = JSON.stringify({ session_id: 's', cwd: folder });
        const named = [...emulated, '-c', command, 'atlas', 'lifecycle', 'stop', '--host', 'claude'];
        const { status, stdout } = spawnSync(shell, named, { cwd: folder, env, input, encoding: 'utf8' });
        expect({ status, stdout }).toMatchObject({
          status: 0,
          stdout: expect.stringContaining('No pending tasks.') as string,
        });
        expect(at.log().at(-1)).toMatchObject({ folder: folder === linked ? linked : at.folder });
      }
    },
  );

  it('starts Node where anything is in doubt', async () => {
    const at = await QuietDesk.known();
    const elsewhere = (await QuietDesk.known()).folder;
    const input = at.input();
    const doubts: Readonly<Record<string, Parameters<QuietDesk['stops']>[0]>> = {
      'no input': { input: '' },
      'no JSON': { input: '{' },
      'another folder': { input: { ...input, cwd: elsewhere } },
      "another host's form": { input: at.input('vscode') },
      'no session': { input: { cwd: at.folder } },
      'an odd session': { input: { ...input, session_id: '../x' } },
      'a long input': { input: { ...input, prompt: 'x'.repeat(2_000_000) } },
      'a task that is named': { env: { ATLAS_TASK: 'a/b' } },
      'a session that is named': { env: { CLAUDE_SESSION_ID: 'other' } },
      'a trigger': { env: { ATLAS_TRIGGER: 'email' } },
      'a trial': { env: { ATLAS_HOOK_CHECK: 'abc' } },
      'a cleanup': { env: { ATLAS_CLEANUP: '1' } },
      'a relative store': { env: { ATLAS_HOME: 'store' } },
      'a store that is not there': { env: { ATLAS_HOME: path.join(cli.home, 'nowhere') } },
      'a folder without a repository': { folder: cli.home },
    };
    at.stops();
    expect(at.starts()).toEqual([]);
    for (const [doubt, how] of Object.entries(doubts)) {
      const said = at.stops(how);
      expect(said.code, said.err).toBe(0);
      expect(at.starts(), doubt).toEqual(['lifecycle stop --host claude']);
    }
    expect(at.log().find(({ folder }) => folder === elsewhere)).toBeDefined();
  });

  it('names the folder of the memory that is set', async () => {
    const at = await QuietDesk.known();
    at.settings({ memory_folder: 'notes' });
    expect(at.stops().out).toContain(' to notes/');
    at.settings({ stale_threshold: '20m' });
    at.starts();
    expect(at.stops().out).toContain(' to .atlas/memory/');
    expect(at.starts()).toEqual([]);
  });
});

/* What makes an agent worth keeping, each by somebody else, after the shell answered for it. */
describe.runIf(process.platform !== 'win32')('an agent that stops after the shell answered for it', () => {
  /** An agent that began, and stopped once where nothing kept it. */
  async function answered(at: QuietDesk, session = 'one'): Promise<AgentHost> {
    const host = new AgentHost(cli, at, session, `'${launcher}'`);
    await host.fires('session-start');
    await isQuiet(at, host);
    return host;
  }

  async function isQuiet(at: QuietDesk, host: AgentHost): Promise<void> {
    const { out } = await host.fires('stop', {}, { COUNTED: at.counted });
    expect(out).toMatch(/^No pending tasks\. Write .*\n$/u);
  }

  /** It changed something, and is kept for it. */
  async function isKept(at: QuietDesk, host: AgentHost): Promise<void> {
    const isNoted = (): boolean => readdirSync(path.join(at.root, 'sessions')).some((name) => name.endsWith('.tree'));
    await until('the files that the session begins with are noted', isNoted);
    at.write('a.txt', 'two\n');
    const { code, err } = await host.asks('stop');
    expect(code, err).toBe(2);
    expect(err).toContain(`no receipt shows that "${CHECK}" passes`);
  }

  it('is kept once another process started a task and it drives the step', async () => {
    const at = await QuietDesk.known();
    const host = await answered(at);
    expect(at.starts()).toEqual([]);
    await at.ok('start', 'Sample', '--template', 'checked');
    await isQuiet(at, host);
    await host.runs('step start');
    await isKept(at, host);
  });

  it('is kept once it is bound to a step that somebody else started', async () => {
    const at = await QuietDesk.known();
    const host = await answered(at);
    await at.ok('start', 'Sample', '--template', 'checked');
    await at.ok('step', 'start');
    expect((await host.fires('stop')).out).toContain('is still running');
    await host.runs('step note Working');
    await isKept(at, host);
  });

  it('is kept once somebody allowed the checks', async () => {
    const at = await QuietDesk.known();
    const host = await answered(at);
    const ref = await at.started('checked');
    await isQuiet(at, host);
    await host.runs('step start');
    at.write('a.txt', 'three\n');
    await host.fires('stop');
    const atlas = at.atlas();
    await atlas.allowCommands(unwrap(atlas.catalog.read(ref)));
    await isKept(at, host);
  });

  it('is asked about in every worktree and with every store', async () => {
    const at = await QuietDesk.known();
    await answered(at);
    const linked = path.join(cli.folder, `worktree of ${path.basename(at.folder)}`);
    at.git('worktree', 'add', '-q', '--detach', linked);
    const stops = (folder: string, ATLAS_HOME: string): string =>
      at.stops({ folder, input: { session_id: 'one', cwd: folder }, env: { ATLAS_HOME } }).out;
    const other = path.join(cli.home, 'another store');
    // The first time there, the workspace isn't known.
    for (const [folder, store] of [
      [linked, at.root],
      [at.folder, other],
    ] as const) {
      stops(folder, store);
      at.starts();
      expect(stops(folder, store)).toContain('No pending tasks.');
      expect(at.starts()).toEqual([]);
      const run = { folder: linked, env: { ...at.how().env, ATLAS_HOME: store } };
      for (const line of [
        ['start', 'Sample', '--template', 'task'],
        ['step', 'start'],
      ])
        expect((await cli.runIn(run, ...line)).code).toBe(0);
      for (const each of [linked, at.folder]) expect(stops(each, store)).toContain('is still running');
    }
    expect(stops(at.folder, at.root)).toContain('is still running');
  });

  it('is kept by an item that somebody adds to the agent queue', async () => {
    const at = await QuietDesk.known();
    const host = await answered(at);
    await at.ok('inbox', 'add', 'Was it paid?');
    const { code, err } = await host.asks('stop');
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('<pending-tasks>') as string });
  });

  it('has what else is due done without waiting for it', async () => {
    const at = await QuietDesk.known();
    const host = await answered(at);
    const calls = at.log().length;
    mkdirSync(path.join(at.root, 'observed'));
    writeFileSync(path.join(at.root, 'observed', 'claude.1.0.json'), `v1\n${JSON.stringify(at.input())}`);
    // A store that has just changed may be one whose config.yaml is being saved.
    const changed = new Date(Date.now() - 600_000);
    utimesSync(at.root, changed, changed);
    await isQuiet(at, host);
    // Nobody agreed to observe sessions, so what waits is deleted.
    await until('what waits is deleted', () => !existsSync(path.join(at.root, 'observed')));
    await until('the call is noted', () => at.log().length > calls);
    expect(at.starts()).toEqual(['lifecycle stop --host claude']);
    expect(at.log()).toHaveLength(calls + 1);
    expect(at.log().at(-1)).toMatchObject({ event: 'stop', session_id: 'one', exit: 0 });
  });
});
