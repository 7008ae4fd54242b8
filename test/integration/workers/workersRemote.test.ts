import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { type Clone, Clones, codeOf, deadOwner } from '../../support/fixtures/forgeClones';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';

let world: ForgeWorld;
let clones: Clones;
let a: Clone;

beforeEach(async () => {
  world = makeForgeWorld();
  clones = new Clones(world);
  a = clones.add('a');
  unwrap(await a.sling('w1', 't1'));
  unwrap(await a.workers.sharing.sync());
});
afterEach(() => {
  world.dispose();
});

/** A shell's line that counts how often it was run. */
function counting(): { readonly line: string; readonly times: () => number } {
  const file = path.join(world.base, 'pushes').replaceAll('\\', '/');
  writeFileSync(file, '');
  return { line: `echo once >>"${file}"`, times: () => readFileSync(file, 'utf8').split('\n').length - 1 };
}

/** Another pusher: it puts a commit on top of the ledger, whatever else is under way. */
const MOVE_LEDGER = `
unset $(git rev-parse --local-env-vars) GIT_QUARANTINE_PATH
tip=$(git rev-parse refs/heads/forge/ledger)
next=$(git -c user.name=x -c user.email=x@y commit-tree -p "$tip" -m other "$tip^{tree}")
git update-ref refs/heads/forge/ledger "$next" "$tip"`;

describe('a remote that refuses', { timeout: 60_000 }, () => {
  it('by a rule is asked a few times, and then it is said; nothing is claimed', async () => {
    const pushes = counting();
    clones.hook('pre-receive', `${pushes.line}\necho "no forge here" >&2\nexit 1`);
    const [before, remote] = [a.picture(), clones.refs];
    const refused = await a.sling('w2', 't2');
    expect(refused).toMatchObject({ ok: false, error: { code: 'remote_refused' } });
    expect(refused.ok ? '' : refused.error.message).toContain('pre-receive hook declined');
    expect(pushes.times()).toBeLessThan(8);
    expect(codeOf(await a.claim('w1'))).toBe('remote_refused');
    expect([a.picture(), clones.refs]).toEqual([before, remote]);
    // What needs no claim is done here, and it is said that the others don't have it.
    unwrap(await a.workers.slinging.addTasks([{ id: 't3', type: 'x', input: {} }]));
    expect(a.workers.sharing.unshared?.code).toBe('remote_refused');
    expect(codeOf(await a.workers.sharing.sync())).toBe('remote_refused');
    expect(pushes.times()).toBeLessThan(32);
    expect(clones.refs).toBe(remote);
  });

  it('one branch refuses all of a claim', async () => {
    clones.hook('update', 'case "$1" in refs/heads/forge/hooks/*) exit 1;; esac');
    const [before, remote] = [a.picture(), clones.refs];
    expect(codeOf(await a.sling('w2', 't2'))).toBe('remote_refused');
    expect([a.picture(), clones.refs]).toEqual([before, remote]);
  });

  it('for a moment takes the claim in the end', async () => {
    const pushes = counting();
    clones.hook(
      'pre-receive',
      `${pushes.line}\ntest "$(wc -l <"${path.join(world.base, 'pushes').replaceAll('\\', '/')}")" -gt 3`,
    );
    unwrap(await a.sling('w2', 't2'));
    expect(pushes.times()).toBe(4);
    expect(await a.tasks()).toEqual(['t1 PENDING w1', 't2 PENDING w2']);
    expect(a.git('log', '--format=%s', 'forge/hooks/w2')).toBe('Sling t2 to w2');
  });

  it('since another is always quicker takes the claim once that rests', async () => {
    const pushes = counting();
    const file = path.join(world.base, 'pushes').replaceAll('\\', '/');
    clones.hook('pre-receive', `${pushes.line}\ntest "$(wc -l <"${file}")" -gt 12 && exit 0\n${MOVE_LEDGER}`);
    unwrap(await a.sling('w2', 't2'));
    expect(pushes.times()).toBe(13);
    expect(clones.git('log', '--format=%s', 'forge/ledger').split('\n').slice(0, 13)).toEqual([
      'Sling t2 to w2',
      ...Array.from({ length: 12 }, () => 'other'),
    ]);
  });
});

