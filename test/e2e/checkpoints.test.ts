import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { TaskFiles, until } from '../support/drivers/taskFiles';
import { THEMES, type Theme, Workbench } from '../support/vscode/workbench';

/* A person goes back to a checkpoint, and forth again, in a real window. */

describe('the files of a checkpoint', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let atlas: Atlas;
  let ref: TaskRef;
  let task: TaskFiles;

  const file = (name: string): string => path.join(workspace.folder, name);
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const page = () => workbench.webview();

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    mkdirSync(file('src'));
    writeFileSync(file('src/config.ts'), 'export const port = 80;\n');
    writeFileSync(file('src/old.ts'), 'export const old = true;\n');
    await workspace.git('add', '.');
    await workspace.git('commit', '--quiet', '--message', 'begin');
    atlas = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
    const started = await atlas.startTask({ title: 'Serve HTTPS', template: 'task', folder: workspace.folder });
    ({ ref } = unwrap(started));
    task = new TaskFiles(workspace.atlasHome, ref);
    unwrap(await atlas.startStep(ref));
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
    await workbench.openSidebar('Atlas');
    await row('Serve HTTPS').waitFor();
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  it('are captured soon after it is recorded, and the tree says how many', async () => {
    await workbench.palette('Atlas: Record Checkpoint');
    await workbench.quickType('Before the change');
    await row(/Before the change.*3 files/u).waitFor();
    writeFileSync(file('src/config.ts'), 'export const port = 443;\n');
    writeFileSync(file('src/tls.ts'), 'export const tls = true;\n');
    rmSync(file('src/old.ts'));
    await workbench.palette('Atlas: Record Checkpoint');
    await workbench.quickType('After the change');
    await row(/After the change.*\+1 ~1 −1/u).waitFor();
    await workbench.screenshot('checkpoints-tree');
  });

  it('are compared with the current ones in one editor, also those that were never committed', async () => {
    await workbench.rowAction(row('Before the change'), 'Compare Checkpoint with Current Files');
    for (const name of ['config.ts', 'tls.ts', 'old.ts'])
      await workbench.page.locator('.multiDiffEntry', { hasText: name }).waitFor();
    await workbench.screenshot('checkpoints-compare');
    await workbench.rowAction(row('After the change'), 'Compare Checkpoint with Current Files');
    await workbench.toast('No file differs').waitFor();
  });

  it('are listed in its panel, each with what changed, in every theme', async () => {
    await workbench.clickRow(row('After the change'));
    await page().getByRole('heading', { name: 'After the change' }).waitFor();
    await page().getByText('3 files are kept. 3 changed since the checkpoint before.').waitFor();
    for (const theme of Object.keys(THEMES) as Theme[]) {
      await workbench.useTheme(theme);
      await workbench.clickRow(row('After the change'));
      await page().getByRole('button', { name: 'src/tls.ts' }).waitFor();
      await workbench.screenshot(`checkpoint-panel-${THEMES[theme]}`);
    }
    await page().getByRole('button', { name: 'src/config.ts' }).click();
    await workbench.page.locator('.tab.active', { hasText: 'config.ts' }).waitFor();
    await workbench.page.locator('.diff-review, .monaco-diff-editor').first().waitFor();
  });

  it('are previewed before they are restored, in every theme', async () => {
    await workbench.palette('Atlas: Restore Checkpoint');
    await workbench.quickPick(/^\s*Before the change/u);
    await page().getByRole('heading', { name: 'Before the change' }).waitFor();
    await page().getByText('3 files would change').waitFor();
    for (const theme of Object.keys(THEMES) as Theme[]) {
      await workbench.useTheme(theme);
      await page().getByText('Step "implement" is running').waitFor();
      await workbench.screenshot(`restore-preview-${THEMES[theme]}`);
    }
    expect(read('src/config.ts')).toBe('export const port = 443;\n');
  });

  it('are restored by keyboard alone, which asks first as a step is running', async () => {
    await page().getByRole('button', { name: 'Restore 3 Files' }).focus();
    await workbench.page.keyboard.press('Enter');
    await workbench.dialog.getByText('Step "implement" is running. Restore files all the same?').waitFor();
    await workbench.page.keyboard.press('Escape');
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(existsSync(file('src/tls.ts'))).toBe(true);
    await page().getByRole('button', { name: 'Restore 3 Files' }).focus();
    await workbench.page.keyboard.press('Enter');
    // Its own focus may come late, after that of the dialog before it was given back.
    await workbench.dialog.getByRole('button', { name: 'Restore' }).press('Enter');
    await workbench.toast('3 files were restored from "Before the change".').waitFor();
    expect(read('src/config.ts')).toBe('export const port = 80;\n');
    expect(read('src/old.ts')).toBe('export const old = true;\n');
    expect(existsSync(file('src/tls.ts'))).toBe(false);
    await page().getByText('Restored', { exact: true }).waitFor();
    await workbench.screenshot('restored');
    await until('HOOK.md tells it', () => task.hookMd().includes('A human restored files of checkpoint'));
  });

  it('are brought back by undoing, also after a reload', async () => {
    await workbench.reloadByCommand();
    await page().getByRole('button', { name: 'Undo Restore' }).click();
    await workbench.dialog.getByRole('button', { name: 'Restore' }).click();
    await workbench.toast('The restore was undone.').waitFor();
    expect(read('src/config.ts')).toBe('export const port = 443;\n');
    expect(existsSync(file('src/old.ts'))).toBe(false);
    expect(read('src/tls.ts')).toBe('export const tls = true;\n');
    expect(task.hook().history.filter(({ trigger }) => trigger === 'restore')).toHaveLength(2);
  });

  it('restores chosen files alone, and has the restore points in the tree', async () => {
    await workbench.palette('Atlas: Restore Files of Checkpoint');
    await workbench.quickPick(/^\s*Before the change/u);
    await workbench.quickTitle('Restore files from "Before the change"');
    await workbench.quickRows('src/old.ts').first().click();
    await workbench.page.keyboard.press('Enter');
    await page().getByRole('button', { name: 'Restore 1 File' }).click();
    await workbench.dialog.getByRole('button', { name: 'Restore' }).click();
    await workbench.toast('1 file was restored from "Before the change".').waitFor();
    expect(read('src/old.ts')).toBe('export const old = true;\n');
    expect(read('src/config.ts')).toBe('export const port = 443;\n');
    await workbench.expand(row('Restore Points'));
    await row(/Before restoring ckpt-/u).waitFor();
    await workbench.screenshot('restore-points');
  });
});
