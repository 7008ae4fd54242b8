import { describe, expect, it } from 'vitest';
import {
  type GitSource,
  compareSnapshots,
  isAutomaticEnabled,
  lastCheckpointOf,
  pruneCheckpoints,
} from '../../../src/core/checkpoint/checkpoint';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import type { TaskInput } from '../../../src/core/transition/events';
import { CHECKPOINT_TRIGGERS, type FileSnapshot } from '../../../src/core/task/taskRecord';
import { diffRecord } from '../../../src/core/history/recordDelta';
import { toTimestamp } from '../../../src/core/shared/time';
import { stepOf } from '../../support/drivers/drivenHook';
import { Driver, MINUTE, START, drivenTo, recoveryOf, taskOf } from '../../support/fixtures/stateHooks';

const manual = (description: string): TaskInput => ({ type: 'checkpoint', trigger: 'manual', description });
const commit = (source: Partial<GitSource> = {}, at?: number): TaskInput => ({
  type: 'checkpoint',
  trigger: 'git_commit',
  description: 'Commit: x',
  source: { repository: '/repo/.git', commit: 'c1', ...source },
  ...(at === undefined ? {} : { at: toTimestamp(at) }),
});

describe('checkpoints', () => {
  it('keep the newest, and the history names those that were pruned', () => {
    const driver = new Driver(taskOf([stepOf('work', 'ai')]), { ...DEFAULT_CONFIG, maxCheckpoints: 3 });
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
    for (const name of ['a', 'b', 'c', 'd', 'e']) driver.send(manual(name));
    expect(driver.current.checkpoints.map((item) => item.description)).toEqual(['c', 'd', 'e']);
    expect(driver.current.history.filter((event) => event.trigger === 'checkpoint')).toHaveLength(5);
    expect(pruneCheckpoints(driver.current.checkpoints, 0)).toHaveLength(1);
  });

  it('are a small change in the journal even when one is pruned', () => {
    const driver = new Driver(taskOf([stepOf('work', 'ai')]), { ...DEFAULT_CONFIG, maxCheckpoints: 1 });
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' }, manual('a'));
    const before = driver.current;
    driver.send(manual('b'));
    const delta = diffRecord(before, driver.current);
    expect(delta?.checkpoints).toMatchObject({ drop: 1, add: [{ description: 'b' }] });
  });

  it('are made once for a commit, however many see it and however long ago', () => {
    const driver = new Driver(taskOf([stepOf('work', 'ai')]), { ...DEFAULT_CONFIG, maxCheckpoints: 1 });
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' }, commit(), manual('prunes it'));
    const again = driver.try(commit());
    expect(again).toMatchObject({ ok: true, value: { changed: false } });
    driver.send(commit({ commit: 'c2' }), commit({ repository: '/other/.git' }));
    expect(driver.current.history.filter((event) => event.details?.['trigger'] === 'git_commit')).toHaveLength(3);
  });

  it('are made once for a push of a commit to a ref', () => {
    const driver = drivenTo('step_running');
    const push = (ref: string): TaskInput => ({
      type: 'checkpoint',
      trigger: 'git_push',
      description: 'Pushed',
      source: { repository: '/r', commit: 'c1', ref },
    });
    driver.send(commit({ repository: '/r' }), push('refs/remotes/a/x'), push('refs/remotes/b/x'));
    expect(driver.try(push('refs/remotes/a/x'))).toMatchObject({ value: { changed: false } });
    expect(driver.current.checkpoints).toHaveLength(3);
  });

  it('that are noticed late belong to the step and attempt that ran then', () => {
    const driver = new Driver(taskOf([stepOf('first', 'ai'), stepOf('second', 'ai')]));
    driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
    const inFirst = driver.now + MINUTE / 2;
    driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current) }, { type: 'retry_step' });
    driver.send({ type: 'start_step' });
    const inSecondAttempt = driver.now + MINUTE / 2;
    driver.send(
      { type: 'step_complete' },
      { type: 'start_step' },
      commit({}, inFirst),
      commit({ commit: 'c2' }, inSecondAttempt),
    );
    const late = driver.current.checkpoints.slice(-2);
    expect(late).toMatchObject([
      { step_name: 'first', attempt: 1, created_at: toTimestamp(inFirst) },
      { step_name: 'first', attempt: 2, created_at: toTimestamp(inSecondAttempt) },
    ]);
    expect(driver.current.current_step?.current_checkpoint_id).toBeUndefined();
    expect(driver.current.history.at(-1)?.details).toMatchObject({
      at: toTimestamp(inSecondAttempt),
      step_index: 0,
      attempt: 2,
    });
  });

  it('belong to the current step where the history does not tell, or the time is not past', () => {
    const driver = drivenTo('step_running');
    driver.send(commit({}, START - MINUTE), commit({ commit: 'c2' }, driver.now + 10 * MINUTE));
    expect(driver.current.checkpoints.map((item) => item.step_name)).toEqual(['first', 'first']);
    expect(driver.current.checkpoints[1]?.created_at).toBe(driver.current.updated_at);
  });

  it('record git, files and new artifacts, and while a step runs the touched files are its own', () => {
    const driver = drivenTo('step_running');
    const files = [{ path: 'a.ts', size: 1, mod_time: '', sha256: 'x', exists: true }];
    const capture = {
      git: { branch: 'b', commit: 'c0', dirty: true },
      files,
      touched: ['a.ts', 'a.ts'],
      artifacts: ['one'],
    };
    driver.with({ capture }, manual('first'));
    driver.with({ capture: { git: { commit: 'c0' }, artifacts: ['one', 'two'] } }, manual('second'));
    const [first, second] = driver.current.checkpoints;
    expect(first).toMatchObject({
      git_branch: 'b',
      git_commit: 'c0',
      git_dirty: true,
      artifacts: ['one'],
      files_snapshot: files,
    });
    expect(second).toMatchObject({ git_branch: '', artifacts: ['two'] });
    expect(second).not.toHaveProperty('git_dirty');
    expect(driver.current.current_step).toMatchObject({
      files_touched: ['a.ts'],
      current_checkpoint_id: second?.checkpoint_id,
    });
    driver.send({ type: 'human_required', kind: 'review' });
    driver.with({ capture: { touched: ['b.ts'] } }, manual('third'));
    expect(driver.current.current_step?.files_touched).toEqual(['a.ts']);
  });

  it('of a commit name that commit, not the one that HEAD is at meanwhile', () => {
    const driver = drivenTo('step_running');
    driver.with({ capture: { git: { commit: 'later' } } }, commit());
    expect(driver.current.checkpoints[0]?.git_commit).toBe('c1');
  });

  it('of an attempt are found, those of other attempts are not', () => {
    const driver = drivenTo('step_running').send(manual('one'));
    driver.send(
      { type: 'crash_detected', recovery: recoveryOf(driver.current) },
      { type: 'retry_step' },
      { type: 'start_step' },
    );
    expect(lastCheckpointOf(driver.current, 0, 2)).toBeUndefined();
    expect(lastCheckpointOf(driver.current, 0, 1)?.description).toBe('one');
    expect(lastCheckpointOf(driver.current, 1)).toBeUndefined();
  });

  it('have a one-line description', () => {
    const driver = drivenTo('step_running').send(manual(`# x\n\n- do ${'y'.repeat(600)}`));
    const text = driver.current.checkpoints[0]?.description ?? '';
    expect(text).toMatch(/^# x - do y+…$/u);
    expect(text).toHaveLength(500);
  });

  it('by themselves are switched one by one', () => {
    const off = { onCommit: false, onPush: false, onPr: false, onValidation: false, onStepComplete: false };
    const config = { autoCheckpoint: off, checkpointIntervalMs: 0 };
    expect(CHECKPOINT_TRIGGERS.filter((trigger) => isAutomaticEnabled(trigger, config))).toEqual(['manual']);
    expect(CHECKPOINT_TRIGGERS.filter((trigger) => isAutomaticEnabled(trigger, DEFAULT_CONFIG))).toEqual(
      CHECKPOINT_TRIGGERS,
    );
    expect(isAutomaticEnabled('git_push', { ...config, autoCheckpoint: { ...off, onPush: true } })).toBe(true);
  });
});

