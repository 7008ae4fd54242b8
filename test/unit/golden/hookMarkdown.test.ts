import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RECOVERY_ACTIONS } from '../../../src/core/task/taskRecord';
import { WAIT_KINDS, type WaitKind, waitKind } from '../../../src/core/task/waiting';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { render } from '../../support/fixtures/renderedHook';
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

/** Every state, and in it what Atlas would do or what is waited for. */
const SAMPLES: Readonly<Record<string, () => DrivenHook>> = {
  'initializing-setup': () => first().leftIn('initializing'),
  'step_pending-start': second,
  'step_running-work': running,
  'step_validating-validate': validating,
  ...Object.fromEntries(WAIT_KINDS.map((kind) => [`awaiting_human-${kind}`, () => waiting(kind)])),
  ...Object.fromEntries(RECOVERY_ACTIONS.map((action) => [`recovering-${action}`, () => running().crashed(action)])),
  'completed-done': () => new DrivenHook([stepOf('analyze', 'ai')]).completeStep(),
  'failed-decided': () => running().send({ type: 'fail', reason: 'the API is gone' }),
  'abandoned-decided': () => running().send({ type: 'abandon', reason: 'not needed' }),
};

describe('HOOK.md', () => {
  it.each(Object.entries(SAMPLES))('reads as reviewed: %s', async (name, sample) => {
    const driven = sample();
    expect(name.startsWith(`${driven.now.state}-`)).toBe(true);
    await expect(render(driven)).toMatchFileSnapshot(`${GOLDEN}/hookmd/${name}.md`);
  });

  it('has no file without a sample', () => {
    const files = Object.keys(SAMPLES).map((name) => `${name}.md`);
    expect(readdirSync(`${GOLDEN}/hookmd`).sort()).toEqual(files.sort());
  });

  it.each(WAIT_KINDS)('has a sample that waits for %s', (kind) => {
    expect(waitKind(waiting(kind).now)).toBe(kind);
  });
});
