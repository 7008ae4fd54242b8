import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningAgent } from '../support/agents/agentDesk';
import { ObservedDesk } from '../support/agents/observedDesk';
import { OUT } from '../support/project';
import { THEMES, type Theme, Workbench } from '../support/vscode/workbench';

const REQUEST = 'Move the invoices to the new table';
const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
/** From the death of an agent to the view that says so. */
const INTERRUPTED_MS = 2000;

/* A real Codex, on a scripted model, that never hears of atlas. */
describe('the Sessions view', () => {
  let desk: ObservedDesk;
  let folder: string;
  let workbench: Workbench;
  let agent: RunningAgent;

  beforeAll(async () => {
    desk = await ObservedDesk.open(['codex']);
    folder = desk.repository();
    workbench = await Workbench.open({
      workspace: folder,
      env: {
        ...{ ATLAS_HOME: desk.cli.root, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
        ...{ CODEX_HOME: path.join(desk.cli.home, '.codex'), SCRIPTED_KEY: 'x' },
        PATH: `${path.join(desk.cli.home, 'bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
      },
      settings: { 'terminal.integrated.gpuAcceleration': 'off' },
    });
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
  }, 300_000);

  afterAll(async () => {
    await workbench.close();
    await desk.dispose();
  });

  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const pane = (): Locator => workbench.page.locator('.pane-header', { hasText: 'Sessions' });

  it('is not there before sessions are observed, and says what will be in it once they are', async () => {
    expect(await pane().count()).toBe(0);
    await desk.observe('codex');
    await pane().waitFor();
    await workbench.page.locator('.welcome-view-content', { hasText: 'No session yet.' }).waitFor();
  });

  it('shows an agent that works, without a reload', async () => {
    const write = { write: { path: path.join(folder, 'invoices.sql'), content: 'create table invoices;\n' } };
    agent = desk.start('codex', REQUEST, folder, [write, { hang: true }]);
    await row(new RegExp(`^${REQUEST}Working \\(now\\) · Codex · 1 file changed$`, 'u')).waitFor();
    // Who works waits for nobody.
    expect(await workbench.activityBadge('Atlas').locator('visible=true').count()).toBe(0);
  });

  it('says within 2 s that it was interrupted, and offers to resume it', async () => {
    agent.child.kill('SIGKILL');
    await row(new RegExp(`^Interrupted: ${REQUEST}now · Codex · 1 file changed$`, 'u')).waitFor({
      timeout: INTERRUPTED_MS,
    });
    const toast = workbench.toast(`Codex was interrupted while it worked on "${REQUEST}".`);
    await toast.waitFor();
    expect(await toast.locator('.monaco-button', { hasText: /^Resume$/u }).count()).toBe(1);
    await workbench.page
      .locator(`.statusbar-item[id="${STATUS}"]`, { hasText: `Interrupted: ${REQUEST.slice(0, 20)}` })
      .waitFor();
    await workbench.activityBadge('Atlas').filter({ hasText: /^1$/u }).waitFor();
  });

  it.each(Object.keys(THEMES) as Theme[])('can be read in %s', async (theme) => {
    await workbench.useTheme(theme);
    await workbench.hoverRow(row(REQUEST));
    const shots = path.join(OUT, 'screenshots');
    mkdirSync(shots, { recursive: true });
    const name = theme.toLowerCase().replaceAll(' ', '-');
    await workbench.page.screenshot({ path: path.join(shots, `sessions-${name}.png`) });
    expect(await row(REQUEST).locator('a.action-label[aria-label^="Resume Session"]').count()).toBe(1);
  });

  it("shows the session's HOOK.md, with what was asked and what changed", async () => {
    await workbench.clickRow(row(REQUEST));
    await workbench.page.locator('.tab.active', { hasText: 'HOOK.md' }).waitFor();
    await workbench.page.locator('.view-line', { hasText: REQUEST }).first().waitFor();
  });

  it('resumes it in the same agent, in a terminal', async () => {
    await workbench.rowAction(row(REQUEST), 'Resume Session');
    // What runs in it is a matter of the host's tests: this host has no pseudo terminals of its own.
    await workbench.page.locator('.terminal-wrapper.active .xterm-rows').waitFor();
  });

  it('is gone once all is forgotten and nothing is observed', async () => {
    await workbench.palette('Atlas: Stop Observing Sessions');
    await workbench.toast('Atlas no longer observes sessions.').waitFor();
    await workbench.palette('Atlas: Forget Session');
    await workbench.quickPick(REQUEST);
    await workbench.dialog.getByRole('button', { name: 'Forget Session' }).click();
    await pane().waitFor({ state: 'detached' });
  });
});
