import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { trackedSessions } from '../../src/agents/sessions/trackedSessions';
import { unwrap } from '../../src/core/shared/errors';
import type { AtlasApi } from '../../src/extension/api';
import type { SessionNode } from '../../src/extension/sessions/outline';
import { SessionsModel, type SessionsSession } from '../../src/extension/sessions/sessionsModel';
import { SessionsTree } from '../../src/extension/sessions/sessionsTree';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { changeConfig } from '../../src/service/tasks/configChange';
import { answering } from './support/answers';
import { atlasApi, workspaceFolder } from './support/atlasApi';
import { eventually } from './support/gitApi';

const ID = '01a20fdb-2eda-7d50-98fb-1aaae29845b3';
const NODE: SessionNode = { kind: 'session', host: 'codex', sessionId: ID };
const REQUEST = '$(trash) [x](command:atlas.forgetSession) Move the \u202einvoices';
const SHOWN = '$ (trash) [x] (command:atlas.forgetSession) Move the invoices';

/** An agent's host: reports each line that it is given by the hooks' script, as hosts do, and then goes on running. */
const AGENT = `
const { spawnSync } = require('node:child_process');
require('node:readline').createInterface({ input: process.stdin }).on('line', (input) => {
  spawnSync('sh', [process.argv[1], 'codex'], { input });
  process.stdout.write('.');
});
`;

describe('sessions in a window', () => {
  let api: AtlasApi;
  let model: SessionsModel;
  let tree: SessionsTree;
  let agent: ChildProcess;
  const places = new vscode.EventEmitter<void>();

  const report = async (event: string, more: object = {}): Promise<void> => {
    const body = { session_id: ID, cwd: workspaceFolder(), hook_event_name: event, ...more };
    agent.stdin?.write(`${JSON.stringify(body)}\n`);
    if (agent.stdout !== null) await once(agent.stdout, 'data');
  };
  const rows = async (node?: SessionNode): Promise<vscode.TreeItem[]> =>
    Promise.all((await tree.getChildren(node)).map((each) => tree.getTreeItem(each)));
  const rowWhen = async (state: string): Promise<vscode.TreeItem> => {
    await eventually(model.onDidLook, () => (model.find(NODE)?.state === state ? true : undefined));
    const [top] = await tree.getChildren();
    const found = (await rows(top)).find(({ id }) => id === `sessions:session:codex/${ID}`);
    assert.ok(found);
    return found;
  };

  before(async () => {
    api = await atlasApi();
    const atlas = createAtlas(systemPorts(api.root, 'test', silentLog));
    const place = await atlas.locate(workspaceFolder());
    const session: SessionsSession = { atlas, ownPlaces: [place], onDidChangePlaces: places.event };
    const service = trackedSessions(atlas);
    unwrap(await changeConfig(atlas.ports, 'sessions', [{ name: 'track', value: true }]));
    // An older version's script. With the folder, the window begins to observe.
    writeFileSync(service.spool.scriptPath, '#!/bin/sh\n');
    mkdirSync(service.spool.folder, { mode: 0o700 });
    model = new SessionsModel(session, service);
    tree = new SessionsTree(model);
    await model.look();
    agent = spawn(process.execPath, ['-e', AGENT, service.spool.scriptPath], {
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', CI: '' },
    });
  });

  after(async () => {
    agent.kill('SIGKILL');
    const told = await answering(
      () => undefined,
      () => vscode.commands.executeCommand('atlas.stopObservingSessions'),
    );
    assert.match(told[0]?.message ?? '', /^Atlas no longer observes sessions\./u);
    assert.equal((await model.service.config()).track, false);
    rmSync(path.join(workspaceFolder(), 'invoices.sql'), { force: true });
    tree.dispose();
    model.dispose();
    places.dispose();
  });

  it("have the script that hooks run renewed by the window, where it is not this version's", async () => {
    const { scriptPath } = model.service.spool;
    const place = new vscode.RelativePattern(vscode.Uri.file(path.dirname(scriptPath)), path.basename(scriptPath));
    const watcher = vscode.workspace.createFileSystemWatcher(place);
    const start = await eventually(
      watcher.onDidChange,
      () => /^start\) \((.+) sessions refresh /mu.exec(readFileSync(scriptPath, 'utf8'))?.[1],
    );
    watcher.dispose();
    assert.match(start, /atlas(?:\.cmd)?"?$/u);
  });

  it('show what a real hook reports, as plain text, without being asked to look', async () => {
    await report('SessionStart', { source: 'startup' });
    await report('UserPromptSubmit', { prompt: REQUEST });
    const row = await rowWhen('working');
    assert.equal(row.label, SHOWN);
    assert.equal(row.description, 'Working (now) · Codex');
    assert.equal(row.contextValue, 'session working live free');
  });

  it('say which wait for a permission, first in their row', async () => {
    await report('PermissionRequest', { tool_name: 'shell', tool_input: { command: 'rm -r build' } });
    const row = await rowWhen('waiting_permission');
    assert.equal(row.label, `Waiting for permission: ${SHOWN}`);
    assert.equal(model.waiting().length, 1);
  });

  it('say what changed, and that an agent was interrupted when its process is killed', async () => {
    writeFileSync(path.join(workspaceFolder(), 'invoices.sql'), 'create table invoices;\n');
    await report('PostToolUse', { tool_name: 'shell', tool_input: { command: 'true' } });
    await eventually(model.onDidLook, () => ((model.find(NODE)?.record.changes?.total ?? 0) > 0 ? true : undefined));
    agent.kill('SIGKILL');
    const row = await rowWhen('interrupted');
    assert.equal(row.label, `Interrupted: ${SHOWN}`);
    assert.match(String(row.description), /^now · Codex · \d+ files? changed$/u);
    assert.equal(row.contextValue, 'session interrupted gone free');
  });

  it('are resumed in a terminal, in their worktree, by the command', async () => {
    const opened = new Promise<vscode.Terminal>((resolve) => {
      const once = vscode.window.onDidOpenTerminal((terminal) => {
        once.dispose();
        resolve(terminal);
      });
    });
    await vscode.commands.executeCommand('atlas.resumeSession', NODE);
    const terminal = await opened;
    const { shellPath, shellArgs, cwd, name } = terminal.creationOptions as vscode.TerminalOptions;
    assert.equal(name, 'Resume with Codex');
    assert.match(String(shellPath), /atlas$/u);
    assert.deepEqual(shellArgs, ['resume', '--with', 'codex', '--session', ID]);
    assert.equal(cwd, model.find(NODE)?.record.worktree);
    terminal.dispose();
  });

  it('are forgotten once somebody confirms it, and an argument from anywhere names none', async () => {
    const forget = async (argument: unknown, press?: string) =>
      answering(
        () => press,
        () => vscode.commands.executeCommand('atlas.forgetSession', argument),
      );
    await forget(NODE);
    await model.look();
    assert.ok(model.find(NODE));
    const [lost] = await forget({ ...NODE, sessionId: '../../etc' });
    assert.equal(lost?.message, 'This session no longer exists. The Sessions view lists those that do.');
    const [asked] = await forget(NODE, 'Forget Session');
    assert.equal(asked?.message, `Delete everything that Atlas keeps about "${SHOWN}"?`);
    await model.look();
    assert.equal(model.find(NODE), undefined);
    assert.deepEqual(await tree.getChildren(), []);
  });
});
