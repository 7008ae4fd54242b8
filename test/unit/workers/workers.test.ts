import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Result, unwrap } from '../../../src/core/shared/errors';
import { checkTaskId } from '../../../src/core/shared/ids';
import { taskIdFor, workerTaskTitle } from '../../../src/core/worker/taskTitle';
import {
  type SlotState,
  type SlotTask,
  buildContext,
  slotContextSchema,
  slotResultSchema,
  slotStatusSchema,
  slotTaskSchema,
} from '../../../src/core/worker/slotContent';
import {
  SLOT_STEPS,
  MAX_ATTEMPTS,
  checkLease,
  ended,
  givenUp,
  handedOff,
  leaseOf,
  planSlotRecovery,
  recordOf,
  assigned,
  staleness,
  started,
} from '../../../src/core/worker/slotSteps';
import { slotBranchName, checkWorker, clashingWorker, workerOfBranch } from '../../../src/core/worker/names';
import { compareVersions } from '../../../src/core/worker/versionVector';
import type { ProcessIdentity, Vitality } from '../../../src/core/recovery/liveness';

const NOW = Date.UTC(2026, 10, 22, 12);
const TASK: SlotTask = { id: 'convoy-a1b2.1', type: 'translate', input: {}, assigned: '2026-11-22T12:00:00.000Z' };
const CLONE = 'this-clone';
const OWNER: ProcessIdentity = {
  ...{ machine_id: 'm', boot_id: 'b', pid_namespace: 'n', pid: 1, start_time: '1', incarnation: 'x' },
};

function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error.code;
}

function pending(): SlotState {
  return assigned(TASK, 'translator-1', { claim: 0, incarnation: 0, sequence: 0 }, CLONE, NOW);
}

function running(state = pending()): SlotState {
  const plan = planSlotRecovery(state, { owner: 'dead', partial: true });
  return unwrap(started(state, plan, { owner: OWNER, clone: CLONE }, NOW));
}

describe('the name of a worker', () => {
  it.each(['translator-1', 'translator-pool/worker-1', '0', 'a.b_c-d', 'x'.repeat(64), 'console', 'locked'])(
    '%s is one, and its branch is of it alone',
    (name) => {
      expect(codeOf(checkWorker(name))).toBe('ok');
      expect(workerOfBranch(slotBranchName(name))).toBe(name);
    },
  );

  it.each([
    ...['', '/', 'a/', '/a', 'a/b/c', '.', '..', '../a', 'a/..', '.git', 'a..b', 'a.', 'a/b.', '-x', '_x'],
    ...['Worker', 'a b', 'a\\b', 'a:b', 'a\nb', 'a\0', 'é', '@', 'a@{1}', 'a~1', 'a^', 'a*', 'a?', 'a[', '"a"'],
    ...['con', 'nul', 'com1', 'aux.txt', 'pool/prn', 'lpt9.x', 'a.lock', 'a.lock/b', 'x'.repeat(65)],
  ])('%j is none', (name) => {
    expect(codeOf(checkWorker(name))).toBe('invalid_name');
    expect(workerOfBranch(slotBranchName(name))).toBeUndefined();
  });

  it('is not that of a pool', () => {
    expect(clashingWorker('a', ['b', 'a/b'])).toBe('a/b');
    expect(clashingWorker('a/b', ['ab', 'a'])).toBe('a');
    expect(clashingWorker('a/b', ['a/b', 'a/c', 'ab', 'b'])).toBeUndefined();
  });
});

