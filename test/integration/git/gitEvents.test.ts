import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GitCursor, currentCursor, describeGitEvent, readGitEvents } from '../../../src/git/read/gitEvents';
import { readReflog } from '../../../src/git/read/reflog';
import { locateRepository } from '../../../src/git/read/locate';
import { rememberEnvironment } from '../../support/environment';
import { type GitWorkspace, makeGitWorkspace } from '../../support/fixtures/gitWorkspace';
import { run } from '../../support/drivers/run';

let ws: GitWorkspace;
let cursor: GitCursor;
const restoreEnvironment = rememberEnvironment();

beforeEach(async () => {
  ws = await makeGitWorkspace();
  // Our own git commands run in this process's environment, and have to see the same settings.
  Object.assign(process.env, ws.env);
  cursor = currentCursor(repository());
});
afterEach(() => {
  ws.dispose();
  restoreEnvironment();
});

function repository(folder = ws.folder): NonNullable<ReturnType<typeof locateRepository>> {
  const found = locateRepository(folder);
  if (found === undefined) throw new Error('no repository');
  return found;
}

/** What happened since the last look, as the text of its checkpoint. */
async function seen(folder = ws.folder): Promise<string[]> {
  const read = await readGitEvents(repository(folder), cursor);
  cursor = JSON.parse(JSON.stringify(read.cursor)) as GitCursor;
  return read.events.map(describeGitEvent);
}

async function commit(subject: string, name = 'file.txt', folder = ws.folder): Promise<string> {
  appendFileSync(path.join(folder, name), `${subject}\n`);
  await git(folder, 'add', name);
  await git(folder, 'commit', '--quiet', '--message', subject);
  return git(folder, 'rev-parse', 'HEAD');
}

async function git(folder: string, ...args: string[]): Promise<string> {
  return run('git', args, { cwd: folder, env: { ...process.env, ...ws.env, GIT_EDITOR: 'true' } });
}

/** A branch `topic` with one commit, and one on `main` since. */
async function diverge(): Promise<void> {
  await ws.git('switch', '--quiet', '--create', 'topic');
  await commit('topic work', 'topic.txt');
  await ws.git('switch', '--quiet', 'main');
  await commit('main work', 'main.txt');
  await seen();
}

describe('commits that count once', () => {
  it('commit', async () => {
    await commit('one');
    await commit('two');
    expect(await seen()).toEqual(['Commit: one', 'Commit: two']);
    expect(await seen()).toEqual([]);
  });

  it('initial commit of a repository that had none', async () => {
    const folder = path.join(ws.root, 'fresh');
    await git(ws.root, 'init', '--quiet', folder);
    cursor = currentCursor(repository(folder));
    expect(await seen(folder)).toEqual([]);
    await commit('the first', 'a.txt', folder);
    expect(await seen(folder)).toEqual(['Commit: the first']);
  });

  it('merge commit, by git and by hand, told by its own subject', async () => {
    await diverge();
    await ws.git('merge', '--quiet', '--no-edit', 'topic');
    expect(await seen()).toEqual(["Commit: Merge branch 'topic'"]);
    await ws.git('switch', '--quiet', '--create', 'other', 'HEAD~1');
    await commit('elsewhere', 'other.txt');
    await ws.git('switch', '--quiet', 'main');
    await seen();
    await ws.git('merge', '--quiet', '--no-ff', '--no-commit', 'other');
    await ws.git('commit', '--quiet', '--message', 'merged by hand');
    expect(await seen()).toEqual(['Commit: merged by hand']);
  });

  it('cherry-pick, of one and of several', async () => {
    await diverge();
    await ws.git('switch', '--quiet', 'topic');
    await commit('second', 'second.txt');
    await ws.git('switch', '--quiet', 'main');
    await seen();
    await ws.git('cherry-pick', 'main..topic');
    expect(await seen()).toEqual(['Commit: topic work', 'Commit: second']);
  });

  it('revert', async () => {
    await commit('bad');
    await seen();
    await ws.git('revert', '--no-edit', 'HEAD');
    expect(await seen()).toEqual(['Commit: Revert "bad"']);
  });

  it('am', async () => {
    await diverge();
    const patch = path.join(ws.root, 'patch');
    writeFileSync(patch, `${await ws.git('format-patch', '-1', '--stdout', 'topic')}\n`);
    await ws.git('am', '--quiet', patch);
    expect(await seen()).toEqual(['Commit: topic work']);
  });

  it('pull that merges', async () => {
    await commit('mine', 'mine.txt');
    const other = await clone();
    await commit('theirs', 'theirs.txt', other);
    await git(other, 'push', '--quiet');
    await seen();
    await ws.git('pull', '--quiet', '--no-rebase', '--no-edit');
    expect(await seen()).toEqual([expect.stringMatching(/^Commit: Merge branch 'main' of /u)]);
  });

  it('a commit on a detached HEAD, and one of a squashed merge', async () => {
    await diverge();
    await ws.git('merge', '--quiet', '--squash', 'topic');
    await ws.git('commit', '--quiet', '--message', 'squashed');
    await ws.git('switch', '--quiet', '--detach');
    await commit('nowhere');
    expect(await seen()).toEqual(['Commit: squashed', 'Commit: nowhere']);
  });

  it('a commit of a program that writes nothing into the reflog, by its parents', async () => {
    const made = await ws.git('commit-tree', '-p', 'HEAD', '-m', 'plumbing', 'HEAD^{tree}');
    await ws.git('update-ref', 'HEAD', made);
    expect(await seen()).toEqual(['Commit: plumbing']);
    await ws.git('update-ref', 'HEAD', 'HEAD~1');
    expect(await seen()).toEqual([]);
  });
});

