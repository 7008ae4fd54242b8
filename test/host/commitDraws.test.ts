import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import { unwrap } from '../../src/core/shared/errors';
import { type TaskRef, refKey } from '../../src/core/task/taskRef';
import { GitBridge } from '../../src/extension/gitHooks/gitBridge';
import { Verdicts } from '../../src/extension/receipts/verdicts';
import { TasksTree } from '../../src/extension/tasks/tree/tasksTree';
import { type TreeNode, nodeId } from '../../src/extension/tasks/tree/nodes';
import { WindowTasks } from '../../src/extension/windowTasks';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { git, workspaceFolder } from './support/atlasApi';
import { eventually, openedRepository } from './support/gitApi';

const COMMITS = 11;

/** A window's parts on a store of their own, beside the window that runs. */
describe('a commit', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'atlas-draws-'));
  const folder = workspaceFolder();
  const session = new WindowTasks(createAtlas(systemPorts(root, 'test', silentLog)));
  const verdicts = new Verdicts(session);
  const tree = new TasksTree(session, verdicts);
  const bridge = new GitBridge(session, silentLog);
  const draws: { readonly at: number; readonly rows: readonly string[] | 'all' }[] = [];
  let ref: TaskRef;

  before(async () => {
    await openedRepository();
    const atlas = await session.atlas.drive();
    for (const title of ['first', 'second', 'third']) {
      ({ ref } = unwrap(await atlas.startTask({ title, template: 'task', folder })));
    }
    unwrap(await atlas.send(ref, { type: 'start_step' }));
    await session.start([folder]);
    await bridge.start();
    // The editor asks for rows that are to be seen, and again for those that it is told to draw again.
    const ask = async (rows: readonly TreeNode[]): Promise<void> => {
      for (const row of rows) {
        await tree.getTreeItem(row);
        if (row.kind === 'workspace') await ask(await tree.getChildren(row));
      }
    };
    await ask(await tree.getChildren());
    tree.onDidChangeTreeData((rows) => {
      draws.push({ at: Date.now(), rows: rows?.map(nodeId) ?? 'all' });
      void (async () => ask(rows ?? (await tree.getChildren())))();
    });
  });

  after(() => {
    bridge.dispose();
    tree.dispose();
    verdicts.dispose();
    session.dispose();
    rmSync(root, { recursive: true, force: true });
  });

  it('has the rows of its task drawn again, once and no others', async () => {
    const hasCommit = (subject: string): boolean => {
      const read = session.atlas.catalog.read(ref);
      return read.ok && read.value.hook.checkpoints.some(({ description }) => description === `Commit: ${subject}`);
    };
    const commit = async (subject: string): Promise<number> => {
      const before = draws.length;
      await git(folder, 'commit', '--quiet', '--allow-empty', '--message', subject);
      const returned = Date.now();
      await eventually(tree.onDidChangeTreeData, () =>
        hasCommit(subject) && draws.length > before ? true : undefined,
      );
      return (draws.at(-1)?.at ?? 0) - returned;
    };
    // What the start of the window has drawn is over when a second commit is.
    for (const subject of ['one before', 'another before']) await commit(subject);
    draws.length = 0;
    const times: number[] = [];
    for (let nr = 1; nr <= COMMITS; nr += 1) times.push(await commit(`draw ${nr}`));
    assert.deepEqual(
      draws.map(({ rows }) => rows),
      Array.from({ length: COMMITS }, () => [`task:${refKey(ref)}`]),
    );
    times.sort((a, b) => a - b);
    // Told, not asserted: how long it takes depends on what else the machine does.
    console.log(
      `      drawn ${times[(COMMITS - 1) / 2]} ms after git returned (median; ${times[0]} to ${times.at(-1)})`,
    );
  });
});