describe('what lies on a hook', () => {
  it('keeps the fields that we do not know', () => {
    const task = { ...TASK, input: { componentId: 'c', deep: { x: [1] } }, later: { y: 1 } };
    expect(slotTaskSchema.parse(task)).toEqual(task);
    const state = { ...running(), later: 1, owner: { ...OWNER, more: 'm' } };
    expect(slotStatusSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
    const hash = 'a'.repeat(64);
    const result = {
      ...{ taskId: 't', status: 'FAILED', output: { mpkPath: 'p', x: 1 }, later: 'l' },
      error: { code: 'c', message: 'm', recoverable: true, x: 1 },
      evidence: { inputHash: hash, outputHash: hash, timestamp: '2026-11-22T12:00:00.000Z', x: 1 },
      discoveredTasks: [{ id: 'n', type: 'x', input: {}, later: true }],
    };
    expect(slotResultSchema.parse(result)).toEqual(result);
  });

  it.each([
    [{ id: '../x' }, 'id'],
    [{ id: 'con' }, 'id'],
    [{ type: '' }, 'type'],
    [{ blockedBy: ['a', 'b/c'] }, 'blockedBy'],
    [{ timeout: 'tomorrow' }, 'timeout'],
    [{ input: [] }, 'input'],
  ])('is refused where it is wrong: %j', (wrong, field) => {
    const parsed = slotTaskSchema.safeParse({ ...TASK, ...wrong });
    expect(parsed.error?.issues[0]?.path[0]).toBe(field);
  });

  it('has a context with at most five tools and three earlier attempts', () => {
    const tools = ['a', 'b', 'c', 'd', 'e'];
    expect(unwrap(buildContext(TASK, tools, [], { figmaComponent: { id: 1 } }))).toEqual({
      ...{ task: TASK, tools, figmaComponent: { id: 1 } },
    });
    const six = buildContext(TASK, [...tools, 'f']);
    expect(codeOf(six)).toBe('usage');
    expect(slotContextSchema.safeParse({ task: TASK, tools: [...tools, 'f'] }).success).toBe(false);
    const attempts = [1, 2, 3, 4].map((claim) => ({ claim, worker: 'w' }));
    expect(unwrap(buildContext(TASK, [], attempts)).previousAttempts?.map(({ claim }) => claim)).toEqual([2, 3, 4]);
    // What a caller adds doesn't replace what is ours.
    expect(unwrap(buildContext(TASK, ['a'], [], { tools: [...tools, 'f'], task: 1 })).tools).toEqual(['a']);
  });
});

describe('recovery', () => {
  const dead = { owner: 'dead', partial: false } as const;
  it.each<[string, SlotState, Parameters<typeof planSlotRecovery>[1], string]>([
    ['never begun', pending(), dead, 'run'],
    ['owner dead, nothing left', running(), dead, 'restart'],
    ['owner dead, something left', running(), { owner: 'dead', partial: true }, 'resume'],
    ['machine rebooted', running(), { owner: 'rebooted', partial: true }, 'resume'],
    ['owner alive', running(), { owner: 'alive', partial: true }, 'nothing'],
    ['owner elsewhere', running(), { owner: 'unknown', partial: true }, 'ask'],
    ['in another clone', running(), { owner: 'dead', elsewhere: true, partial: true }, 'ask'],
    ['owner not named', running(), { owner: undefined, partial: true }, 'ask'],
    ['a human knows', running(), { owner: 'unknown', partial: false, ownerIsGone: true }, 'restart'],
    ['a human errs', running(), { owner: 'alive', partial: false, ownerIsGone: true }, 'nothing'],
    ['handed on', unwrap(handedOff(running(), 'timeout', 'x', NOW)), { owner: undefined, partial: false }, 'resume'],
    ['tried three times', { ...running(), attempts: 3 }, { owner: 'dead', partial: true }, 'give_up'],
    ['complete', unwrap(ended(running(), 'complete', NOW)), dead, 'nothing'],
    ['failed', unwrap(ended(running(), 'fail', NOW)), dead, 'nothing'],
  ])('of work that was %s', (_what, state, signs, action) => {
    expect(planSlotRecovery(state, signs).action).toBe(action);
  });

  it('tries three times; a full context is no attempt', () => {
    let state = pending();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      state = running(state);
      expect(state.attempts).toBe(attempt);
      state = running(unwrap(handedOff(state, 'context_limit', `page ${attempt}`, NOW)));
      expect(state).toMatchObject({ attempts: attempt, incarnation: 2 * attempt, resumePoint: `page ${attempt}` });
      expect(state).not.toHaveProperty('handoffReason');
    }
    expect(planSlotRecovery(state, { owner: 'dead', partial: true }).action).toBe('give_up');
    const over = unwrap(givenUp(state, NOW));
    expect(over.status).toBe('FAILED');
    expect(codeOf(checkLease(over, leaseOf(state), CLONE))).toBe('stale_caller');
  });
});

