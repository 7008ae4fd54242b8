import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import * as vscode from 'vscode';
import { run } from '../support/drivers/run';
import { eventually, openedRepository } from './support/gitApi';
import { callUi, hasUi } from './support/ui';

describe('the real Git extension', () => {
  it('sees a commit that is made outside the editor', async () => {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    assert.ok(folder, 'the workspace is open');
    const repository = await openedRepository();
    await run('git', ['commit', '--quiet', '--allow-empty', '--message', 'outside'], { cwd: folder });
    const head = await run('git', ['rev-parse', 'HEAD'], { cwd: folder });
    const { state } = repository;
    await eventually(state.onDidChange, () => (state.HEAD?.commit === head ? head : undefined));
    if (hasUi) assert.match(await callUi('branch'), /main/);
  });
});

describe('the extension', () => {
  it('is activated', async () => {
    const extension = vscode.extensions.getExtension('atlas-hooks.atlas-hooks');
    assert.ok(extension);
    await extension.activate();
    assert.ok(extension.isActive);
  });
});
