import { describe, expect, it } from 'vitest';
import { AtlasError } from '../../../src/core/shared/errors';
import { readLedger } from '../../../src/core/worker/ledger';
import { checkFiles } from '../../../src/extension/workers/tree/evidenceCheck';
import { type WorkerNode, workerNodeId } from '../../../src/extension/workers/tree/nodes';
import {
  abilitiesOf,
  bucketOf,
  bucketsOf,
  isEmpty,
  isSlingable,
  needsHuman,
  poolsOf,
  problemsOf,
  shapeOf,
} from '../../../src/extension/workers/tree/outline';
import { sha256 } from '../../../src/store/task/recordFile';
import { evidenceOf } from '../../../src/workers/slot/evidence';
import type { FolderFile } from '../../../src/workers/slot/slotTree';
import type { WorkerStatus } from '../../../src/workers/operations/workerStatus';

const AT = '2026-11-22T12:00:00.000Z';

function status(more: Partial<WorkerStatus> = {}): WorkerStatus {
  return {
    ...{ worker: 'w1', folder: '/r/.forge/hooks/w1', commit: 'c', state: undefined, task: undefined },
    ...{ context: undefined, result: undefined, plan: undefined, damage: undefined, stale: undefined, orphaned: [] },
    elsewhere: false,
    ...more,
  };
}

function held(state: NonNullable<WorkerStatus['state']>['status'], more: Partial<WorkerStatus> = {}): WorkerStatus {
  return status({
    state: {
      ...{ status: state, taskId: 't1', worker: 'w1', claim: 1, incarnation: 1, sequence: 1 },
      ...{ attempts: 1, updatedAt: AT, schema_version: 1 },
    },
    ...more,
  });
}

const plan = (action: NonNullable<WorkerStatus['plan']>['action']) => ({ plan: { action, reason: '' } });
const DAMAGE = new AtlasError('damaged', 'no');

describe('what is shown of a worker', () => {
  it('is its status, or that nothing hangs there, or that nobody can tell', () => {
    expect(shapeOf(held('PENDING'))).toBe('PENDING');
    expect(shapeOf(status())).toBe('FREE');
    expect(shapeOf(status({ damage: DAMAGE }))).toBe('DAMAGED');
    expect(shapeOf(status({ commit: undefined, orphaned: ['no_branch'] }))).toBe('LOST');
  });

  it('needs a human where something is wrong that time does not fix', () => {
    expect(needsHuman(held('IN_PROGRESS', plan('nothing')))).toBe(false);
    expect(needsHuman(held('PENDING', { orphaned: ['ledger_behind'] }))).toBe(false);
    expect(needsHuman(held('IN_PROGRESS', { elsewhere: true, ...plan('ask') })), 'of another clone').toBe(false);
    for (const more of [
      { damage: DAMAGE },
      { stale: 'owner_dead' as const, ...plan('resume') },
      { stale: 'deadline' as const },
      { orphaned: ['no_worktree' as const] },
      { orphaned: ['folder_differs' as const] },
      plan('ask'),
      plan('give_up'),
    ])
      expect(needsHuman(held('IN_PROGRESS', more)), JSON.stringify(more)).toBe(true);
    const result = (recoverable: boolean) => ({
      taskId: 't1',
      status: 'FAILED' as const,
      error: { code: 'x', message: 'x', recoverable },
      evidence: { inputHash: '', outputHash: '', timestamp: AT },
    });
    expect(needsHuman(held('FAILED', { result: result(true) }))).toBe(false);
    expect(needsHuman(held('FAILED', { result: result(false) }))).toBe(true);
  });

  it('names what is wrong once, the gravest first', () => {
    const many = held('IN_PROGRESS', { stale: 'deadline', orphaned: ['ledger_behind', 'no_worktree'], ...plan('ask') });
    expect(problemsOf(many)).toEqual(['ask', 'deadline', 'no_worktree', 'ledger_behind']);
  });

  it.each([
    ['a free hook', status(), false, ['free']],
    ['work that waits', held('PENDING', plan('run')), false, ['run']],
    [
      'work that waits without a folder',
      held('PENDING', { ...plan('run'), orphaned: ['no_worktree'] }),
      false,
      ['run', 'recover'],
    ],
    ['work of a living process', held('IN_PROGRESS', plan('nothing')), true, ['running']],
    ['work of a dead one', held('IN_PROGRESS', plan('restart')), false, ['run', 'recover', 'held', 'running']],
    ['work of nobody knows whom', held('IN_PROGRESS', plan('ask')), false, ['recover', 'held', 'running']],
    ['work that was tried too often', held('IN_PROGRESS', plan('give_up')), false, ['recover', 'held', 'running']],
    ['work that is done', held('COMPLETE', plan('nothing')), false, ['free', 'clear']],
    ['work that failed', held('FAILED', plan('nothing')), false, ['free', 'clear']],
    ['a damaged hook', status({ damage: DAMAGE }), false, []],
    ['a hook without a branch', status({ commit: undefined }), false, []],
  ] as const)('offers for %s what can be done', (_what, worker, isAlive, can) => {
    expect(abilitiesOf(worker, isAlive)).toEqual(can);
  });

  it('is grouped by pools', () => {
    const names = ['a', 'p/1', 'p/2', 'b', 'q/1'];
    const { pools, single } = poolsOf({
      workers: names.map((worker) => status({ worker })),
      ledger: readLedger({ tasks: '', convoys: '', evidence: '' }),
    });
    expect(pools).toEqual(['p', 'q']);
    expect(single.map(({ worker }) => worker)).toEqual(['a', 'b']);
  });
});

