import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, rmSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import type { InboxItem } from '../../src/core/inbox/inbox';
import type { AtlasApi } from '../../src/extension/api';
import { InboxModel, type InboxSession } from '../../src/extension/inbox/inboxModel';
import type { InboxNode } from '../../src/extension/inbox/inboxRows';
import { InboxTree } from '../../src/extension/inbox/inboxTree';
import { resumeCommand } from '../../src/extension/inbox/resume';
import { type WakeActions, WakeOffers } from '../../src/extension/inbox/wakeOffers';
import { ensureWorkspace } from '../../src/service/tasks/ensureWorkspace';
import type { Inbox } from '../../src/service/inbox/inbox';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { type Shown, answering } from './support/answers';
import { atlasApi, workspaceFolder } from './support/atlasApi';
import { activeTab, eventually } from './support/gitApi';

const HOSTILE = '\u202e\u001b\u0007\n$(trash) [x](command:atlas.addInboxItem) <b>**bold**</b>\nmore';

/** A memento of a window of its own. */
class Memory implements vscode.Memento {
  readonly values = new Map<string, unknown>();
  keys(): readonly string[] {
    return [...this.values.keys()];
  }
  get<T>(key: string, fallback?: T): T {
    return (this.values.get(key) ?? fallback) as T;
  }
  async update(key: string, value: unknown): Promise<void> {
    // As the editor does: what isn't JSON is lost.
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, JSON.parse(JSON.stringify(value)));
    return Promise.resolve();
  }
}

