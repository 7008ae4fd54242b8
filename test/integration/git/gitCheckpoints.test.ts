import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { CachedStatus, Repository } from '../../../src/core/shared/ports';
import { CommandGitReader } from '../../../src/git/read/gitReader';
import { locateRepository } from '../../../src/git/read/locate';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { rememberEnvironment } from '../../support/environment';
import { type GitWorkspace, makeGitWorkspace } from '../../support/fixtures/gitWorkspace';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { systemIds } from '../../../src/system/systemPorts';
import { run } from '../../support/drivers/run';
import { WorkerPool } from '../../support/processes/workerPool';

/** Answers in time, however busy the machine is. */
class PromptGit extends CommandGitReader {
  override async glance(repository: Repository): Promise<CachedStatus> {
    return { status: await this.status(repository, 20_000), late: undefined };
  }
}

/** Never answers in time; what it found is told by the glance after. */
class LateGit extends CommandGitReader {
  private late: CachedStatus['late'];

  override async glance(repository: Repository): Promise<CachedStatus> {
    const { late } = this;
    const at = Date.now();
    const status = await this.status(repository, 20_000);
    this.late = status === undefined ? undefined : { files: status.files, at };
    return { status: undefined, late };
  }
}

const PORTS = { files: new NodeFileSystem(), ids: systemIds };

let ws: GitWorkspace;
let atlas: Atlas;
let pool: WorkerPool;
/** How far the store's clock is ahead of git's, in ms. */
let ahead = 0;
const restoreEnvironment = rememberEnvironment();

beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(async () => {
  ws = await makeGitWorkspace();
  Object.assign(process.env, ws.env);
  ahead = 0;
  atlas = atlasWith(new PromptGit(PORTS));
});
afterEach(() => {
  ws.dispose();
  restoreEnvironment();
});

function atlasWith(git: CommandGitReader): Atlas {
  const clock = { now: () => Date.now() + ahead };
  return new Atlas({ ...systemPorts(ws.atlasHome, '0.0.0', silentLog), clock, git });
}

function repository(folder = ws.folder): Repository {
  const found = locateRepository(folder);
  if (found === undefined) throw new Error('no repository');
  return found;
}

async function start(folder = ws.folder, running = true): Promise<TaskRef> {
  const { ref } = unwrap(await atlas.startTask({ title: 'Sample', template: 'task', folder }));
  if (running) unwrap(await atlas.startStep(ref));
  return ref;
}

async function commit(subject: string, folder = ws.folder): Promise<string> {
  const git = async (...args: string[]): Promise<string> =>
    run('git', args, { cwd: folder, env: { ...process.env, ...ws.env } });
  appendFileSync(path.join(folder, 'file.txt'), `${subject}\n`);
  await git('add', 'file.txt');
  await git('commit', '--quiet', '--message', subject);
  return git('rev-parse', 'HEAD');
}

async function scan(folder = ws.folder): Promise<number> {
  return unwrap(await (await atlas.git()).scan(repository(folder))).length;
}

function checkpoints(ref: TaskRef): string[] {
  return unwrap(atlas.store.read(ref)).hook.checkpoints.map((item) => item.description);
}