describe('a worker that comes late', () => {
  it('changes nothing', () => {
    const first = running();
    const second = running(first);
    expect(codeOf(checkLease(second, leaseOf(second), CLONE))).toBe('ok');
    const { incarnation, claim } = second;
    for (const wrong of [{ incarnation: incarnation - 1 }, { claim: claim - 1 }, { taskId: 'x' }, { worker: 'x' }])
      expect(codeOf(checkLease(second, { ...leaseOf(second), ...wrong }, CLONE)), JSON.stringify(wrong)).toBe(
        'stale_caller',
      );
    expect(codeOf(checkLease(second, leaseOf(second), 'another')), 'in another clone').toBe('stale_caller');
    const late = recordOf(unwrap(ended({ ...first, sequence: 99 }, 'complete', NOW)), TASK);
    expect(compareVersions(late, recordOf(second, TASK))).toBeLessThan(0);
  });
});

describe('unfinished work', () => {
  it.each<[SlotState, Vitality | undefined, string | undefined, string | undefined]>([
    [running(), 'alive', undefined, undefined],
    [running(), 'dead', undefined, 'owner_dead'],
    [running(), 'rebooted', undefined, 'owner_dead'],
    [running(), 'unknown', undefined, undefined],
    [running(), 'alive', '2026-11-22T11:59:59.999Z', 'deadline'],
    [running(), 'alive', '2026-11-22T12:00:00.000Z', undefined],
    [pending(), undefined, '2026-11-22T11:00:00.000Z', 'deadline'],
    [unwrap(ended(running(), 'fail', NOW)), 'dead', '2026-11-22T11:00:00.000Z', undefined],
  ])('is stale by its deadline or its owner', (state, owner, timeout, expected) => {
    expect(staleness(state, { ...TASK, timeout }, owner, NOW)).toBe(expected);
  });
});

const STEP = fc.record({
  what: fc.constantFrom('start', 'handoff', 'complete', 'fail'),
  owner: fc.constantFrom<Vitality | undefined>('alive', 'dead', 'rebooted', 'unknown', undefined),
  partial: fc.boolean(),
  reason: fc.constantFrom('context_limit' as const, 'timeout' as const, 'error' as const),
});

describe('whatever happens on a hook', () => {
  it('goes along the table, ends once, and each step has a later stamp', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 20 }), (steps) => {
        let state = pending();
        for (const { what, owner, partial, reason } of steps) {
          const before = state;
          const result =
            what === 'start'
              ? started(before, planSlotRecovery(before, { owner, partial }), { owner: OWNER, clone: CLONE }, NOW)
              : what === 'handoff'
                ? handedOff(before, reason, 'here', NOW)
                : ended(before, what, NOW);
          if (!result.ok) continue;
          state = result.value;
          const next: readonly string[] = Object.values(SLOT_STEPS[before.status]);
          expect(next).toContain(state.status);
          expect(compareVersions(before, state)).toBeLessThan(0);
          expect(slotStatusSchema.safeParse(JSON.parse(JSON.stringify(state))).success).toBe(true);
          expect(state.owner !== undefined).toBe(what === 'start');
        }
        expect(state.attempts).toBeLessThanOrEqual(MAX_ATTEMPTS);
      }),
    );
  });
});

describe('the title of a task', () => {
  it('gives an id that is free and that a branch can have', () => {
    const taken = new Set(['translate-the-api-guide', 'task']);
    const idFor = (title: string): string => taskIdFor(title, (id) => taken.has(id));
    expect(idFor('Translate the API guide')).toBe('translate-the-api-guide-2');
    expect(idFor('Übersetze: das Handbuch!')).toBe('ubersetze-das-handbuch');
    expect(idFor('ترجم الدليل')).toBe('task-2');
    expect(idFor(`${'very '.repeat(30)}long`).length).toBeLessThanOrEqual(40);
    for (const title of ['../..', '--', 'a.lock', '.git']) expect(checkTaskId(idFor(title)).ok).toBe(true);
  });

  it('is what people read, and the id where there is none', () => {
    expect(workerTaskTitle({ id: 'a', title: 'Do\nthis' })).toBe('Do this');
    expect([workerTaskTitle({ id: 'a' }), workerTaskTitle({ id: 'a', title: 7 })]).toEqual(['a', 'a']);
  });
});