describe('the tasks of a ledger', () => {
  const record = (id: string, state: string, at: string, blockedBy: string[] = []): string =>
    `${JSON.stringify({ id, claim: 0, incarnation: 0, sequence: 0, at, status: state, task: { id, type: 't', blockedBy } })}\n`;
  const at = (minute: number): string => `2026-11-22T12:0${minute}:00.000Z`;
  const ledger = readLedger({
    tasks: [
      record('open2', 'OPEN', at(2)),
      record('open1', 'OPEN', at(1)),
      record('waits', 'OPEN', at(3), ['open1']),
      record('unblocked', 'OPEN', at(4), ['done1']),
      record('hangs', 'PENDING', at(1)),
      record('runs', 'IN_PROGRESS', at(2)),
      record('failed', 'FAILED', at(1)),
      record('failedBlocked', 'FAILED', at(2), ['open1']),
      record('done1', 'COMPLETE', at(1)),
      record('done2', 'COMPLETE', at(2)),
    ].join(''),
    convoys: '',
    evidence: '',
  });

  it('are told apart by what can be done with them; ready ones by age, others the last changed first', () => {
    const ids = Object.entries(bucketsOf(ledger)).map(([bucket, tasks]) => [bucket, tasks.map(({ id }) => id)]);
    expect(Object.fromEntries(ids)).toEqual({
      ready: ['open1', 'open2', 'unblocked'],
      blocked: ['waits'],
      in_progress: ['runs', 'hangs'],
      failed: ['failedBlocked', 'failed'],
      complete: ['done2', 'done1'],
    });
    for (const [bucket, tasks] of Object.entries(bucketsOf(ledger)))
      for (const task of tasks) expect(bucketOf(ledger, task)).toBe(bucket);
  });

  it('can be slung where nobody has them and nothing blocks them', () => {
    const slingable = [...ledger.tasks.last.values()].filter((each) => isSlingable(ledger, each)).map(({ id }) => id);
    expect(slingable.sort()).toEqual(['failed', 'open1', 'open2', 'unblocked']);
  });

  it('make the view not empty, as does a line that is none', () => {
    const empty = { tasks: '', convoys: '', evidence: '' };
    expect(isEmpty({ workers: [], ledger: readLedger(empty) })).toBe(true);
    expect(isEmpty({ workers: [], ledger })).toBe(false);
    expect(isEmpty({ workers: [], ledger: readLedger({ ...empty, evidence: 'no line' }) })).toBe(false);
    expect(isEmpty({ workers: [status()], ledger: readLedger(empty) })).toBe(false);
  });
});

