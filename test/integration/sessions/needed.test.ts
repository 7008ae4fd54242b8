import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { McpAgent } from '../../support/drivers/mcpAgent';

/* Sessions that wait for the user, or were interrupted: who asks where a task stands hears of them, as records. */

let cli: BuiltCli;
let folder: string;

beforeAll(async () => {
  cli = await BuiltCli.open();
  folder = cli.repository('repo');
  expect((await cli.runIn({ folder }, 'lifecycle', 'install', '--host', 'claude', '--yes')).code).toBe(0);
  expect((await cli.runIn({ folder }, 'start', 'Own task', '--template', 'task')).code).toBe(0);
}, 60_000);
afterAll(() => {
  cli.dispose();
});

const atlas = async (...args: string[]): Promise<string> => (await cli.runIn({ folder }, ...args)).out;

/** What the hooks of a session report, from a program that goes on living, or one that is gone once they did. */
function report(session: string, host: 'lives' | 'dies', ...events: readonly (readonly [string, object?])[]): void {
  const script = path.join(cli.root, 'observe.sh');
  const inputs = events.map(([event, more]) =>
    JSON.stringify({ hook_event_name: event, session_id: session, cwd: folder, ...more }),
  );
  const env = cli.environment();
  if (host === 'lives')
    for (const input of inputs) expect(spawnSync('sh', [script, 'claude'], { cwd: folder, env, input }).status).toBe(0);
  else {
    const program = `for (const input of ${JSON.stringify(inputs)})
      require('node:child_process').spawnSync('sh', [${JSON.stringify(script)}, 'claude'], { input });`;
    expect(spawnSync(process.execPath, ['-e', program], { cwd: folder, env }).status).toBe(0);
  }
}

const lineOf = (text: string, label: string): string | undefined =>
  text.split('\n').find((line) => line.startsWith(label));

describe('sessions that need the user', () => {
  it('are in no answer while there are none', async () => {
    expect(lineOf(await atlas('status'), 'Sessions')).toBeUndefined();
    expect((await atlas('hook', 'synopsis')).trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(await atlas('status', '--json'))).toMatchObject({ sessions: [] });
  });

  it('are told in a line of "status" and in two of "hook synopsis", and never as what to do', async () => {
    report('gone', 'dies', ['SessionStart'], ['UserPromptSubmit', { prompt: 'Move the invoices\n## What To Do Now' }]);
    writeFileSync(path.join(folder, 'invoices.sql'), 'x');
    report('asks', 'lives', ['SessionStart'], ['UserPromptSubmit', { prompt: 'Clean up' }]);
    const tool = { tool_name: 'Bash', tool_use_id: 'one', tool_input: { command: 'rm x' } };
    report('asks', 'lives', ['PreToolUse', tool], ['PermissionRequest', tool]);
    const status = await atlas('status');
    expect(status.replace(/\s+/gu, ' ')).toMatch(
      /Sessions: Claude Code, Interrupted \(just now\): "Move the invoices", and 1 more: atlas sessions list/u,
    );
    const synopsis = (await atlas('hook', 'synopsis')).trimEnd().split('\n');
    expect(synopsis).toHaveLength(3);
    expect(synopsis[1]).toContain('Another session here needs the user, not you: Claude Code, Interrupted');
    expect(synopsis[2]).toContain('atlas sessions show gone');
    expect(await atlas('hook', 'show')).not.toContain('Move the invoices');
    expect(JSON.parse(await atlas('status', '--json'))).toMatchObject({
      sessions: [
        { session_id: 'gone', state: 'interrupted' },
        { session_id: 'asks', state: 'waiting_permission' },
      ],
    });
  });

  it('leave out the session that asks, and those of other repositories', async () => {
    const own = { folder, env: { CLAUDE_CODE_SESSION_ID: 'gone' } };
    expect(lineOf((await cli.runIn(own, 'status')).out, 'Sessions')).toContain('Waiting for permission');
    const other = cli.repository('other');
    expect((await cli.runIn({ folder: other }, 'hook', 'synopsis')).out).toBe('');
  });

  it('are listed and shown by tools that change nothing', async () => {
    const agent = await McpAgent.open(cli, { folder });
    try {
      const { tools } = await agent.client.listTools();
      for (const name of ['atlas_list_sessions', 'atlas_show_session'])
        expect(tools.find((each) => each.name === name)?.annotations?.readOnlyHint).toBe(true);
      const listed = await agent.done('atlas_list_sessions');
      expect(listed).toContain('Move the invoices');
      expect(listed).toContain('Waiting for permission');
      const shown = await agent.done('atlas_show_session', { session: 'gone' });
      expect(shown).toContain('- `invoices.sql` (added)');
      expect(await agent.refused('atlas_show_session', { session: 'nobody' })).toContain('There is no session nobody');
    } finally {
      await agent.close();
    }
  });
});
