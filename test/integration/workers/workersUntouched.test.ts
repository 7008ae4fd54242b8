import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { Workers } from '../../../src/workers/workers';
import { type ForgeWorld, hashOf, makeForgeWorld, usersOwn, workerPorts } from '../../support/fixtures/forgeWorld';

let world: ForgeWorld;

beforeEach(() => {
  world = makeForgeWorld();
});
afterEach(() => {
  world.dispose();
});

const WORKER = 'pool/worker-1';

/** Everything that can be done with workers, with files in each of their folders. */
async function wholeLife(workers: Workers): Promise<void> {
  const { slinging, steps, statuses } = workers;
  const owner = workerPorts().processes.self();
  unwrap(
    await slinging.addTasks([
      { id: 't1', type: 'translate', input: { a: 1 } },
      { id: 't2', type: 'x', blockedBy: ['t1'] },
    ]),
  );
  const { folder } = unwrap(await slinging.sling({ worker: WORKER, task: { id: 't1' }, tools: ['files'] }));
  const first = unwrap(await steps.claim({ worker: WORKER, owner }));
  writeFileSync(path.join(folder, 'half.bin'), Buffer.from([0, 255, 13, 10, 10, 13]));
  unwrap(await steps.handoff(first.lease, 'context_limit', 'page 2'));
  // What `git clean -ffdx` does to it.
  rmSync(path.join(world.folder, '.forge'), { recursive: true });
  unwrap(await steps.restore(WORKER));
  const second = unwrap(await steps.claim({ worker: WORKER, owner }));
  writeFileSync(path.join(folder, 'whole.txt'), 'a\r\nb\nc\n');
  mkdirSync(path.join(folder, 'deep', 'er'), { recursive: true });
  writeFileSync(path.join(folder, 'deep', 'er', 'x.json'), '{}\r\n');
  const { result } = unwrap(
    await steps.ending.end(second.lease, 'complete', { discoveredTasks: [{ id: 't3', type: 'x', input: {} }] }),
  );
  expect(result.evidence.inputHash).toBe(hashOf(path.join(folder, 'context.json')));
  expect(result.evidence.outputHash).toBe(hashOf(path.join(folder, 'evidence', 'output-hash.txt')));
  unwrap(await steps.clear(WORKER));
  unwrap(await slinging.sling({ worker: 'w2', task: { id: 't2' } }));
  const ran = await workers.run({ worker: 'w2', owner }, () => Promise.reject(new Error('no such program')));
  expect(unwrap(ran).result).toMatchObject({ status: 'FAILED', error: { code: 'not_run' } });
  const { workers: all } = unwrap(await statuses.all());
  expect(all.map(({ worker, orphaned, damage }) => [worker, orphaned, damage])).toEqual([
    [WORKER, [], undefined],
    ['w2', [], undefined],
  ]);
}

function conflict(): void {
  world.write('README.md', 'ours\n');
  world.git('commit', '--quiet', '-am', 'ours');
  world.git('switch', '--quiet', '-c', 'other', 'HEAD~1');
  world.write('README.md', 'theirs\n');
  world.git('commit', '--quiet', '-am', 'theirs');
  world.write('untracked.txt', 'x');
}

function dirty(): void {
  for (const file of ['staged', 'both', 'gone', 'changed']) world.write(`src/${file}.txt`, 'before\n');
  world.write('.gitignore', 'ignored.txt\n');
  world.git('add', '.');
  world.git('commit', '--quiet', '-m', 'files');
  world.write('src/stashed.txt', 'stashed\n');
  world.git('stash', 'push', '--quiet', '--include-untracked');
  for (const file of ['staged', 'both', 'new']) world.write(`src/${file}.txt`, 'staged\n');
  world.git('add', '.');
  world.git('rm', '--quiet', 'src/gone.txt');
  for (const file of ['both', 'changed', 'untracked', 'intended']) world.write(`src/${file}.txt`, 'after\r\n');
  world.git('add', '--intent-to-add', 'src/intended.txt');
  world.write('ignored.txt', 'secret\n');
}

const HOOKS = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-checkout', 'post-rewrite'].concat(
  ['reference-transaction', 'post-index-change', 'pre-auto-gc', 'post-merge', 'pre-push'],
);

