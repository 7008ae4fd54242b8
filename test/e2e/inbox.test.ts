import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { ensureWorkspace } from '../../src/service/tasks/ensureWorkspace';
import { silentLog, systemPorts } from '../../src/service/ports';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { OUT, PROJECT } from '../support/project';
import { run } from '../support/drivers/run';
import { until } from '../support/drivers/taskFiles';
import { THEMES, type Theme, Workbench } from '../support/vscode/workbench';

const HOSTILE = '\u202e\u001b[2J$(trash) [x](command:atlas.addInboxItem) <img src=x onerror=alert(1)> **bold**\nmore';
/** What a label makes of it. */
const SHOWN = '[2J$ (trash) [x] (command:atlas.addInboxItem) <img src=x onerror=alert(1)> **bold**';

describe('the inbox', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let atlas: Atlas;
  const dialogs: string[] = [];

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    atlas = new Atlas(systemPorts(workspace.atlasHome, '0.1.0', silentLog));
    // A folder without a workspace and a store without any: the view has to hear of its first item.
    workbench = await Workbench.open({
      workspace: workspace.folder,
      env: workspace.env,
      settings: {
        'atlas.resumeCommand': 'true {{session_id}}',
        'terminal.integrated.gpuAcceleration': 'off',
      },
    });
    workbench.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
    expect(dialogs).toEqual([]);
  });

  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const pane = (): Locator => workbench.page.locator('.pane-header', { hasText: 'Agent Queue' });
  /** The command, as a process of its own. */
  const command = async (...args: string[]): Promise<string> =>
    run(process.execPath, [path.join(PROJECT, 'dist', 'cli.js'), 'inbox', ...args], {
      cwd: workspace.folder,
      env: { ...process.env, ...workspace.env },
    });
  const statusOf = async (id: number): Promise<string | undefined> => {
    const name = unwrap(await ensureWorkspace(atlas.reader, workspace.folder));
    const item = (await atlas.inbox()).item(name, id);
    return item.ok ? item.value.status : undefined;
  };

  it('appears with its first item, which the palette adds', async () => {
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
    expect(await pane().count()).toBe(0);
    await workbench.palette('Atlas: Add to Agent Queue');
    await workbench.quickTitle('Add to Agent Queue');
    await workbench.quickType('Look at the invoices');
    await pane().click();
    await row('Look at the invoices').waitFor();
    expect(await statusOf(1)).toBe('pending');
    await row(/^repo1 pending$/).waitFor();
    // What waits for agents doesn't wait for the user.
    expect(await workbench.activityBadge('Atlas').locator('visible=true').count()).toBe(0);
  });

  it('shows what another process adds, without a reload, as plain text', async () => {
    await command('add', HOSTILE, '--sender', '$(bug) somebody');
    await row('onerror').waitFor();
    const hostile = row('onerror');
    expect(await hostile.locator('.label-name').textContent()).toBe(SHOWN);
    expect(await hostile.locator('img, .codicon-trash, .codicon-bug, a[href]').count()).toBe(0);
    await row(/^repo2 pending$/).waitFor();
    const hover = await workbench.hoverOf(hostile);
    expect((await hover.textContent())?.replaceAll('\u00a0', ' ')).toContain('<img src=x onerror=alert(1)> **bold**');
    expect(await hover.locator('img, a, .codicon, strong').count()).toBe(0);
  });

  it('is claimed by its inline action, which shows it, and completed with a summary and a way back', async () => {
    await workbench.hoverRow(row('Look at the invoices'));
    expect(await row('Look at the invoices').locator('a.action-label').count()).toBeLessThanOrEqual(3);
    await workbench.rowAction(row('Look at the invoices'), 'Claim Queue Item');
    await workbench.page.locator('.tab.active', { hasText: 'Queue item: Look at the invoices' }).waitFor();
    await workbench.webview().locator('.state', { hasText: 'In progress' }).waitFor();
    await workbench.webview().locator('.words', { hasText: 'Look at the invoices' }).waitFor();
    await row(/^Look at the invoices.*in progress$/).waitFor();
    await workbench.screenshot('details-item');
    await workbench.palette('Atlas: Complete Queue Item');
    await workbench.quickTitle('Complete Queue Item (1/2)');
    await workbench.quickPick('Look at the invoices');
    await workbench.quickTitle('Complete Queue Item (2/2)');
    await workbench.page.locator('.quick-input-titlebar .codicon-quick-input-back').click();
    await workbench.quickTitle('Complete Queue Item (1/2)');
    await workbench.quickPick('Look at the invoices');
    await workbench.quickTitle('Complete Queue Item (2/2)');
    await workbench.quickType('All are paid');
    await until('the item is done', async () => (await statusOf(1)) === 'done');
    await row(/^Finished1$/).waitFor();
    await workbench.clickRow(row(/^Finished1$/));
    await row(/^Look at the invoices.*done$/).waitFor();
    // The panel follows, without a click.
    await workbench.webview().locator('.words', { hasText: 'All are paid' }).waitFor();
    expect(await workbench.webview().locator('.actions button').count()).toBe(0);
  });

  it('has a panel with what can be done, which keeps to its item over a reload', async () => {
    await workbench.clickRow(row('onerror'));
    const panel = workbench.webview();
    await panel.locator('.words', { hasText: '<img src=x onerror=alert(1)> **bold**' }).waitFor();
    expect(await panel.locator('img, a, strong').count()).toBe(0);
    expect(await panel.locator('.actions button').allTextContents()).toEqual(['Claim', 'Cancel Item…']);
    await workbench.reloadByCommand();
    await panel.locator('.words', { hasText: 'onerror' }).waitFor();
    await panel.locator('.actions button', { hasText: 'Cancel Item…' }).click();
    await workbench.dialog.getByRole('button', { name: 'Keep Item' }).click();
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(await statusOf(2)).toBe('pending');
  });

  it('is cancelled only after a modal question', async () => {
    await workbench.rowAction(row('onerror'), 'Cancel Queue Item');
    await workbench.dialog.filter({ hasText: 'Cancel the item' }).waitFor();
    await workbench.dialog.getByRole('button', { name: 'Keep Item' }).click();
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(await statusOf(2)).toBe('pending');
    await workbench.rowAction(row('onerror'), 'Cancel Queue Item');
    await workbench.dialog.getByRole('button', { name: 'Cancel Item' }).click();
    await until('the item is cancelled', async () => (await statusOf(2)) === 'cancelled');
  });

  it('offers to resume the session that waits, also from its item', async () => {
    const { page } = workbench;
    await command('add', 'Was it paid?', '--trigger', 'email', '--session', 'asker-1');
    await command('next', '--session', 'worker');
    await command('complete', '3', 'On Monday $(bug)', '--session', 'worker');
    const toast = workbench.toast('Queue item 3 of email is done: On Monday $ (bug)');
    await toast.waitFor();
    await shoot('toast');
    await toast.getByRole('button', { name: 'Resume Session' }).click();
    // What is written into it is a matter of the host's tests: this host has no pseudo terminals of its own.
    await page.locator('.terminal-wrapper.active .xterm-rows').waitFor();
    // Who sent the message away resumes it from the view.
    await workbench.expand(row(/^Finished/));
    await row(/^Was it paid\?.*done$/).waitFor();
    await workbench.hoverRow(row(/^Was it paid\?.*done$/));
    await row(/^Was it paid\?.*done$/)
      .locator('a.action-label[aria-label^="Resume Session"]')
      .waitFor();
    await workbench.palette('View: Toggle Panel Visibility');
  });

  it.each(Object.keys(THEMES) as Theme[])('looks as it should in %s', async (theme) => {
    const open = await statusOf(4);
    if (open === undefined) {
      await command('add', 'Answer the question about the invoice', '--trigger', 'email');
      await command('add', 'Say why the build of last night is red', '--channel', 'chat', '--sender', 'Ada');
      await command('next', '--session', 'worker');
    }
    await workbench.useTheme(theme);
    await row('Say why the build').waitFor();
    await workbench.hoverRow(row('Answer the question'));
    await shoot(THEMES[theme]);
  });

  async function shoot(name: string): Promise<void> {
    const shots = path.join(OUT, 'screenshots');
    mkdirSync(shots, { recursive: true });
    await workbench.page.screenshot({ path: path.join(shots, `inbox-${name}.png`) });
  }
});