describe('a commit', () => {
  it('makes one checkpoint with its files, branch and state; looking again makes none', async () => {
    const ref = await start();
    const sha = await commit('work');
    writeFileSync(path.join(ws.folder, 'left.txt'), 'x');
    expect([await scan(), await scan()]).toEqual([1, 0]);
    const { hook } = unwrap(atlas.store.read(ref));
    expect(hook.checkpoints).toMatchObject([
      {
        description: 'Commit: work',
        trigger: 'git_commit',
        git_branch: 'main',
        git_commit: sha,
        git_dirty: true,
        step_name: 'implement',
      },
    ]);
    expect(hook.checkpoints[0]?.files_snapshot?.map((file) => [file.path, file.exists])).toEqual([
      ['left.txt', true],
      ['file.txt', true],
    ]);
    expect(hook.current_step?.files_touched).toEqual(expect.arrayContaining(['file.txt', 'left.txt']));
  });

  it('says nothing of the worktree where git takes long, and of the files that it found the next time', async () => {
    atlas = atlasWith(new LateGit(PORTS));
    const ref = await start();
    writeFileSync(path.join(ws.folder, 'left.txt'), 'x');
    for (const subject of ['one', 'two']) {
      await commit(subject);
      await scan();
    }
    const { hook } = unwrap(atlas.store.read(ref));
    expect(hook.checkpoints.map((item) => [item.description, item.git_dirty])).toEqual([
      ['Commit: one', undefined],
      ['Commit: two', undefined],
    ]);
    expect(hook.checkpoints.map((item) => item.files_snapshot?.map((file) => file.path))).toEqual([
      ['file.txt'],
      ['file.txt', 'left.txt'],
    ]);
  });

  it("before the first task, or before a task began, is nobody's", async () => {
    await commit('before all');
    const first = await start();
    await commit('during');
    const second = await start();
    await scan();
    expect(checkpoints(first)).toEqual(['Commit: during']);
    expect(checkpoints(second)).toEqual([]);
  });

  it('and its push make one each', async () => {
    const ref = await start();
    await commit('work');
    await ws.git('push', '--quiet');
    expect(await scan()).toBe(2);
    expect(new Set(checkpoints(ref))).toEqual(new Set(['Commit: work', 'Pushed main to origin (1 commit)']));
  });

  it('on a detached HEAD has no branch', async () => {
    const ref = await start();
    await ws.git('switch', '--quiet', '--detach');
    await commit('nowhere');
    await scan();
    expect(unwrap(atlas.store.read(ref)).hook.checkpoints).toMatchObject([
      { git_branch: '', description: 'Commit: nowhere' },
    ]);
  });

  it('is not seen where the setting says so, and not made up later', async () => {
    writeFileSync(path.join(ws.atlasHome, 'config.yaml'), 'hooks:\n  auto_checkpoint:\n    on_commit: false\n');
    const ref = await start();
    await commit('unseen');
    expect(await scan()).toBe(0);
    rmSync(path.join(ws.atlasHome, 'config.yaml'));
    expect(await scan()).toBe(0);
    expect(checkpoints(ref)).toEqual([]);
  });

  it('is once a checkpoint, however many processes look at the same time', { timeout: 60_000 }, async () => {
    const ref = await start();
    for (let index = 0; index < 6; index += 1) await commit(`number ${index}`);
    const scanners = Array.from({ length: 4 }, () => pool.start('scan', ws.atlasHome, [ws.folder], ws.env));
    const made = (await Promise.all(scanners.map(async (scanner) => scanner.done()))).flat().map(Number);
    expect(made.reduce((sum, each) => sum + each, 0)).toBe(6);
    expect(checkpoints(ref)).toEqual([0, 1, 2, 3, 4, 5].map((index) => `Commit: number ${index}`));
  });

  it('is once a checkpoint though the cursor is lost', async () => {
    const ref = await start();
    const { paths } = atlas.ports;
    const cursor = path.join(paths.workspace(ref.workspace), 'git.json');
    const before = readFileSync(cursor, 'utf8');
    await commit('work');
    await scan();
    writeFileSync(cursor, before);
    expect(await scan()).toBe(0);
    writeFileSync(cursor, 'nonsense');
    expect(await scan()).toBe(0);
    await commit('more');
    expect(await scan()).toBe(1);
    expect(checkpoints(ref)).toEqual(['Commit: work', 'Commit: more']);
  });

  it('that was noticed late stands on the step that ran then', async () => {
    const ref = await start();
    const at = Date.now() + 30_000;
    ahead = 60_000;
    unwrap(await atlas.send(ref, { type: 'step_complete' }));
    unwrap(await atlas.startStep(ref));
    process.env['GIT_COMMITTER_DATE'] = new Date(at).toISOString();
    await commit('early');
    ahead = 120_000;
    await scan();
    const { hook } = unwrap(atlas.store.read(ref));
    expect(hook.checkpoints.at(-1)).toMatchObject({
      description: 'Commit: early',
      step_name: 'implement',
      created_at: `${new Date(at).toISOString().slice(0, 19)}.000Z`,
    });
    expect(hook.current_step?.step_name).toBe('verify');
  });
});

