import assert from 'node:assert/strict';
import { after, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import { refKey } from '../../src/core/task/taskRef';
import { atlasApi, otherProgram, taskWhen, workspaceFolder } from './support/atlasApi';

describe('"Resume Task"', () => {
  const agent = () => vscode.workspace.getConfiguration('atlas.agent');

  after(async () => {
    await agent().update('command', undefined, vscode.ConfigurationTarget.Global);
  });

  it('starts the agent in a terminal of the task, which names its workspace too', async () => {
    const api = await atlasApi();
    await agent().update('command', 'echo', vscode.ConfigurationTarget.Global);
    const { ref } = await api.startTask({ title: 'asked', template: 'task', folder: workspaceFolder() });
    await api.send(ref, { type: 'start_step' });
    await api.send(ref, { type: 'human_required', kind: 'question', message: 'Which one?' });
    const opened = new Promise<vscode.Terminal>((resolve) => {
      const listener = vscode.window.onDidOpenTerminal((terminal) => {
        listener.dispose();
        resolve(terminal);
      });
    });
    await vscode.commands.executeCommand('atlas.resume', { kind: 'task', ref });
    await taskWhen(api, ref, ({ hook }) => hook.state === 'step_running');
    const terminal = await opened;
    const { env, cwd } = terminal.creationOptions as vscode.TerminalOptions;
    assert.deepEqual([env, cwd], [{ ATLAS_TASK: refKey(ref) }, workspaceFolder()]);
    terminal.dispose();
    unwrap(await otherProgram(api).send(ref, { type: 'abandon', by: 'human' }));
  });
});
