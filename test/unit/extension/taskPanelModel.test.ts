import { describe, expect, it, vi } from 'vitest';
import { STEP_TYPES } from '../../../src/core/task/template';
import { type TaskPanelData, taskPanelModel } from '../../../src/extension/tasks/panel/taskPanelModel';
import { openActions } from '../../../src/core/task/taskActions';
import { taskPanelModelSchema, type TaskPanelModel } from '../../../src/protocol/taskPanel';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const one = (type: (typeof STEP_TYPES)[number], validation: readonly string[] = []): DrivenHook =>
  new DrivenHook([stepOf('work', type, validation), stepOf('review', 'human')]);
const modelOf = (driven: DrivenHook, more: Partial<TaskPanelData> = {}): TaskPanelModel =>
  taskPanelModel(REF, { hook: driven.now, task: driven.task, markdown: '', hookPath: '/h', ...more }, []);
const names = (driven: DrivenHook): string[] =>
  openActions(driven.now, driven.task).map(({ action, recovery }) =>
    recovery === undefined ? action : `${action}:${recovery}`,
  );

describe('the actions of the HOOK.md panel', () => {
  it.each(STEP_TYPES)('offers to start a pending %s step, first', (type) => {
    expect(names(one(type))).toEqual(['startStep', 'recover', 'checkpoint', 'failTask', 'abandonTask']);
  });

  it('offers what the guards allow in a running step', () => {
    expect(names(one('ai').send({ type: 'start_step' }))[0]).toBe('completeStep');
    const declared = names(one('ai', ['npm test']).send({ type: 'start_step' }));
    expect(declared[0]).toBe('runValidation');
    expect(declared).toContain('submitStepOutput');
    expect(declared).not.toContain('completeStep');
    const human = names(one('human').send({ type: 'start_step' }).leftIn('step_running'));
    expect(human).toEqual(['recover', 'checkpoint', 'failTask', 'abandonTask']);
  });

  it('offers approval only of what can be approved', () => {
    const running = (): DrivenHook => one('ai').send({ type: 'start_step' });
    const review = names(running().send({ type: 'human_required', kind: 'review' }));
    expect(review.slice(0, 3)).toEqual(['approve', 'resume', 'reject']);
    const question = names(running().send({ type: 'human_required', kind: 'question' }));
    expect(question.slice(0, 2)).toEqual(['resume', 'reject']);
    expect(question).not.toContain('approve');
  });

  it('offers the computed recovery first, then every other legal one', () => {
    expect(names(one('ai').send({ type: 'start_step' }).crashed('retry_from_checkpoint'))).toEqual([
      'recover',
      'recover:retry_step',
      'recover:retry_validation',
      'recover:skip_step',
      'recover:manual',
      'checkpoint',
      'failTask',
      'abandonTask',
    ]);
    expect(names(one('ai').crashed('retry_step'))).not.toContain('recover:retry_from_checkpoint');
  });

  it('offers nothing when the task is over', () => {
    expect(names(one('ai').send({ type: 'abandon' }))).toEqual([]);
  });

  it('has exactly one primary action and ends with what ends the task', () => {
    const ranks = modelOf(one('ai')).actions.map((action) => action.rank);
    expect(ranks).toEqual(['primary', 'secondary', 'secondary', 'ending', 'ending']);
  });

  it('names the plan on the button', () => {
    const labels = modelOf(one('ai').crashed('retry_step')).actions.map((action) => action.label);
    expect(labels.slice(0, 2)).toEqual(['Recover: Restart the step', 'Instead: Validate again']);
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
    expect(modelOf(waiting).notices[0]?.text).toBe('The task is waiting for you: Which one?');
  });
});
