import assert from 'node:assert/strict';
import { existsSync, readFileSync, watch } from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { TOOLS as SERVED, prefixed } from '../../src/cli/mcp/tools';
import { unwrap } from '../../src/core/shared/errors';
import { AgentTool, ToolHost } from '../../src/extension/agents/agentTool';
import { prepared } from '../../src/extension/agents/confirmations';
import { McpDefinitions } from '../../src/extension/agents/mcpDefinitions';
import { MCP_PROVIDER, serverProgram } from '../../src/extension/agents/serverProgram';
import { folderFor } from '../../src/extension/agents/toolFolder';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { silentLog } from '../../src/service/ports';
import { refKey } from '../../src/core/task/taskRef';
import { isRunning } from '../support/drivers/commandRuns';
import { atlasApi, otherProgram, taskWhen, workspaceFolder, write } from './atlasApi';
import { callUi, hasUi } from './ui';

/** The tools as they are called in an editor. */
const TOOLS = SERVED.map((tool) => ({ ...tool, name: prefixed(tool.name) }));
const NEVER = new vscode.CancellationTokenSource().token;

function extensionPath(): string {
  return vscode.extensions.getExtension('atlas-hooks.atlas-hooks')?.extensionPath ?? '';
}

/** Calls a tool as any extension may; what it says has to be one text. */
async function invoke(name: string, input: object, token = NEVER): Promise<string> {
  const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, token);
  const [part, ...others] = content;
  assert.ok(part instanceof vscode.LanguageModelTextPart);
  assert.deepEqual(others, []);
  return part.value;
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

  before(async () => {
    api = await atlasApi();
    task = await api.startTask({ title: 'driven by tools', template: 'task', folder: workspaceFolder() });
    named = { task: refKey(task.ref) };
  });
  after(async () => {
    unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
  });

  it('are the tools of "atlas mcp", with our names and schemas', () => {
    const ours = vscode.lm.tools.filter(({ tags }) => tags.includes('atlas'));
    assert.deepEqual(ours.map(({ name }) => name).sort(), TOOLS.map(({ name }) => name).sort());
    for (const { name, description, inputSchema } of ours) {
      const tool = TOOLS.find((each) => each.name === name);
      assert.equal(description, tool?.description);
      const { properties } = inputSchema as { properties: object };
      assert.deepEqual(Object.keys(properties).sort(), Object.keys(tool?.input.shape ?? {}).sort());
    }
  });

  it('start a step, make a checkpoint and read HOOK.md', async () => {
    assert.match(await invoke('atlas_status', named), /Ready/u);
    assert.match(await invoke('atlas_start_step', { ...named, working_on: 'the nil checks' }), /is running/u);
    task = await taskWhen(api, task.ref, ({ hook }) => hook.state === 'step_running');
    assert.match(await invoke('atlas_checkpoint', { ...named, description: 'half way' }), /Recorded checkpoint ckpt-/u);
    const hook = await invoke('atlas_read_hook', named);
    assert.match(hook, /## Current State: `step_running`/u);
    assert.match(hook, /the nil checks/u);
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
    await assert.rejects(async () => invoke('atlas_approve', named));
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
    const cancel = new vscode.CancellationTokenSource();
    const call = invoke('atlas_validate', { task: refKey(ref) }, cancel.token);
    const ended = assert.rejects(call);
    const pid = Number(await Promise.race([lineOf(marker), call]));
    assert.ok(isRunning(pid));
    cancel.cancel();
    await ended;
    const { hook } = await taskWhen(api, ref, (each) => each.hook.state === 'awaiting_human');
    assert.equal(isRunning(pid), false);
    assert.match(JSON.stringify(hook), /was cancelled after/u);
    unwrap(await other.send(ref, { type: 'abandon', by: 'human' }));
  });
});

