import assert from 'node:assert/strict';
import { existsSync, readFileSync, watch } from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { TOOLS as SERVED, prefixed } from '../../src/cli/mcp/tools';
import { unwrap } from '../../src/core/shared/errors';
import { McpDefinitions } from '../../src/extension/agents/mcpDefinitions';
import { MCP_PROVIDER, serverProgram } from '../../src/extension/agents/serverProgram';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { refKey } from '../../src/core/task/taskRef';
import { isRunning } from '../support/drivers/commandRuns';
import { atlasApi, otherProgram, taskWhen, workspaceFolder, write } from './support/atlasApi';
import { callUi, hasUi } from './support/ui';

/** The tools as they are called in an editor. */
const TOOLS = SERVED.map((tool) => ({ ...tool, name: prefixed(tool.name) }));

function extensionPath(): string {
  return vscode.extensions.getExtension('atlas-hooks.atlas-hooks')?.extensionPath ?? '';
}

/** The server that the editor is told to start for the window's folder, as the protocol's own client sees it. */
async function connect(api: AtlasApi): Promise<Client> {
  const definitions = new McpDefinitions(serverProgram(extensionPath(), '9.9.9', api.root));
  const [definition, ...others] = definitions.provideMcpServerDefinitions();
  definitions.dispose();
  assert.ok(definition);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [definition.label, definition.version, definition.cwd?.fsPath],
    ['Atlas', '9.9.9', workspaceFolder()],
  );
  const { command, args, env } = definition;
  assert.deepEqual(env, { ELECTRON_RUN_AS_NODE: '1', ATLAS_HOME: api.root });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, cwd: workspaceFolder(), env }));
  return client;
}

/** Resolves once a file holds a whole line, and gives it. */
async function lineOf(file: string): Promise<string> {
  const text = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  return new Promise((resolve) => {
    const watcher = watch(path.dirname(file), () => look());
    const look = (): void => {
      if (!text().endsWith('\n')) return;
      watcher.close();
      resolve(text().trim());
    };
    look();
  });
}