describe('comparing snapshots', () => {
  const file = (more: Partial<FileSnapshot> = {}): FileSnapshot => ({
    path: 'f',
    size: 10,
    mod_time: 't1',
    sha256: 'aaaa',
    exists: true,
    ...more,
  });
  const gone = { size: 0, sha256: '', exists: false };

  it.each([
    ['same content', file(), file({ mod_time: 't2' }), 'unchanged'],
    ['other content', file(), file({ sha256: 'bbbb' }), 'changed'],
    ['other size', file({ sha256: '' }), file({ size: 11, sha256: '' }), 'changed'],
    ['no hash, same time', file({ sha256: '' }), file({ sha256: '' }), 'unchanged'],
    ['no hash, other time', file({ sha256: '' }), file({ mod_time: 't2' }), 'unknown'],
    ['gone', file(), file(gone), 'missing'],
    ['come back', file(gone), file(), 'new'],
    ['never there', file(gone), file(gone), 'unchanged'],
  ] as const)('%s', (_name, before, now, kind) => {
    expect(compareSnapshots([before], [now])).toEqual([{ path: 'f', kind }]);
  });

  it('names files of either side', () => {
    expect(compareSnapshots([file({ path: 'a' })], [file({ path: 'b' }), file({ path: 'c', ...gone })])).toEqual([
      { path: 'a', kind: 'unknown' },
      { path: 'b', kind: 'new' },
    ]);
  });
});
