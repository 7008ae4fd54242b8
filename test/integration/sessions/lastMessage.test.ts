import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentHost } from '../../support/drivers/agentHost';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* What an agent says last, beside the last run of a check, and whether that was of the files that are there now. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  AgentHost.endAll();
  cli.dispose();
});

it('stands in HOOK.md beside the last run, of these files or of others', { timeout: 60_000 }, async () => {
  const desk = new Desk(cli, 'said');
  desk.template('checked', { name: 'implement', validation: ['test ! -e broken'] });
  await desk.ok('lifecycle', 'install', '--host', 'claude', '--yes');
  await desk.ok('start', 'Sample', '--template', 'checked');
  const host = new AgentHost(cli, desk, 'one');
  await host.fires('session-start', { hook_event_name: 'SessionStart' });
  await host.runs('step start');
  const last = {
    session_id: 'one',
    cwd: desk.folder,
    hook_event_name: 'Stop',
    last_assistant_message: 'All tests pass.',
  };
  const env = cli.environment(desk.how().env);
  const script = path.join(desk.root, 'observe.sh');
  expect(spawnSync('sh', [script, 'claude'], { cwd: desk.folder, env, input: JSON.stringify(last) }).status).toBe(0);
  await desk.ok('sessions', 'refresh');
  const told = async (): Promise<string | undefined> =>
    /All tests pass\.[^]*\*\*Last run of a check:\*\* (.*)/u.exec(await desk.ok('hook', 'show'))?.[1];
  expect(await told()).toBe('none in this step.');
  desk.write('broken', 'one');
  expect((await host.tries('validate')).code).not.toBe(0);
  const failed =
    /^`test ! -e broken` failed with exit code 1 \(.*, recorded by Atlas\)\. The files are still the same\.$/u;
  expect(await told()).toMatch(failed);
  desk.write('broken', 'two');
  expect(await told()).toMatch(/recorded by Atlas\)\. The files have changed since\.$/u);
  desk.write('broken', 'one');
  expect(await told()).toMatch(failed);
});
