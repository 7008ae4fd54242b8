import { describe, expect, it } from 'vitest';
import { type Candidate, type TaskWish, resolveTask, taskNameOf } from '../../../src/core/task/resolveTask';
import type { StoredTask } from '../../../src/core/task/storedTask';
import type { TaskState } from '../../../src/core/task/taskRecord';

function task(id: string, state: TaskState, minute: number, more: { workspace?: string; worktree?: string } = {}) {
  const { workspace = 'main', worktree = '/main' } = more;
  const hook = { state, updated_at: `2026-11-23T12:${minute}:00.000Z` };
  return { ref: { workspace, id }, hook, task: { metadata: { worktree } } } as unknown as StoredTask;
}

const waiting = task('waiting', 'awaiting_human', 40);
const ready = task('ready', 'step_pending', 30);
const running = task('running', 'step_running', 20);
const interrupted = task('interrupted', 'recovering', 25);
const linked = task('linked', 'step_pending', 10, { worktree: '/linked' });
const other = task('running', 'step_running', 50, { workspace: 'other', worktree: '/other' });

/** What is meant, as text: the task and why, the tasks that it could be, or nothing. */
function meant(tasks: readonly StoredTask[], wish: TaskWish<StoredTask>): string {
  const choice = resolveTask(tasks, wish);
  if (choice.kind === 'none') return 'none';
  if (choice.kind === 'several') return `one of ${choice.tasks.map(({ ref }) => ref.id).join(', ')}`;
  return `${choice.task.ref.workspace}/${choice.task.ref.id}: ${choice.why} of ${choice.of}`;
}

const ROWS: readonly (readonly [string, readonly StoredTask[], TaskWish<StoredTask>, string])[] = [
  ['there is none', [], { among: 'urgent' }, 'none'],
  ['it is the only one', [ready], { among: 'nothing' }, 'main/ready: only of 1'],
  ['several, and nothing decides', [linked, ready, waiting], { among: 'nothing' }, 'one of waiting, ready, linked'],
  ['several, for reading', [running, ready, waiting], { among: 'recent' }, 'main/waiting: recent of 3'],
  ['one is at work', [waiting, interrupted, running], { among: 'urgent' }, 'main/running: urgent of 3'],
  ['one was interrupted', [waiting, interrupted, ready], { among: 'urgent' }, 'main/interrupted: urgent of 3'],
  ['none is urgent', [ready, linked, waiting], { among: 'urgent' }, 'main/waiting: recent of 3'],
  [
    'a name beats all',
    [running, waiting, other],
    { named: { id: 'waiting' }, among: 'urgent' },
    'main/waiting: named of 1',
  ],
  ['a name that nothing has', [ready], { named: { id: 'gone' }, among: 'urgent' }, 'none'],
  ['a name that two have', [running, other], { named: { id: 'running' }, among: 'nothing' }, 'one of running, running'],
  [
    'a name that two have, one of them here',
    [running, other],
    { named: { id: 'running' }, workspace: 'other', among: 'nothing' },
    'other/running: named of 1',
  ],
  [
    'a name with its workspace, whatever is here',
    [running, other],
    { named: { id: 'running', workspace: 'main' }, workspace: 'other', among: 'nothing' },
    'main/running: named of 1',
  ],
  [
    'a name, though it does not fit',
    [ready, running],
    { named: { id: 'ready' }, fits: ({ hook }) => hook.state === 'step_running', among: 'nothing' },
    'main/ready: named of 1',
  ],
  [
    'one fits',
    [ready, running],
    { fits: ({ hook }) => hook.state === 'step_pending', among: 'nothing' },
    'main/ready: only of 1',
  ],
  ['the worktree has one', [running, linked], { worktree: '/linked', among: 'urgent' }, 'main/linked: only of 1'],
  ['the worktree has none', [running, linked], { worktree: '/new', among: 'urgent' }, 'main/running: urgent of 2'],
  ['the workspace has one', [waiting, other], { workspace: 'main', among: 'urgent' }, 'main/waiting: only of 1'],
  ['the workspace has none', [waiting, other], { workspace: 'new', among: 'urgent' }, 'other/running: urgent of 2'],
];

describe('which task is meant', () => {
  it.each(ROWS)('%s', (_what, tasks, wish, answer) => {
    expect(meant(tasks, wish)).toBe(answer);
    expect(meant(tasks.toReversed(), wish)).toBe(answer);
  });

  it('those that were changed at the same time stay in their order', () => {
    const twins: Candidate[] = [{ ref: { workspace: 'a', id: 'x' } }, { ref: { workspace: 'b', id: 'x' } }];
    expect(resolveTask(twins, { among: 'nothing' })).toEqual({ kind: 'several', tasks: twins });
  });

  it('a name is an id, or a workspace and an id', () => {
    expect(taskNameOf('x')).toEqual({ id: 'x' });
    expect(taskNameOf('a/x')).toEqual({ id: 'x', workspace: 'a' });
    expect(taskNameOf('a/b/x')).toEqual({ id: 'x', workspace: 'a/b' });
    expect(taskNameOf('/x')).toEqual({ id: 'x', workspace: '' });
  });
});
