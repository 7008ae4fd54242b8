import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RECOVERY_ACTIONS } from '../../../src/core/task/taskRecord';
import { WAIT_KINDS, type WaitKind, waitKind } from '../../../src/core/task/waiting';
import type { SinceCheckpoint, WorktreeState } from '../../../src/core/task/worktreeState';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { render, said } from '../../support/fixtures/renderedHook';
import { GOLDEN } from './goldenFiles';

const first = (): DrivenHook =>
  new DrivenHook([stepOf('analyze', 'ai'), stepOf('implement', 'ai', ['npm test']), stepOf('review', 'human')]);
const second = (): DrivenHook => first().completeStep();
const running = (): DrivenHook =>
  second().send(
    { type: 'start_step', workingOn: 'the nil checks' },
    { type: 'note', filesTouched: ['src/parser.ts'] },
    { type: 'checkpoint', trigger: 'manual', description: 'added the nil checks' },
  );
const validating = (): DrivenHook => running().send({ type: 'step_output', output: 'done' }).validated('npm test', 0);

function waiting(kind: WaitKind): DrivenHook {
  switch (kind) {
    case 'review':
    case 'question':
    case 'step_failed':
    case 'interrupted':
      return running().send({ type: 'human_required', kind, message: 'Which parser?' });
    case 'validation_failed':
      return running()
        .send({ type: 'step_output' })
        .validated('npm test', 2)
        .send({ type: 'validate_fail', reason: 'npm test ended with exit code 2.' });
    case 'attempts_spent': {
      const driven = second();
      for (let n = 0; n < 3; n += 1)
        driven.send({ type: 'start_step' }).crashed('retry_step').send({ type: 'retry_step' });
      return driven.send({ type: 'start_step' });
    }
  }
}

/** What a look at the worktree showed, put into the record. */
function seen(driven: DrivenHook, state: Omit<WorktreeState, 'observed_at'>): DrivenHook {
  driven.hook = { ...driven.now, worktree_state: { observed_at: driven.now.updated_at, ...state } };
  return driven;
}

/** What differs from the files of the last checkpoint, put into the record. */
function sinceLast(driven: DrivenHook, files: SinceCheckpoint['files']): DrivenHook {
  const id = driven.now.checkpoints.at(-1)?.checkpoint_id ?? '';
  const since = { checkpoint_id: id, files, files_total: files.length };
  const { worktree_state: state } = driven.now;
  if (state === undefined) throw new Error('nobody looked at the worktree');
  driven.hook = { ...driven.now, worktree_state: { ...state, since_checkpoint: since } };
  return driven;
}

const COMMIT = '89abcdef0123456789abcdef0123456789abcdef';
const SINCE = '0123456789abcdef0123456789abcdef01234567';
const AT = '2026-01-17T14:36:00Z';
const changed = (): DrivenHook =>
  seen(running(), {
    ...{ branch: 'fix/null-pointer', head: COMMIT, remotes: 1, base_branch: 'main', since: SINCE },
    commits: [{ commit: COMMIT, subject: 'Check config.Server for nil', at: AT }],
    ...{ commits_total: 1, files_total: 2 },
    files: [
      { path: 'src/parser.ts', change: 'modified', added: 12, removed: 3, modified_at: AT },
      { path: 'src/parser.test.ts', change: 'untracked', added: 40, removed: 0, modified_at: AT },
    ],
  });
const published = (): DrivenHook =>
  new DrivenHook([
    stepOf('implement', 'ai'),
    stepOf('git_commit', 'git'),
    stepOf('git_push', 'git'),
    stepOf('git_pr', 'git'),
  ]).completeStep();
const onBase = (driven: DrivenHook): DrivenHook =>
  seen(driven, { branch: 'main', head: SINCE, remotes: 1, base_branch: 'main', files: [], files_total: 0 });