describe('what a person reads before a tool changes something', () => {
  const nothing = { ownTasks: () => [] };
  const HOSTILE = 'x](command:evil) $(error) <img src=x>\n```\n# Heading\u202e\u001b[2J\ndescription: other';

  function confirmation(name: string, input: object, session: Parameters<typeof prepared>[2] = nothing): string {
    const { confirmationMessages } = prepared(name, input, session);
    assert.ok(confirmationMessages?.message instanceof vscode.MarkdownString, name);
    const { message } = confirmationMessages;
    assert.notEqual(message.isTrusted, true);
    assert.notEqual(message.supportHtml, true);
    assert.notEqual(message.supportThemeIcons, true);
    return message.value;
  }

  it('is there for all tools that write, and for no other', () => {
    for (const { name, readOnly } of TOOLS) {
      const { invocationMessage, confirmationMessages } = prepared(name, {}, nothing);
      assert.equal(typeof invocationMessage, 'string', name);
      assert.notEqual(invocationMessage, 'Calling a tool of Atlas', name);
      assert.equal(confirmationMessages === undefined, readOnly === true, name);
      if (readOnly !== true) assert.match(confirmation(name, {}), /^[A-Z].+\.$/mu);
    }
  });

  it('holds texts of others as data', () => {
    const text = confirmation('atlas_checkpoint', { description: HOSTILE, 'key\n# x': 1 });
    const [before = '', inside = '', behind = '', ...others] = text.split(/^ {0,3}```.*$/mu);
    assert.deepEqual(others, [], 'the block is closed once, by us');
    assert.ok(inside.includes('command:evil'));
    assert.doesNotMatch(before + behind, /evil|Heading|key/u);
    // eslint-disable-next-line no-control-regex -- that is what must not be there
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u202e]/u);
    assert.equal(inside.match(/^description: /gmu)?.length, 1);
    assert.ok(confirmation('atlas_inbox_add', { content: 'y'.repeat(100_000) }).length < 2000);
    assert.ok(confirmation('atlas_inbox_add', { content: 'y\n'.repeat(500) }).split('\n').length < 30);
  });

  it('names the task, its step and the commands that would run', async () => {
    const api = await atlasApi();
    write(
      workspaceFolder(),
      '.atlas/templates/told.yaml',
      'id: told\ndescription: x\nsteps:\n  - name: check\n    type: ai\n    validation: ["git --version"]\n',
    );
    const { ref, hook, task } = await api.startTask({ title: HOSTILE, template: 'told', folder: workspaceFolder() });
    try {
      const session = { ownTasks: () => [{ ref, hook, task, suspect: false }] as never };
      const text = confirmation('atlas_validate', {}, session);
      assert.match(text, new RegExp(`^${refKey(ref)} {2}x\\]\\(command:evil\\)`, 'mu'));
      assert.match(text, /^check, step_pending, 1\/\d+$/mu);
      assert.match(text, /^\$ git --version$/mu);
      assert.equal(confirmation('atlas_note', { task: 'another' }, session).includes(ref.id), false);
    } finally {
      unwrap(await otherProgram(api).send(ref, { type: 'abandon', by: 'human' }));
    }
  });
});

describe("the server for the editor's agents", () => {
  const folder = (name: string, fsPath: string, index: number): vscode.WorkspaceFolder => ({
    ...{ name, index },
    uri: vscode.Uri.file(fsPath),
  });

  it("is offered for the window's folder, starts, and has all tools", async () => {
    const api = await atlasApi();
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
    const transport = new StdioClientTransport({
      command,
      args,
      cwd: workspaceFolder(),
      env: env,
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    try {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        TOOLS.map(({ name }) => name),
      );
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

  it('is none, and no tool does anything, in a folder that is not trusted', async () => {
    const api = await atlasApi();
    const program = serverProgram(extensionPath(), '1', api.root);
    const window = { isTrusted: false, workspaceFolders: vscode.workspace.workspaceFolders };
    const definitions = new McpDefinitions(program, window);
    assert.deepEqual(definitions.provideMcpServerDefinitions(), []);
    definitions.dispose();
    const started = { ...program, command: path.join(extensionPath(), 'no-such-program') };
    const host = new ToolHost({ atlas: otherProgram(api) as never, ownTasks: () => [] }, started, silentLog, window);
    const tool = new AgentTool('atlas_status', host);
    const { content } = await tool.invoke({ input: {}, toolInvocationToken: undefined }, NEVER);
    const [part] = content as vscode.LanguageModelTextPart[];
    assert.match(part?.value ?? '', /^human_only: .+trusted.+\nAsk the human/u);
    host.dispose();
  });

  it("that can't be started is said to the model", async () => {
    const api = await atlasApi();
    const program = {
      ...serverProgram(extensionPath(), '1', api.root),
      command: path.join(extensionPath(), 'no-such-program'),
    };
    const host = new ToolHost({ atlas: otherProgram(api) as never, ownTasks: () => [] }, program, silentLog);
    const said = async (): Promise<string> => {
      const tool = new AgentTool('atlas_status', host);
      const { content } = await tool.invoke({ input: {}, toolInvocationToken: undefined }, NEVER);
      return (content as vscode.LanguageModelTextPart[]).map(({ value }) => value).join('');
    };
    for (let n = 0; n < 2; n += 1)
      assert.match(await said(), /^unreadable: The server of Atlas's tools is gone: .*ENOENT.*\nCall the tool again/u);
    host.dispose();
  });
});

describe('the folder that a tool is called in', () => {
  const workspaces: Readonly<Record<string, string | undefined>> = { '/a': 'a', '/b': 'b', '/c': undefined };
  const open: Readonly<Record<string, number>> = { a: 1, b: 0 };
  const atlas = {
    locate: async (folder: string) =>
      Promise.resolve({ workspace: workspaces[folder], worktree: folder, repository: undefined }),
    catalog: { open: (workspace: string) => Array.from({ length: open[workspace] ?? 0 }) },
  } as never;
  const chosen = async (folders: readonly string[], input: object, aboutTask = true): Promise<string> => {
    const result = await folderFor(atlas, folders, input, aboutTask);
    return result.ok ? result.value : `${result.error.code}: ${result.error.message} ${result.error.mend ?? ''}`;
  };

  it('is the one that is meant, and never a guess', async () => {
    assert.match(await chosen([], {}), /^not_found: No folder is open/u);
    assert.equal(await chosen(['/b'], {}), '/b');
    assert.equal(await chosen(['/c', '/b', '/a'], {}), '/a');
    assert.match(await chosen(['/c', '/b', '/a'], {}, false), /^usage: .+: b, a\. Say which one .+"workspace"/u);
    assert.equal(await chosen(['/a', '/b'], { workspace: 'b' }), '/b');
    assert.equal(await chosen(['/a', '/b'], { task: 'b/task-1' }), '/b');
    assert.equal(await chosen(['/a', '/b'], { workspace: 'elsewhere' }), '/a');
  });
});
