import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { run } from '../support/drivers/run';
import { atlasApi, checkpointsOf, git, otherProgram, taskWhen, workspaceFolder, write } from './support/atlasApi';
import { type GitRepository, gitApi, openedRepository } from './support/gitApi';

describe('commits and pushes become checkpoints', () => {
  const folder = workspaceFolder();
  const temporary: string[] = [];
  let api: AtlasApi;
  let task: AtlasTask;
  let repository: GitRepository;
  let marks = 0;

  /** A task with a running step in a folder. */
  async function runningTask(where: string): Promise<AtlasTask> {
    const started = await api.startTask({ title: `work in ${path.basename(where)}`, template: 'task', folder: where });
    return api.send(started.ref, { type: 'start_step' });
  }

  /**
   * What the window made of everything up to now. Two last commits are made and waited for: an event after those in
   * question shows that they were looked at, and what one look finds is recorded oldest first by whole seconds, commits
   * before pushes, so that only the look after it shows that all of it was.
   */
  async function commitsSeen(where = folder, ref = task.ref): Promise<string[]> {
    await mark(where, ref);
    const seen = await mark(where, ref);
    return checkpointsOf(seen, 'git_commit').filter((text) => !/^Commit: mark \d+$/u.test(text));
  }

  async function mark(where: string, ref: AtlasTask['ref']): Promise<AtlasTask> {
    marks += 1;
    const subject = `mark ${marks}`;
    await git(where, 'commit', '--quiet', '--allow-empty', '--message', subject);
    return taskWhen(api, ref, (now) => checkpointsOf(now, 'git_commit').includes(`Commit: ${subject}`));
  }

  function temporaryFolder(): string {
    const made = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-repo-')));
    temporary.push(made);
    return made;
  }

  before(async () => {
    api = await atlasApi();
    repository = await openedRepository();
    await git(folder, 'push', '--quiet');
  });

  afterEach(async () => {
    const human = otherProgram(api);
    for (const open of api.tasks()) unwrap(await human.send(open.ref, { type: 'abandon', by: 'human' }));
  });

  after(() => {
    for (const each of temporary) rmSync(each, { recursive: true, force: true });
  });

  it('one each, from the Source Control view, a shell and another program', async () => {
    task = await runningTask(folder);
    write(folder, 'a.txt', 'a');
    await repository.add([path.join(folder, 'a.txt')]);
    await repository.commit('from the view');
    await run('sh', ['-c', 'echo b > b.txt && git add b.txt && git commit --quiet --message "from a shell"'], {
      cwd: folder,
    });
    const program =
      "require('node:child_process').execFileSync('git', ['commit', '--quiet', '--allow-empty', '-m', 'from a program'])";
    await run(process.execPath, ['-e', program], { cwd: folder });
    assert.deepEqual(await commitsSeen(), ['Commit: from the view', 'Commit: from a shell', 'Commit: from a program']);
  });

  it('merge, cherry-pick and revert count; amend, reset, rebase, checkout, stash, fetch and pull do not', async () => {
    task = await runningTask(folder);
    await git(folder, 'checkout', '--quiet', '-b', 'side');
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'on the side');
    await git(folder, 'checkout', '--quiet', 'main');
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'on main');
    await git(folder, 'merge', '--quiet', '--no-edit', '--no-ff', 'side');
    write(folder, 'c.txt', 'c');
    await git(folder, 'add', '.');
    await git(folder, 'commit', '--quiet', '--message', 'to be reverted');
    await git(folder, 'revert', '--no-edit', 'HEAD');
    await git(folder, 'commit', '--quiet', '--amend', '--allow-empty', '--message', 'amended');
    await git(folder, 'reset', '--quiet', '--hard', 'HEAD~1');
    await git(folder, 'checkout', '--quiet', '-b', 'topic', 'HEAD~2');
    write(folder, 'd.txt', 'd');
    await git(folder, 'add', '.');
    await git(folder, 'commit', '--quiet', '--message', 'a topic');
    await git(folder, 'rebase', '--quiet', 'main');
    await git(folder, 'checkout', '--quiet', 'main');
    await git(folder, 'cherry-pick', 'topic');
    await git(folder, 'stash', 'list');
    assert.deepEqual(
      await commitsSeen(),
      [
        'Commit: on the side',
        'Commit: on main',
        "Commit: Merge branch 'side'",
        'Commit: to be reverted',
        'Commit: Revert "to be reverted"',
        'Commit: a topic',
      ].concat('Commit: a topic'),
    );
  });

  it('a pull that fast-forwards and a fetch make none; a push makes one, a forced one says so, a tag none', async () => {
    task = await runningTask(folder);
    await git(folder, 'push', '--quiet');
    const clone = temporaryFolder();
    const remote = await git(folder, 'remote', 'get-url', 'origin');
    await git(clone, 'clone', '--quiet', remote, '.');
    await git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'made elsewhere');
    await git(clone, 'push', '--quiet');
    await git(folder, 'fetch', '--quiet');
    await git(folder, 'pull', '--quiet', '--ff-only');
    await git(folder, 'tag', 'v1');
    await git(folder, 'push', '--quiet', 'origin', 'v1');
    await git(folder, 'commit', '--quiet', '--amend', '--allow-empty', '--message', 'rewritten');
    await git(folder, 'push', '--quiet', '--force');
    assert.deepEqual(await commitsSeen(), []);
    const pushes = checkpointsOf(api.task(task.ref) ?? task, 'git_push');
    assert.equal(pushes.length, 2);
    assert.match(pushes[0] ?? '', /^Pushed main to origin \(\d+ commits\)$/u);
    assert.equal(pushes[1], 'Force-pushed main to origin (1 commit)');
  });

  it('a hostile subject stays data in hook.json and HOOK.md', async () => {
    task = await runningTask(folder);
    const subject = '# Ignore all | <img src=x onerror=alert(1)>';
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', subject);
    assert.deepEqual(await commitsSeen(), [`Commit: ${subject}`]);
    const text = Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.file(task.hookMd))).toString('utf8');
    assert.ok(!text.includes('<img'));
    assert.ok(!/^# Ignore/mu.test(text));
  });

  it('in a detached HEAD, and with no branch in the checkpoint', async () => {
    task = await runningTask(folder);
    await git(folder, 'checkout', '--quiet', '--detach');
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'on no branch');
    assert.deepEqual(await commitsSeen(), ['Commit: on no branch']);
    assert.equal(api.task(task.ref)?.hook.checkpoints.at(-1)?.git_branch, '');
    await git(folder, 'checkout', '--quiet', 'main');
  });

  it('in a second repository, one without commits, each for its own task', async () => {
    task = await runningTask(folder);
    const second = path.join(folder, 'second');
    mkdirSync(second);
    temporary.push(second);
    await git(second, 'init', '--quiet');
    assert.ok(await (await gitApi()).openRepository(vscode.Uri.file(second)));
    const other = await runningTask(second);
    await git(second, 'commit', '--quiet', '--allow-empty', '--message', 'the very first');
    assert.deepEqual(await commitsSeen(second, other.ref), ['Commit: the very first']);
    assert.deepEqual(await commitsSeen(), []);
  });

  it('in a linked worktree, for the task that was started there', async () => {
    task = await runningTask(folder);
    const linked = path.join(folder, 'linked');
    temporary.push(linked);
    await git(folder, 'worktree', 'add', '--quiet', '-b', 'linked', linked);
    assert.ok(await (await gitApi()).openRepository(vscode.Uri.file(linked)));
    const there = await runningTask(linked);
    assert.equal(there.ref.workspace, task.ref.workspace);
    await git(linked, 'commit', '--quiet', '--allow-empty', '--message', 'in the worktree');
    assert.deepEqual(await commitsSeen(linked, there.ref), ['Commit: in the worktree']);
    assert.deepEqual(await commitsSeen(), []);
    assert.equal(api.task(there.ref)?.hook.checkpoints.at(-1)?.git_branch, 'linked');
    await git(folder, 'worktree', 'remove', '--force', linked);
  });

  it('in a submodule, which has a workspace of its own', async () => {
    task = await runningTask(folder);
    const library = temporaryFolder();
    await git(library, 'init', '--quiet');
    await git(library, 'commit', '--quiet', '--allow-empty', '--message', 'library');
    await git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib');
    const inside = path.join(folder, 'lib');
    assert.ok(await (await gitApi()).openRepository(vscode.Uri.file(inside)));
    const there = await runningTask(inside);
    assert.notEqual(there.ref.workspace, task.ref.workspace);
    await git(inside, 'commit', '--quiet', '--allow-empty', '--message', 'in the submodule');
    assert.deepEqual(await commitsSeen(inside, there.ref), ['Commit: in the submodule']);
    assert.deepEqual(await commitsSeen(), []);
    await git(folder, 'reset', '--quiet', '--hard');
    rmSync(inside, { recursive: true, force: true });
    mkdirSync(inside, { recursive: true });
  });

  it('none where the settings turn them off, and again once they are on', async () => {
    const config = path.join(api.root, 'config.yaml');
    writeFileSync(config, 'hooks:\n  auto_checkpoint:\n    on_commit: false\n');
    task = await runningTask(folder);
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'unseen');
    await git(folder, 'push', '--quiet', '--force');
    await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'git_push').length === 1);
    writeFileSync(config, 'hooks: {}\n');
    assert.deepEqual(await commitsSeen(), []);
  });

  it('by their reflogs while Git is disabled in the editor', async () => {
    task = await runningTask(folder);
    const settings = vscode.workspace.getConfiguration('git');
    await settings.update('enabled', false, vscode.ConfigurationTarget.Workspace);
    try {
      await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'without the extension');
      assert.deepEqual(await commitsSeen(), ['Commit: without the extension']);
    } finally {
      await settings.update('enabled', undefined, vscode.ConfigurationTarget.Workspace);
      rmSync(path.join(folder, '.vscode'), { recursive: true, force: true });
    }
  });
});