describe('moves that are no commits', () => {
  it('amend, reset, checkout, switch, branch, stash', async () => {
    await commit('one');
    await seen();
    await ws.git('commit', '--quiet', '--amend', '--message', 'one, better');
    await ws.git('branch', 'side', 'HEAD~1');
    await ws.git('checkout', '--quiet', 'side');
    await ws.git('switch', '--quiet', 'main');
    await ws.git('checkout', '--quiet', '--detach', 'side');
    await ws.git('checkout', '--quiet', 'main');
    await ws.git('reset', '--quiet', '--hard', 'HEAD~1');
    await ws.git('reset', '--quiet', '--hard', 'ORIG_HEAD');
    writeFileSync(path.join(ws.folder, 'README.md'), 'changed');
    await ws.git('stash', '--quiet');
    await ws.git('stash', 'pop', '--quiet');
    await ws.git('branch', '-m', 'side', 'sidelined');
    expect(await seen()).toEqual([]);
  });

  it('rebase, plain and interactive with reword, squash and edit', async () => {
    await diverge();
    await ws.git('switch', '--quiet', 'topic');
    await commit('second', 'second.txt');
    await commit('third', 'third.txt');
    await seen();
    await ws.git('rebase', '--quiet', 'main');
    expect(await seen()).toEqual([]);
    await run('git', ['rebase', '--quiet', '--interactive', 'main'], {
      cwd: ws.folder,
      env: {
        ...process.env,
        GIT_EDITOR: 'true',
        GIT_SEQUENCE_EDITOR: 'sed -i -e "1s/^pick/reword/" -e "2s/^pick/squash/"',
      },
    });
    expect(await ws.git('rev-list', '--count', 'main..HEAD')).toBe('2');
    expect(await seen()).toEqual([]);
  });

  it('merge and pull that only move forward, fetch, and pull that rebases', async () => {
    await ws.git('switch', '--quiet', '--create', 'ahead');
    await commit('ahead');
    await ws.git('switch', '--quiet', 'main');
    await seen();
    await ws.git('merge', '--quiet', '--ff-only', 'ahead');
    const other = await clone();
    await commit('theirs', 'theirs.txt', other);
    await git(other, 'push', '--quiet', 'origin', 'HEAD:main', '--force');
    await ws.git('reset', '--quiet', '--hard', 'origin/main');
    await ws.git('fetch', '--quiet');
    await ws.git('pull', '--quiet', '--ff-only');
    expect(await seen()).toEqual([]);
    await commit('mine', 'mine.txt');
    await commit('more', 'theirs.txt', other);
    await git(other, 'push', '--quiet');
    await seen();
    await ws.git('pull', '--quiet', '--rebase');
    expect(await seen()).toEqual([]);
    await commit('and more', 'theirs.txt', other);
    await git(other, 'push', '--quiet');
    await ws.git('-c', 'pull.rebase=true', 'pull', '--quiet');
    expect(await ws.git('log', '-1', '--format=%s')).toBe('mine');
    expect(await seen()).toEqual([]);
  });
});

async function clone(): Promise<string> {
  const folder = path.join(ws.root, 'clone');
  await git(ws.root, 'clone', '--quiet', ws.remote, folder);
  return folder;
}

