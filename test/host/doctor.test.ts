import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { answering } from './support/answers';
import { atlasApi, otherProgram, workspaceFolder } from './support/atlasApi';
import { eventually } from './support/gitApi';

describe('Run Doctor', () => {
  let api: AtlasApi;
  let task: AtlasTask;

  const report = (): string => vscode.window.activeTextEditor?.document.getText() ?? '';
  /** A report that is shown again changes a moment after it was made. */
  const reportWith = async (text: RegExp): Promise<unknown> =>
    eventually(vscode.workspace.onDidChangeTextDocument, () => (text.test(report()) ? true : undefined));
  const markdown = (): string => task.hookMd;

  before(async () => {
    api = await atlasApi();
    task = await api.startTask({ title: 'to be looked at', template: 'task', folder: workspaceFolder() });
  });

  after(async () => {
    unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
    writeFileSync(path.join(api.root, 'config.yaml'), 'hooks: {}\n');
  });

  it('reports what is wrong, fixes it when told to, and then finds nothing new', async () => {
    rmSync(markdown());
    writeFileSync(path.join(api.root, 'config.yaml'), 'hooks:\n  max_checkpoints: many\n');
    const run = (press: string | undefined) =>
      answering(
        ({ buttons }) => buttons.find((button) => button === press),
        () => vscode.commands.executeCommand('atlas.runDoctor'),
      );
    const [asked] = await run(undefined);
    assert.deepEqual(asked?.buttons, ['Fix']);
    await reportWith(/! task: .*\n\s+HOOK\.md is missing/u);
    assert.match(report(), /! config: .*config\.yaml:2:\d+/u);
    const [, fixed] = await run('Fix');
    assert.match(fixed?.message ?? '', /^Repaired: 1\. Remaining: 1\./u);
    await reportWith(/~ task: .*\n\s+HOOK\.md is missing/u);
    const [left] = await run(undefined);
    assert.deepEqual(left?.buttons, []);
    await reportWith(/^(?![\s\S]*HOOK\.md is missing)/u);
    writeFileSync(path.join(api.root, 'config.yaml'), 'hooks: {}\n');
    const [fine] = await run(undefined);
    assert.equal(fine?.message, 'No problems found.');
  });
});
