import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { type Clone, Clones, codeOf } from '../../support/fixtures/forgeClones';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';

let world: ForgeWorld;
let clones: Clones;
let a: Clone;
let b: Clone;

beforeEach(() => {
  world = makeForgeWorld();
  clones = new Clones(world);
  a = clones.add('a');
  b = clones.add('b');
});
afterEach(() => {
  world.dispose();
});

async function sync(...all: readonly Clone[]): Promise<void> {
  for (const clone of all) unwrap(await clone.workers.sharing.sync());
}

/** Everybody has what the remote has, and another round changes nothing. */
async function settled(): Promise<void> {
  await sync(a, b, a);
  const pictures = [a, b].map((clone) => clone.picture());
  for (const clone of [a, b])
    expect(unwrap(await clone.workers.sharing.sync())).toMatchObject({ sent: [], received: [], ledgerMerged: false });
  expect([a, b].map((clone) => clone.picture())).toEqual(pictures);
  for (const clone of [a, b])
    expect(clone.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/')).toBe(clones.refs);
  expect(await a.tasks()).toEqual(await b.tasks());
}

function subjects(clone: Clone, branch: string): string[] {
  return clone.git('log', '--format=%s', branch).split('\n');
}

async function planned({ workers }: Clone): Promise<string[]> {
  return unwrap(await workers.repairs.plan()).map(({ action, subject }) => `${action} ${subject}`);
}

describe("another clone's work", { timeout: 60_000 }, () => {
  beforeEach(async () => {
    unwrap(await a.sling('w1', 't1'));
    await sync(a);
  });

  it('is taken over only by a human; what both made of it is kept, and the later one counts', async () => {
    const mine = unwrap(await a.claim('w1'));
    await sync(b);
    expect(unwrap(await b.workers.steps.plan('w1')).action).toBe('ask');
    expect((await b.statusOf('w1')).plan?.action).toBe('ask');
    expect(codeOf(await b.claim('w1'))).toBe('illegal_transition');
    expect(await planned(b)).toEqual([]);

    a.setUrl('nowhere');
    const yours = unwrap(await b.claim('w1', true));
    expect(yours).toMatchObject({ action: 'restart', lease: { incarnation: 2 } });
    writeFileSync(path.join(yours.folder, 'out.txt'), 'by b');
    unwrap(await b.workers.steps.ending.end(yours.lease, 'complete'));
    // A is late, and does not know.
    writeFileSync(path.join(mine.folder, 'out.txt'), 'by a');
    writeFileSync(path.join(mine.folder, 'more.txt'), 'more of a');
    unwrap(await a.workers.steps.ending.end(mine.lease, 'complete'));
    const [own, others] = [a.git('rev-parse', 'forge/hooks/w1'), b.git('rev-parse', 'forge/hooks/w1')];

    a.setUrl(clones.bare);
    const report = unwrap(await a.workers.sharing.sync());
    expect(report.superseded).toEqual([{ worker: 'w1', counts: 'theirs' }]);
    expect(report.conflicts).toEqual([]);
    expect(a.git('log', '-1', '--format=%P', 'forge/hooks/w1').split(' ').sort()).toEqual([own, others].sort());
    expect(codeOf(await a.workers.steps.ending.end(mine.lease, 'complete'))).toBe('stale_caller');
    expect(readFileSync(a.hook('w1', 'out.txt'), 'utf8')).toBe('by b');
    expect(existsSync(a.hook('w1', 'more.txt'))).toBe(false);
    expect(a.git('-C', a.hook('w1'), 'status', '--porcelain')).toBe('');
    await settled();
    for (const clone of [a, b]) {
      expect(clone.git('show', 'forge/hooks/w1:out.txt')).toBe('by b');
      expect(clone.git('show', `${own}:more.txt`)).toBe('more of a');
      expect(await clone.statusOf('w1')).toMatchObject({ state: { incarnation: 2 }, orphaned: [], damage: undefined });
      const { evidence } = unwrap(await clone.workers.statuses.all()).ledger;
      expect(evidence.all.map(({ id, incarnation }) => `${id} ${incarnation}`)).toEqual(['t1#1 1', 't1#1 2']);
      expect(evidence.last.get('t1#1')).toMatchObject({ incarnation: 2, commit: others });
      expect(await planned(clone)).toEqual([]);
    }
  });

  it('that two have in the same incarnation is that of one of them', async () => {
    const first = unwrap(await a.claim('w1'));
    await sync(b);
    a.setUrl('nowhere');
    unwrap(await a.workers.steps.handoff(first.lease, 'context_limit', 'page 2'));
    const mine = unwrap(await a.claim('w1'));
    const yours = unwrap(await b.claim('w1', true));
    expect(mine.lease).toEqual(yours.lease);
    writeFileSync(path.join(yours.folder, 'half.txt'), 'half of b');
    a.setUrl(clones.bare);
    // A has done more of it.
    const report = unwrap(await a.workers.sharing.sync());
    expect(report.superseded).toEqual([{ worker: 'w1', counts: 'ours' }]);
    await sync(b);
    expect(codeOf(await b.workers.steps.ending.end(yours.lease, 'complete'))).toBe('stale_caller');
    expect((await b.statusOf('w1')).elsewhere).toBe(true);
    unwrap(await a.workers.steps.ending.end(mine.lease, 'complete'));
    await settled();
    const kept = a.git('log', '--full-history', '--format=%H', '--diff-filter=A', 'forge/hooks/w1', '--', 'half.txt');
    expect(a.git('show', `${kept}:half.txt`)).toBe('half of b');
    expect(await b.tasks()).toEqual(['t1 COMPLETE w1']);
  });

  it('that only lies in a folder is kept, where another took it over', async () => {
    const mine = unwrap(await a.claim('w1'));
    await sync(b);
    writeFileSync(path.join(mine.folder, 'half.txt'), 'half');
    unwrap(await b.claim('w1', true));
    const report = unwrap(await a.workers.sharing.sync());
    expect(report.received).toEqual(['w1']);
    expect(subjects(a, 'forge/hooks/w1')).toContain('Keep what w1 had here');
    expect(existsSync(a.hook('w1', 'half.txt'))).toBe(false);
    expect(codeOf(await a.workers.steps.handoff(mine.lease, 'error', 'x'))).toBe('stale_caller');
    await settled();
    const kept = b.git('log', '--full-history', '--format=%H', '--diff-filter=A', 'forge/hooks/w1', '--', 'half.txt');
    expect(b.git('show', `${kept}:half.txt`)).toBe('half');
    // B goes on as if nothing had been.
    expect(await b.statusOf('w1')).toMatchObject({ state: { incarnation: 2 }, elsewhere: false });
  });
});

describe('clones that worked apart', { timeout: 60_000 }, () => {
  it('with one task on two workers: both sides are shown, all choose the same, the other is withdrawn', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await b.sling('w2', 't1'));
    await sync(a);
    const seen = unwrap(await b.workers.sharing.sync());
    expect(seen).toMatchObject({ ledgerMerged: true, superseded: [], clashing: [] });
    const again = unwrap(await a.workers.sharing.sync());
    for (const { conflicts } of [seen, again]) {
      expect(conflicts).toMatchObject([{ id: 't1', sides: [{ status: 'PENDING' }, { status: 'PENDING' }] }]);
      const workers = conflicts[0]?.sides.map((side) => ('worker' in side ? side.worker : '')) ?? [];
      expect([...workers].sort()).toEqual(['w1', 'w2']);
    }
    expect(again.conflicts).toEqual(seen.conflicts);
    expect(again.ledgerMerged).toBe(false);
    await settled();

    const { worker: winner } = unwrap(await a.workers.statuses.all()).ledger.tasks.last.get('t1') ?? {};
    const loser = winner === 'w1' ? 'w2' : 'w1';
    for (const clone of [a, b]) {
      expect((await clone.statusOf(loser)).orphaned).toEqual(['claimed_elsewhere']);
      expect((await clone.statusOf(winner ?? '')).orphaned).toEqual([]);
      expect(codeOf(await clone.claim(loser))).toBe('illegal_transition');
      expect(await planned(clone)).toEqual([`withdraw ${loser}`]);
    }
    const repairing = loser === 'w1' ? a : b;
    expect(unwrap(await repairing.workers.repairs.apply())).toMatchObject({ failed: [], left: [] });
    await settled();
    expect(await planned(a)).toEqual([]);
    expect(await planned(b)).toEqual([]);
    await (winner === 'w1' ? a : b).done(winner ?? '');
    unwrap(await repairing.sling(loser, 't2'));
    await settled();
    expect(await a.tasks()).toEqual([`t1 COMPLETE ${winner ?? ''}`, `t2 PENDING ${loser}`]);
  });

  it('and one of them has begun: that one counts, and the other is withdrawn', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.claim('w1'));
    unwrap(await b.sling('w2', 't1'));
    await sync(b);
    expect(unwrap(await a.workers.sharing.sync()).conflicts).toEqual([]);
    await sync(b);
    expect(await planned(b)).toEqual(['withdraw w2']);
    unwrap(await b.workers.repairs.apply());
    await settled();
    expect(await b.tasks()).toEqual(['t1 IN_PROGRESS w1']);
  });

  it('with two tasks for one worker: one hangs there, the other is open again', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await b.sling('w1', 't2'));
    await sync(a);
    const report = unwrap(await b.workers.sharing.sync());
    // The others know of A's, so it stays.
    expect(report.superseded).toEqual([{ worker: 'w1', counts: 'theirs' }]);
    await settled();
    expect(subjects(a, 'forge/hooks/w1')).toEqual(expect.arrayContaining(['Sling t1 to w1', 'Sling t2 to w1']));
    expect(JSON.parse(readFileSync(b.hook('w1', 'task.json'), 'utf8'))).toMatchObject({ id: 't1' });
    for (const clone of [a, b]) {
      expect((await clone.statusOf('w1')).state?.taskId).toBe('t1');
      expect(await planned(clone)).toEqual(['reopen_task t2']);
    }
    unwrap(await b.workers.repairs.apply());
    await settled();
    expect(await a.tasks()).toEqual(['t1 PENDING w1', 't2 OPEN']);
    unwrap(await a.sling('w2', 't2'));
    await a.done('w1');
    await a.done('w2');
    await settled();
    expect(await b.tasks()).toEqual(['t1 COMPLETE w1', 't2 COMPLETE w2']);
  });

  it('with one id for two tasks: both sides are shown, and all choose the same', async () => {
    const [mine, yours] = ['x', 'y'].map((type) => ({ id: 't1', type, input: { of: type } }));
    unwrap(await a.workers.slinging.addTasks([mine]));
    unwrap(await b.workers.slinging.addTasks([yours]));
    await sync(a);
    const seen = unwrap(await b.workers.sharing.sync());
    const again = unwrap(await a.workers.sharing.sync());
    expect(again.conflicts).toEqual(seen.conflicts);
    const sides = seen.conflicts[0]?.sides ?? [];
    expect(sides.map((side) => ('task' in side ? side.task : {}))).toEqual(
      expect.arrayContaining([expect.objectContaining(mine ?? {}), expect.objectContaining(yours ?? {})]),
    );
    for (const clone of [a, b])
      expect(unwrap(await clone.workers.statuses.all()).ledger.tasks.last.get('t1')).toEqual(sides[0]);
    await settled();
  });

  it('with a worker here that is called like a pool there: that is said, all else is shared', async () => {
    unwrap(await a.sling('x', 't1'));
    unwrap(await b.sling('x/y', 't2'));
    unwrap(await b.sling('w2', 't3'));
    await sync(a);
    const report = unwrap(await b.workers.sharing.sync());
    expect(report).toMatchObject({ clashing: [{ ours: 'x/y', theirs: 'x' }], received: [] });
    expect([...report.sent].sort()).toEqual(['refs/heads/forge/hooks/w2', 'refs/heads/forge/ledger']);
    await sync(a);
    for (const clone of [a, b])
      expect(await clone.tasks()).toEqual(['t1 PENDING x', 't2 PENDING x/y', 't3 PENDING w2']);
    unwrap(await b.sling('w4', 't4'));
    await b.done('w2');
    expect(unwrap(await b.workers.sharing.sync())).toMatchObject({ sent: [], received: [] });
    await sync(a);
    expect(await a.tasks()).toEqual(['t1 PENDING x', 't2 PENDING x/y', 't3 COMPLETE w2', 't4 PENDING w4']);
    expect(existsSync(b.hook('x', 'y', 'task.json'))).toBe(true);
    // What hangs on the hook that is not here is not taken for lost.
    expect([await planned(a), await planned(b)]).toEqual([[], []]);
  });
});
