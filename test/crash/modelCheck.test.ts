import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_TEMPLATES } from '../../src/core/task/templates/templates';
import { Model } from './taskModel/explore';

/* Task × crash × recovery, exhaustively: two writers in every order, one crash at every move, a human's every answer. */

const TIMEOUT = 300_000;
const rows: string[] = [];

// Hundreds of thousands of refusals are errors whose stacks nobody reads: they would take a tenth of the time.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});

describe.each([
  { seen: 'git and the forge can be asked', commands: ['npm test'], sighted: true },
  { seen: 'nothing can be asked, no command is declared', commands: [], sighted: false },
])('the model, where $seen', ({ commands, sighted }) => {
  const model = new Model(commands, sighted);

  it.each(BUILTIN_TEMPLATES)('of $id keeps its properties', { timeout: TIMEOUT }, (template) => {
    const { states, moves, crashes, plans, ends } = model.explore(template);
    rows.push(
      `${template.id}, ${sighted ? 'seen' : 'unseen'}: ${states} states, ${moves} moves, ${crashes} crashes, plans ${JSON.stringify(plans)}`,
    );
    expect(ends['completed']).toBeGreaterThan(0);
    expect(crashes).toBeGreaterThan(template.steps.length * 100);
    expect(Object.keys(plans)).toContain('manual');
  });

  it('ends in every branch, and never goes round in circles by itself', () => {
    model.check();
    rows.push(`${sighted ? 'seen' : 'unseen'}: ${model.size} states without those that templates share`);
  });
});

it('the model of a validation of two commands keeps its properties', { timeout: TIMEOUT }, () => {
  const model = new Model(['lint', 'test'], true);
  const [step] = BUILTIN_TEMPLATES.flatMap(({ steps }) => steps).filter(({ name }) => name === 'validate');
  if (step === undefined) throw new Error('no template validates');
  const { states, plans } = model.explore({ id: 'v', aliases: [], description: '', source: 'builtin', steps: [step] });
  model.check();
  rows.push(`validation of two commands: ${states} states`);
  expect(plans).toMatchObject({
    skip_step: expect.any(Number) as number,
    retry_validation: expect.any(Number) as number,
  });
});

afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
  console.log(rows.join('\n'));
});
