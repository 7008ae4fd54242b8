import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedDesk } from '../support/agents/observedDesk';
import { OUT } from '../support/project';
import { THEMES, type Theme, Workbench } from '../support/vscode/workbench';

const ASKING = 'Clean up the build folder';
const KILLED = 'Move the invoices to the new table';

/** An agent's host: reports each line that it is given by the hooks' script, as hosts do, and goes on running. */
const HOST = `
const { spawnSync } = require('node:child_process');
require('node:readline').createInterface({ input: process.stdin }).on('line', (input) => {
  spawnSync('sh', [process.argv[1], 'claude'], { input });
  process.stdout.write('.');
});
`;

/* What can be done with a session: be told that it waits, make it a task, hand it to another agent. */
describe('a session', () => {
  let desk: ObservedDesk;
  let folder: string;
  let workbench: Workbench;
  let host: ChildProcess;

  beforeAll(async () => {
    desk = await ObservedDesk.open(['codex']);
    await desk.observe('codex');
    folder = desk.repository();
    host = spawn(process.execPath, ['-e', HOST, path.join(desk.cli.root, 'observe.sh')], {
      cwd: folder,
      env: desk.cli.environment({ CI: '' }),
    });
    workbench = await Workbench.open({
      workspace: folder,
      env: {
        ...{ ATLAS_HOME: desk.cli.root, HOME: desk.cli.home },
        ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
      },
      settings: { 'terminal.integrated.gpuAcceleration': 'off' },
    });
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No session yet.' }).waitFor();
  }, 300_000);

  afterAll(async () => {
    host.kill('SIGKILL');
    await workbench.close();
    await desk.dispose();
  });

  const report = async (event: string, more: object = {}): Promise<void> => {
    const body = { session_id: 'asking', cwd: folder, hook_event_name: event, ...more };
    host.stdin?.write(`${JSON.stringify(body)}\n`);
    if (host.stdout !== null) await once(host.stdout, 'data');
  };
  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const badge = (): Locator => workbench.activityBadge('Atlas').locator('visible=true');
  const tool = { tool_name: 'Bash', tool_use_id: 'one', tool_input: { command: 'rm -r build' } };

  it('that waits for a permission says so at once in the view, and in a notification when nobody answers', async () => {
    await report('SessionStart', { source: 'startup' });
    await report('UserPromptSubmit', { prompt: ASKING });
    await report('PreToolUse', tool);
    await report('PermissionRequest', tool);
    await row(new RegExp(`^Waiting for permission: ${ASKING}`, 'u')).waitFor();
    await badge().filter({ hasText: /^1$/u }).waitFor();
    const toast = workbench.toast(`Claude Code is waiting for your permission: "${ASKING}".`);
    // Whoever sits in front of it has answered by then.
    expect(await toast.count()).toBe(0);
    await toast.waitFor();
    expect(await toast.locator('.monaco-button', { hasText: /^Show HOOK\.md$/u }).count()).toBe(1);
  });

  it.each(Object.keys(THEMES) as Theme[])('that waits can be read in %s', async (theme) => {
    await workbench.useTheme(theme);
    const listed = await workbench.notifications(ASKING);
    await workbench.hoverRow(row(ASKING));
    const shots = path.join(OUT, 'screenshots');
    mkdirSync(shots, { recursive: true });
    const name = theme.toLowerCase().replaceAll(' ', '-');
    await workbench.page.screenshot({ path: path.join(shots, `session-waits-${name}.png`) });
    expect(await listed.count()).toBe(1);
  });

  it('that got its answer waits for nobody', async () => {
    await workbench.dismissNotifications();
    await report('PostToolUse', { ...tool, tool_response: {} });
    await row(new RegExp(`^${ASKING}Working`, 'u')).waitFor();
    await badge().waitFor({ state: 'detached' });
    await report('SessionEnd', { reason: 'prompt_input_exit' });
    await row(/^Ended1$/u).waitFor();
  });

  it('that was interrupted becomes a task by a template, which keeps what is known of it', async () => {
    const write = { write: { path: path.join(folder, 'invoices.sql'), content: 'create table invoices;\n' } };
    const agent = desk.start('codex', KILLED, folder, [write, { hang: true }]);
    await row(new RegExp(`^${KILLED}Working .*1 file changed$`, 'u')).waitFor();
    agent.child.kill('SIGKILL');
    await row(new RegExp(`^Interrupted: ${KILLED}`, 'u')).waitFor();
    await workbench.palette('Atlas: Use Template for Session');
    await workbench.quickPick(KILLED);
    await workbench.screenshot('session-template');
    await workbench.quickPick('Find and fix a bug');
    const panel = workbench.webview();
    await panel.getByRole('heading', { name: KILLED, exact: true }).waitFor();
    await workbench.screenshot('session-as-task');
    // It counts as the task now.
    await badge().waitFor({ state: 'detached' });
    const listed = JSON.parse((await desk.atlas(folder, 'sessions', 'list', '--json')).out) as {
      sessions: { request: string; task_id: string | null }[];
    };
    const id = listed.sessions.find(({ request }) => request === KILLED)?.task_id ?? '';
    const hook = await desk.atlas(folder, 'hook', 'show', '--task', id);
    expect(hook.out).toContain(`## What Was Asked`);
    expect(hook.out).toContain(KILLED);
    expect(hook.out).toContain('`invoices.sql` (added)');
  });

  it('is handed to another agent, in a terminal where it worked', async () => {
    await workbench.palette('Atlas: Resume Session With');
    await workbench.quickPick(KILLED);
    await workbench.quickTitle(`Resume "${KILLED}"`);
    await workbench.quickRows('continues its own session').waitFor();
    expect(await workbench.quickRows().first().textContent()).toContain('continues its own session');
    await workbench.screenshot('session-resume-with');
    // It stands in the middle of a flow, which ends neither by a click elsewhere nor by a panel that takes the focus.
    await workbench
      .webview()
      .locator('body')
      .click({ position: { x: 200, y: 600 } });
    await workbench.quickRows('OpenCode').waitFor();
    await workbench.quickPick('OpenCode');
    // What runs in it is a matter of the host's tests: this host has no pseudo terminals of its own.
    await workbench.page.locator('.terminal-wrapper.active .xterm-rows').waitFor();
    await workbench.screenshot('session-resumed-with');
  });
});