describe('pushes', () => {
  it('count once, with how many commits went', async () => {
    await commit('one');
    await commit('two');
    await seen();
    await ws.git('push', '--quiet');
    expect(await seen()).toEqual(['Pushed main to origin (2 commits)']);
    await ws.git('push', '--quiet');
    expect(await seen()).toEqual([]);
  });

  it('of a new branch with a slash count what no other remote branch had', async () => {
    await ws.git('switch', '--quiet', '--create', 'fix/deep/name');
    await commit('one');
    await seen();
    await ws.git('push', '--quiet', '--set-upstream', 'origin', 'fix/deep/name');
    expect(await seen()).toEqual(['Pushed fix/deep/name to origin (1 commit)']);
  });

  it('that were forced say so', async () => {
    await commit('one');
    await ws.git('push', '--quiet');
    await ws.git('commit', '--quiet', '--amend', '--message', 'other');
    await seen();
    await ws.git('push', '--quiet', '--force');
    expect(await seen()).toEqual(['Force-pushed main to origin (1 commit)']);
  });

  it('of tags, deletions and to a bare URL are not claimed, nor are fetches', async () => {
    await ws.git('push', '--quiet', 'origin', 'main:gone');
    const bare = path.join(ws.root, 'elsewhere.git');
    await git(ws.root, 'init', '--quiet', '--bare', bare);
    await commit('one');
    await seen();
    await ws.git('tag', 'v1');
    await ws.git('push', '--quiet', 'origin', 'v1');
    await ws.git('push', '--quiet', 'origin', '--delete', 'gone');
    await ws.git('push', '--quiet', bare, 'main');
    const other = await clone();
    await commit('theirs', 'x.txt', other);
    await git(other, 'push', '--quiet');
    await ws.git('fetch', '--quiet');
    expect(await seen()).toEqual([]);
  });
});

describe('worktrees', () => {
  it('that are linked are read too, and making one is no commit', async () => {
    const linked = path.join(ws.root, 'linked');
    await ws.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    expect(await seen()).toEqual([]);
    await commit('in the linked one', 'x.txt', linked);
    await commit('in the main one');
    const { events } = await readGitEvents(repository(linked), cursor);
    expect(events.map((event) => (event.kind === 'commit' ? [event.worktree, event.subject] : event))).toEqual(
      expect.arrayContaining([
        [repository(linked).worktree, 'in the linked one'],
        [repository().worktree, 'in the main one'],
      ]),
    );
    expect(events).toHaveLength(2);
    expect(repository(linked)).toMatchObject({ main: repository().worktree, commonDir: repository().commonDir });
  });

  it('of worker hooks are left out, and so is what was done on their branches in the main one', async () => {
    await ws.git('worktree', 'add', '--quiet', '-b', 'forge/job-1', path.join(ws.root, 'forged'));
    await commit('by a worker', 'x.txt', path.join(ws.root, 'forged'));
    await ws.git('switch', '--quiet', '--create', 'forge/job-2');
    await commit('on a worker branch');
    expect(await seen()).toEqual([]);
    await ws.git('switch', '--quiet', 'main');
    await commit('mine');
    expect(await seen()).toEqual(['Commit: mine']);
    await ws.git('switch', '--quiet', 'forge/job-2');
    await commit('on it again');
    await ws.git('switch', '--quiet', 'main');
    await ws.git('push', '--quiet', 'origin', 'forge/job-2');
    expect(await seen()).toEqual([]);
  });

  it('of submodules are repositories of their own', async () => {
    await ws.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', ws.remote, 'sub');
    await ws.git('commit', '--quiet', '--message', 'with a submodule');
    const sub = path.join(ws.folder, 'sub');
    expect(repository(sub)).toMatchObject({ main: repository(sub).worktree });
    expect(repository(sub).commonDir).not.toBe(repository().commonDir);
    cursor = currentCursor(repository(sub));
    await commit('inside', 'x.txt', sub);
    expect(await seen(sub)).toEqual(['Commit: inside']);
  });
});

