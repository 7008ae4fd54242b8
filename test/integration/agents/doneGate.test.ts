import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost } from '../../support/drivers/agentHost';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { until } from '../../support/drivers/taskFiles';

/* An agent that stops on a step with checks: it is kept while no receipt covers its files, and never for anything else. */

let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterEach(() => {
  AgentHost.endAll();
});

afterAll(() => {
  cli.dispose();
});

const CHECK = 'test ! -e broken';

/** A desk at which a human started a task with a check, whose commands that allowed; unless they weren't shown. */
async function desk(how: 'allowed' | 'not allowed' = 'allowed', checks = [CHECK]): Promise<Desk> {
  desks += 1;
  const at = new Desk(cli, `gate-${desks}`);
  at.template('checked', { name: 'implement', validation: checks });
  at.write('a.txt', 'one\n');
  at.git('add', '-A');
  at.git('commit', '-qm', 'first');
  if (how === 'allowed') await at.ok('start', 'Sample', '--template', 'checked');
  else await at.started('checked');
  return at;
}

/** A session that drives the step, once what files it began with is noted. */
async function bound(at: Desk): Promise<AgentHost> {
  const host = new AgentHost(cli, at, `session-${desks}`);
  await host.fires('session-start');
  await host.runs('step start');
  const folder = path.join(at.root, 'sessions');
  const isNoted = (): boolean => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.tree'));
  await until('the files that the session begins with are noted', isNoted);
  return host;
}

/** What an agent that was kept is told to run. */
function toldToRun({ code, err }: Said): string | undefined {
  expect(code, err).toBe(2);
  expect(err).toContain(`no receipt shows that "${CHECK}" passes on them as they are now`);
  return /^Run this before you stop: (?:atlas )?(.*)$/mu.exec(err)?.[1];
}

describe('an agent that stops', () => {
  it('is let go while it changed nothing, and kept once it did, until a receipt covers its files', async () => {
    const at = await desk();
    const host = await bound(at);
    await host.fires('stop');
    at.write('a.txt', 'two\n');
    const command = toldToRun(await host.asks('stop'));
    expect(command).toMatch(/^validate\b/u);
    await host.runs('validate');
    await host.fires('stop');
  });

  it('is kept where its receipt is of other files, or of a run that failed', async () => {
    const at = await desk();
    const host = await bound(at);
    at.write('broken', '');
    const failed = await host.tries('validate');
    expect(failed.code).not.toBe(0);
    await at.ok('reject', 'once more');
    await host.runs('step start');
    toldToRun(await host.asks('stop'));
    rmSync(path.join(at.folder, 'broken'));
    at.write('a.txt', 'two\n');
    toldToRun(await host.asks('stop'));
  });

  it('is told of the checks alone that no receipt covers, and of all once its files are others', async () => {
    const at = await desk('allowed', [CHECK, 'test ! -e worse']);
    const host = await bound(at);
    at.write('worse', '');
    expect((await host.tries('validate')).code).not.toBe(0);
    await at.ok('reject', 'once more');
    await host.runs('step start');
    const one = await host.asks('stop');
    expect({ code: one.code, err: one.err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('no receipt shows that "test ! -e worse" passes on them') as string,
    });
    at.write('a.txt', 'two\n');
    const both = await host.asks('stop');
    expect(both.err).toContain(`no receipt shows that "${CHECK}", "test ! -e worse" pass on them`);
  });

  it('is kept three times in a row at the same files, and again at others', async () => {
    const at = await desk();
    const host = await bound(at);
    at.write('a.txt', 'two\n');
    for (let times = 0; times < 3; times += 1) toldToRun(await host.asks('stop'));
    const { out } = await host.fires('stop');
    expect(out).toContain('You may stop anyway: you were reminded 3 times.');
    await host.fires('stop');
    at.write('a.txt', 'three\n');
    toldToRun(await host.asks('stop'));
  });

  const LET_GO: readonly (readonly [when: string, input: object, env: NodeJS.ProcessEnv])[] = [
    ['in plan mode', { permission_mode: 'plan' }, {}],
    ['with work in the background', { background_tasks: [{ id: 'b1' }] }, {}],
    ['as a subagent', { agent_id: 'a1' }, {}],
    ['where ATLAS_STOP_GATE=0 is set', {}, { ATLAS_STOP_GATE: '0' }],
    ['in another session', { session_id: 'another' }, {}],
  ];

  it.each(LET_GO)('is let go %s', async (_when, input, env) => {
    const at = await desk();
    const host = await bound(at);
    at.write('a.txt', 'two\n');
    await host.fires('stop', input, env);
    toldToRun(await host.asks('stop'));
  });

  it('is let go where nobody allowed the checks, where the setting is off, and where a question is open', async () => {
    const untrusted = await desk('not allowed');
    const first = await bound(untrusted);
    untrusted.write('a.txt', 'two\n');
    await first.fires('stop');
    const at = await desk();
    const host = await bound(at);
    at.write('a.txt', 'two\n');
    writeFileSync(path.join(at.root, 'config.yaml'), 'gate:\n  enabled: false\n');
    await host.fires('stop');
    rmSync(path.join(at.root, 'config.yaml'));
    toldToRun(await host.asks('stop'));
    await host.runs('step ask Which');
    await host.fires('stop');
  });

  it('is let go where what it was told cannot be written down', async () => {
    const at = await desk();
    const host = await bound(at);
    at.write('a.txt', 'two\n');
    const folder = path.join(at.root, 'workspaces', path.basename(at.folder), 'stop-gate');
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, '');
    const { err } = await host.fires('stop');
    expect(err).toContain('so the agent may stop');
  });
});
