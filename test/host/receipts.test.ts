import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { unwrap } from '../../src/core/shared/errors';
import { failedCheck } from '../../src/core/receipt/receiptReport';
import { atlasApi, git, otherProgram, taskWhen, workspaceFolder, write } from './support/atlasApi';

const TEMPLATE = `id: checked
description: A step that its commands decide
steps:
  - name: build
    type: ai
    validation: ["git --version", "test -f covered.txt"]
  - name: after
    type: ai
`;

function nextOf(event: vscode.Event<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const listener = event(() => {
      listener.dispose();
      resolve();
    });
  });
}

function isReceiptsPanelOpen(): boolean {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.some(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith('atlas.receipts'));
}

describe('usage example 3: validation receipts in the editor', () => {
  let api: AtlasApi;
  let task: AtlasTask;

  /** The commands of the lenses at receipts. */
  const lenses = async (name: string): Promise<vscode.Command[]> => {
    const file = vscode.Uri.file(path.join(path.dirname(task.hookMd), name));
    await vscode.workspace.openTextDocument(file);
    const found = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', file);
    return found.flatMap(({ command }) => (command?.title.includes('Receipt') === true ? [command] : []));
  };
  const titles = async (name: string): Promise<string[]> => (await lenses(name)).map(({ title }) => title);
  const titlesWhen = async (name: string, fits: (found: string[]) => boolean): Promise<string[]> => {
    for (;;) {
      const next = nextOf(api.onDidVerifyReceipts);
      const found = await titles(name);
      if (fits(found)) return found;
      await next;
    }
  };

  before(async () => {
    api = await atlasApi();
    write(workspaceFolder(), '.atlas/templates/checked.yaml', TEMPLATE);
    write(workspaceFolder(), 'covered.txt', 'one\n');
    await git(workspaceFolder(), 'add', '.');
    await git(workspaceFolder(), 'commit', '--quiet', '--message', 'a template with commands');
    task = await api.startTask({ title: 'build it', template: 'checked', folder: workspaceFolder() });
    await api.send(task.ref, { type: 'start_step' });
  });

  it('refuses to run what no human has allowed, and to be handed a result', async () => {
    await assert.rejects(api.validate(task.ref), /A human hasn't allowed/u);
    const receipt = { type: 'validate_pass' } as never;
    await assert.rejects(api.send(task.ref, receipt), /can't be sent/u);
    assert.equal(api.task(task.ref)?.hook.state, 'step_running');
  });

  it('runs the declared commands by "Run Validation" and passes the step', async () => {
    // The person's yes, which test mode has no dialog for; test/e2e/receipts.test.ts gives it there.
    const other = otherProgram(api);
    await other.allowCommands(unwrap(other.catalog.read(task.ref)));
    await vscode.commands.executeCommand('atlas.runValidation', { kind: 'task', ref: task.ref });
    task = await taskWhen(api, task.ref, ({ hook }) => hook.receipts.length === 2 && hook.state === 'step_pending');
    assert.deepEqual(
      task.hook.receipts.map(({ command, exit_code: code }) => [command, code]),
      [
        ['git --version', 0],
        ['test -f covered.txt', 0],
      ],
    );
    assert.match(
      readFileSync(task.hookMd, 'utf8'),
      /Signature: VALID ✓ \(verified with HD key m\/44'\/236'\/\d+'\/\d+\/0\)/u,
    );
  });

  it('verifies what it signed, by public keys', async () => {
    const reports = await api.verifyReceipts(task.ref);
    assert.deepEqual(
      [...reports.values()].map(({ verdict }) => verdict),
      ['valid', 'valid'],
    );
    assert.equal(readFileSync(path.join(api.root, 'keys', 'receipts.pub.json'), 'utf8').includes('xprv'), false);
  });

  it('shows the verdicts as code lenses, and that a file has changed since', async () => {
    const current = ['Passed · Valid · Current · Verify Receipt', 'Passed · Valid · Current · Verify Receipt'];
    const fits = (found: string[]): boolean => found.join() === current.join();
    assert.deepEqual(await titlesWhen('hook.json', fits), current);
    assert.deepEqual(await titlesWhen('HOOK.md', fits), current);
    writeFileSync(path.join(workspaceFolder(), 'covered.txt'), 'two\n');
    const outdated = await titlesWhen('hook.json', (found) => found.every((title) => title.includes('Outdated')));
    assert.equal(outdated[0], 'Passed · Valid · Outdated · Verify Receipt');
    await git(workspaceFolder(), 'checkout', '--quiet', 'covered.txt');
    await titlesWhen('hook.json', fits);
  });

  it('has lenses that keep nothing the editor could forget: one from before they changed does what it says', async () => {
    const [before] = await lenses('HOOK.md');
    assert.ok(before);
    assert.deepEqual(before.arguments ?? [], []);
    writeFileSync(path.join(workspaceFolder(), 'covered.txt'), 'two\n');
    await titlesWhen('HOOK.md', (found) => found.every((title) => title.includes('Outdated')));
    await git(workspaceFolder(), 'checkout', '--quiet', 'covered.txt');
    await titlesWhen('HOOK.md', (found) => found.every((title) => title.includes('Current')));
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.commands.executeCommand(before.command);
    while (!isReceiptsPanelOpen()) await nextOf(vscode.window.tabGroups.onDidChangeTabs);
  });

  it('shows a receipt that was tampered with as invalid, and which field', async () => {
    const file = path.join(path.dirname(task.hookMd), 'hook.json');
    const honest = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      honest.replace('"command": "git --version",\n      "exit_code"', '"command": "npm test",\n      "exit_code"'),
    );
    task = await taskWhen(api, task.ref, ({ hook }) => hook.receipts[0]?.command === 'npm test');
    const report = [...(await api.verifyReceipts(task.ref)).values()][0];
    assert.ok(report);
    assert.equal(report.verdict, 'invalid');
    assert.equal(failedCheck(report)?.check, 'signature');
    const fields = report.checks.find(({ check }) => check === 'fields');
    assert.deepEqual(fields?.differences, [{ field: 'command', expected: 'git --version', found: 'npm test' }]);
    const found = await titlesWhen('hook.json', (each) => each[0]?.startsWith('Passed · Invalid') === true);
    assert.equal(found[1], 'Passed · Valid · Current · Verify Receipt');
  });
});
