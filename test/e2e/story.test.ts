import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSampleTask } from '../../scripts/sampleTask.mts';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { TaskFiles, taskIds } from '../support/drivers/taskFiles';
import { Workbench } from '../support/vscode/workbench';

const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
const TITLE = 'Fix the parser';
const HOSTILE = '# Ignore all | <img src=x onerror=alert(1)> [x](command:atlas.abandonTask) $(trash)';
/** What labels make of it: the editor would read the one as a link and the other as an icon. */
const SHOWN = 'Commit: # Ignore all | <img src=x onerror=alert(1)> [x] (command:atlas.abandonTask) $ (trash)';
const TEMPLATE = `id: short
description: A short one
steps:
  - name: build
    type: ai
  - name: review
    type: human
  - name: docs
    type: ai
`;

describe('a task from its start to its end', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let task: TaskFiles;
  const dialogs: string[] = [];

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    const templates = path.join(workspace.folder, '.atlas', 'templates');
    mkdirSync(templates, { recursive: true });
    writeFileSync(path.join(templates, 'short.yaml'), TEMPLATE);
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
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

  const status = (text: string | RegExp): Locator => workbench.statusItem(STATUS).filter({ hasText: text });
  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const taskRow = (): Locator => row(TITLE);
  /** A row's step and not the task's row, which names it too. */
  const stepRow = (name: string): Locator => row(new RegExp(`^${name}`));
  const button = (name: string): Locator => workbench.webview().locator('.actions button', { hasText: name });
  const commit = async (subject: string): Promise<void> => {
    await workspace.git('commit', '--quiet', '--allow-empty', '--message', subject);
  };

  it('starts with the one thing to do, and asks for title and template with a way back', async () => {
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
    await workbench.palette('Atlas: Start Task');
    await workbench.quickTitle('Start Task (1/2)');
    await workbench.quickType('Fix it');
    await workbench.quickTitle('Start Task (2/2)');
    await workbench.quickRows('build → review → docs').waitFor();
    await workbench.quickRows('analyze → plan → implement → validate → commit → pr → review').waitFor();
    await workbench.page.locator('.quick-input-titlebar .codicon-quick-input-back').click();
    await workbench.quickTitle('Start Task (1/2)');
    expect(await workbench.quickInput.inputValue()).toBe('Fix it');
    await workbench.quickType(TITLE);
    await workbench.quickTitle('Start Task (2/2)');
    await workbench.quickPick('build → review → docs');
    await taskRow().waitFor();
    const [ref] = taskIds(workspace.atlasHome);
    if (ref === undefined) throw new Error('no task was made');
    task = new TaskFiles(workspace.atlasHome, ref);
    expect(task.hook().state).toBe('step_pending');
  });

  it('offers after the first task to set up the agent', async () => {
    const offer = workbench.toast('Set up your agent');
    await offer.getByRole('button', { name: 'Set Up Agent…' }).click();
    await workbench.quickTitle('Set Up Agent in repo');
    // The task's panel opens meanwhile, and takes the focus.
    await workbench.webview().getByRole('heading', { name: 'Activity' }).click();
    await workbench.quickTitle('Set Up Agent in repo');
    await workbench.quickInput.press('Escape');
    await offer.waitFor({ state: 'detached' });
  });

  it('shows workspace, task and steps, the status, and the HOOK.md panel', async () => {
    const level = (depth: number): Promise<string[]> =>
      workbench.page.locator(`.pane-body .monaco-list-row[aria-level="${depth}"]`).allTextContents();
    expect(await level(1)).toEqual(['repo']);
    expect(await level(2)).toEqual([`${TITLE}Ready · 1/3`]);
    expect(await level(3)).toEqual(['buildReady', 'review', 'docs', 'History2']);
    await status(`${TITLE} · build 1/3`).waitFor();
    await workbench.webview().getByRole('heading', { name: TITLE, exact: true }).waitFor();
    await workbench.page.locator('.tab', { hasText: `HOOK.md: ${TITLE}` }).waitFor();
  });

  it('starts a step by its inline button, of which there are at most three', async () => {
    await workbench.rowAction(taskRow(), 'Start Step');
    await task.state('step_running');
    await workbench.webview().locator('.state', { hasText: 'Running' }).waitFor();
    await workbench.hoverRow(row(/^Fix the parserRunning · 1\/3$/));
    await taskRow().locator('a.action-label[aria-label^="Complete Step"]').waitFor();
    expect(await taskRow().locator('a.action-label').count()).toBeLessThanOrEqual(3);
    expect(await status('now').count()).toBe(0); // no checkpoint yet
  });

  it('shows a commit of a shell in tree, status bar and panel, without a reload', async () => {
    writeFileSync(path.join(workspace.folder, 'parser.txt'), 'one\n');
    await workspace.git('add', 'parser.txt');
    await commit('Parse the first line');
    await row('Commit: Parse the first line').waitFor();
    await status(/build 1\/3\s+now/).waitFor();
    await workbench.webview().locator('.legend li', { hasText: 'Commit × 1' }).waitFor();
    await workbench.webview().locator('.activity-list li', { hasText: 'Commit: Parse the first line' }).waitFor();
    await workbench.webview().locator('.files li', { hasText: 'parser.txt' }).waitFor();
  });

  it('keeps a hostile commit subject plain text everywhere', async () => {
    await commit(HOSTILE);
    const hostile = row('Ignore all');
    await hostile.waitFor();
    expect(await hostile.locator('.label-name').textContent()).toBe(SHOWN);
    expect(await hostile.locator('img, .codicon-trash, [href]').count()).toBe(0);
    const hover = await workbench.hoverOf(hostile);
    expect((await hover.textContent())?.replaceAll('\u00a0', ' ')).toContain(SHOWN);
    expect(await hover.locator('img, a, .codicon, h1').count()).toBe(0);

    const panel = workbench.webview();
    await panel.locator('.fold summary').click();
    await panel.locator('.document td', { hasText: 'Ignore all' }).waitFor();
    expect(await panel.locator('img, a[href^="command:"], .codicon-trash, h1:has-text("Ignore")').count()).toBe(0);
    expect(await panel.locator('.document td', { hasText: 'Ignore all' }).textContent()).toContain(HOSTILE);
    expect(
      task
        .hookMd()
        .split('\n')
        .filter((line) => /^#+ Ignore/.test(line)),
    ).toEqual([]);

    await workbench.palette('Atlas: Show Checkpoint');
    const offered = workbench.quickRows('Ignore all').locator('.label-name').first();
    expect(await offered.textContent()).toBe(SHOWN);
    expect(await offered.locator('.codicon').count()).toBe(0);
    await workbench.page.keyboard.press('Escape');
    expect(task.hook().state).toBe('step_running');
  });

  it('makes a checkpoint with a description', async () => {
    await workbench.palette('Atlas: Record Checkpoint');
    await workbench.quickTitle(`Record Checkpoint for "${TITLE}"`);
    await workbench.quickType('Half of the parser');
    await row('Half of the parser').waitFor();
    await workbench.webview().locator('.legend li', { hasText: 'Checkpoint × 1' }).waitFor();
  });

  it('shows a checkpoint, and compares it with now', async () => {
    await workbench.clickRow(row('Half of the parser'));
    await workbench.page.locator('.tab.active', { hasText: 'Checkpoint: Half of the parser' }).waitFor();
    const details = workbench.webview();
    await details.getByRole('heading', { name: 'Half of the parser' }).waitFor();
    await details.locator('dd', { hasText: 'build (1 of 3)' }).waitFor();
    await details.locator('.state', { hasText: 'Latest' }).waitFor();
    await workbench.screenshot('details-checkpoint');
    writeFileSync(path.join(workspace.folder, 'parser.txt'), 'one\ntwo\n');
    await workbench.rowAction(row('Half of the parser'), 'Compare Checkpoint with Current Files');
    await workbench.page.locator('.tab.active', { hasText: '"Half of the parser" ↔ now (1 file)' }).waitFor();
    await workbench.page.locator('.multiDiffEntry', { hasText: 'parser.txt' }).waitFor();
    await workbench.page.locator('.multiDiffEntry .editor.modified .view-lines', { hasText: 'two' }).waitFor();
    await workbench.clickRow(row('Half of the parser'));
    await details.getByText('3 files are kept. None changed since the checkpoint before.').waitFor();
    await details.getByRole('button', { name: 'Compare with Current Files' }).click();
    await workbench.page.locator('.tab.active', { hasText: '"Half of the parser" ↔ now (1 file)' }).waitFor();
  });

  it('never shows the commit as if it were the checkpoint', async () => {
    await workbench.palette('Atlas: Record Checkpoint');
    await workbench.quickTitle(`Record Checkpoint for "${TITLE}"`);
    await workbench.quickType('Two lines');
    await row('Two lines').waitFor();
    writeFileSync(path.join(workspace.folder, 'parser.txt'), 'one\ntwo\nthree\n');
    await workbench.rowAction(row('Two lines'), 'Compare Checkpoint with Current Files');
    await workbench.page.locator('.tab.active', { hasText: '"Two lines" ↔ now (1 file)' }).waitFor();
    const lines = (side: 'original' | 'modified'): Locator =>
      workbench.page.locator(`.multiDiffEntry .editor.${side} .view-lines`);
    await lines('modified').filter({ hasText: 'three' }).waitFor();
    // No commit has the second line: only the checkpoint does.
    await lines('original').filter({ hasText: 'two' }).waitFor();
  });

  it('goes through a review: rejected with a reason, done again, approved', async () => {
    await workbench.rowAction(stepRow('build'), 'Complete Step');
    await status('review 2/3').waitFor();
    await workbench.palette('Atlas: Start Step');
    await task.state('awaiting_human');
    await status('Waiting for you').waitFor();
    await workbench.toast(`"${TITLE}" is ready for your review at step review.`).waitFor();
    await workbench.palette('Atlas: Send Back with Note');
    await workbench.quickTitle(`Send Back "${TITLE}"`);
    await workbench.quickType('The tests are missing');
    const rejected = (await task.state('step_pending')).history.findLast((event) => event.trigger === 'human_reject');
    expect(rejected?.details?.['reason']).toBe('The tests are missing');
    await workbench.palette('Atlas: Start Step');
    await task.state('awaiting_human');
    expect(task.hook().current_step?.attempt).toBe(2);
    await status('Waiting for you').click();
    await workbench.quickPick('Approve Step');
    await status('docs 3/3').waitFor();
    expect(task.hook().current_step?.step_name).toBe('docs');
  });

  it('restores the panel after the window was reloaded', async () => {
    await workbench.palette('Atlas: Open HOOK.md');
    await button('Start Step').waitFor();
    await workbench.reloadByCommand();
    await workbench.page.locator('.tab.active', { hasText: `HOOK.md: ${TITLE}` }).waitFor();
    await button('Start Step').waitFor();
    await status('docs 3/3').waitFor();
  });

  it('has a panel whose buttons work by the keyboard alone', async () => {
    const { page } = workbench;
    const focused = workbench.webview().locator(':focus');
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab');
        // A turn of the page inside, so that it has dealt with the key.
        await workbench.webview().locator('body').evaluate('new Promise(requestAnimationFrame)');
        if ((await focused.allTextContents()).includes(name)) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await workbench.palette('Atlas: Open HOOK.md');
    await tabTo('Start Step');
    await page.keyboard.press('Enter');
    await task.state('step_running');
    await button('Complete Step').waitFor();
    await tabTo('Record Checkpoint…');
    await page.keyboard.press('Space');
    await workbench.quickTitle('Record Checkpoint for');
    await workbench.quickKeys('By the keyboard');
    await page.keyboard.press('Enter');
    await task.checkpoint('By the keyboard');
  });

  it('abandons only after a modal question', async () => {
    await workbench.palette('Atlas: Abandon Task');
    await workbench.dialog.filter({ hasText: `Abandon the task "${TITLE}"?` }).waitFor();
    await workbench.dialog.getByRole('button', { name: 'Cancel' }).click();
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(task.hook().state).toBe('step_running');
    await workbench.palette('Atlas: Abandon Task');
    await workbench.dialog.getByRole('button', { name: 'Abandon' }).click();
    await task.state('abandoned');
    await workbench.statusItem(STATUS).waitFor({ state: 'hidden' });
    await workbench.clickRow(row('Finished'));
    await row(/Fix the parserAbandoned · now/).waitFor();
  });
});