describe("the tools of the editor's agents", () => {
  let api: AtlasApi;
  let task: AtlasTask;
  let named: { task: string };
  let client: Client;

  /** Calls a tool; what it says has to be one text. */
  async function invoke(name: string, input: object, signal?: AbortSignal): Promise<string> {
    const answer = await client.callTool({ name, arguments: { ...input } }, undefined, signal && { signal });
    const [part, ...others] = CallToolResultSchema.parse(answer).content;
    assert.ok(part?.type === 'text');
    assert.deepEqual(others, []);
    return part.text;
  }

  before(async () => {
    api = await atlasApi();
    client = await connect(api);
    task = await api.startTask({ title: 'driven by tools', template: 'task', folder: workspaceFolder() });
    named = { task: refKey(task.ref) };
  });
  after(async () => {
    await client.close();
    unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
  });

  it('are offered once: as an MCP server, not again as tools of the extension', async () => {
    assert.deepEqual(
      vscode.lm.tools.filter(({ name, tags }) => tags.includes('atlas') || name.startsWith('atlas_')),
      [],
    );
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOLS.map(({ name }) => name),
    );
  });

  it('start a step, make a checkpoint and read HOOK.md', async () => {
    assert.match(await invoke('atlas_status', named), /Ready/u);
    assert.match(await invoke('atlas_start_step', { ...named, working_on: 'the nil checks' }), /is running/u);
    task = await taskWhen(api, task.ref, ({ hook }) => hook.state === 'step_running');
    assert.match(await invoke('atlas_read_hook', named), /the nil checks/u);
    const half = { ...named, description: 'half way', next: 'the other half' };
    assert.match(await invoke('atlas_checkpoint', half), /Recorded checkpoint ckpt-/u);
    const hook = await invoke('atlas_read_hook', named);
    assert.match(hook, /## Current State: `step_running`/u);
    assert.match(hook, /Continue with: the other half/u);
    task = await taskWhen(api, task.ref, ({ hook: { checkpoints } }) => checkpoints.length > 0);
    assert.equal(task.hook.checkpoints.at(-1)?.description, 'half way');
  });

  it('say what is wrong as a text that says what to do', async () => {
    assert.match(await invoke('atlas_complete_step', { ...named, step: 'review' }), /^stale_caller: .+\n.+HOOK\.md/u);
    assert.match(await invoke('atlas_status', { task: 'task-20200101-000000' }), /^not_found: /u);
    assert.match(await invoke('atlas_recover', { ...named, action: 'skip_step' }), /action/u);
    assert.equal(api.task(task.ref)?.hook.state, 'step_running');
  });

  it('never approve, whatever is asked', async () => {
    await invoke('atlas_ask_human', { ...named, question: 'Which one?' });
    task = await taskWhen(api, task.ref, ({ hook }) => hook.state === 'awaiting_human');
    for (const name of [
      'atlas_complete_step',
      'atlas_submit_output',
      'atlas_validate',
      'atlas_start_step',
      'atlas_recover',
    ])
      await invoke(name, named);
    assert.match(await invoke('atlas_approve', named), /atlas_approve/u);
    assert.equal(api.task(task.ref)?.hook.state, 'awaiting_human');
    unwrap(await otherProgram(api).resume(task.ref, 'human'));
    task = await taskWhen(api, task.ref, ({ hook }) => hook.state === 'step_running');
  });

  it('keep what was taken from the inbox for this window', async () => {
    const { workspace } = task.ref;
    assert.match(await invoke('atlas_inbox_add', { workspace, content: 'Was it paid?' }), /^Added item/u);
    const item = await invoke('atlas_get_next_task', { workspace });
    assert.match(item, /Complete it with atlas_task_complete, task_id/u);
    assert.match(item, /from agent:.+\n\n {2}Was it paid\?/u);
    const id = Number(/task_id (\d+)/u.exec(item)?.[1]);
    const inbox = await otherProgram(api).inbox();
    assert.equal(unwrap(await inbox.next(workspace, { sessionId: 'other' })).item, undefined);
    assert.match(await invoke('atlas_get_next_task', { workspace }), /You haven't completed item/u);
    assert.match(
      await invoke('atlas_task_complete', { workspace, task_id: id, response_summary: 'On Monday' }),
      /is done/u,
    );
    assert.equal(unwrap(inbox.list(workspace)).finished[0]?.response_summary, 'On Monday');
  });

  it('end what they run when the call is cancelled', async () => {
    const marker = path.join(path.dirname(task.hookMd), 'marker');
    const script = `require('fs').writeFileSync(${JSON.stringify(marker)}, process.pid + '\\n'); setTimeout(() => {}, 600000)`;
    write(workspaceFolder(), 'endless.cjs', script);
    const command = JSON.stringify(`"${process.execPath}" endless.cjs`);
    const steps = `steps:\n  - name: check\n    type: validation\n    validation: [${command}]\n  - name: after\n    type: ai\n`;
    write(workspaceFolder(), '.atlas/templates/endless.yaml', `id: endless\ndescription: Runs for minutes\n${steps}`);
    const other = otherProgram(api);
    // A human starts it, by which its commands are allowed.
    const started = unwrap(await other.startTask({ title: 'endless', template: 'endless', folder: workspaceFolder() }));
    await other.allowCommands(started);
    const { ref } = started;
    await taskWhen(api, ref, () => true);
    await invoke('atlas_start_step', { task: refKey(ref) });
    const cancel = new AbortController();
    const call = invoke('atlas_validate', { task: refKey(ref) }, cancel.signal);
    const ended = assert.rejects(call);
    const pid = Number(await Promise.race([lineOf(marker), call]));
    assert.ok(isRunning(pid));
    cancel.abort();
    await ended;
    const { hook } = await taskWhen(api, ref, (each) => each.hook.state === 'awaiting_human');
    assert.equal(isRunning(pid), false);
    assert.match(JSON.stringify(hook), /was cancelled after/u);
    unwrap(await other.send(ref, { type: 'abandon', by: 'human' }));
  });
});

describe("the server for the editor's agents", () => {
  const folder = (name: string, fsPath: string, index: number): vscode.WorkspaceFolder => ({
    ...{ name, index },
    uri: vscode.Uri.file(fsPath),
  });

  it("is offered for the window's folder, starts, and knows the task", async () => {
    const api = await atlasApi();
    const client = await connect(api);
    try {
      const task = await api.startTask({ title: 'by protocol', template: 'task', folder: workspaceFolder() });
      const said = await client.callTool({ name: 'atlas_status', arguments: { task: refKey(task.ref) } });
      assert.match(JSON.stringify(said.content), /by protocol/u);
      unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
    } finally {
      await client.close();
    }
  });

  it('is known to the editor', async function () {
    if (!hasUi) return this.skip();
    assert.ok(readFileSync(path.join(extensionPath(), 'package.json'), 'utf8').includes(`"id": "${MCP_PROVIDER}"`));
    void vscode.commands.executeCommand('workbench.mcp.listServer');
    const rows = await callUi('quickPickRows', 'Atlas');
    assert.ok(
      rows.some((row) => row.startsWith('Atlas')),
      rows.join(' | '),
    );
    await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
  });

  it('is one for each folder, each with a name of its own', () => {
    const program = serverProgram('/ext', '1', '/store');
    const uris = {
      workspaceFolders: [folder('app', '/a/app', 0), folder('app', '/b/app', 1), folder('x](y)', '/c', 2)],
    };
    const remote: vscode.WorkspaceFolder = { name: 'web', index: 3, uri: vscode.Uri.parse('vscode-vfs://github/x') };
    const window = { isTrusted: true, workspaceFolders: [...uris.workspaceFolders, remote] };
    const definitions = new McpDefinitions(program, window);
    const made = definitions.provideMcpServerDefinitions();
    assert.deepEqual(
      made.map(({ label }) => label),
      ['Atlas (app)', 'Atlas (app, 2)', 'Atlas (x] (y))'],
    );
    assert.deepEqual(
      made.map(({ cwd }) => cwd?.path),
      ['/a/app', '/b/app', '/c'],
    );
    definitions.dispose();
  });

  it('is none in a folder that is not trusted', async () => {
    const api = await atlasApi();
    const program = serverProgram(extensionPath(), '1', api.root);
    const window = { isTrusted: false, workspaceFolders: vscode.workspace.workspaceFolders };
    const definitions = new McpDefinitions(program, window);
    assert.deepEqual(definitions.provideMcpServerDefinitions(), []);
    definitions.dispose();
  });
});
