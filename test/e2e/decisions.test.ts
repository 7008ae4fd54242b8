import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import type { TaskInput } from '../../src/core/transition/events';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { TaskFiles, until } from '../support/drivers/taskFiles';
import { Workbench } from '../support/vscode/workbench';

const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
const TITLE = 'Store the invoices';
const QUESTION = 'Which database should keep the invoices?';
const TEMPLATE = `id: decided
description: Steps that wait for a person
steps:
  - name: build
    type: ai
    validation: ["echo counted && test -f invoices.sql"]
  - name: review
    type: human
`;

describe('what a person decides', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let agent: Atlas;
  let ref: TaskRef;
  let task: TaskFiles;

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    const templates = path.join(workspace.folder, '.atlas', 'templates');
    mkdirSync(templates, { recursive: true });
    writeFileSync(path.join(templates, 'decided.yaml'), TEMPLATE);
    writeFileSync(path.join(workspace.folder, 'store.txt'), 'one\n');
    await workspace.git('add', '.');
    await workspace.git('commit', '--quiet', '--message', 'template');
    agent = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
    const started = await agent.startTask({ title: TITLE, template: 'decided', folder: workspace.folder });
    ({ ref } = unwrap(started));
    task = new TaskFiles(workspace.atlasHome, ref);
    unwrap(await agent.startStep(ref));
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
    await workbench.openSidebar('Atlas');
    await row(TITLE).waitFor();
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const status = (text: string): Locator => workbench.statusItem(STATUS).filter({ hasText: text });
  const badge = (text: string): Locator => workbench.activityBadge('Atlas').filter({ hasText: text });
  const button = (name: string): Locator => workbench.webview().locator('.actions button', { hasText: name });
  const send = async (input: TaskInput): Promise<void> => void unwrap(await agent.send(ref, input));
  const last = (trigger: string): Record<string, unknown> | undefined =>
    task.hook().history.findLast((event) => event.trigger === trigger)?.details ?? undefined;

  it('is asked for first: on the badge, in the status bar, and before the title in the tree', async () => {
    await send({ type: 'human_required', kind: 'question', message: QUESTION });
    await row(`Waiting for you: ${TITLE}`).waitFor();
    await row(/question · 1\/2$/u).waitFor();
    await badge('1').waitFor();
    await status(`${TITLE}: Waiting for you`).waitFor();
    await workbench.toast(`"${TITLE}" has a question for you. ${QUESTION}`).waitFor();
    await workbench.screenshot('decision-question');
  });

  it('answers a question, which is the title of what is typed into', async () => {
    await workbench.rowAction(row(TITLE), 'Answer');
    await workbench.quickTitle(QUESTION);
    await workbench.quickType('PostgreSQL, as in production');
    await task.state('step_running');
    expect(last('human_resume')).toMatchObject({ answer: 'PostgreSQL, as in production', answered_by: 'human' });
    // HOOK.md follows the record.
    await until('HOOK.md has the answer', () => task.hookMd().includes('PostgreSQL, as in production'));
    await badge('1').waitFor({ state: 'detached' });
  });

  it('says of a notification whose moment has passed that it has, before anything is asked', async () => {
    const question = await workbench.notifications(`"${TITLE}" has a question for you.`);
    await question.getByRole('button', { name: 'Answer…' }).click();
    await workbench.page.locator('.notification-list-item', { hasText: `"${TITLE}" has moved on: Running.` }).waitFor();
    expect(await workbench.quickInput.isVisible()).toBe(false);
    await workbench.dismissNotifications();
  });

  it('keeps what was typed while the person looks something up elsewhere', async () => {
    await send({ type: 'human_required', kind: 'question', message: QUESTION });
    await workbench.palette('Atlas: Open HOOK.md');
    await button('Send Back with Note…').waitFor();
    await workbench.webviewFocused();
    await workbench.palette('Atlas: Answer');
    await workbench.quickTitle(QUESTION);
    await workbench.quickKeys('half of the ');
    await workbench.clickRow(row(TITLE));
    await send({ type: 'human_resume', answer: 'As before' });
    await button('Send Back with Note…').waitFor({ state: 'detached' });
    await workbench.quickInput.click();
    await workbench.page.keyboard.press('End');
    await workbench.page.keyboard.type('tables');
    expect(await workbench.quickInput.inputValue()).toBe('half of the tables');
    await workbench.page.keyboard.press('Escape');
    await task.state('step_running');
  });

  it('runs a failed check again first, and sends the step back with a note', async () => {
    await workbench.palette('Atlas: Run Validation');
    await workbench.dialog.getByRole('button', { name: 'Run' }).click();
    await task.state('awaiting_human');
    await workbench.toast(`A check failed at step build of "${TITLE}".`).waitFor();
    await workbench.palette('Atlas: Open HOOK.md');
    await button('Run Again').waitFor();
    expect(await workbench.webview().locator('.actions button.primary').allTextContents()).toEqual(['Run Again']);
    expect(await button('Approve').count()).toBe(0);
    await workbench.screenshot('decision-failed-check');
    await button('Show Output').click();
    await workbench.page.locator('.view-lines', { hasText: 'counted' }).waitFor();
    await workbench.palette('Atlas: Open HOOK.md');
    await button('Run Again').click();
    await until('the check ran again', () => task.hook().receipts.length === 2);
    await task.state('awaiting_human');
    await workbench.palette('Atlas: Send Back with Note');
    await workbench.quickTitle(`Send Back "${TITLE}"`);
    await workbench.quickType('Write invoices.sql');
    await task.state('step_pending');
    expect(last('human_reject')).toMatchObject({ reason: 'Write invoices.sql' });
  });

  it('offers an agent for an interrupted step that runs again, where none is set up', async () => {
    unwrap(await agent.startStep(ref));
    await send({ type: 'human_required', kind: 'interrupted' });
    await workbench.rowAction(row(TITLE), 'Resume');
    const offer = workbench.toast(`Step build of "${TITLE}" is running again.`);
    await offer.getByRole('button', { name: 'Copy Agent Prompt' }).waitFor();
    await offer.getByRole('button', { name: 'Start Agent…' }).click();
    await workbench.quickTitle(`Start an Agent for "${TITLE}"`);
    await workbench.page.keyboard.press('Escape');
    await task.state('step_running');
    await send({ type: 'human_required', kind: 'review' });
    await send({ type: 'human_reject', by: 'human' });
  });

  it('accepts a failed check with a reason only, and never shows it as passed', async () => {
    unwrap(await agent.startStep(ref));
    await task.state('step_running');
    await workbench.palette('Atlas: Run Validation');
    await task.state('awaiting_human');
    await workbench.palette('Atlas: Open HOOK.md');
    await button('Accept Despite Failure…').click();
    await workbench.quickTitle(`Accept "${TITLE}" Despite the Failure`);
    await workbench.page.keyboard.press('Enter');
    await workbench.page.locator('.quick-input-widget', { hasText: 'Enter a reason.' }).waitFor();
    await workbench.quickType('The file comes with the next task');
    await task.state('step_pending');
    await row(/^buildaccepted with a failed check/u).waitFor();
    await workbench.webview().locator('.notice', { hasText: 'The file comes with the next task' }).waitFor();
    const accepted = '⚠️ Accepted with a failed check: The file comes with the next task';
    await until('HOOK.md says so', () => task.hookMd().includes(accepted));
    expect(task.hookMd()).not.toContain('✅');
    await workbench.screenshot('decision-accepted-despite');
  });

  it('reviews all changes since the start in one editor, and approves', async () => {
    writeFileSync(path.join(workspace.folder, 'store.txt'), 'one\ntwo\n');
    await workspace.git('commit', '--quiet', '--all', '--message', 'Store two');
    writeFileSync(path.join(workspace.folder, 'invoices.txt'), 'an invoice\n');
    unwrap(await agent.startStep(ref));
    await task.state('awaiting_human');
    await workbench.rowAction(row(TITLE), 'Review Changes');
    await workbench.page.locator('.tab.active', { hasText: `Changes of "${TITLE}"` }).waitFor();
    for (const file of ['store.txt', 'invoices.txt'])
      await workbench.page.locator('.multiDiffEntry', { hasText: file }).waitFor();
    await workbench.screenshot('decision-review');
    await status('Waiting for you').click();
    await workbench.quickPick('Approve Step');
    await task.state('completed');
    await badge('1').waitFor({ state: 'detached' });
  });
});