/** Hooks, each of which leaves a trace and fails. */
function failingHooks(folder: string): string {
  const trace = path.join(world.base, 'trace');
  mkdirSync(folder, { recursive: true });
  for (const name of HOOKS) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho ${name} >> '${trace}'\nexit 1\n`);
    chmodSync(path.join(folder, name), 0o755);
  }
  return trace;
}

const SITUATIONS: Readonly<Record<string, () => { worktree?: string; trace?: string }>> = {
  'a clean repository': () => ({}),
  'a dirty repository with a stash': () => {
    dirty();
    return {};
  },
  'a merge that is not finished': () => {
    conflict();
    world.tryGit('merge', 'main');
    expect(existsSync(path.join(world.folder, '.git', 'MERGE_HEAD'))).toBe(true);
    return {};
  },
  'a rebase that is not finished': () => {
    conflict();
    world.tryGit('rebase', 'main');
    expect(existsSync(path.join(world.folder, '.git', 'rebase-merge'))).toBe(true);
    return {};
  },
  'a linked worktree': () => {
    dirty();
    const worktree = path.join(world.base, 'linked');
    world.git('worktree', 'add', '--quiet', worktree, '-b', 'side');
    writeFileSync(path.join(worktree, 'own.txt'), 'own');
    world.git('-C', worktree, 'add', '.');
    return { worktree };
  },
  'a HEAD without a branch': () => {
    dirty();
    world.git('checkout', '--quiet', '--detach');
    return {};
  },
  'a repository without a commit': () => {
    rmSync(path.join(world.folder, '.git'), { recursive: true });
    world.git('init', '--quiet');
    world.git('add', '.');
    return {};
  },
  'signatures that nobody can give': () => {
    const trace = path.join(world.base, 'trace');
    writeFileSync(path.join(world.base, 'gpg.sh'), `#!/bin/sh\necho gpg >> '${trace}'\nexit 1\n`, { mode: 0o755 });
    dirty();
    world.configure('commit.gpgSign', 'true');
    world.configure('gpg.program', path.join(world.base, 'gpg.sh'));
    return { trace };
  },
  'hooks that fail': () => {
    dirty();
    const trace = failingHooks(path.join(world.base, 'hooks'));
    world.configure('core.hooksPath', path.join(world.base, 'hooks'));
    return { trace };
  },
  'hooks from a template, which lacks the rest': () => {
    const trace = failingHooks(path.join(world.base, 'template', 'hooks'));
    world.configure('init.templateDir', path.join(world.base, 'template'));
    rmSync(path.join(world.folder, '.git'), { recursive: true });
    world.git('init', '--quiet');
    expect(existsSync(path.join(world.folder, '.git', 'info'))).toBe(false);
    return { trace };
  },
  'ends of lines that git changes, and a filter': () => {
    dirty();
    world.write('.gitattributes', '* filter=evil\n');
    world.git('add', '.gitattributes');
    world.git('commit', '--quiet', '-m', 'attributes', '.gitattributes');
    const trace = path.join(world.base, 'trace');
    world.configure('core.autocrlf', 'true');
    world.configure('core.eol', 'crlf');
    world.configure('filter.evil.clean', `sh -c "echo clean >> '${trace}'; tr a-z A-Z"`);
    world.configure('filter.evil.smudge', `sh -c "echo smudge >> '${trace}'; tr a-z A-Z"`);
    mkdirSync(path.join(world.folder, '.git', 'info'), { recursive: true });
    writeFileSync(
      path.join(world.folder, '.git', 'info', 'attributes'),
      '* filter=evil\n*.txt text\n*.json text ident\n',
    );
    // Where it is missing, git stops instead of going on without.
    world.configure('filter.evil.required', 'true');
    return { trace };
  },
  "a caller's git that means another repository": () => {
    dirty();
    const other = path.join(world.base, 'other');
    world.git('init', '--quiet', other);
    const set = { GIT_DIR: path.join(other, '.git'), GIT_WORK_TREE: other, GIT_INDEX_FILE: path.join(other, 'i') };
    Object.assign(process.env, set, { GIT_OBJECT_DIRECTORY: path.join(other, 'o'), GIT_AUTHOR_NAME: 'Somebody' });
    Object.assign(process.env, { GIT_NAMESPACE: 'n', GIT_COMMITTER_DATE: 'yesterday', LC_ALL: 'de_DE.UTF-8' });
    return { trace: path.join(other, 'i') };
  },
  'settings that leave git no identity and another encoding': () => {
    dirty();
    writeFileSync(
      process.env['GIT_CONFIG_GLOBAL'] ?? '',
      '[user]\n\tuseConfigOnly = true\n[i18n]\n\tcommitEncoding = latin1\n',
    );
    appendFileSync(
      path.join(world.folder, '.git', 'config'),
      '[index]\n\tversion = 4\n[core]\n\tlogAllRefUpdates = always\n',
    );
    return {};
  },
};