describe('an answer that is lost', { timeout: 60_000 }, () => {
  it('of a claim that arrived: nobody else gets it, nothing is done twice, the next sync takes it in', async () => {
    const b = clones.add('b');
    const hearAgain = clones.loseAnswers(a);
    const before = a.picture();
    expect(codeOf(await a.sling('w2', 't2'))).toBe('remote_unreachable');
    expect(a.picture()).toBe(before);
    hearAgain();
    expect(codeOf(await b.sling('w3', 't2'))).toBe('illegal_transition');
    // It asks again, and is told that it has it already.
    expect(codeOf(await a.sling('w2', 't2'))).toBe('illegal_transition');
    expect(unwrap(await a.workers.sharing.sync())).toMatchObject({ conflicts: [], superseded: [], sent: [] });
    expect(await a.statusOf('w2')).toMatchObject({ elsewhere: false, state: { status: 'PENDING', claim: 1 } });
    await a.done('w2');
    unwrap(await b.workers.sharing.sync());
    expect(await b.tasks()).toEqual(['t1 PENDING w1', 't2 COMPLETE w2']);
    expect(b.git('log', '--format=%s', 'forge/hooks/w2').split('\n')).toEqual([
      'Complete t2',
      'Start t2',
      'Sling t2 to w2',
    ]);
    expect(b.git('log', '--merges', '--format=%s', 'forge/ledger')).toBe('');
  });

  it('of a beginning: whoever comes next here goes on, and nobody elsewhere', async () => {
    const b = clones.add('b');
    const hearAgain = clones.loseAnswers(a);
    expect(codeOf(await a.claim('w1', false, deadOwner()))).toBe('remote_unreachable');
    hearAgain();
    expect(codeOf(await b.claim('w1'))).toBe('illegal_transition');
    expect(unwrap(await a.claim('w1'))).toMatchObject({ action: 'restart', state: { incarnation: 2, attempts: 2 } });
  });

  it('of work that is over: it is over once', async () => {
    const work = unwrap(await a.claim('w1'));
    const hearAgain = clones.loseAnswers(a);
    unwrap(await a.workers.steps.ending.end(work.lease, 'complete'));
    expect(a.workers.sharing.unshared?.code).toBe('remote_unreachable');
    hearAgain();
    expect(unwrap(await a.workers.sharing.sync())).toMatchObject({
      conflicts: [],
      superseded: [],
      ledgerMerged: false,
    });
    expect(clones.git('log', '--format=%s', 'forge/hooks/w1').split('\n')).toEqual([
      'Complete t1',
      'Start t1',
      'Sling t1 to w1',
    ]);
    expect(clones.git('show', 'forge/ledger:evidence.jsonl').split('\n')).toHaveLength(1);
  });
});

describe('a clone that has not all', { timeout: 60_000 }, () => {
  it.each([
    ['shallow', ['--depth=1']],
    ['of a single branch', ['--single-branch']],
    ['shallow, of all branches', ['--depth=1', '--no-single-branch']],
    ['without contents', ['--filter=blob:none']],
    ['without trees', ['--filter=tree:0']],
  ])('%s: has work slung, started, completed and shared', async (_, options) => {
    clones.git('config', 'uploadpack.allowFilter', 'true');
    clones.git('config', 'uploadpack.allowAnySHA1InWant', 'true');
    await a.done('w1');
    unwrap(await a.sling('w2', 't2'));
    const c = clones.add('c', options, `file://${clones.bare.replaceAll('\\', '/')}`);
    unwrap(await c.workers.sharing.sync());
    expect(await c.tasks()).toEqual(['t1 COMPLETE w1', 't2 PENDING w2']);
    unwrap(await c.sling('w3', 't3'));
    await c.done('w2');
    await c.done('w3');
    unwrap(await c.sling('w1', 't4'));
    expect(c.workers.sharing.unshared).toBeUndefined();
    unwrap(await a.workers.sharing.sync());
    // What the user fetches comes as the clone was made.
    c.git('fetch', '--quiet');
    unwrap(await c.workers.sharing.sync());
    for (const clone of [a, c]) {
      expect(await clone.tasks()).toEqual(['t1 COMPLETE w1', 't2 COMPLETE w2', 't3 COMPLETE w3', 't4 PENDING w1']);
      expect(unwrap(await clone.workers.repairs.plan())).toEqual([]);
    }
    expect(a.git('show', 'forge/hooks/w1~1:out.txt')).toBe('by w1');
    a.git('fsck', '--connectivity-only');
    expect(existsSync(a.hook('w2', 'out.txt'))).toBe(true);
  });
});
