import { DEFAULT_CONFIG } from '../../src/core/config';
import { unwrap } from '../../src/core/errors';
import type { HookInput } from '../../src/core/events';
import type { Hook, HookState } from '../../src/core/hook';
import { type HookEventType, TRANSITIONS, legalEvents } from '../../src/core/lifecycle';
import { createTask } from '../../src/core/task';
import { BUILTIN_TEMPLATES, findTemplate } from '../../src/core/template';
import { toTimestamp } from '../../src/core/time';
import type { Atlas } from '../../src/service/atlas';
import type { TaskRef } from '../../src/storage/paths';
import type { CrashWorld } from './crashWorld';
import { inputOf, receiptInput, receiptOf, recoveryOf, reserveOf } from './stateHooks';
import type { UseCase } from './useCase';

type Going = Exclude<HookState, 'completed' | 'failed' | 'abandoned'>;

/** Where a crash has to be found for what is done about it. */
const CRASHED_IN: Partial<Record<HookEventType, Going>> = {
  retry_validation: 'step_validating',
  retry_from_checkpoint: 'step_running',
};

/** Events that no caller sends by themselves; the use case in which they happen is beside them. */
const ELSEWHERE: Partial<Record<HookEventType, string>> = {
  init: 'start a task',
  finish: 'complete the last step',
  acknowledge: 'an edit from outside',
};

/** Makes a task whose set-up was not told to be complete. */
async function initializing(world: CrashWorld, atlas: Atlas): Promise<TaskRef> {
  const { folder } = world.stage;
  const workspace = unwrap(atlas.workspaces.ensure(folder, undefined));
  const template = unwrap(findTemplate('commit', BUILTIN_TEMPLATES));
  const now = toTimestamp(world.now());
  const ref = unwrap(
    atlas.workspaces.addTask(workspace, (id) =>
      createTask({
        ...{ id, workspaceId: workspace, description: 'Sample', template, config: DEFAULT_CONFIG },
        ...{ worktree: folder, branch: undefined, now },
      }),
    ),
  );
  unwrap(await atlas.store.create(ref, { config: DEFAULT_CONFIG }));
  return ref;
}

/** Brings a new task into a state by the shortest way. */
export async function taskIn(world: CrashWorld, state: Going, crashedIn: Going = 'step_running'): Promise<TaskRef> {
  const atlas = world.process();
  if (state === 'initializing') return initializing(world, atlas);
  const { folder } = world.stage;
  const { ref } = unwrap(await atlas.startTask({ title: 'Sample', template: 'commit', folder }));
  const hook = (): Hook => unwrap(atlas.store.read(ref)).hook;
  const send = async (...inputs: readonly HookInput[]): Promise<void> => {
    for (const input of inputs) unwrap(await atlas.send(ref, input));
  };
  const inflight = state === 'recovering' ? crashedIn : state;
  if (inflight === 'step_pending') return ref;
  await send({ type: 'start_step' }, { type: 'note', filesTouched: ['file.txt'] });
  if (inflight === 'awaiting_human') await send({ type: 'human_required', kind: 'review' });
  if (inflight === 'step_validating') {
    await send({ type: 'step_output', output: 'done' }, reserveOf('rcpt-proven'));
    await send(receiptInput(receiptOf(hook(), 'rcpt-proven')), reserveOf('rcpt-new'));
  }
  if (state === 'recovering') await send({ type: 'crash_detected', recovery: recoveryOf(hook()) });
  return ref;
}

function caseOf(state: Going, event: HookEventType): UseCase {
  return {
    name: `${state}: ${event}`,
    arrange: async (world) => {
      const ref = await taskIn(world, state, CRASHED_IN[event]);
      const input: HookInput = { ...inputOf(event, unwrap(world.process().store.read(ref)).hook), by: 'human' };
      return { act: async (atlas) => atlas.send(ref, input, false, new Set(['rcpt-proven'])) };
    },
  };
}

/** One use case for each event in each state that takes it, by the table that drives everything. */
export function eventCases(): UseCase[] {
  const states = Object.keys(TRANSITIONS) as (keyof typeof TRANSITIONS)[];
  return states.flatMap((state) =>
    legalEvents(state)
      .filter((event) => ELSEWHERE[event] === undefined)
      .map((event) => caseOf(state as Going, event)),
  );
}