/** What else a step begins or goes on with. */
const MORE: Readonly<Record<string, () => DrivenHook>> = {
  'step_pending-redo': () => waiting('review').send({ type: 'human_reject', reason: 'The tests are missing.' }),
  'step_pending-retry': () => running().crashed('retry_step').send({ type: 'retry_step' }),
  'step_pending-after_skip': () =>
    published().send({ type: 'start_step' }).crashed('skip_step').send({ type: 'skip_step' }),
  'step_pending-human': () => new DrivenHook([stepOf('implement', 'ai'), stepOf('review', 'human')]).completeStep(),
  'step_running-begin': () => second().send({ type: 'start_step' }),
  'step_running-since_checkpoint': () => {
    const driven = changed();
    return sinceLast(driven, [
      { path: 'src/parser.ts', change: 'modified', added: 12, removed: 3 },
      { path: 'src/old.ts', change: 'deleted', added: 0, removed: 30 },
      { path: 'src/parser.test.ts', change: 'added', added: 40, removed: 0 },
      { path: 'run.sh', change: 'permissions' },
    ]);
  },
  'step_running-restored': () => {
    const driven = changed();
    const id = driven.now.checkpoints.at(-1)?.checkpoint_id ?? '';
    driven.send({
      type: 'restore',
      checkpoint: id,
      safety: 'ckpt-00000099',
      written: 2,
      removed: 1,
      blocked: 0,
      isUndo: false,
    });
    return sinceLast(driven, []);
  },
  'step_running-said': () => {
    const driven = waiting('validation_failed').send(
      { type: 'human_reject', reason: 'The tests are missing.' },
      { type: 'start_step' },
    );
    const files = [{ path: 'src/parser.ts', change: 'modified' as const, modified_at: driven.now.updated_at }];
    return seen(driven, { branch: 'fix/null-pointer', files, files_total: 1 });
  },
  'step_running-redo': () =>
    waiting('validation_failed').send(
      { type: 'human_reject', reason: 'The tests are missing.' },
      { type: 'start_step' },
    ),
  'step_running-take_over': () => running().crashed('retry_from_checkpoint').send({ type: 'retry_from_checkpoint' }),
  'step_running-answered': () =>
    waiting('question').send({ type: 'human_resume', answer: 'The one in src/parser.ts.' }),
  'step_running-changed': changed,
  'step_running-commit_missing': () => seen(changed(), { ...changed().now.worktree_state, since_is_gone: true }),
  'step_running-merge': () => seen(changed(), { ...changed().now.worktree_state, operation: 'merge' }),
  'step_running-worktree_missing': () => seen(running(), { is_missing: true }),
  'step_running-commit': () => onBase(published().send({ type: 'start_step' })),
  'step_running-push': () =>
    seen(published().completeStep().send({ type: 'start_step' }), { branch: 'fix', remotes: 0 }),
  'step_running-pr': () => onBase(published().completeStep().completeStep().send({ type: 'start_step' })),
  'step_running-checks': () => new DrivenHook([stepOf('validate', 'validation')]).send({ type: 'start_step' }),
  'step_validating-take_over': () => validating().crashed('retry_validation').send({ type: 'retry_validation' }),
};

/** Every state, and in it what Atlas would do or what is waited for. */
const SAMPLES: Readonly<Record<string, () => DrivenHook>> = {
  'initializing-setup': () => first().leftIn('initializing'),
  'step_pending-start': second,
  'step_running-work': running,
  'step_validating-validate': validating,
  ...Object.fromEntries(WAIT_KINDS.map((kind) => [`awaiting_human-${kind}`, () => waiting(kind)])),
  ...Object.fromEntries(RECOVERY_ACTIONS.map((action) => [`recovering-${action}`, () => running().crashed(action)])),
  ...MORE,
  'completed-done': () => new DrivenHook([stepOf('analyze', 'ai')]).completeStep(),
  'failed-decided': () => running().send({ type: 'fail', reason: 'the API is gone' }),
  'abandoned-decided': () => running().send({ type: 'abandon', reason: 'not needed' }),
};

describe('HOOK.md', () => {
  it.each(Object.entries(SAMPLES))('reads as reviewed: %s', async (name, sample) => {
    const driven = sample();
    expect(name.startsWith(`${driven.now.state}-`)).toBe(true);
    const more = name === 'step_running-said' ? { session: said('All tests pass.') } : {};
    await expect(render(driven, more)).toMatchFileSnapshot(`${GOLDEN}/hookmd/${name}.md`);
  });

  it('has no file without a sample', () => {
    const files = Object.keys(SAMPLES).map((name) => `${name}.md`);
    expect(readdirSync(`${GOLDEN}/hookmd`).sort()).toEqual(files.sort());
  });

  it.each(WAIT_KINDS)('has a sample that waits for %s', (kind) => {
    expect(waitKind(waiting(kind).now)).toBe(kind);
  });
});
