import { describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import {
  type Diagnosis,
  type Owner,
  type OwnerFile,
  type Signs,
  type Vitality,
  diagnose,
} from '../../../src/core/recovery/liveness';
import { toTimestamp } from '../../../src/core/shared/time';
import { MINUTE, drivenTo, recoveryOf } from '../../support/fixtures/stateHooks';

const STALE = 5 * MINUTE;
const DAY = 24 * 60 * MINUTE;

/** A running step whose hook was changed last at {@link since}. */
const RUNNING = drivenTo('step_running');
const since = RUNNING.now;

type OwnerMore = Partial<OwnerFile> & { readonly touched?: number };

function owner(vitality: Vitality, { touched = since, ...more }: OwnerMore = {}): Owner {
  const process = { machine_id: 'm', boot_id: 'b', pid_namespace: 'n', pid: 1, start_time: '1', incarnation: 'i' };
  const file: OwnerFile = { kind: 'window', process, started_at: toTimestamp(since), ...more };
  return { file, vitality, lastTouch: touched };
}

function agent(vitality: Vitality, more: OwnerMore = {}): Owner {
  return owner(vitality, { kind: 'agent', step_index: 0, attempt: 1, ...more });
}

function look(
  owners: readonly Owner[],
  now: number,
  hook: TaskRecord = RUNNING.current,
  more: Partial<Signs> = {},
): Diagnosis {
  return diagnose(hook, { now, owners, staleThresholdMs: STALE, ...more });
}

const SIGNED_OFF = { signed_off_at: toTimestamp(since) };

describe('no false alarm', () => {
  it('for a window that reloads: it signed off less than five minutes ago', () => {
    const reload = since + 30 * MINUTE;
    expect(look([owner('dead', { ...SIGNED_OFF, touched: reload })], reload + 4 * MINUTE).kind).toBe('recent');
    expect(look([owner('dead', { ...SIGNED_OFF, touched: reload })], reload + 6 * MINUTE)).toMatchObject({
      kind: 'crashed',
      type: 'timeout',
      cause: 'window_closed',
      lastSign: reload,
    });
  });

  it('for a machine that slept: the owner lives though it touched nothing for hours', () => {
    expect(look([owner('alive')], since + 8 * 60 * MINUTE).kind).toBe('quiet');
    expect(look([agent('alive')], since + 8 * 60 * MINUTE).kind).not.toBe('crashed');
  });

  it('for a clock that moved back a day: all times are in the future, so unknown', () => {
    expect(look([], since - DAY)).toEqual({ kind: 'recent', clockSuspect: true });
    expect(look([owner('alive')], since - DAY).kind).toBe('working');
    expect(look([owner('dead', SIGNED_OFF)], since - DAY).kind).toBe('recent');
  });

  it('for a clock that moved back behind a long task: no older sign counts instead', () => {
    const old = { ...RUNNING.current, created_at: toTimestamp(since - 3 * DAY) };
    expect(look([owner('alive')], since - DAY, old).kind).toBe('working');
    expect(look([], since - DAY, old)).toEqual({ kind: 'recent', clockSuspect: true });
  });

  it('for a clock that moved forward a day under a live owner', () => {
    expect(look([owner('alive')], since + DAY).kind).toBe('quiet');
    expect(look([owner('unknown', { touched: since + DAY - MINUTE })], since + DAY).kind).not.toBe('crashed');
  });

  it('for a step of twenty minutes under a live window: quiet, not crashed', () => {
    const now = since + 20 * MINUTE;
    expect(look([owner('alive', { touched: now })], now)).toEqual({ kind: 'quiet', since });
  });

  it('for another window that lives on when one died', () => {
    const now = since + MINUTE;
    expect(look([owner('dead'), owner('alive')], now).kind).toBe('working');
    expect(look([owner('alive'), owner('rebooted')], now).kind).toBe('working');
  });

  it('for an owner on another machine: only its silence tells', () => {
    const now = since + 20 * MINUTE;
    expect(look([owner('unknown', { touched: now - STALE })], now).kind).not.toBe('crashed');
    expect(look([owner('unknown', { touched: now - STALE - 1 })], now)).toMatchObject({
      kind: 'crashed',
      cause: 'silence',
    });
  });

  it('for a window that died here while one on another machine was touched lately', () => {
    const now = since + 20 * MINUTE;
    expect(look([owner('dead'), owner('unknown', { touched: now - MINUTE })], now).kind).not.toBe('crashed');
    expect(look([owner('dead'), owner('unknown', { touched: since })], now)).toMatchObject({ cause: 'window_died' });
  });

  it('at exactly five minutes of silence, but one millisecond later', () => {
    expect(look([], since + STALE)).toEqual({ kind: 'recent', clockSuspect: false });
    expect(look([], since + STALE + 1)).toMatchObject({
      kind: 'crashed',
      type: 'timeout',
      cause: 'silence',
      lastSign: since,
    });
  });

  it.each([
    ['awaiting_human', { kind: 'waiting', for: 'human' }],
    ['step_pending', { kind: 'waiting', for: 'start' }],
    ['recovering', { kind: 'recovering' }],
    ['completed', { kind: 'over' }],
    ['failed', { kind: 'over' }],
    ['abandoned', { kind: 'over' }],
  ] as const)('in %s, whoever died and however long ago', (state, diagnosis) => {
    const owners = [owner('dead'), agent('dead'), agent('alive', { exit_signal: 'SIGKILL' })];
    expect(look(owners, since + 30 * DAY, drivenTo(state).current)).toEqual(diagnosis);
  });
});

describe('an agent', () => {
  it.each([0, 130, 143])('that ended with %d left: a human says what now', (code) => {
    expect(look([owner('alive'), agent('dead', { exit_code: code, ...SIGNED_OFF })], since + 1)).toEqual({
      kind: 'agent_left',
      exitCode: code,
    });
  });

  it.each([1, 2, 127, 137])('that ended with %d failed, though a window lives', (code) => {
    const found = look([owner('alive'), agent('dead', { exit_code: code, ...SIGNED_OFF })], since + 1);
    expect(found).toMatchObject({ kind: 'crashed', type: 'signal', cause: 'agent_failed' });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('that its user ended with %s left, as with the exit code of a shell', (signal, exitCode) => {
    const found = look([owner('alive'), agent('dead', { exit_signal: signal, ...SIGNED_OFF })], since + 1);
    expect(found).toEqual({ kind: 'agent_left', exitCode });
  });

  it('that ended by another signal was killed', () => {
    const found = look([owner('alive'), agent('dead', { exit_signal: 'SIGKILL', ...SIGNED_OFF })], since + 1);
    expect(found).toMatchObject({ kind: 'crashed', type: 'signal', cause: 'agent_killed' });
  });

  it('that vanished was killed, though a window lives; with its machine, it was rebooted', () => {
    expect(look([owner('alive'), agent('dead')], since + 1)).toMatchObject({ cause: 'agent_killed', type: 'signal' });
    expect(look([agent('rebooted')], since + 1)).toMatchObject({ cause: 'machine_rebooted', type: 'signal' });
  });

  it('of an earlier attempt or another step does not count', () => {
    for (const bound of [{ attempt: 2 }, { step_index: 1 }, { step_index: 1, attempt: 2 }]) {
      expect(look([owner('alive'), agent('dead', bound)], since + 1).kind).toBe('working');
      expect(look([owner('alive'), agent('dead', { ...bound, exit_code: 1 })], since + 1).kind).toBe('working');
      expect(look([agent('alive', bound)], since + STALE + 1).kind).toBe('crashed');
    }
  });

  it('that failed says what its host said', () => {
    const failed = agent('alive', { exit_code: 1, failure: 'rate_limit', session_id: 's', ...SIGNED_OFF });
    expect(look([owner('alive'), failed], since + 1)).toMatchObject({ cause: 'agent_failed', failure: 'rate_limit' });
  });

  it('that failed right after the machine had slept: that is why', () => {
    const woke = since + 60 * MINUTE;
    const slept = { from: toTimestamp(since), until: toTimestamp(woke) };
    const failedAt = (at: number): Owner => agent('alive', { exit_code: 1, signed_off_at: toTimestamp(at) });
    const causeAt = (at: number) => look([owner('alive', { slept }), failedAt(at)], woke + DAY);
    expect(causeAt(woke + STALE)).toMatchObject({ kind: 'crashed', cause: 'machine_slept' });
    // Before the window itself noticed that it had slept.
    expect(causeAt(woke - 1)).toMatchObject({ cause: 'machine_slept' });
    expect(causeAt(woke + STALE + 1)).toMatchObject({ cause: 'agent_failed' });
    expect(causeAt(since - 1)).toMatchObject({ cause: 'agent_failed' });
  });

  it('is not quiet after an event of its life, nor for the time in which the machine slept', () => {
    const now = since + 60 * MINUTE;
    expect(look([owner('alive'), agent('alive', { session_id: 's', touched: now - STALE })], now).kind).toBe('working');
    expect(look([owner('alive'), agent('alive', { session_id: 's', touched: now - STALE - 1 })], now).kind).toBe(
      'quiet',
    );
    expect(look([owner('alive'), agent('alive', { touched: now })], now).kind).toBe('quiet');
    const slept = { from: toTimestamp(since), until: toTimestamp(now - STALE) };
    expect(look([owner('alive', { slept })], now).kind).toBe('working');
    expect(look([owner('alive', { slept })], now + 1)).toEqual({ kind: 'quiet', since: now - STALE });
  });

  it('that signed off without an exit says nothing', () => {
    expect(look([owner('alive'), agent('dead', SIGNED_OFF)], since + 1).kind).toBe('working');
  });
});

describe('a crash', () => {
  it('is a window that vanished without signing off, with no owner left', () => {
    expect(look([owner('dead', { touched: since + MINUTE })], since + 2 * MINUTE)).toEqual({
      kind: 'crashed',
      type: 'signal',
      cause: 'window_died',
      lastSign: since + MINUTE,
    });
    expect(look([owner('dead'), owner('dead', SIGNED_OFF)], since + 1)).toMatchObject({ cause: 'window_died' });
  });

  it('is a reboot when every owner went with it', () => {
    expect(look([owner('rebooted')], since + 1)).toMatchObject({ cause: 'machine_rebooted', type: 'signal' });
    expect(look([owner('rebooted'), owner('dead')], since + 1)).toMatchObject({ cause: 'window_died' });
  });

  it('is a window that was closed in order, unless something changed after it or another says nothing', () => {
    const closed = owner('dead', { ...SIGNED_OFF, touched: since });
    expect(look([closed], since + STALE + 1)).toMatchObject({ type: 'timeout', cause: 'window_closed' });
    const before = owner('dead', { signed_off_at: toTimestamp(since - 1), touched: since - 1 });
    expect(look([before], since + STALE + 1)).toMatchObject({ type: 'timeout', cause: 'silence' });
    expect(look([closed, owner('unknown')], since + STALE + 1)).toMatchObject({ cause: 'silence' });
    expect(look([agent('dead', SIGNED_OFF)], since + STALE + 1)).toMatchObject({ cause: 'silence' });
  });

  it('is a running validation that died', () => {
    const hook = drivenTo('step_validating');
    const died = owner('dead', { kind: 'validation', step_index: 0, attempt: 1 });
    expect(look([owner('alive'), died], hook.now + 1, hook.current)).toMatchObject({ cause: 'validation_died' });
  });

  it.each(['initializing', 'step_running', 'step_validating'] as const)('is found in %s', (state) => {
    const { current, now } = drivenTo(state);
    expect(look([], now + STALE + 1, current).kind).toBe('crashed');
  });

  it("'s last sign of life is not moved by a commit that was only noticed late", () => {
    const driver = drivenTo('step_running');
    const made = driver.now + MINUTE;
    const source = { repository: '/r', commit: 'c' };
    const late = {
      type: 'checkpoint',
      trigger: 'git_commit',
      description: 'x',
      source,
      at: toTimestamp(made),
    } as const;
    driver.with({ now: driver.now + 30 * MINUTE }, late);
    expect(look([], driver.now, driver.current)).toMatchObject({ kind: 'crashed', cause: 'silence', lastSign: made });
  });
});

describe('quiet', () => {
  const now = since + 20 * MINUTE;

  it('is only asked of a bare window: a validation tells itself when it ends', () => {
    const { current } = drivenTo('step_validating');
    expect(look([owner('alive')], now + 30 * MINUTE, current).kind).toBe('working');
  });

  it('ends with a changed file or a lifecycle event', () => {
    expect(look([owner('alive')], now, RUNNING.current, { otherSigns: [now - STALE] }).kind).toBe('working');
    expect(look([owner('alive')], now, RUNNING.current, { otherSigns: [now - STALE - 1] })).toMatchObject({
      kind: 'quiet',
    });
  });

  it.each([
    ['interval', 'quiet'],
    ['manual', 'working'],
  ] as const)('after an %s checkpoint: %s', (trigger, kind) => {
    const driver = drivenTo('step_running');
    driver.with({ now: driver.now + 19 * MINUTE }, { type: 'checkpoint', trigger, description: 'x' });
    expect(look([owner('alive')], driver.now + MINUTE, driver.current).kind).toBe(kind);
  });

  it('ends when the human says that it still works', () => {
    const driver = drivenTo('step_running');
    driver.with({ now: driver.now + 19 * MINUTE }, { type: 'note', stillWorking: true });
    expect(look([owner('alive')], driver.now + STALE, driver.current).kind).toBe('working');
  });

  it('begins again with a recovery', () => {
    const driver = drivenTo('step_running');
    driver.with({ now: driver.now + DAY }, { type: 'crash_detected', recovery: recoveryOf(driver.current) });
    driver.send({ type: 'retry_from_checkpoint' });
    expect(look([owner('alive')], driver.now + STALE, driver.current).kind).toBe('working');
  });
});