describe('of several open tasks', () => {
  it('the one in flight gets it, though another was changed later', async () => {
    const flying = await start();
    const pending = await start(ws.folder, false);
    await commit('work');
    await scan();
    expect([checkpoints(flying), checkpoints(pending)]).toEqual([['Commit: work'], []]);
  });

  it('none in flight, the one that was changed last gets it', async () => {
    const older = await start(ws.folder, false);
    const newer = await start(ws.folder, false);
    unwrap(await atlas.checkpoint(older, 'touched'));
    await commit('work');
    await scan();
    expect([checkpoints(older), checkpoints(newer)]).toEqual([['touched', 'Commit: work'], []]);
  });

  it('the one started in the linked worktree gets what is committed there', async () => {
    const linked = path.join(ws.root, 'linked');
    await ws.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    const main = await start();
    const side = await start(linked, false);
    expect(side.workspace).toBe(main.workspace);
    await commit('there', linked);
    await commit('here');
    await scan();
    expect([checkpoints(main), checkpoints(side)]).toEqual([['Commit: here'], ['Commit: there']]);
    expect(unwrap(atlas.store.read(side)).hook.checkpoints[0]?.git_branch).toBe('side');
  });

  it("one that is over gets nothing, and a commit that it has is no other's", async () => {
    const over = await start();
    await commit('its own');
    await scan();
    unwrap(await atlas.send(over, { type: 'abandon', by: 'human' }));
    const next = await start();
    const cursor = path.join(atlas.ports.paths.workspace(next.workspace), 'git.json');
    await commit('the next');
    rmSync(cursor);
    await scan();
    await commit('one more');
    await scan();
    expect([checkpoints(over), checkpoints(next)]).toEqual([['Commit: its own'], ['Commit: one more']]);
  });

  it("a damaged one does not keep the others' commits from being seen", async () => {
    const broken = await start();
    const { paths } = atlas.ports;
    writeFileSync(paths.journal(broken), 'nonsense\n');
    await commit('lost');
    expect(await scan()).toBe(0);
    const healthy = await start();
    await commit('seen');
    expect(await scan()).toBe(1);
    expect(checkpoints(healthy)).toEqual(['Commit: seen']);
  });
});

describe('what git says about a step that was interrupted', () => {
  const evidence = async (effect: 'commit' | 'push', since?: string): Promise<object> =>
    atlas.ports.git.evidence(repository(), effect, since);

  it('commit: those of the attempt, newest first, and whether all is committed', async () => {
    const since = new Date(Date.now() - 1000).toISOString();
    const one = await commit('one');
    const two = await commit('two');
    const found = (await evidence('commit', since)) as { commitsOfAttempt: string[]; clean: boolean };
    expect(found.clean).toBe(true);
    expect(found.commitsOfAttempt.slice(0, 2)).toEqual([two, one]);
    writeFileSync(path.join(ws.folder, 'new.txt'), '');
    expect(await evidence('commit', new Date(Date.now() + 5000).toISOString())).toEqual({
      commitsOfAttempt: [],
      clean: false,
    });
  });

  it('commit: one that was reset away is no evidence', async () => {
    const since = new Date(Date.now() - 1000).toISOString();
    const kept = await commit('kept');
    const gone = await commit('gone');
    await ws.git('reset', '--quiet', '--hard', kept);
    const found = (await evidence('commit', since)) as { commitsOfAttempt: string[] };
    expect(found.commitsOfAttempt).toContain(kept);
    expect(found.commitsOfAttempt).not.toContain(gone);
  });

  it('commit: one that the reflog only tells by its parents counts too', async () => {
    const made = await ws.git('commit-tree', '-p', 'HEAD', '-m', 'plumbing', 'HEAD^{tree}');
    await ws.git('update-ref', 'HEAD', made);
    expect(await evidence('commit', new Date(Date.now() - 1000).toISOString())).toMatchObject({
      commitsOfAttempt: expect.arrayContaining([made]) as string[],
    });
  });

  it('commit: nothing without a reflog or a start', async () => {
    expect(await evidence('commit')).toEqual({ clean: true });
    rmSync(path.join(ws.folder, '.git', 'logs'), { recursive: true });
    expect(await evidence('commit', new Date(0).toISOString())).toEqual({ clean: true });
  });

  it('push: whether the upstream has HEAD, even without one set', async () => {
    expect(await evidence('push')).toEqual({ upstreamHasHead: true });
    await commit('ahead');
    expect(await evidence('push')).toEqual({ upstreamHasHead: false });
    await ws.git('push', '--quiet', 'origin', 'HEAD:other');
    await ws.git('branch', '--unset-upstream');
    expect(await evidence('push')).toEqual({ upstreamHasHead: true });
    await ws.git('remote', 'remove', 'origin');
    expect(await evidence('push')).toEqual({});
  });
});
