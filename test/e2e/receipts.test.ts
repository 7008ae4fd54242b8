import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { TaskFiles } from '../support/drivers/taskFiles';
import { Workbench } from '../support/vscode/workbench';

const TEMPLATE = `id: checked
description: Steps that their commands decide
steps:
  - name: build
    type: ai
    validation: ["echo built by echo", "test -f covered.txt"]
  - name: broken
    type: ai
    validation: ["echo about to fail && exit 3"]
  - name: endless
    type: ai
    validation: ["echo waiting && sleep 300"]
  - name: free
    type: ai
`;

describe('validation receipts in the window', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let other: Atlas;
  let ref: TaskRef;
  let task: TaskFiles;

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    const templates = path.join(workspace.folder, '.atlas', 'templates');
    mkdirSync(templates, { recursive: true });
    writeFileSync(path.join(templates, 'checked.yaml'), TEMPLATE);
    writeFileSync(path.join(workspace.folder, 'covered.txt'), 'one\n');
    writeFileSync(path.join(workspace.folder, 'package.json'), '{"scripts":{"test":"echo tested"}}\n');
    await workspace.git('add', '.');
    await workspace.git('commit', '--quiet', '--message', 'template');
    other = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
    const started = await other.startTask({ title: 'Build it', template: 'checked', folder: workspace.folder });
    ({ ref } = unwrap(started));
    task = new TaskFiles(workspace.atlasHome, ref);
    unwrap(await other.startStep(ref));
    workbench = await Workbench.open({
      workspace: workspace.folder,
      env: workspace.env,
      // What the terminal shows can be read only where it is drawn as text.
      settings: { 'terminal.integrated.gpuAcceleration': 'off', 'editor.codeLens': true },
    });
    await workbench.openSidebar('Atlas');
    await workbench.treeRows('Build it').first().waitFor();
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  /** The row of a check, by a pattern, while its receipt is current; on a slow machine even `echo` takes `1.2s`. */
  const current = (check: string): Locator =>
    row(new RegExp(String.raw`^${check}Passed · Valid · Current · (?:\d+ms|\d+(?:\.\d)?s)$`, 'u'));
  const terminal = (text: string): Locator => workbench.page.locator('.xterm-rows', { hasText: text }).first();
  const panel = (): ReturnType<Workbench['webview']> => workbench.webview();
  /** Runs the step's checks, which nobody has allowed before. */
  const runChecks = async (): Promise<void> => {
    await workbench.palette('Atlas: Run Validation');
    await workbench.dialog.getByRole('button', { name: 'Run' }).click();
  };
  const next = async (): Promise<void> => {
    unwrap(await other.startStep(ref));
  };

  it('runs what the step declares, live in a terminal, and shows what verification says', async () => {
    await workbench.palette('Atlas: Run Validation');
    await workbench.dialog.filter({ hasText: 'Run the checks of step' }).waitFor();
    expect(await workbench.dialog.innerText()).toMatch(/echo built by echo\s*\n\s*test -f covered\.txt/u);
    await workbench.screenshot('receipts-consent');
    await workbench.dialog.getByRole('button', { name: 'Cancel' }).click();
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(task.hook().receipts).toEqual([]);
    await runChecks();
    await terminal('built by echo').waitFor();
    await terminal('Validation passed.').waitFor();
    await task.state('step_pending');
    await workbench.expand(row(/^build\d/u));
    await current('echo built by echo').waitFor();
    await current(String.raw`test -f covered\.txt`).waitFor();
    await workbench.screenshot('receipts-tree');
  });

  it('says in the tree that a file has changed since, and that it has not after all', async () => {
    writeFileSync(path.join(workspace.folder, 'covered.txt'), 'two\n');
    await row(/echo built by echoPassed · Valid · Outdated/u).waitFor();
    writeFileSync(path.join(workspace.folder, 'covered.txt'), 'one\n');
    await current('echo built by echo').waitFor();
  });

  it('verifies a receipt that is clicked, and shows each check in the panel', async () => {
    await workbench.clickRow(row('echo built by echo'));
    await workbench.toast(/echo built by echo: Passed · Valid/u).waitFor();
    await panel().locator('table').waitFor();
    await panel().getByText('The signature over the receipt').first().waitFor();
    // m/44'/236'/<repository>'/0/0; Playwright can't take a slash or a quote in an expression.
    await panel()
      .getByText(/^m.44..236..\d+..0.0$/u)
      .first()
      .waitFor();
    await workbench.screenshot('receipts-panel');
  });

  it('has a code lens in HOOK.md that leads to the receipt', async () => {
    await workbench.palette('Atlas: Open HOOK.md');
    await panel().getByText('Open as Text').click();
    await workbench.page.locator('.tab.active', { hasText: /^HOOK\.md$/u }).waitFor();
    const lens = workbench.codeLens('Passed · Valid · Current · Verify Receipt').first();
    await workbench.scrollTo(lens);
    await lens.click();
    await panel().locator('table').waitFor();
    await workbench.screenshot('receipts-lens');
  });

  it('ends a step that fails, with a receipt that says so, and tells once', async () => {
    await next();
    await task.state('step_running');
    await runChecks();
    await terminal('exited with code 3').waitFor();
    await task.state('awaiting_human');
    await row(/about to fail && exit 3Failed \(exit code 3\) · Valid/u).waitFor();
    await workbench.toast(/A check failed at step broken/u).waitFor();
    await workbench.screenshot('receipts-failed');
  });

  it('is cancelled by Ctrl+C in the terminal, and nothing of the command lives on', async () => {
    unwrap(await other.send(ref, { type: 'human_approve', by: 'human', reason: 'for the test' }));
    await next();
    await task.state('step_running');
    await runChecks();
    await terminal('waiting').waitFor();
    await workbench.page
      .locator('.terminal-wrapper.active .xterm-helper-textarea, .xterm-helper-textarea')
      .last()
      .focus();
    await workbench.page.keyboard.press('Control+c');
    await task.state('awaiting_human');
    await terminal('was cancelled').waitFor();
    const receipt = task.hook().receipts.at(-1);
    expect(receipt).toMatchObject({ command: 'echo waiting && sleep 300', exit_code: 143 });
  });

  it('asks what checks the work where the step does not say', async () => {
    unwrap(await other.send(ref, { type: 'human_approve', by: 'human', reason: 'for the test' }));
    await next();
    await task.state('step_running');
    await workbench.palette('Atlas: Run Validation');
    await workbench.quickTitle('Run Validation');
    await workbench.quickPick('npm test');
    await workbench.page.keyboard.press('Enter');
    await task.state('completed');
    expect(task.hook().receipts.at(-1)).toMatchObject({ command: 'npm test', exit_code: 0 });
  });

  it('verifies all receipts of the window, and says how many are which', async () => {
    await workbench.palette('Atlas: Verify All Receipts');
    await workbench.toast('5 receipts of 1 task. Passed: 3, Failed: 2. Valid: 5.').waitFor();
  });
});
