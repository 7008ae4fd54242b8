import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../../src/core/recovery/liveness';
import { type TaskAction, openActions, otherRecoveries } from '../../../src/core/task/taskActions';
import { STEP_TYPES } from '../../../src/core/task/templates/template';
import { byUrgency, needsPerson } from '../../../src/core/task/urgency';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';

type Health = Diagnosis['kind'];
type Step = (typeof STEP_TYPES)[number];

const one = (type: Step, checks: readonly string[] = []): DrivenHook =>
  new DrivenHook([stepOf('work', type, checks), stepOf('review', 'human')]);
const running = (checks: readonly string[] = []): DrivenHook => one('ai', checks).send({ type: 'start_step' });
const failing = (): DrivenHook =>
  running(['npm test']).send({ type: 'step_output' }, { type: 'validate_fail', reason: 'exited with 1' });
const asking = (kind: 'review' | 'question' | 'step_failed' | 'interrupted'): DrivenHook =>
  running().send({ type: 'human_required', kind, message: 'Which one?' });

function offered({ now, task }: DrivenHook, health?: Health): TaskAction[] {
  return openActions(now, task, health)
    .filter(({ rank }) => rank === 'primary' || rank === 'secondary')
    .map(({ action }) => action);
}

describe('the next step that a person is offered', () => {
  it.each(STEP_TYPES)('starts an agent on a pending %s step, unless it is a person’s own', (type) => {
    expect(offered(one(type))).toEqual(type === 'human' ? ['startStep'] : ['startAgent', 'startStep']);
  });

  it('after a failed check is to run it again, and never to approve', () => {
    expect(offered(failing())).toEqual(['runValidation', 'reject', 'acceptDespiteFailure']);
    const all = openActions(failing().now, failing().task).map(({ action }) => action);
    expect(all).not.toContain('approve');
  });

  it('to a question is the answer', () => {
    expect(offered(asking('question'))).toEqual(['answer', 'reject']);
  });

  it('in a review is to see the changes, with the decision beside it', () => {
    expect(offered(asking('review')).slice(0, 3)).toEqual(['reviewChanges', 'approve', 'reject']);
  });

  it('where the agent is quiet or has left is to resume it, never to complete the step', () => {
    expect(offered(running(), 'quiet')).toEqual(['resume', 'stillWorking']);
    expect(offered(running(), 'agent_left')).toEqual(['resume', 'stillWorking']);
  });

  it('after an interruption is the plan, at once, and another one only on request', () => {
    const driven = running().crashed('retry_from_checkpoint');
    const actions = openActions(driven.now, driven.task);
    expect(actions.slice(0, 2)).toEqual([
      { action: 'recover', recovery: 'retry_from_checkpoint', rank: 'primary' },
      { action: 'recover', rank: 'secondary' },
    ]);
    expect(otherRecoveries(driven.now, driven.task)).toEqual(['retry_step', 'retry_validation', 'skip_step', 'manual']);
  });

  it('of a step that was given up is to send it back', () => {
    expect(offered(asking('step_failed'))).toEqual(['reject', 'resume', 'approve']);
  });

  it('while an agent works changes nothing', () => {
    expect(offered(running(), 'working')[0]).toBe('checkpoint');
    expect(offered(running(['npm test']), 'working')).toEqual(['checkpoint', 'runValidation']);
  });

  it('is one, and what ends a task is never beside it', () => {
    for (const driven of [
      one('ai'),
      running(),
      failing(),
      asking('review'),
      asking('question'),
      running().crashed('manual'),
    ]) {
      const ranks = openActions(driven.now, driven.task).map(({ rank }) => rank);
      expect(ranks.filter((rank) => rank === 'primary')).toHaveLength(1);
      expect(ranks.slice(-2)).toEqual(['ending', 'ending']);
    }
    const over = one('ai').send({ type: 'abandon' });
    expect(openActions(over.now, over.task).filter(({ action }) => action !== 'reviewChanges')).toEqual([]);
  });
});

describe('the order of tasks', () => {
  const tasks: readonly (readonly [name: string, driven: DrivenHook, health?: Health])[] = [
    ['interrupted', running().crashed('retry_step')],
    ['waiting', asking('question')],
    ['quiet', running(), 'quiet'],
    ['validating', running(['npm test']).send({ type: 'step_output' })],
    ['running', running(), 'working'],
    ['ready', one('ai')],
  ];

  it('is interrupted, waiting, quiet, validating, running, ready, from whatever order', () => {
    const ranked = tasks.map(([name, { now }, health]) => ({ name, hook: now, health }));
    const names = tasks.map(([name]) => name);
    for (let turn = 0; turn < ranked.length; turn += 1) {
      const turned = [...ranked.slice(turn), ...ranked.slice(0, turn)].reverse();
      expect(turned.sort(byUrgency).map(({ name }) => name)).toEqual(names);
    }
    expect(ranked.filter(needsPerson).map(({ name }) => name)).toEqual(['interrupted', 'waiting', 'quiet']);
  });

  it('has of equally urgent tasks the one that changed last first', () => {
    const [older, newer] = [one('ai').now, one('ai').now];
    const later = { ...newer, updated_at: '2030-01-01T00:00:00.000Z' };
    expect([{ hook: older }, { hook: later }].sort(byUrgency)[0]?.hook).toBe(later);
  });
});
