import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli, said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* `atlas run`: an agent on the task, watched until it ends. The agents here are programs of a few lines. */

/** What an event may take before a test gives up, in ms. */
const GUARD_MS = 15_000;
let cli: BuiltCli;
/** A folder on the PATH in which `atlas` is. */
let bin: string;

beforeAll(async () => {
  cli = await BuiltCli.open();
  bin = path.join(cli.home, 'bin');
  mkdirSync(bin);
  const launcher = path.join(bin, 'atlas');
  writeFileSync(launcher, `#!/bin/sh\nexec '${process.execPath}' '${cli.entry}' "$@"\n`);
  chmodSync(launcher, 0o755);
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** Runs a script as the agent; `atlas` is on its PATH. */
async function agent(desk: Desk, script: string, env: Record<string, string | undefined> = {}, ...options: string[]) {
  return desk.runWith({ env: { ...pathOf(), ...env } }, 'run', ...options, '--', 'sh', '-c', script);
}

function pathOf(): { PATH: string } {
  return { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
}

/** Starts an agent that says `up` and then lives until it is ended. */
async function living(
  desk: Desk,
  script = "echo up; trap 'exit 0' USR1; while :; do read -r line || exec sleep 600; done",
) {
  const child = cli.start(['run', '--', 'sh', '-c', script], desk.how({ env: pathOf() }));
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  child.stdin?.on('error', () => undefined);
  await heard(child, 'up');
  return { child, ended };
}

async function heard(child: ChildProcess, word: string): Promise<void> {
  let out = '';
  await new Promise<void>((resolve, reject) => {
    const guard = setTimeout(() => reject(new Error(`never heard "${word}": ${out}`)), GUARD_MS);
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
      if (!out.includes(word)) return;
      clearTimeout(guard);
      resolve();
    });
  });
}

/** Waits until a file says something. */
async function says(file: string, what: (text: string) => boolean): Promise<void> {
  const holds = (): boolean => existsSync(file) && what(readFileSync(file, 'utf8'));
  await new Promise<void>((resolve, reject) => {
    const watcher = watch(path.dirname(file), () => {
      if (holds()) settle(resolve);
    });
    const guard = setTimeout(() => settle(() => reject(new Error(`${file} never came to say so`))), GUARD_MS);
    const settle = (then: () => void): void => {
      clearTimeout(guard);
      watcher.close();
      then();
    };
    if (holds()) settle(resolve);
  });
}

interface Exported {
  readonly hook: {
    readonly state: string;
    readonly recovery?: { readonly crash_type: string; readonly details: Record<string, unknown> };
    readonly history: readonly { readonly trigger: string; readonly details?: Record<string, unknown> }[];
    readonly checkpoints: readonly { readonly trigger: string }[];
  };
}

async function hookOf(desk: Desk): Promise<Exported['hook']> {
  return (JSON.parse(await desk.ok('hook', 'export')) as Exported).hook;
}

describe.concurrent('what the agent gets', { timeout: 60_000 }, () => {
  it('is its task and the synopsis, without what the editor set for itself', async () => {
    const desk = new Desk(cli, 'environment');
    const ref = await desk.running();
    const bootloader = path.join(cli.home, 'ms-vscode.js-debug', 'bootloader.js');
    mkdirSync(path.dirname(bootloader));
    writeFileSync(bootloader, '');
    const editors = {
      ELECTRON_RUN_AS_NODE: '1',
      ATLAS_LAUNCHER: '/launcher',
      NODE_OPTIONS: `--require "${bootloader}" --inspect-publish-uid=http --max-old-space-size=999`,
      OWN: 'kept',
    };
    const { code, out } = await agent(desk, 'env', editors);
    expect(code).toBe(0);
    const lines = out.split('\n');
    expect(lines).toContain(`ATLAS_TASK=${ref.workspace}/${ref.id}`);
    expect(lines).toContain(`ATLAS_HOME=${desk.root}`);
    expect(lines).toContain('ATLAS_AGENT=sh');
    expect(lines).toContain('OWN=kept');
    expect(lines).toContain('NODE_OPTIONS=--max-old-space-size=999');
    expect(out).toMatch(/^ATLAS_SYNOPSIS=\[ATLAS RECOVERY\] Task '.+' in progress\. State: step_running, .+HOOK\.md/mu);
    expect(out).not.toMatch(/^(ELECTRON_RUN_AS_NODE|ATLAS_LAUNCHER)=/mu);
  });

  it('goes for what validate runs too', async () => {
    const desk = new Desk(cli, 'checks');
    await desk.running();
    const env = { ELECTRON_RUN_AS_NODE: '1', ATLAS_LAUNCHER: '/launcher', NODE_OPTIONS: '--inspect=0 --no-warnings' };
    const { code, out } = await desk.runWith({ env }, 'validate', '--command', 'env');
    expect(code).toBe(0);
    expect(out).toMatch(/^NODE_OPTIONS=--no-warnings$/mu);
    expect(out).not.toMatch(/^(ELECTRON_RUN_AS_NODE|ATLAS_LAUNCHER)=/mu);
  });

  it('are its own options, even those that look like ours', async () => {
    const desk = new Desk(cli, 'options');
    await desk.running();
    const echo = path.join(bin, 'echo-agent');
    writeFileSync(echo, '#!/bin/sh\necho "got $*"\n');
    chmodSync(echo, 0o755);
    const { out } = await desk.runWith({ env: pathOf() }, 'run', 'echo-agent', '--json', '-q', '--task', 'x');
    expect(out).toBe('got --json -q --task x\n');
  });

  it('is to be seen at work before it does its first thing', async () => {
    const desk = new Desk(cli, 'first thing');
    const ref = await desk.running();
    const owners = desk.fileOf(ref, 'owners');
    const { out } = await agent(desk, 'cat "$OWNERS"/*.json', { OWNERS: owners });
    expect(JSON.parse(out)).toMatchObject({ kind: 'agent', step_index: 0, attempt: 1 });
  });

  it('is what was typed into us, and what it says is said', async () => {
    const desk = new Desk(cli, 'streams');
    await desk.running();
    const how = { input: 'typed\n', env: pathOf() };
    const text = await desk.runWith(how, 'run', '--', 'sh', '-c', 'cat; echo wrong >&2');
    expect(text.out).toBe('typed\n');
    expect(text.err).toContain('wrong\n');
    const json = await desk.runWith(how, 'run', '--json', '--', 'sh', '-c', 'cat');
    expect(json.err).toBe('typed\n');
    expect(JSON.parse(json.out)).toMatchObject({ success: true, command: 'run', exit_code: 0 });
  });
});

describe.concurrent('how it ends', { timeout: 60_000 }, () => {
  it.each([
    [0, 'exit 0', { exit_code: 0, signal: null, meant: 'human_asked' }],
    [130, 'exit 130', { exit_code: 130, meant: 'human_asked' }],
    [143, 'kill -TERM $$', { exit_code: null, signal: 'SIGTERM', meant: 'human_asked' }],
    [1, 'exit 1', { exit_code: 1, meant: 'crashed' }],
    [3, 'exit 3', { exit_code: 3, meant: 'crashed' }],
    [137, 'kill -KILL $$', { exit_code: null, signal: 'SIGKILL', meant: 'crashed' }],
  ] as const)('with %i is passed on, and recorded (%s)', async (exit, script, told) => {
    const desk = new Desk(cli, `ends ${exit}`);
    desk.template('idempotent', { name: 'work', type: 'ai', idempotent: true });
    await desk.running('idempotent');
    const { code, out } = await agent(desk, script, {}, '--json');
    expect(code).toBe(exit);
    expect(JSON.parse(out)).toMatchObject({ success: true, ...told });
    const hook = await hookOf(desk);
    if (told.meant === 'human_asked') {
      expect(hook.state).toBe('awaiting_human');
      expect(hook.history.at(-1)).toMatchObject({ trigger: 'human_required', details: { kind: 'interrupted' } });
    } else {
      expect(hook.state).toBe('recovering');
      const cause = exit === 137 ? 'agent_killed' : 'agent_failed';
      expect(hook.recovery).toMatchObject({ crash_type: 'signal', details: { cause } });
      expect(await desk.ok('status')).toMatch(/^Recovery Plan: +\w[\w ]+: \S/mu);
    }
    // Whoever goes on is not taken for the one that ended.
    await desk.ok('resume');
    if (told.meant === 'crashed') await desk.ok('step', 'start');
    expect(await desk.ok('status')).toMatch(/^State: +Running [^]*^Health: +No running process/mu);
  });

  it('after its step is complete leaves nothing open', async () => {
    const desk = new Desk(cli, 'completes');
    await desk.started();
    const script = 'atlas step start -q && atlas step complete implement --attempt 1 -q';
    const { code, out, err } = await agent(desk, script);
    expect([code, out]).toEqual([0, '']);
    expect(err).toMatch(/^atlas: The agent exited\. State: Ready \(.+, step 2 of /mu);
    // The next one starts that step, and is not taken for the one that ended.
    await desk.ok('step', 'start');
    expect(await desk.state()).toBe('step_running');
    expect(await desk.ok('status')).not.toContain('Agent exited');
  });

  it('in the next step is the end of that one', async () => {
    const desk = new Desk(cli, 'rebinds');
    desk.template('two', { name: 'first', type: 'ai' }, { name: 'second', type: 'ai' });
    const ref = await desk.running('two');
    const { code } = await agent(desk, 'atlas step complete first -q && atlas step start -q && kill -KILL $$');
    expect(code).toBe(137);
    const hook = await hookOf(desk);
    expect(hook).toMatchObject({ state: 'recovering', recovery: { details: { cause: 'agent_killed' } } });
    expect(desk.hookMarkdown(ref)).toContain('second');
  });

  it('of one that was never started is nothing', async () => {
    const desk = new Desk(cli, 'missing');
    const ref = await desk.running();
    const before = desk.digest();
    const told = await desk.run('run', '--', 'no-such-agent');
    expect(told).toMatchObject({ code: 3, out: '' });
    expect(told.err).toMatch(/^atlas: no-such-agent could not be started: /u);
    const file = desk.write('not-executable', 'x');
    expect((await desk.run('run', '--', file)).code).toBe(3);
    expect(desk.digest()).toBe(before);
    expect(existsSync(desk.fileOf(ref, 'owners')) ? readdirSync(desk.fileOf(ref, 'owners')) : []).toEqual([]);
  });

  it('by SIGTERM to us is passed on', async () => {
    const desk = new Desk(cli, 'terminated');
    await desk.running();
    const script = "trap 'echo asked to end; exit 7' TERM; echo up; while :; do sleep 0.1; done";
    const { child, ended } = await living(desk, script);
    const heardEnd = heard(child, 'asked to end');
    child.kill('SIGTERM');
    await heardEnd;
    expect((await ended)[0]).toBe(7);
    expect(await desk.state()).toBe('recovering');
  });

  it('unseen, since we were killed, is found by the next command', async () => {
    const desk = new Desk(cli, 'orphaned');
    await desk.running();
    const { child, ended } = await living(desk, 'echo up; read -r line');
    expect(await desk.ok('status')).toMatch(/^Health: +Working$/mu);
    child.kill('SIGKILL');
    child.stdin?.destroy();
    await ended;
    expect(await desk.ok('status')).toMatch(/^Health: +Interrupted .+ \(agent killed\)/mu);
    const next = await desk.run('step', 'note', 'still there');
    expect(next.code).toBe(4);
    expect(await hookOf(desk)).toMatchObject({ state: 'recovering', recovery: { details: { cause: 'agent_killed' } } });
  });
});

describe.concurrent('while it lives', { timeout: 60_000 }, () => {
  it.each(['step_running', 'step_pending'])('a second one on the same task is refused (%s)', async (state) => {
    const desk = new Desk(cli, `second in ${state}`);
    await (state === 'step_running' ? desk.running() : desk.started());
    const { child, ended } = await living(desk, 'echo up; read -r line');
    const second = await desk.run('run', '--', 'true');
    expect(second).toMatchObject({ code: 4, out: '' });
    expect(second.err).toMatch(/^atlas: Another agent is already working on task .+\.\n/u);
    child.stdin?.end('\n');
    expect((await ended)[0]).toBe(0);
    // A dead one is in nobody's way.
    if (state === 'step_running') await desk.ok('resume');
    await desk.ok('run', '--', 'true');
  });

  it('a killed one that had not begun its step leaves no crash for the next', async () => {
    const desk = new Desk(cli, 'before the step');
    await desk.started();
    const { child, ended } = await living(desk, 'echo up; read -r line');
    child.kill('SIGKILL');
    child.stdin?.destroy();
    await ended;
    await desk.ok('step', 'start');
    expect(await desk.ok('status')).toMatch(/^Health: +No running process, but changed recently$/mu);
  });

  it('checkpoints are made at the interval, as no window makes them', async () => {
    const desk = new Desk(cli, 'interval');
    desk.settings({ checkpoint_interval: '1s' });
    const ref = await desk.running();
    const { child, ended } = await living(desk, 'echo up; read -r line');
    await says(desk.fileOf(ref, 'hook.json'), (text) => text.includes('"trigger": "interval"'));
    child.stdin?.end('\n');
    await ended;
    const { checkpoints } = await hookOf(desk);
    expect(checkpoints.map(({ trigger }) => trigger)).toContain('interval');
  });

  it("it may do what an agent may, not what is a human's", async () => {
    const desk = new Desk(cli, 'guarded');
    await desk.running();
    const { code, err } = await agent(desk, 'atlas checkpoint ok -q && atlas abandon; exit $?');
    expect(code).toBe(4);
    expect(err).toContain('Only a human may abandon a task, and the agent that "atlas run" started ran this command.');
  });

  it('its end is waited for when our input ends', async () => {
    const desk = new Desk(cli, 'input');
    await desk.running();
    const child = cli.start(['run', '--', 'sh', '-c', 'cat >/dev/null; echo done'], desk.how({ env: pathOf() }));
    expect((await said(child, 'x')).out).toBe('done\n');
  });
});