describe("the user's branch, index, files and stash", { timeout: 120_000 }, () => {
  it.each(Object.entries(SITUATIONS))('are not touched in %s', async (_name, prepare) => {
    const { worktree = world.folder, trace } = prepare();
    const exclude = path.join(world.folder, '.git', 'info', 'exclude');
    const excluded = existsSync(exclude) ? readFileSync(exclude) : Buffer.alloc(0);
    // Its files must be on disk as git last saw them: what git refreshes by itself is no change of ours.
    const before = usersOwn(world, worktree);
    const main = usersOwn(world);
    if (trace !== undefined) rmSync(trace, { force: true });
    await wholeLife(world.open(worktree));
    if (trace !== undefined) expect(existsSync(trace), 'a program of the user was started').toBe(false);
    expect(usersOwn(world, worktree)).toEqual(before);
    expect(usersOwn(world)).toEqual(main);
    expect(readFileSync(exclude)).toEqual(Buffer.concat([excluded, Buffer.from('/.forge/\n')]));
    // Git takes what was made for sound, and what it would check out is what lies there.
    world.git('fsck', '--strict', '--no-dangling');
    const who = world.git(
      'log',
      '-1',
      '--format=%an|%cn|%ce|%G?|%e',
      '--grep',
      'Sling t1',
      `refs/heads/forge/hooks/${WORKER}`,
    );
    expect(who).toBe(`${WORKER} (Atlas worker)|${WORKER} (Atlas worker)|${WORKER}@worker.atlas.invalid|N|`);
  });

  it('are the same for whom looks at a hook: git finds nothing changed there, whatever is set', async () => {
    SITUATIONS['ends of lines that git changes, and a filter']?.();
    rmSync(path.join(world.folder, '.git', 'info', 'attributes'));
    await wholeLife(world.workers);
    for (const name of ['ledger', 'hooks/w2', `hooks/${WORKER}`]) {
      const folder = path.join(world.folder, '.forge', ...name.split('/'));
      expect(world.git('-C', folder, 'status', '--porcelain'), name).toBe('');
      expect(world.git('-C', folder, 'symbolic-ref', 'HEAD')).toBe(`refs/heads/forge/${name}`);
    }
    // Checked out by git itself, the bytes are those that were hashed.
    const copy = path.join(world.base, 'copy');
    world.git('worktree', 'add', '--quiet', '--detach', copy, `forge/hooks/${WORKER}~1`);
    expect(readFileSync(path.join(copy, 'whole.txt'), 'latin1')).toBe('a\r\nb\nc\n');
    expect(readFileSync(path.join(copy, 'half.bin'), 'latin1')).toBe('\0\xff\r\n\n\r');
    const list = readFileSync(path.join(copy, 'evidence', 'output-hash.txt'), 'utf8')
      .trimEnd()
      .split('\n');
    expect(list.map((line) => line.slice(66))).toEqual(['deep/er/x.json', 'half.bin', 'whole.txt']);
    for (const line of list) expect(line.slice(0, 64)).toBe(hashOf(path.join(copy, line.slice(66))));
  });
});