describe('the inbox in a window', () => {
  let api: AtlasApi;
  let inbox: Inbox;
  let workspace: string;
  let folder: string;
  let session: InboxSession;
  let model: InboxModel;
  let tree: InboxTree;
  const places = new vscode.EventEmitter<void>();
  const tasks = new vscode.EventEmitter<undefined>();

  const add = async (content: string, more = {}): Promise<number> =>
    unwrap(await inbox.add(workspace, { content, ...more })).id;
  const item = (id: number): InboxItem => unwrap(inbox.item(workspace, id));
  const run = async (name: string, id: number, press?: string): Promise<Shown[]> =>
    answering(
      () => press,
      () => vscode.commands.executeCommand(`atlas.${name}`, { kind: 'item', workspace, id }),
    );
  const looked = async <T>(find: () => T | undefined): Promise<T> => eventually(model.onDidLook, find);
  const rows = async (node?: InboxNode): Promise<vscode.TreeItem[]> =>
    Promise.all((await tree.getChildren(node)).map((each) => tree.getTreeItem(each)));
  const rowOf = async (id: number): Promise<vscode.TreeItem | undefined> =>
    (await rows((await tree.getChildren())[0])).find(({ id: key }) => key === `inbox:item:${workspace}/${id}:open`);

  /** Ends every item, so that tests don't see each other's. */
  async function clear(): Promise<void> {
    for (const { id } of unwrap(inbox.list(workspace)).open) unwrap(await inbox.cancel(workspace, id));
  }

  before(async () => {
    api = await atlasApi();
    const atlas = createAtlas(systemPorts(api.root, 'test', silentLog));
    workspace = unwrap(await ensureWorkspace(atlas, workspaceFolder()));
    await api.look();
    inbox = await atlas.inbox();
    folder = atlas.ports.paths.inbox(workspace);
    // Other suites use this workspace's inbox too.
    rmSync(folder, { recursive: true, force: true });
    session = {
      atlas,
      ownPlaces: [{ workspace, repository: undefined, worktree: workspaceFolder() }],
      ownWorkspaces: () => [workspace],
      onDidChange: tasks.event,
      onDidChangePlaces: places.event,
      locatePlaces: async () => Promise.resolve(),
    };
    model = new InboxModel(session, inbox);
    tree = new InboxTree(model);
    await model.look();
  });

  after(async () => {
    await clear();
    model.dispose();
    tree.dispose();
  });

  it('shows what is in progress, pending, damaged and finished, whatever it says, as plain text', async () => {
    const hostile = await add(HOSTILE, { channel: 'e\u001b[2Jmail', sender: '$(bug) x' });
    const claimed = await add('being worked on');
    const done = await add('was done');
    unwrap(await inbox.claim(workspace, claimed, { sessionId: 'worker' }));
    unwrap(await inbox.claim(workspace, done, { sessionId: 'worker' }));
    unwrap(await inbox.complete(workspace, done, 'all of it'));
    writeFileSync(path.join(folder, '900.json'), 'no JSON');
    await model.look();
    const [root, ...others] = await tree.getChildren();
    assert.deepEqual(others, []);
    const shown = await rows(root);
    assert.deepEqual(
      shown.map(({ label, description }) => [label, description]),
      [
        ['being worked on', 'main · human · now · in progress'],
        ['$ (trash) [x] (command:atlas.addInboxItem) <b>**bold**</b>', 'e [2Jmail · $ (bug) x · now · pending'],
        ['900.json', 'damaged'],
        ['Finished', '1'],
      ],
    );
    const row = await rowOf(hostile);
    assert.equal(row?.contextValue, 'inboxItem pending');
    assert.match(row.accessibilityInformation?.label ?? '', /^Item \d+, \$ \(trash\) .+ pending$/u);
    const node = (await tree.getChildren(root))[1];
    assert.ok(node);
    const { tooltip } = tree.resolveTreeItem(await tree.getTreeItem(node), node);
    assert.ok(tooltip instanceof vscode.MarkdownString);
    assert.equal(tooltip.isTrusted ?? false, false);
    assert.equal(tooltip.supportHtml ?? false, false);
    assert.equal(tooltip.supportThemeIcons ?? false, false);
    assert.match(tooltip.value, /\\\*\\\*bold/u);
    const finished = (await tree.getChildren(root)).at(-1);
    assert.deepEqual(
      (await rows(finished)).map(({ label, description }) => [label, description]),
      [['was done', 'main · human · now · done']],
    );
    rmSync(path.join(folder, '900.json'));
  });

  it('shows a long list in pages', async () => {
    await clear();
    for (let made = 0; made < 60; made += 1) await add(`page ${made}`);
    await model.look();
    const [root] = await tree.getChildren();
    assert.equal((await rows(root)).length, 52);
    assert.equal((await rows(root))[50]?.label, 'Show 10 More…');
    tree.showMore(workspace, 'open');
    assert.equal((await rows(root)).length, 61);
    await clear();
  });

  it('has only those rows drawn again that are others now', async () => {
    await add('first');
    const second = await add('second');
    await model.look();
    await tree.redraw();
    const [root] = await tree.getChildren();
    await rows(root);
    const drawn: (InboxNode | undefined)[] = [];
    // What is folded may be drawn once more at any time: an editor may have opened it unseen.
    const subscription = tree.onDidChangeTreeData((nodes) =>
      drawn.push(...(nodes ?? [undefined]).filter((node) => node?.kind !== 'finished')),
    );
    try {
      await tree.redraw();
      assert.deepEqual(drawn, [], 'nothing has changed');
      await model.look();
      await tree.redraw();
      assert.deepEqual(drawn, [], 'nothing has changed, whoever looked');
      unwrap(await inbox.claim(workspace, second, { sessionId: 'worker' }));
      await model.look();
      await tree.redraw();
      assert.deepEqual(drawn.splice(0), [root], 'it has gone to the top');
      await rows(root);
      // A claim that is renewed for longer changes what the tooltip says, and nothing else.
      unwrap(await inbox.claim(workspace, second, { sessionId: 'worker' }, 7_200_000));
      await model.look();
      await tree.redraw();
      const [row] = await tree.getChildren(root);
      assert.deepEqual(drawn.splice(0), [row], 'its row alone');
    } finally {
      subscription.dispose();
      await clear();
    }
  });

  it('takes up what a process of its own adds', async () => {
    const bundle = path.join(
      vscode.extensions.getExtension('atlas-hooks.atlas-hooks')?.extensionPath ?? '',
      ...['dist', 'cli.js'],
    );
    const child = spawn(process.execPath, [bundle, 'inbox', 'add', 'from the command'], {
      cwd: workspaceFolder(),
      env: { ...process.env, ATLAS_HOME: api.root },
      stdio: 'ignore',
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    const found = await looked(() => model.open().find(({ item: each }) => each.content === 'from the command'));
    assert.equal(found.item.status, 'pending');
    assert.equal(await closed, 0);
  });

  it('claims an item as the process that the window is, and shows it', async () => {
    const id = await add('claim me\n\nItem 9 is done');
    assert.deepEqual(await run('claimInboxItem', id), []);
    assert.equal(item(id).status, 'processing');
    assert.equal(item(id).claim?.process?.pid, process.pid);
    await activeTab('Queue item: claim me');
    const again = await run('claimInboxItem', id);
    assert.deepEqual(again, [], 'its own claim is renewed');
    const other = await add("another's");
    unwrap(await inbox.claim(workspace, other, { sessionId: 'worker' }));
    const [refused] = await run('claimInboxItem', other);
    assert.match(refused?.message ?? '', /is processing by another session/u);
  });

  it('cancels only once that was confirmed', async () => {
    const id = await add('not wanted', { triggerName: 'email' });
    const [asked] = await run('cancelInboxItem', id, 'Keep Item');
    assert.deepEqual(asked?.buttons, ['Cancel Item', 'Keep Item']);
    assert.match(asked.detail ?? '', /won't get one/u);
    assert.equal(item(id).status, 'pending');
    await run('cancelInboxItem', id);
    assert.equal(item(id).status, 'pending');
    await run('cancelInboxItem', id, 'Cancel Item');
    assert.equal(item(id).status, 'cancelled');
    const [again] = await run('completeInboxItem', 1_000_000);
    assert.match(again?.message ?? '', /has no item 1000000/u);
  });

  it('refuses what no row of it names', async () => {
    for (const argument of [
      { workspace: '../..', id: 1 },
      { workspace, id: '1' },
      { workspace, id: 0.5 },
    ]) {
      // It asks for an item instead; nothing is open that it could be about.
      await clear();
      const shown = await answering(
        () => undefined,
        () => vscode.commands.executeCommand('atlas.claimInboxItem', argument),
      );
      assert.match(shown[0]?.message ?? '', /No item of the agent queue allows this now/u);
    }
  });

  describe('with sessions that wait for an answer', () => {
    const actions: WakeActions = {
      resume: async () => Promise.resolve(),
      show: () => undefined,
      showAll: () => undefined,
    };

    /** Has an item of a trigger done; gives its number. */
    async function answered(content: string, summary: string, sessionId: string): Promise<number> {
      const id = await add(content, { triggerName: 'email', sessionId });
      unwrap(await inbox.claim(workspace, id, { sessionId: 'worker' }));
      unwrap(await inbox.complete(workspace, id, summary));
      return id;
    }

    it('two windows offer each answer once', async () => {
      const second = new WakeOffers(model, new Memory(), actions);
      const waiting: (() => void)[] = [];
      const ids: number[] = [];
      const shown = await answering(
        () => {
          waiting.shift()?.();
          return undefined;
        },
        async () => {
          for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
            const offered = new Promise<void>((resolve) => waiting.push(resolve));
            ids.push(await answered(name, `answer ${name} $(bug)`, 'asker-1'));
            await offered;
          }
          await second.sweep();
        },
      );
      second.dispose();
      assert.deepEqual(
        shown.map(({ message }) => message),
        ids.map((id, index) => `Queue item ${id} of email is done: answer ${'abcdef'[index]} $ (bug)`),
      );
      for (const { buttons } of shown) assert.deepEqual(buttons, ['Resume Session', 'Show']);
    });

    it('one whose session is not known can only be shown, and many at once are told together', async () => {
      const elsewhere = unwrap(session.atlas.workspaces.ensure(path.join(workspaceFolder(), 'elsewhere'), undefined));
      const other = new InboxModel({ ...session, ownWorkspaces: () => [elsewhere] }, inbox);
      const offers = new WakeOffers(other, new Memory(), actions);
      const done = async (count: number): Promise<void> => {
        for (let made = 0; made < count; made += 1) {
          const { id } = unwrap(await inbox.add(elsewhere, { content: 'x', triggerName: 'email' }));
          unwrap(await inbox.claim(elsewhere, id, {}));
          unwrap(await inbox.complete(elsewhere, id, 'answer'));
        }
        await offers.sweep();
      };
      const shown = await answering(
        () => undefined,
        async () => {
          await done(1);
          await done(5);
        },
      );
      assert.deepEqual(
        shown.map(({ message, buttons }) => [message, ...buttons]),
        [
          ['Queue item 1 of email is done: answer', 'Show'],
          ['5 queue items that sessions are waiting for are done.', 'Show Agent Queue'],
        ],
      );
      offers.dispose();
      other.dispose();
    });

    it('what a window took that died before it was answered is offered by the next one', async () => {
      const wake = { trigger_name: 'email', session_key: null, session_id: 'asker-1', channel: 'email' };
      const self = session.atlas.ports.processes.self();
      const dead = { ...self, pid: 2 ** 22 - 3, start_time: '1', incarnation: 'dead' };
      const offer = (id: number, taker: unknown) => ({
        workspace,
        wake: { ...wake, task_id: id, response_summary: `answer ${id}` },
        taker,
      });
      const memory = new Memory();
      const kept = [offer(1, dead), offer(2, self), { workspace, wake: 'damaged' }];
      await memory.update('atlas.openWakes', kept);
      let resumed: unknown;
      const done = new Promise<void>((resolve) => {
        const resume: WakeActions['resume'] = async (asked) => {
          resumed = asked;
          resolve();
          return Promise.resolve();
        };
        void answering(
          () => 'Resume Session',
          async () => {
            new WakeOffers(model, memory, { ...actions, resume }).dispose();
            return Promise.resolve();
          },
        ).then((shown) => {
          assert.deepEqual(
            shown.map(({ message }) => message),
            ['Queue item 1 of email is done: answer 1'],
          );
        });
      });
      await done;
      assert.deepEqual(resumed, { workspace, sessionId: 'asker-1', trigger: 'email' });
      const left = memory.get<{ wake: { task_id: number } }[]>('atlas.openWakes', []);
      assert.deepEqual(
        left.map((each) => each.wake.task_id),
        [2],
      );
    });

    it('the command that resumes one is a line without Enter, for what can be the id of a session', () => {
      assert.equal(resumeCommand('claude --resume {{session_id}}', 'a-1'), 'claude --resume a-1');
      assert.equal(resumeCommand(' x {{session_id}}\n y {{session_id}}\r', 'a'), 'x a y a');
      assert.throws(() => resumeCommand('claude --resume', 'a'), /atlas\.resumeCommand/u);
      for (const hostile of ['$(touch x)', '-p', 'a b', 'a;b', '', 'a\nb', '`a`', "a'b", 'a"b', 'a|b', 'a&b', '%a%'])
        assert.throws(() => resumeCommand('claude --resume {{session_id}}', hostile), /is not a valid session ID/u);
    });

    it('the line waits in the terminal until a person presses Enter', async function () {
      // The older host brings no pseudo terminals.
      if (process.env['HOST_VERSION'] !== '4.139.1') this.skip();
      const settings = vscode.workspace.getConfiguration('atlas');
      await settings.update('resumeCommand', 'touch resumed-{{session_id}}', vscode.ConfigurationTarget.Global);
      const made = new Promise<void>((resolve) => {
        const watcher = watch(workspaceFolder(), (_event, name) => {
          if (name !== 'and-this') return;
          watcher.close();
          resolve();
        });
      });
      const id = await answered('resume', 'answer', 'asker-8');
      const opened = new Promise<vscode.Terminal>((resolve) => {
        const listener = vscode.window.onDidOpenTerminal((terminal) => {
          listener.dispose();
          resolve(terminal);
        });
      });
      await run('resumeSession', id);
      const terminal = await opened;
      // One line only if the first half was not run: else this is a command of its own, which there isn't.
      terminal.sendText(' and-this', true);
      await made;
      assert.ok(existsSync(path.join(workspaceFolder(), 'resumed-asker-8')));
      await settings.update('resumeCommand', undefined, vscode.ConfigurationTarget.Global);
      terminal.dispose();
    });

    it('a terminal in the folder gets the command of the host that told of the session', async () => {
      writeFileSync(
        path.join(api.root, 'lifecycle.jsonl'),
        `${JSON.stringify({ at: '', event: 'stop', host: 'codex', session_id: 'asker-7', exit: 0 })}\n`,
      );
      const id = await answered('resume', 'answer', 'asker-7');
      const opened = new Promise<vscode.Terminal>((resolve) => {
        const listener = vscode.window.onDidOpenTerminal((terminal) => {
          listener.dispose();
          resolve(terminal);
        });
      });
      await run('resumeSession', id);
      const terminal = await opened;
      assert.equal(terminal.name, 'Resume email');
      assert.equal((terminal.creationOptions as vscode.TerminalOptions).cwd, workspaceFolder());
      terminal.dispose();
      rmSync(path.join(api.root, 'lifecycle.jsonl'));
    });
  });
});
