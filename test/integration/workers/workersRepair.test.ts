import { existsSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { ClaimedWork } from '../../../src/workers/operations/workerSteps';
import {
  type ForgeWorld,
  isThere,
  makeForgeWorld,
  onBranch,
  subjects,
  usersOwn,
  workerPorts,
} from '../../support/fixtures/forgeWorld';
import { WorkerPool } from '../../support/processes/workerPool';

let world: ForgeWorld;
let pool: WorkerPool;
const owner = workerPorts().processes.self();

beforeAll(async () => {
  pool = await WorkerPool.open('test/support/processes/forgeWorker.ts');
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  world = makeForgeWorld();
});
afterEach(() => {
  world.dispose();
});

function hook(worker: string, ...parts: string[]): string {
  return path.join(world.folder, '.forge', 'hooks', worker, ...parts);
}

async function slung(worker: string, id = `t-${worker}`): Promise<void> {
  unwrap(await world.workers.slinging.sling({ worker, task: { id } }));
}

async function claimed(worker: string): Promise<ClaimedWork> {
  return unwrap(await world.workers.steps.claim({ worker, owner }));
}

/** A claim by a process that is killed right after it. */
async function claimedByTheDead(worker: string): Promise<void> {
  const process = pool.start('claim', world.folder, [worker]);
  await process.speaks();
  await process.asked('go');
  await process.kill();
}

async function finished(worker: string): Promise<void> {
  await slung(worker);
  const { lease, folder } = await claimed(worker);
  writeFileSync(path.join(folder, 'out.txt'), `by ${worker}`);
  unwrap(await world.workers.steps.ending.end(lease, 'complete'));
}

/** Commits that no branch of ours must lose, whatever is repaired. */
function commits(): string[] {
  return world.git('rev-list', '--all').split('\n');
}

/** The plan as `action subject`, sorted. */
async function planned(): Promise<string[]> {
  const plan = unwrap(await world.workers.repairs.plan());
  return plan
    .map(({ action, subject }) => `${action} ${path.isAbsolute(subject) ? path.basename(subject) : subject}`)
    .sort();
}

/** A broken state: how it is made, what the plan says, what is true afterwards. */
interface Broken {
  readonly what: string;
  readonly make: () => Promise<void> | void;
  readonly plan: readonly string[];
  readonly after: () => Promise<void> | void;
}

/** The states that a repository is found in after crashes, cleaning and hands. Each is made by hand, on real git. */
const ZOO: readonly Broken[] = [
  {
    what: 'a worker was killed at its work and left something',
    make: async () => {
      await slung('w1');
      await claimedByTheDead('w1');
      writeFileSync(hook('w1', 'half.txt'), 'half');
    },
    plan: ['hand_on w1'],
    after: async () => {
      expect(world.git('show', 'forge/hooks/w1:half.txt')).toBe('half');
      expect(await claimed('w1')).toMatchObject({ action: 'resume', state: { attempts: 2, incarnation: 2 } });
    },
  },
  {
    what: 'a worker was killed for the third time',
    make: async () => {
      await slung('w1');
      for (let time = 0; time < 3; time += 1) await claimedByTheDead('w1');
    },
    plan: ['give_up w1'],
    after: () => {
      expect(onBranch(world, 'hooks/w1', 'result.json')).toMatchObject({ error: { code: 'attempts_spent' } });
    },
  },
  {
    what: 'git clean -ffdx took all folders',
    make: async () => {
      await finished('w1');
      await slung('w2');
      world.git('clean', '-ffdxq');
    },
    plan: ['show_folder w1', 'show_folder w2'],
    after: () => {
      expect(readFileSync(hook('w1', 'out.txt'), 'utf8')).toBe('by w1');
      expect(isThere(hook('w2', 'task.json'))).toBe(true);
    },
  },
  {
    what: 'a branch of unfinished work was deleted',
    make: async () => {
      await slung('w1');
      const { folder } = await claimed('w1');
      writeFileSync(path.join(folder, 'half.txt'), 'half');
      world.git('update-ref', '-d', 'refs/heads/forge/hooks/w1');
    },
    plan: ['keep_folder w1'],
    after: () => {
      expect(onBranch(world, 'hooks/w1', 'status.json')).toMatchObject({ status: 'IN_PROGRESS', taskId: 't-w1' });
      expect(world.git('show', 'forge/hooks/w1:half.txt')).toBe('half');
    },
  },
  {
    what: 'a branch of finished work was deleted: its history is found again by the ledger',
    make: async () => {
      await finished('w1');
      world.git('update-ref', '-d', 'refs/heads/forge/hooks/w1');
    },
    plan: ['keep_folder w1'],
    after: () => {
      expect(subjects(world, 'hooks/w1').slice(0, 2)).toEqual(['Keep the folder of w1', 'Complete t-w1']);
      expect(world.git('show', 'forge/hooks/w1:out.txt')).toBe('by w1');
    },
  },
  {
    what: 'branch and folder of a worker were removed, its task is lost',
    make: async () => {
      await slung('w1');
      rmSync(hook('w1'), { recursive: true });
      world.git('update-ref', '-d', 'refs/heads/forge/hooks/w1');
    },
    plan: ['forget_worktree w1', 'reopen_task t-w1'],
    after: async () => {
      expect(world.git('worktree', 'list')).not.toContain('hooks/w1');
      await slung('w2', 't-w1');
      expect(onBranch(world, 'hooks/w2', 'status.json')).toMatchObject({ claim: 2 });
    },
  },
  {
    what: 'the machine stopped between hook and ledger',
    make: async () => {
      await slung('w1');
      const before = world.git('rev-parse', 'forge/ledger');
      unwrap(await world.workers.steps.ending.end((await claimed('w1')).lease, 'complete'));
      world.git('update-ref', 'refs/heads/forge/ledger', before);
    },
    // The folder still shows both steps.
    plan: ['complete_ledger ledger', 'take_lines tasks'],
    after: () => {
      expect(world.git('show', 'forge/ledger:tasks.jsonl')).toContain('"status":"COMPLETE"');
      expect(world.git('show', 'forge/ledger:evidence.jsonl')).toContain('"id":"t-w1#1"');
    },
  },
  {
    what: 'the last line of the ledger is torn, another is no record',
    make: async () => {
      await finished('w1');
      const file = path.join(world.folder, '.forge', 'ledger', 'tasks.jsonl');
      writeFileSync(file, `{"id":1}\n${readFileSync(file, 'utf8')}{"id":"t9","cla`);
      world.git('-C', path.dirname(file), 'commit', '--quiet', '-am', 'by hand');
    },
    plan: ['set_lines_aside tasks', 'set_lines_aside tasks'],
    after: () => {
      const lines = world.git('show', 'forge/ledger:tasks.jsonl').split('\n');
      expect(lines.every((line) => typeof (JSON.parse(line) as { id: unknown }).id === 'string')).toBe(true);
      const rejected = world
        .git('show', 'forge/ledger:rejected.jsonl')
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
      expect(rejected).toEqual([
        { file: 'tasks.jsonl', line: '{"id":1}' },
        { file: 'tasks.jsonl', line: '{"id":"t9","cla' },
      ]);
    },
  },
  {
    what: "somebody added a task in the ledger's folder",
    make: async () => {
      await slung('w1');
      const file = path.join(world.folder, '.forge', 'ledger', 'tasks.jsonl');
      const task = { id: 'mine', type: 'x', input: {} };
      const record = {
        id: 'mine',
        claim: 0,
        incarnation: 0,
        sequence: 0,
        at: '2026-11-22T12:00:00Z',
        status: 'OPEN',
        task,
      };
      writeFileSync(file, `${readFileSync(file, 'utf8')}${JSON.stringify(record)}\n`);
    },
    plan: ['take_lines tasks'],
    after: async () => {
      await slung('w2', 'mine');
    },
  },
  {
    what: "a hook's branch holds what can't be read",
    make: async () => {
      await slung('w1');
      await claimed('w1');
      writeFileSync(hook('w1', 'status.json'), '{"torn');
      writeFileSync(hook('w1', 'half.txt'), 'half');
      world.git('-C', hook('w1'), 'add', '.');
      world.git('-C', hook('w1'), 'commit', '--quiet', '-m', 'by hand');
    },
    plan: ['roll_back w1'],
    after: () => {
      expect(subjects(world, 'hooks/w1').slice(0, 2)).toEqual(['Roll back w1', 'by hand']);
      expect(onBranch(world, 'hooks/w1', 'status.json')).toMatchObject({ status: 'IN_PROGRESS' });
      expect(world.git('show', 'forge/hooks/w1:half.txt')).toBe('half');
      expect(world.git('show', 'forge/hooks/w1~1:status.json')).toBe('{"torn');
    },
  },
  {
    what: "the protocol's own files were edited in the folder",
    make: async () => {
      await slung('w1');
      writeFileSync(hook('w1', 'status.json'), '{"status":"COMPLETE"}');
    },
    plan: ['show_folder w1'],
    after: () => {
      expect(JSON.parse(readFileSync(hook('w1', 'status.json'), 'utf8'))).toMatchObject({ status: 'PENDING' });
      const aside = path.join(world.folder, '.forge', 'set-aside');
      const [kept = ''] = readdirSync(aside);
      expect(readFileSync(path.join(aside, kept, 'status.json'), 'utf8')).toBe('{"status":"COMPLETE"}');
    },
  },
  {
    what: 'a git that was killed left its locks',
    make: async () => {
      await slung('w1');
      const long = new Date(Date.now() - 60_000);
      for (const lock of [
        'refs/heads/forge/ledger.lock',
        'refs/heads/forge/hooks/w1.lock',
        'worktrees/w1/index.lock',
      ]) {
        writeFileSync(path.join(world.folder, '.git', lock), '');
        utimesSync(path.join(world.folder, '.git', lock), long, long);
      }
      // One that is held just now, and one of the user's.
      writeFileSync(path.join(world.folder, '.git', 'refs/heads/forge/hooks/w9.lock'), '');
      writeFileSync(path.join(world.folder, '.git', 'refs/heads/main.lock'), '');
      utimesSync(path.join(world.folder, '.git', 'refs/heads/main.lock'), long, long);
    },
    plan: ['remove_lock index.lock', 'remove_lock ledger.lock', 'remove_lock w1.lock'],
    after: async () => {
      expect(existsSync(path.join(world.folder, '.git', 'refs/heads/main.lock'))).toBe(true);
      expect(existsSync(path.join(world.folder, '.git', 'refs/heads/forge/hooks/w9.lock'))).toBe(true);
      rmSync(path.join(world.folder, '.git', 'refs/heads/main.lock'));
      await claimed('w1');
    },
  },
  {
    what: "another branch is checked out in a hook's folder: a human's own doing",
    make: async () => {
      await slung('w1');
      world.git('-C', hook('w1'), 'checkout', '--quiet', '--detach', 'main');
    },
    plan: ['by_hand w1'],
    after: () => {
      expect(world.git('-C', hook('w1'), 'rev-parse', 'HEAD')).toBe(world.git('rev-parse', 'main'));
    },
  },
];

describe('repair', { timeout: 60_000 }, () => {
  it.each(ZOO)('fixes: $what', async ({ make, plan, after }) => {
    await make();
    const before = commits();
    const own = usersOwn(world);
    expect(await planned()).toEqual([...plan].sort());
    expect(commits(), 'a plan changes nothing').toEqual(before);
    const report = unwrap(await world.workers.repairs.apply());
    expect(report.failed).toEqual([]);
    expect(report.left.map(({ action }) => action)).toEqual(
      plan.filter((each) => each.startsWith('by_hand')).map(() => 'by_hand'),
    );
    expect(await planned(), 'a second run finds nothing').toEqual(plan.filter((each) => each.startsWith('by_hand')));
    const now = new Set(commits());
    expect(
      before.filter((commit) => !now.has(commit)),
      'no commit is lost',
    ).toEqual([]);
    expect(usersOwn(world)).toEqual(own);
    await after();
  });

  it('finds nothing where nothing is wrong, and leaves alone what is at work', async () => {
    await finished('w1');
    await slung('w2');
    await claimed('w2');
    await slung('pool/w3', 't3');
    expect(await planned()).toEqual([]);
    expect(unwrap(await world.workers.repairs.apply())).toEqual({ done: [], left: [], failed: [] });
  });

  it('fixes all of it at once', async () => {
    await slung('w1');
    await claimedByTheDead('w1');
    await finished('w2');
    await slung('w3');
    world.git('clean', '-ffdxq');
    world.git('update-ref', '-d', 'refs/heads/forge/hooks/w3');
    expect(await planned()).toEqual([
      'forget_worktree w3',
      'hand_on w1',
      'reopen_task t-w3',
      'show_folder w1',
      'show_folder w2',
    ]);
    const { failed, left } = unwrap(await world.workers.repairs.apply());
    expect([failed, left]).toEqual([[], []]);
    expect(await planned()).toEqual([]);
    await slung('w3', 't-w3');
  });
});