describe('a reflog that', () => {
  it('has a row of digits of any length is read at once, with the lines around it', () => {
    const line = (message: string): string =>
      `${'1'.repeat(40)} ${'2'.repeat(40)} Me <me> 1763766000 +0100\t${message}\n`;
    const file = path.join(ws.folder, 'reflog');
    writeFileSync(
      file,
      `${line('commit: a')}${line('commit: b').replace('Me', '9'.repeat(200_000)).replace('+', '')}${line('commit: c')}`,
    );
    const began = process.cpuUsage();
    const read = readReflog(file);
    expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
    expect(read?.entries.map(({ message, at }) => [message, at])).toEqual([
      ['commit: a', 1_763_766_000_000],
      ['commit: c', 1_763_766_000_000],
    ]);
  });

  it('is not kept is replaced by comparing HEAD', async () => {
    await ws.git('config', 'core.logAllRefUpdates', 'false');
    rmSync(path.join(ws.folder, '.git', 'logs'), { recursive: true });
    cursor = currentCursor(repository());
    await commit('one');
    expect(await seen()).toEqual(['Commit: one']);
    await ws.git('reset', '--quiet', '--hard', 'HEAD~1');
    expect(await seen()).toEqual([]);
    expect(existsSync(path.join(ws.folder, '.git', 'logs', 'HEAD'))).toBe(false);
  });

  it('was expired or rewritten is read on from where it was', async () => {
    await commit('one');
    await commit('two');
    await seen();
    const log = path.join(ws.folder, '.git', 'logs', 'HEAD');
    const lines = readFileSync(log, 'utf8').split('\n');
    writeFileSync(log, lines.slice(1).join('\n'));
    expect(await seen()).toEqual([]);
    await commit('three');
    expect(await seen()).toEqual(['Commit: three']);
    await ws.git('reflog', 'expire', '--expire=now', '--all');
    expect(await seen()).toEqual([]);
  });

  it('has equal lines in one second loses none between them', async () => {
    const log = path.join(ws.folder, '.git', 'logs', 'HEAD');
    const [a, b, c] = [await ws.git('rev-parse', 'HEAD'), await commit('b'), await commit('c')];
    const line = (from: string, to: string, message: string): string =>
      `${from} ${to} A <a@b> 1700000000 +0000\t${message}\n`;
    appendFileSync(log, line(c, a, 'reset: moving to a') + line(a, b, 'reset: moving to b'));
    await seen();
    appendFileSync(
      log,
      line(b, c, 'commit: between') + line(c, a, 'reset: moving to a') + line(a, b, 'reset: moving to b'),
    );
    expect(await seen()).toEqual(['Commit: between']);
  });

  it('ends in half a line is read to the last whole one', async () => {
    const log = path.join(ws.folder, '.git', 'logs', 'HEAD');
    const head = await ws.git('rev-parse', 'HEAD');
    const whole = `${head} ${'1'.repeat(40)} A <a@b> 1700000000 +0000\tcommit: slow\n`;
    appendFileSync(log, whole.slice(0, 60));
    expect(await seen()).toEqual([]);
    appendFileSync(log, whole.slice(60));
    expect(await seen()).toEqual(['Commit: slow']);
  });
});

describe('hostile subjects', () => {
  it.each([
    ['reset: moving to x', 'Commit: reset: moving to x'],
    ['amend (amend): y', 'Commit: amend (amend): y'],
    ['# heading \u001b[31m red', 'Commit: # heading [31m red'],
    ['a\u202eb', 'Commit: ab'],
    ['<script>alert(1)</script>', 'Commit: <script>alert(1)</script>'],
    [': : :', 'Commit: : : :'],
    ['x'.repeat(3000), `Commit: ${'x'.repeat(399)}…`],
  ])('%j', async (subject, text) => {
    await commit(subject);
    expect(await seen()).toEqual([text]);
  });
});

describe('a repository', () => {
  it('is not run by its own settings: a file system monitor is not started', async () => {
    const monitor = path.join(ws.root, 'monitor.sh');
    writeFileSync(monitor, `#!/bin/sh\ntouch ${path.join(ws.root, 'ran')}\n`);
    chmodSync(monitor, 0o755);
    await ws.git('config', 'core.fsmonitor', monitor);
    rmSync(path.join(ws.root, 'ran'), { force: true });
    const made = await ws.git(
      '-c',
      'core.fsmonitor=false',
      'commit-tree',
      '-p',
      'HEAD',
      '-m',
      'plumbing',
      'HEAD^{tree}',
    );
    await ws.git('-c', 'core.fsmonitor=false', 'update-ref', 'HEAD', made);
    expect(await seen()).toEqual(['Commit: plumbing']);
    expect(existsSync(path.join(ws.root, 'ran'))).toBe(false);
  });

  it('is found from any folder in it, and not in a folder that has none', () => {
    mkdirSync(path.join(ws.folder, 'a', 'b'), { recursive: true });
    expect(repository(path.join(ws.folder, 'a', 'b')).worktree).toBe(repository().worktree);
    mkdirSync(path.join(ws.root, 'plain', '.git'), { recursive: true });
    expect(locateRepository(path.join(ws.root, 'plain'))).toBeUndefined();
  });
});