describe('the files of a hook against the ledger', () => {
  const file = (text: string): FolderFile => ({ bytes: Buffer.from(text), executable: false });
  /** What lies in a folder after its work was completed, and what the ledger says of it. */
  function completed(outputs: Readonly<Record<string, string>>) {
    const context = file('{}');
    const left = new Map(Object.entries(outputs).map(([path, text]) => [path, file(text)]));
    const evidence = evidenceOf(context.bytes, left);
    return { files: new Map([['context.json', context], ...left, ...evidence.files]), recorded: evidence };
  }
  const verdicts = (...args: Parameters<typeof checkFiles>): Record<string, string> =>
    Object.fromEntries(checkFiles(...args).map(({ path, verdict }) => [path, verdict]));
  const PROOF = {
    'context.json': 'verified',
    'evidence/input-hash.txt': 'verified',
    'evidence/output-hash.txt': 'verified',
  };

  it.each([[{}], [{ 'a.txt': 'a' }], [{ 'a.txt': 'a', 'b/c.txt': 'c' }]])(
    '%j is verified as it was left',
    (outputs) => {
      const { files, recorded } = completed(outputs);
      const each = Object.fromEntries(Object.keys(outputs).map((path) => [path, 'verified']));
      expect(verdicts(files, recorded)).toEqual({ ...PROOF, ...each });
    },
  );

  it.each([[{ 'a.txt': 'a' }], [{ 'a.txt': 'a', 'b.txt': 'b' }]])(
    '%j: what changed since, went or came is told',
    (outputs) => {
      const { files, recorded } = completed(outputs);
      const changed = new Map([...files, ['a.txt', file('other')] as const, ['late.txt', file('late')] as const]);
      expect(verdicts(changed, recorded)).toMatchObject({ ...PROOF, 'a.txt': 'changed', 'late.txt': 'unproven' });
      changed.delete('a.txt');
      expect(verdicts(changed, recorded)).toMatchObject({ 'a.txt': 'missing' });
      changed.delete('context.json');
      expect(verdicts(changed, recorded)).toMatchObject({ 'context.json': 'missing' });
    },
  );

  it('a list that was written anew proves nothing', () => {
    const { files, recorded } = completed({ 'a.txt': 'a', 'b.txt': 'b' });
    const forged = completed({ 'a.txt': 'forged', 'b.txt': 'b' }).files;
    expect(verdicts(new Map([...files, ...forged]), recorded)).toEqual({
      ...PROOF,
      'evidence/output-hash.txt': 'changed',
      'a.txt': 'unproven',
      'b.txt': 'unproven',
    });
  });

  it('where a worker named the hash of one of several files, only that one is proven', () => {
    const { files, recorded } = completed({ 'a.txt': 'a', 'b.txt': 'b' });
    expect(verdicts(files, { ...recorded, outputHash: sha256('b') })).toEqual({
      ...PROOF,
      'a.txt': 'unproven',
      'b.txt': 'verified',
    });
  });

  it('another input, and work that is not over', () => {
    const { files, recorded } = completed({ 'a.txt': 'a' });
    const other = new Map([...files, ['context.json', file('[]')] as const]);
    expect(verdicts(other, recorded)).toMatchObject({
      'context.json': 'changed',
      'evidence/input-hash.txt': 'verified',
    });
    expect(verdicts(files, undefined)).toEqual({ 'a.txt': 'open' });
  });
});

describe('the id of a row', () => {
  it('is of it alone, whatever names hold', () => {
    const nodes: WorkerNode[] = [
      { kind: 'worker', repository: '/a', worker: 'b' },
      { kind: 'worker', repository: '/a/b', worker: '' },
      { kind: 'evidence', repository: '/a', worker: 'b' },
      { kind: 'note', repository: '/a', worker: 'b', of: 'evidence' },
      { kind: 'note', repository: '/a', worker: 'b', of: 'history' },
      { kind: 'task', repository: '/a', task: 'x', under: 'y' },
      { kind: 'task', repository: '/a', task: 'x","y', under: '' },
      { kind: 'task', repository: '/a', task: 'x', under: 'y,z' },
      { kind: 'task', repository: '/a', task: 'x,y', under: 'z' },
    ];
    expect(new Set(nodes.map(workerNodeId)).size).toBe(nodes.length);
  });
});