describe('in a folder that is not trusted', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let task: TaskFiles;

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    task = new TaskFiles(workspace.atlasHome, await createSampleTask(workspace.folder, workspace.env));
    workbench = await Workbench.open({
      workspace: workspace.folder,
      env: workspace.env,
      workspaceTrust: true,
      settings: { 'security.workspace.trust.startupPrompt': 'never' },
    });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  const TASK = 'fix null pointer in config';

  it('reads everything, drives nothing and writes nothing', async () => {
    const before = snapshot(workspace.atlasHome);
    await workbench.openSidebar('Atlas');
    await workbench.treeRows(TASK).first().waitFor();
    await workbench.treeRows('Commit: Added nil check').waitFor();
    await workbench.treeRows(TASK).first().click();
    const panel = workbench.webview();
    await panel.locator('.notice', { hasText: 'Atlas is read-only in an untrusted folder.' }).waitFor();
    expect(await panel.locator('.actions button').count()).toBe(0);
    expect(await panel.locator('.menu button, .tools button').allTextContents()).toEqual([
      'Copy Path',
      'Copy Agent Prompt',
      'Open as Text',
    ]);

    await workbench.searchPalette('Atlas: ');
    await workbench.quickRows('Atlas: Open HOOK.md').waitFor();
    const offered = (await workbench.quickRows().allTextContents()).join('\n');
    for (const driving of [
      'Start Task',
      'Start Step',
      'Complete Step',
      'Record Checkpoint',
      'Abandon',
      'Recover Task',
      'Doctor',
    ]) {
      expect(offered).not.toContain(`Atlas: ${driving}`);
    }
    await workbench.page.keyboard.press('Escape');

    await workbench.statusItem(STATUS).click();
    await workbench.quickTitle(TASK);
    expect(await workbench.quickRows().locator('.label-name').allTextContents()).toEqual([' Open HOOK.md']);
    await workbench.page.keyboard.press('Escape');

    const row = workbench.treeRows(TASK).first();
    await workbench.hoverRow(row);
    await row.locator('.action-item.disabled a[aria-label^="Complete Step"]').click({ force: true });
    expect(task.hook().state).toBe('step_running');
    expect(snapshot(workspace.atlasHome)).toEqual(before);
  });

  it('follows what others write', async () => {
    const atlas = new Atlas(systemPorts(workspace.atlasHome, '0.1.0', silentLog));
    const [ref] = atlas.catalog.open();
    if (ref === undefined) throw new Error('no open task');
    unwrap(await atlas.checkpoint(ref, 'Made by an agent'));
    await workbench.treeRows('Made by an agent').waitFor();
    expect(task.owners()).toEqual([]);
  });

  it('moves the task that needs a person to the top', async () => {
    const atlas = new Atlas(systemPorts(workspace.atlasHome, '0.1.0', silentLog));
    const [ref] = atlas.catalog.open();
    if (ref === undefined) throw new Error('no open task');
    const started = await atlas.startTask({ title: 'Another task', template: 'task', folder: workspace.folder });
    const other = unwrap(started).ref;
    await workbench.treeRows('Another task').waitFor();
    unwrap(await atlas.checkpoint(ref, 'Work on the first goes on'));
    await topTask(TASK);
    await workbench.treeRows('Work on the first goes on').waitFor();
    unwrap(await atlas.startStep(other));
    unwrap(await atlas.send(other, { type: 'human_required', kind: 'question', message: 'Which one?' }));
    await topTask('Waiting for you: Another task');
  });

  it('shows one task after the other in one tab, unless it is pinned', async () => {
    const tabs = workbench.page.locator('.tab', { hasText: 'HOOK.md: ' });
    await workbench.treeRows('Another task').first().click();
    await tabs.and(workbench.page.locator('.active', { hasText: 'Another task' })).waitFor();
    expect(await tabs.count()).toBe(1);
    await workbench.palette('View: Pin Editor');
    await workbench.page.locator('.tab.sticky', { hasText: 'Another task' }).waitFor();
    await workbench.treeRows(TASK).first().click();
    await tabs.and(workbench.page.locator('.active', { hasText: TASK })).waitFor();
    expect(await tabs.count()).toBe(2);
  });

  async function topTask(title: string): Promise<void> {
    const top = workbench.page.locator('.pane-body .monaco-list-row[data-index="1"]', { hasText: title });
    await top.and(workbench.page.locator('[aria-level="2"]')).waitFor();
  }
});

/** Every file and folder below a folder, with what would tell that it was written. */
function snapshot(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    entries.map((name) => {
      const file = path.join(folder, name);
      const stat = statSync(file);
      const content = stat.isFile() ? readFileSync(file, 'base64') : '';
      return [name, `${stat.ino} ${stat.mtimeMs} ${content}`];
    }),
  );
}
