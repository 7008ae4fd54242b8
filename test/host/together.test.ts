import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import { toMs } from '../../src/core/shared/time';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { NodeFileSystem } from '../../src/system/files/nodeFileSystem';
import { Journal } from '../../src/store/task/journal';
import { atlasApi, checkpointsOf, otherProgram, taskWhen, workspaceFolder } from './support/atlasApi';
import { callUi, hasUi } from './support/ui';

describe('the window and the command at once on one task', () => {
  let api: AtlasApi;
  let task: AtlasTask;
  let bundle: string;

  /** Runs the command as a process of its own, and gives when it had made its change. */
  async function checkpoint(description: string): Promise<void> {
    const args = [bundle, 'checkpoint', description, '--task', task.ref.id, '--json'];
    const child = spawn(process.execPath, args, {
      cwd: workspaceFolder(),
      env: { ...process.env, ATLAS_HOME: api.root },
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, text);
  }

  before(async () => {
    api = await atlasApi();
    bundle = path.join(
      vscode.extensions.getExtension('atlas-hooks.atlas-hooks')?.extensionPath ?? '',
      'dist',
      'cli.js',
    );
    const started = await api.startTask({ title: 'worked on by two', template: 'task', folder: workspaceFolder() });
    task = await api.send(started.ref, { type: 'start_step' });
  });

  after(async () => {
    unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
  });

  it('shows what the command did, in its tasks, its status bar and its panel', async () => {
    const status = 'atlas-hooks.atlas-hooks.atlas.status';
    if (hasUi) {
      await vscode.commands.executeCommand('atlas.openHookMd', task.ref);
      await vscode.commands.executeCommand('atlas.tasks.focus');
      await callUi('panelShows', 'worked on by two');
      assert.doesNotMatch(await callUi('statusIcons', status), /bookmark/u);
    }
    const seen = taskWhen(api, task.ref, (now) => checkpointsOf(now, 'manual').includes('from the command'));
    const shown = hasUi
      ? Promise.all([callUi('panelShows', 'from the command'), callUi('statusShows', { id: status, icon: 'bookmark' })])
      : Promise.resolve([]);
    await checkpoint('from the command');
    const made = toMs((await seen).hook.checkpoints.at(-1)?.created_at ?? '');
    const known = Date.now() - made;
    // Told, not asserted: how long it takes depends on what else the machine does.
    const after = (await shown).map((at) => at - made);
    console.log(`      known after ${known} ms, shown after ${after.join(' and ')} ms`);
  });

  it('asks which task is meant where the editor no longer knew the row of a button', async function () {
    if (!hasUi) this.skip();
    // So it calls a command while it draws the list again; the palette calls it with no argument at all.
    const acting = vscode.commands.executeCommand('atlas.completeStep', undefined);
    const rows = await callUi('quickPickRows', 'worked on by two');
    assert.equal(rows.length, 1);
    await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
    await acting;
    assert.equal(api.task(task.ref)?.hook.state, 'step_running');
  });

  it('loses none of 20 checkpoints that both make in turn, and the journal stays whole', async () => {
    const names = Array.from({ length: 10 }, (_, index) => index);
    const byWindow = names.map(async (index) => api.checkpoint(task.ref, `window ${index}`));
    const byCommand = names.map(async (index) => checkpoint(`command ${index}`));
    await Promise.all([...byWindow, ...byCommand]);
    const expected = names.flatMap((index) => [`window ${index}`, `command ${index}`]).sort();
    const has = (now: AtlasTask): string[] => checkpointsOf(now, 'manual').filter((each) => / \d$/u.test(each));
    const done = await taskWhen(api, task.ref, (now) => has(now).length >= expected.length);
    assert.deepEqual(has(done).sort(), expected);
    const journal = new Journal(new NodeFileSystem(), path.join(path.dirname(task.hookMd), 'journal.jsonl'));
    assert.equal(unwrap(journal.readAll()).brokenAt, undefined);
    const read = unwrap(otherProgram(api).catalog.read(task.ref));
    assert.equal(read.suspect, false);
  });
});