/** A bare repository as `origin`, each with what the other must not get, and all that makes git push and fetch more than it is told. */
function greedyRemote(): string {
  const bare = path.join(world.base, 'bare.git');
  world.git('clone', '--quiet', '--bare', world.folder, bare);
  world.git('-C', bare, 'branch', 'theirs', 'main');
  world.git('-C', bare, 'tag', 'their-tag', 'main');
  world.git('remote', 'add', 'origin', bare);
  world.git('update-ref', 'refs/remotes/origin/gone', 'HEAD');
  world.git('branch', 'secret');
  world.git('tag', '--annotate', '-m', 'not yet', 'v1');
  world.write('.git/FETCH_HEAD', `${world.git('rev-parse', 'HEAD')}\t\tbranch 'main' of elsewhere\n`);
  const settings = {
    ...{ 'push.followTags': 'true', 'push.gpgSign': 'true', 'push.default': 'matching', 'fetch.prune': 'true' },
    ...{ 'fetch.pruneTags': 'true', 'remote.origin.mirror': 'true', 'remote.origin.tagOpt': '--tags' },
    ...{ 'remote.origin.push': '+refs/*:refs/*' },
    ...{ 'fetch.writeCommitGraph': 'true', 'push.recurseSubmodules': 'on-demand', 'submodule.recurse': 'true' },
  };
  for (const [name, value] of Object.entries(settings)) world.git('config', name, value);
  return bare;
}

describe('a remote, and what the user has not shared', { timeout: 60_000 }, () => {
  it('gets the branches forge/* and nothing else; nothing else is fetched, pruned or changed', async () => {
    dirty();
    const trace = failingHooks(path.join(world.base, 'hooks'));
    const bare = greedyRemote();
    // In this repository alone: the remote's own hooks are its rules.
    world.git('config', 'core.hooksPath', path.join(world.base, 'hooks'));
    const others = (): string[] =>
      world
        .git('-C', bare, 'for-each-ref', '--format=%(refname) %(objectname)')
        .split('\n')
        .filter((line) => !line.startsWith('refs/heads/forge/'));
    rmSync(trace, { force: true });
    const [before, remote] = [usersOwn(world), others()];
    rmSync(trace, { force: true });
    const { slinging, steps, sharing } = world.workers;
    unwrap(await slinging.addTasks([{ id: 't1', type: 'x' }]));
    unwrap(await sharing.sync('origin'));
    unwrap(await slinging.sling({ worker: WORKER, task: { id: 't1' } }));
    const { lease, folder } = unwrap(await steps.claim({ worker: WORKER, owner: workerPorts().processes.self() }));
    writeFileSync(path.join(folder, 'out.txt'), 'done\n');
    unwrap(await steps.ending.end(lease, 'complete'));
    unwrap(await sharing.sync());
    expect(sharing.unshared).toBeUndefined();
    expect(existsSync(trace), 'a hook of the user was started').toBe(false);
    expect(usersOwn(world)).toEqual(before);
    expect(others()).toEqual(remote);
    const ours = world.git('-C', bare, 'for-each-ref', '--format=%(refname)', 'refs/heads/forge/');
    expect(ours.split('\n')).toEqual([`refs/heads/forge/hooks/${WORKER}`, 'refs/heads/forge/ledger']);
    expect(world.git('-C', bare, 'rev-parse', 'forge/ledger')).toBe(world.git('rev-parse', 'forge/ledger'));
  });
});

describe("the repository's list of what git doesn't show", () => {
  it.each([
    ['# no end', '# no end\n/.forge/\n'],
    ['a\r\n', 'a\r\n/.forge/\n'],
    ['\xff\n.forge/\r\nb', '\xff\n.forge/\r\nb'],
    ['x\n/.forge\n', 'x\n/.forge\n'],
    ['#.forge/\n', '#.forge/\n/.forge/\n'],
  ])('%j is kept byte for byte', async (before, after) => {
    const exclude = path.join(world.folder, '.git', 'info', 'exclude');
    writeFileSync(exclude, before, 'latin1');
    unwrap(await world.workers.slinging.addTasks([{ id: 'a', type: 'x' }]));
    unwrap(await world.workers.slinging.addTasks([{ id: 'b', type: 'x' }]));
    expect(readFileSync(exclude, 'latin1')).toBe(after);
    expect(world.git('status', '--porcelain')).toBe('');
  });
});
