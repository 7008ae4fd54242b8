import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Result, unwrap } from '../../../src/core/shared/errors';
import { type Execution, workEnvironment } from '../../../src/workers/workers';
import type { ClaimedWork } from '../../../src/workers/operations/workerSteps';
import type { WorkerStatus } from '../../../src/workers/operations/workerStatus';
import {
  type ForgeWorld,
  hashOf,
  isThere,
  makeForgeWorld,
  onBranch,
  subjects,
  workerPorts,
} from '../../support/fixtures/forgeWorld';
import { WorkerPool } from '../../support/processes/workerPool';

const W = 'w1';
const owner = workerPorts().processes.self();
let world: ForgeWorld;
let pool: WorkerPool;

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

function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error.code;
}

async function slung(id = 't1', worker = W, more: object = {}): Promise<string> {
  return unwrap(await world.workers.slinging.sling({ worker, task: { id, ...more } })).folder;
}

async function claimed(worker = W): Promise<ClaimedWork> {
  return unwrap(await world.workers.steps.claim({ worker, owner }));
}

async function statusOf(worker = W): Promise<WorkerStatus> {
  const found = unwrap(await world.workers.statuses.all()).workers.find((each) => each.worker === worker);
  if (found === undefined) throw new Error(`no worker ${worker}`);
  return found;
}

/** A claim by a process that dies. */
async function claimedByTheDead(worker = W): Promise<void> {
  const process = pool.start('claim', world.folder, [worker]);
  await process.speaks();
  expect(typeof JSON.parse(await process.asked('go'))).toBe('number');
  await process.kill();
}

/** Runs a script of Node's as the work. */
function script(source: string): (work: ClaimedWork) => Promise<Execution> {
  return (work) =>
    new Promise((resolve) => {
      const env = { ...process.env, ...workEnvironment(work) };
      execFile(process.execPath, ['-e', source], { env }, (error) => {
        if (error === null) resolve({ ok: true });
        else
          resolve({
            ok: false,
            error: { code: `exit_${error.code ?? '?'}`, message: 'It failed.', recoverable: true },
          });
      });
    });
}

