import { describe, expect, it, vi } from 'vitest';
import { type STEP_TYPES } from '../../../src/core/task/template';
import { type TaskPanelData, taskPanelModel } from '../../../src/extension/tasks/panel/taskPanelModel';
import { taskPanelModelSchema, type TaskPanelModel } from '../../../src/protocol/taskPanel';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const one = (type: (typeof STEP_TYPES)[number], validation: readonly string[] = []): DrivenHook =>
  new DrivenHook([stepOf('work', type, validation), stepOf('review', 'human')]);
const modelOf = (driven: DrivenHook, more: Partial<TaskPanelData> = {}): TaskPanelModel =>
  taskPanelModel(REF, { hook: driven.now, task: driven.task, markdown: '', hookPath: '/h', ...more }, []);

describe('the actions of the HOOK.md panel', () => {
  it('are in words, the one next step first', () => {
    const { actions } = modelOf(one('ai').crashed('retry_step'));
    expect(actions.slice(0, 2).map(({ label, recovery, rank }) => [label, recovery, rank])).toEqual([
      ['Restart the Step', 'retry_step', 'primary'],
      ['Recover Differently…', undefined, 'secondary'],
    ]);
    expect(actions.at(-1)?.label).toBe('Abandon Task…');
  });

  it('are none in an untrusted folder', () => {
    expect(modelOf(one('ai'), { untrusted: true }).actions).toEqual([]);
  });
});

describe('the model of the HOOK.md panel', () => {
  it('passes its own schema in every state it can be in', () => {
    const drivens = [
      one('ai'),
      one('ai').send({ type: 'start_step' }).crashed('manual'),
      one('git').send({ type: 'fail' }),
    ];
    for (const driven of drivens) expect(taskPanelModelSchema.parse(modelOf(driven)).state).toBe(driven.now.state);
  });

  it('shows step, attempt and what is said when they change', () => {
    const model = modelOf(one('ai').send({ type: 'start_step', workingOn: 'the parser\n# x' }));
    expect(Object.fromEntries(model.facts.map((fact) => [fact.label, fact.text]))).toMatchObject({
      Step: 'work (1 of 2)',
      Attempt: '1 of 3',
      'Working on': 'the parser # x',
    });
    expect(model.announcement).toBe('Running: step work (1 of 2)');
  });

  it('never lets a failed check that was accepted be forgotten', () => {
    const driven = one('ai').send(
      { type: 'start_step' },
      { type: 'step_output' },
      { type: 'validate_fail', reason: 'no' },
    );
    expect(modelOf(driven).notices).toMatchObject([{ level: 'error', text: 'A check failed. no' }]);
    driven.send({ type: 'human_approve', reason: 'tracked in #12' });
    expect(modelOf(driven).notices).toMatchObject([
      { level: 'warning', text: 'Step work was accepted with a failed check. The reason: tracked in #12' },
    ]);
  });

  it('puts checkpoints in the order of their times and spans all of them', () => {
    const driven = one('ai').send({ type: 'start_step' });
    for (const description of ['a', 'b']) driven.send({ type: 'checkpoint', trigger: 'manual', description });
    const [a, b] = driven.now.checkpoints;
    if (a === undefined || b === undefined) throw new Error('no checkpoints');
    const early = { ...b, created_at: '2026-01-01T00:00:00.000Z' };
    const { timeline } = modelOf(driven, { hook: { ...driven.now, checkpoints: [a, early] } });
    expect(timeline.marks.map((mark) => mark.label)).toEqual([
      'Manual: b (step work), with uncommitted changes',
      'Manual: a (step work), with uncommitted changes',
    ]);
    expect(timeline.from).toBe('2026-01-01T00:00:00.000Z');
    expect(timeline.to).toBe(driven.now.updated_at);
  });

  it('tells of foreign edits, silence, crashes and waiting', () => {
    const driven = one('ai').send({ type: 'start_step' });
    const edit = {
      timestamp: '2026-01-17T15:00:00Z',
      from_state: 'step_running',
      to_state: 'step_running',
      trigger: 'adopted_edit',
    } as const;
    const hook = { ...driven.now, history: [...driven.now.history, edit] };
    const ids = (more: Partial<TaskPanelData>): string[] => modelOf(driven, more).notices.map((notice) => notice.id);
    expect(ids({})).toEqual([]);
    expect(ids({ hook, suspect: true })).toEqual(['journal', 'edited']);
    expect(ids({ suspect: false, diagnosis: { kind: 'quiet', since: 0 } })).toEqual(['quiet']);
    expect(ids({ diagnosis: { kind: 'crashed', type: 'signal', cause: 'agent_killed', lastSign: 0 } })).toEqual([
      'crashed',
    ]);
    const waiting = driven.send({ type: 'human_required', kind: 'question', message: 'Which one?' });
    expect(modelOf(waiting).notices[0]?.text).toBe('The agent has a question. Which one?');
  });
});
