import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { unwrap } from '../../src/core/shared/errors';
import type { TaskInput } from '../../src/core/transition/events';
import { EVENT_TYPES } from '../../src/core/transition/states';
import type { AtlasApi, AtlasEvent, AtlasTask } from '../../src/extension/api';
import type { Atlas } from '../../src/service/atlas';
import type { TaskRef } from '../../src/core/task/taskRef';
import { atlasApi, git, otherProgram, workspaceFolder, write } from './support/atlasApi';

const TEMPLATE = `id: guarded
description: A review, behind a step with a check that fails
steps:
  - name: build
    type: ai
    validation: ["git no-such-command"]
  - name: review
    type: human
  - name: after
    type: ai
`;

const CRASH = (action: string): TaskInput => ({
  type: 'crash_detected',
  recovery: {
    detected_at: new Date().toISOString(),
    crash_type: 'unknown',
    last_known_state: 'step_running',
    was_validating: false,
    recommended_action: action,
    reason: 'for the test',
  },
});

/** What another extension may hand over, whatever its types say. */
function eventsOf(): object[] {
  const more = [
    {},
    { by: 'human' },
    { kind: 'review', trigger: 'pr_created', description: 'x', reason: 'x', by: 'human' },
    { receipt: { receipt_id: 'rcpt-00000000', exit_code: 0 }, command: 'true', log: 'x', receiptId: 'x', by: 'human' },
  ];
  return EVENT_TYPES.flatMap((type) => more.map((each) => ({ type, ...each })));
}

describe('the API, which is open to every extension', () => {
  let api: AtlasApi;
  let human: Atlas;

  before(async () => {
    api = await atlasApi();
    human = otherProgram(api);
    write(workspaceFolder(), '.atlas/templates/guarded.yaml', TEMPLATE);
    await git(workspaceFolder(), 'add', '.');
    await git(workspaceFolder(), 'commit', '--quiet', '--message', 'a template with a review');
  });

  /** Each brings a new task to a state that a human or a check has to end. */
  const STATES: Readonly<Record<string, readonly TaskInput[]>> = {
    'runs with a check': [{ type: 'start_step' }],
    validates: [{ type: 'start_step' }, { type: 'step_output' }],
    'waits after a failed check': [
      { type: 'start_step' },
      { type: 'step_output' },
      { type: 'validate_fail', reason: 'x' },
    ],
    'waits after a failed step': [{ type: 'start_step' }, { type: 'human_required', kind: 'step_failed' }],
    'is to be decided after a crash': [{ type: 'start_step' }, CRASH('manual')],
    'waits for a review': [
      { type: 'start_step' },
      { type: 'human_required', kind: 'review' },
      { type: 'human_approve', by: 'human' },
      { type: 'start_step' },
    ],
  };

  const refusedAll = async (ref: TaskRef): Promise<AtlasTask> => {
    for (const event of eventsOf()) await api.send(ref, event as AtlasEvent).catch(() => undefined);
    const task = api.task(ref);
    assert(task !== undefined);
    return task;
  };

  for (const [name, inputs] of Object.entries(STATES)) {
    it(`ends no step of a task that ${name}, whatever is sent`, async () => {
      const started = await api.startTask({ title: name, template: 'guarded', folder: workspaceFolder() });
      for (const input of inputs) unwrap(await human.send(started.ref, input));
      const before = unwrap(human.catalog.read(started.ref)).hook;
      // Twice: what the first events led to is a state of its own.
      await refusedAll(started.ref);
      const after = await refusedAll(started.ref);
      assert.equal(after.hook.current_step?.step_index, before.current_step?.step_index);
      assert.ok(!['completed', 'failed', 'abandoned'].includes(after.hook.state), after.hook.state);
      const added = after.hook.history.slice(before.history.length).map(({ trigger }) => trigger);
      for (const trigger of ['human_approve', 'human_reject', 'skip_step', 'validate_pass', 'fail', 'abandon'])
        assert.ok(!added.includes(trigger), `${trigger} in ${added.join()}`);
      unwrap(await human.send(started.ref, { type: 'abandon', by: 'human' }));
    });
  }

  it('resumes a question, but not a review, and says why', async () => {
    const { ref } = await api.startTask({ title: 'asks', template: 'guarded', folder: workspaceFolder() });
    await api.send(ref, { type: 'start_step' });
    await api.send(ref, { type: 'human_required', kind: 'question', message: 'Which?' });
    assert.equal((await api.send(ref, { type: 'human_resume' })).hook.state, 'step_running');
    await api.send(ref, { type: 'human_required', kind: 'review' });
    await assert.rejects(
      api.send(ref, { type: 'human_resume' }),
      /Only a human may continue a task that is waiting for a review/u,
    );
    unwrap(await human.send(ref, { type: 'abandon', by: 'human' }));
  });
});