describe('a task that is slung', { timeout: 60_000 }, () => {
  it('hangs on a hook of its own: files, branch, ledger', async () => {
    const task = { id: 't1', type: 'translate', input: { componentId: 'c' }, timeout: '2099-01-01T00:00:00Z', more: 1 };
    const request = {
      worker: 'pool/w',
      task,
      tools: ['a', 'b', 'c', 'd', 'e'],
      context: { figmaComponent: { id: 7 } },
    };
    const { folder } = unwrap(await world.workers.slinging.sling(request));
    expect(folder).toBe(path.join(world.folder, '.forge', 'hooks', 'pool', 'w'));
    expect(readdirSync(folder).sort()).toEqual(['.git', '.gitattributes', 'context.json', 'status.json', 'task.json']);
    expect(readFileSync(path.join(folder, '.gitattributes'), 'utf8')).toMatch(/^\* -text/u);
    const shown = onBranch(world, 'hooks/pool/w', 'task.json');
    expect(shown).toMatchObject({ ...task, timeout: '2099-01-01T00:00:00.000Z' });
    expect(JSON.parse(readFileSync(path.join(folder, 'task.json'), 'utf8'))).toEqual(shown);
    expect(onBranch(world, 'hooks/pool/w', 'context.json')).toEqual({
      ...request.context,
      task: shown,
      tools: request.tools,
    });
    expect(onBranch(world, 'hooks/pool/w', 'status.json')).toMatchObject({ status: 'PENDING', claim: 1, attempts: 0 });
    expect(subjects(world, 'hooks/pool/w')).toEqual(['Sling t1 to pool/w']);
    expect(subjects(world, 'ledger')).toEqual(['Sling t1 to pool/w']);
    const lines = readFileSync(path.join(world.folder, '.forge', 'ledger', 'tasks.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { status: string }).status)).toEqual(['OPEN', 'PENDING']);
    expect(world.git('worktree', 'list')).toContain('[forge/hooks/pool/w]');
  });

  it('is refused where it may not be, and then nothing is made', async () => {
    const { slinging } = world.workers;
    const six = await slinging.sling({ worker: W, task: { id: 't1' }, tools: ['1', '2', '3', '4', '5', '6'] });
    expect(codeOf(six)).toBe('usage');
    const blocked = await slinging.sling({ worker: W, task: { id: 't1', blockedBy: ['t0'] } });
    expect(codeOf(blocked)).toBe('illegal_transition');
    for (const worker of ['../x', 'con', 'A', 'a/b/c'])
      expect(codeOf(await slinging.sling({ worker, task: { id: 't' } }))).toBe('invalid_name');
    expect(codeOf(await slinging.sling({ worker: W, task: { id: '../t' } }))).toBe('usage');
    expect(isThere(world.folder, '.forge')).toBe(false);
    expect(world.git('for-each-ref', 'refs/heads/forge/')).toBe('');

    await slung('t0');
    expect(codeOf(await slinging.sling({ worker: W, task: { id: 't2' } })), 'unfinished work').toBe(
      'illegal_transition',
    );
    expect(codeOf(await slinging.sling({ worker: 'w2', task: { id: 't0' } })), "another's").toBe('illegal_transition');
    expect(codeOf(await slinging.sling({ worker: `${W}/a`, task: { id: 't2' } })), 'a pool of that name').toBe(
      'invalid_name',
    );
    const waits = { worker: 'w2', task: { id: 't1', blockedBy: ['t0'] } };
    expect(codeOf(await slinging.sling(waits)), 'blocker is pending').toBe('illegal_transition');
    unwrap(await world.workers.steps.ending.end((await claimed()).lease, 'complete'));
    expect(codeOf(await slinging.sling({ worker: 'w2', task: { id: 't0' } })), 'complete').toBe('illegal_transition');
    expect(codeOf(await slinging.sling(waits))).toBe('ok');
    // Of a worker whose work is over, the hook is free; what lay there is in its history.
    await slung('t3');
    expect(subjects(world, `hooks/${W}`)).toEqual(['Sling t3 to w1', 'Complete t0', 'Start t0', 'Sling t0 to w1']);
    expect(readdirSync(path.join(world.folder, '.forge', 'hooks', W))).not.toContain('result.json');
  });

  it('is not written through a link that leads out of the repository', async () => {
    symlinkSync(world.base, path.join(world.folder, '.forge'), 'junction');
    const before = readdirSync(world.base).sort();
    expect(codeOf(await world.workers.slinging.sling({ worker: W, task: { id: 't1' } }))).toBe('unsafe_path');
    expect(readdirSync(world.base).sort()).toEqual(before);
    expect(world.git('for-each-ref', 'refs/heads/forge/')).toBe('');
  });
});

describe('work', { timeout: 60_000 }, () => {
  it('that a program does is recorded with hashes that are those of its files', async () => {
    const folder = await slung();
    const write = "require('fs').writeFileSync(process.env.FORGE_HOOK + '/out.bin', Buffer.from([1, 13, 10, 255]))";
    const { result } = unwrap(await world.workers.run({ worker: W, owner }, script(write)));
    if (result === undefined) throw new Error('no result');
    expect(result).toMatchObject({ taskId: 't1', status: 'COMPLETE' });
    expect(result.evidence.inputHash).toBe(hashOf(path.join(folder, 'context.json')));
    expect(result.evidence.outputHash).toBe(hashOf(path.join(folder, 'out.bin')));
    expect(readFileSync(path.join(folder, 'evidence', 'output-hash.txt'), 'utf8')).toBe(
      `${result.evidence.outputHash}  out.bin\n`,
    );
    expect(subjects(world, `hooks/${W}`)).toEqual(['Complete t1', 'Start t1', 'Sling t1 to w1']);
    const { ledger } = unwrap(await world.workers.statuses.all());
    expect(ledger.tasks.last.get('t1')).toMatchObject({ status: 'COMPLETE', claim: 1, incarnation: 1 });
    expect(ledger.evidence.last.get('t1#1')).toMatchObject({
      ...{ status: 'COMPLETE', outputHash: result.evidence.outputHash },
      commit: world.git('rev-parse', `forge/hooks/${W}`),
    });
    expect(await statusOf()).toMatchObject({ orphaned: [], plan: { action: 'nothing' }, stale: undefined });
  });

  it('that fails is told to the next who tries', async () => {
    await slung();
    const { state } = unwrap(await world.workers.run({ worker: W, owner }, script('process.exit(3)')));
    expect(state.status).toBe('FAILED');
    expect(subjects(world, `hooks/${W}`)).toEqual(['Fail t1', 'Start t1', 'Sling t1 to w1']);
    await slung('t1', 'w2');
    expect((await claimed('w2')).context.previousAttempts).toMatchObject([
      { claim: 1, worker: W, error: { code: 'exit_3' } },
    ]);
    expect(onBranch(world, 'hooks/w2', 'status.json')).toMatchObject({ claim: 2 });
  });

  it("with a worker's own result is taken only with the hashes of its files", async () => {
    const folder = await slung();
    const { lease } = await claimed();
    const { ending } = world.workers.steps;
    writeFileSync(path.join(folder, 'out.txt'), 'out');
    const evidence = {
      inputHash: hashOf(path.join(folder, 'context.json')),
      outputHash: hashOf(path.join(folder, 'out.txt')),
    };
    const result = { taskId: 't1', status: 'COMPLETE', output: { mpkPath: 'x' }, own: 1 };
    const write = (content: object): void => world.write(path.join(folder, 'result.json'), JSON.stringify(content));
    const timestamp = '2026-11-22T12:00:00Z';
    for (const wrong of [
      result,
      { ...result, evidence: { ...evidence, timestamp, inputHash: '0'.repeat(64) } },
      { ...result, evidence: { ...evidence, timestamp, outputHash: '0'.repeat(64) } },
      { ...result, taskId: 't2', evidence: { ...evidence, timestamp } },
      { ...result, status: 'FAILED', evidence: { ...evidence, timestamp } },
    ]) {
      write(wrong);
      expect(codeOf(await ending.end(lease, 'complete')), JSON.stringify(wrong)).toBe('verification_failed');
    }
    expect((await statusOf()).state?.status).toBe('IN_PROGRESS');
    const discoveredTasks = [{ id: 'found', type: 'x', input: {} }];
    write({ ...result, evidence: { ...evidence, timestamp }, discoveredTasks });
    const done = unwrap(await ending.end(lease, 'complete'));
    expect(done.result).toMatchObject({ ...result, evidence });
    expect(unwrap(await ending.end(lease, 'complete')), 'said again').toMatchObject({
      changed: false,
      result: done.result,
    });
    expect(codeOf(await ending.end(lease, 'fail'))).toBe('illegal_transition');
    const { ledger } = unwrap(await world.workers.statuses.all());
    expect(ledger.tasks.last.get('found')).toMatchObject({ status: 'OPEN', task: { discoveredFrom: 't1' } });
  });

  it('can always be said to have failed, and what its worker wrote is kept', async () => {
    const folder = await slung();
    const { lease } = await claimed();
    writeFileSync(path.join(folder, 'result.json'), '{"torn');
    unwrap(await world.workers.steps.ending.end(lease, 'fail'));
    expect(world.git('show', `forge/hooks/${W}:evidence/rejected-result.json`)).toBe('{"torn');
  });

  it('does not take links, repositories or names that not every system has', async () => {
    const folder = await slung();
    const { lease } = await claimed();
    symlinkSync(path.join(world.base, 'gitconfig'), path.join(folder, 'link'));
    mkdirSync(path.join(folder, 'inner', '.git'), { recursive: true });
    writeFileSync(path.join(folder, 'inner', '.git', 'config'), 'x');
    writeFileSync(path.join(folder, 'fine'), 'x');
    const { skipped } = unwrap(await world.workers.steps.ending.end(lease, 'complete'));
    expect([...skipped].sort()).toEqual(['inner/.git', 'link']);
    expect(world.git('ls-tree', '-r', '--name-only', `forge/hooks/${W}`).split('\n')).toContain('fine');
    expect(world.git('ls-tree', '-r', '--name-only', `forge/hooks/${W}`)).not.toMatch(/link|inner/u);
  });
});

describe('work that is handed on', { timeout: 60_000 }, () => {
  it('goes on where it was left, and the one before can say nothing more', async () => {
    const folder = await slung();
    const { steps } = world.workers;
    const first = await claimed();
    writeFileSync(path.join(folder, 'half.txt'), 'half');
    expect(codeOf(await steps.handoff(first.lease, 'timeout', ' '))).toBe('usage');
    unwrap(await steps.handoff(first.lease, 'context_limit', 'page 2'));
    expect(onBranch(world, `hooks/${W}`, 'status.json')).toMatchObject({
      ...{ status: 'IN_PROGRESS', handoffReason: 'context_limit', resumePoint: 'page 2' },
    });
    expect(world.git('show', `forge/hooks/${W}:half.txt`)).toBe('half');
    expect(codeOf(await world.workers.slinging.sling({ worker: W, task: { id: 't2' } }))).toBe('illegal_transition');
    expect(codeOf(await steps.clear(W))).toBe('illegal_transition');
    const second = await claimed();
    expect(second).toMatchObject({ action: 'resume', state: { incarnation: 2, attempts: 1, resumePoint: 'page 2' } });
    const before = world.git('for-each-ref', 'refs/heads/forge/');
    expect(codeOf(await steps.ending.end(first.lease, 'complete'))).toBe('stale_caller');
    expect(codeOf(await steps.handoff(first.lease, 'error', 'x'))).toBe('stale_caller');
    expect(world.git('for-each-ref', 'refs/heads/forge/')).toBe(before);
    unwrap(await steps.ending.end(second.lease, 'complete'));
    unwrap(await steps.clear(W));
    expect(subjects(world, `hooks/${W}`)).toEqual([
      'Clear t1',
      'Complete t1',
      'Resume t1',
      'Handoff checkpoint',
      'Start t1',
      'Sling t1 to w1',
    ]);
    expect(readdirSync(folder).filter((name) => name.endsWith('.json') || name.endsWith('.txt'))).toEqual([]);
    expect(codeOf(await steps.claim({ worker: W, owner }))).toBe('not_found');
  });
});

describe('recovery', { timeout: 60_000 }, () => {
  it('begins what was never begun, begins anew what left nothing, goes on with what left something, three times', async () => {
    const { steps } = world.workers;
    const folder = await slung();
    expect((await statusOf()).plan?.action).toBe('run');
    await claimedByTheDead();
    expect(await statusOf()).toMatchObject({ stale: 'owner_dead', plan: { action: 'restart' } });
    await claimedByTheDead();
    writeFileSync(path.join(folder, 'part.txt'), 'part');
    expect(unwrap(await steps.plan(W)).action).toBe('resume');
    await claimedByTheDead();
    expect(world.git('show', `forge/hooks/${W}:part.txt`), 'kept when it was gone on with').toBe('part');
    expect(subjects(world, `hooks/${W}`).slice(0, 3)).toEqual(['Resume t1', 'Restart t1', 'Start t1']);
    expect(unwrap(await steps.plan(W)).action).toBe('give_up');
    expect(codeOf(await steps.claim({ worker: W, owner }))).toBe('illegal_transition');
    expect(await statusOf()).toMatchObject({
      state: { status: 'FAILED' },
      result: { error: { code: 'attempts_spent' } },
    });
    expect(subjects(world, `hooks/${W}`)[0]).toBe('Fail t1');
    expect(unwrap(await steps.plan(W)).action).toBe('nothing');
  });

  it('leaves alone whom it sees at work, and asks a human where it can see nobody', async () => {
    await slung();
    await claimed();
    expect(unwrap(await world.workers.steps.plan(W)).action).toBe('nothing');
    expect(codeOf(await world.workers.steps.claim({ worker: W, owner, ownerIsGone: true }))).toBe('illegal_transition');
    await slung('t2', 'w2');
    unwrap(await world.workers.steps.claim({ worker: 'w2', owner: { ...owner, machine_id: 'another' } }));
    expect(codeOf(await world.workers.steps.claim({ worker: 'w2', owner }))).toBe('illegal_transition');
    expect((await statusOf('w2')).plan?.action).toBe('ask');
    const taken = unwrap(await world.workers.steps.claim({ worker: 'w2', owner, ownerIsGone: true }));
    expect(taken).toMatchObject({ action: 'restart', lease: { incarnation: 2 } });
  });

  it('makes a folder again that was removed, with all that was committed', async () => {
    const folder = await slung();
    const first = await claimed();
    writeFileSync(path.join(folder, 'half.txt'), 'half');
    unwrap(await world.workers.steps.handoff(first.lease, 'error', 'x'));
    world.git('clean', '-ffdxq');
    expect(isThere(folder)).toBe(false);
    expect(await statusOf()).toMatchObject({
      orphaned: expect.arrayContaining(['no_worktree']) as unknown,
      plan: { action: 'resume' },
    });
    expect(unwrap(await world.workers.steps.restore(W))).toEqual({ added: true });
    expect(readFileSync(path.join(folder, 'half.txt'), 'utf8')).toBe('half');
    expect(await statusOf()).toMatchObject({ orphaned: [] });
    // Only git's own link is gone: the files stay.
    writeFileSync(path.join(folder, 'new.txt'), 'new');
    rmSync(path.join(folder, '.git'));
    expect(unwrap(await world.workers.steps.restore(W))).toEqual({ added: false });
    expect(readFileSync(path.join(folder, 'new.txt'), 'utf8')).toBe('new');
    expect((await claimed()).state).toMatchObject({ incarnation: 2, attempts: 2 });
  });

  it('shows what is damaged, and what in the folder is not what the branch says', async () => {
    const folder = await slung();
    writeFileSync(path.join(folder, 'status.json'), '{}');
    expect((await statusOf()).orphaned).toEqual(['folder_differs']);
    unwrap(await world.workers.steps.restore(W));
    expect((await statusOf()).orphaned).toEqual([]);
    writeFileSync(path.join(folder, 'status.json'), '{}');
    world.git('-C', folder, 'commit', '--quiet', '-am', 'by hand');
    const { damage } = await statusOf();
    expect(damage?.code).toBe('damaged');
    expect(codeOf(await world.workers.steps.claim({ worker: W, owner }))).toBe('damaged');
    expect(codeOf(await world.workers.slinging.sling({ worker: W, task: { id: 't9' } }))).toBe('damaged');
  });

  it.each(['where it was before', 'gone'])(
    'tells the ledger what only a hook knows: its branch is %s',
    async (where) => {
      await slung();
      const ledger = world.git('rev-parse', 'forge/ledger');
      const { lease } = await claimed();
      unwrap(await world.workers.steps.ending.end(lease, 'complete'));
      // As if the machine had stopped between the two branches.
      if (where === 'gone') world.git('update-ref', '-d', 'refs/heads/forge/ledger');
      else world.git('update-ref', 'refs/heads/forge/ledger', ledger);
      expect((await statusOf()).orphaned).toEqual(['ledger_behind']);
      // What hooks know is read as if the ledger said it.
      const { ledger: healed } = unwrap(await world.workers.statuses.all());
      expect(healed.tasks.last.get('t1')).toMatchObject({ status: 'COMPLETE', worker: W, sequence: 3 });
      expect(healed.evidence.last.get('t1#1')).toMatchObject({ status: 'COMPLETE', taskId: 't1' });
      expect(codeOf(await world.workers.slinging.sling({ worker: 'w2', task: { id: 't1' } })), 'done twice').toBe(
        'illegal_transition',
      );
      unwrap(await world.workers.steps.clear(W));
      expect(world.git('show', 'forge/ledger:tasks.jsonl')).toContain('"status":"COMPLETE"');
      expect(world.git('show', 'forge/ledger:evidence.jsonl')).toContain('"id":"t1#1"');
    },
  );
});

describe('several processes', { timeout: 120_000 }, () => {
  it('claim one hook: one gets it', async () => {
    await slung();
    const claimants = Array.from({ length: 4 }, () => pool.start('claim', world.folder, [W]));
    for (const each of claimants) await each.speaks();
    const said = await Promise.all(claimants.map(async (each) => JSON.parse(await each.asked('go')) as unknown));
    expect(said.filter((each) => each === 1)).toHaveLength(1);
    expect(said.filter((each) => each === 'illegal_transition')).toHaveLength(3);
    expect(subjects(world, `hooks/${W}`)).toEqual(['Start t1', 'Sling t1 to w1']);
    for (const each of claimants) await each.kill();
  });

  it('sling the same tasks to workers of their own: each is done once', async () => {
    const racers = ['w1', 'w2', 'w3'].map((name) => pool.start('race', world.folder, [name]));
    for (const each of racers) await each.speaks();
    const won = await Promise.all(racers.map(async (each) => JSON.parse(await each.asked('go')) as string[]));
    expect(won.flat().sort()).toEqual(['t0', 't1', 't2', 't3', 't4']);
    const { ledger } = unwrap(await world.workers.statuses.all());
    expect([...ledger.tasks.last.values()].map(({ status, claim }) => `${status} ${claim}`)).toEqual(
      Array.from({ length: 5 }, () => 'COMPLETE 1'),
    );
    expect(ledger.tasks.conflicts).toEqual([]);
    expect(ledger.evidence.last.size).toBe(5);
  });
});
