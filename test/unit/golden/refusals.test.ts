import { expect, it } from 'vitest';
import { exitOf } from '../../../src/cli/render/output';
import type { AtlasError } from '../../../src/core/shared/errors';
import type { Caller, TaskInput } from '../../../src/core/transition/events';
import { TASK_STATES } from '../../../src/core/task/taskRecord';
import { EVENT_TYPES } from '../../../src/core/transition/states';
import type { StepType } from '../../../src/core/task/templates/template';
import { stepOf } from '../../support/drivers/drivenHook';
import {
  Driver,
  drivenTo,
  inputOf,
  receiptInput,
  receiptOf,
  recoveryOf,
  reserveOf,
  taskOf,
} from '../../support/fixtures/stateHooks';
import { GOLDEN } from './goldenFiles';

/** A task in a situation, and what is sent to it: every event, unless some are named. */
interface Situation {
  readonly name: string;
  readonly driver: Driver;
  readonly inputs?: readonly TaskInput[];
}

function pending(type: StepType, commands: readonly string[] = [], maxAttempts = 3): Driver {
  const step = { ...stepOf('work', type, commands), maxAttempts };
  return new Driver(taskOf([step, stepOf('next', 'ai')])).send({ type: 'init' }, { type: 'setup_complete' });
}

function running(type: StepType, commands: readonly string[] = [], maxAttempts = 3): Driver {
  return pending(type, commands, maxAttempts).send({ type: 'start_step' });
}

function crashed(driver: Driver): Driver {
  return driver.send({ type: 'crash_detected', recovery: recoveryOf(driver.current) });
}

const asked = (): Driver => running('ai').send({ type: 'human_required', kind: 'question', message: 'Which one?' });

function receiptsRefused(): Situation {
  const driver = running('ai').send({ type: 'step_output' }, reserveOf('rcpt-1'));
  const receipt = receiptOf(driver.current, 'rcpt-1');
  driver.send(receiptInput(receipt));
  const sent = (more: object): TaskInput => receiptInput({ ...receipt, ...more });
  return {
    name: 'a receipt that does not fit',
    driver,
    inputs: [
      sent({}),
      sent({ step_name: 'next' }),
      sent({ attempt: 2 }),
      sent({ attempt: undefined }),
      sent({ started_at: 'yesterday' }),
      sent({ receipt_id: 'rcpt-2' }),
    ],
  };
}

const SITUATIONS: readonly Situation[] = [
  ...(['none', ...TASK_STATES] as const).map((state) => ({ name: state, driver: drivenTo(state) })),
  { name: 'awaiting_human, because of a question', driver: asked() },
  {
    name: 'awaiting_human, because of an interruption',
    driver: crashed(running('ai')).send({ type: 'manual_required' }),
  },
  {
    name: 'awaiting_human, because a check failed',
    driver: running('ai', ['npm test']).send(
      { type: 'step_output' },
      { type: 'validate_fail', reason: 'npm test failed' },
    ),
  },
  {
    name: 'awaiting_human, because all attempts are used up',
    driver: crashed(running('ai', [], 1)).send({ type: 'retry_step' }, { type: 'start_step' }),
  },
  { name: "awaiting_human, at a person's step", driver: running('human') },
  { name: "step_running, left at a person's step", driver: running('human').leftIn('step_running') },
  { name: "step_validating, left at a person's step", driver: running('human').leftIn('step_validating') },
  { name: 'step_running, at a validation step', driver: running('validation') },
  { name: 'step_running, with declared checks', driver: running('ai', ['npm run lint', 'npm test']) },
  {
    name: 'step_validating, with declared checks',
    driver: running('ai', ['npm run lint', 'npm test']).send({ type: 'step_output' }),
  },
  { name: 'step_validating, without a receipt', driver: running('ai').send({ type: 'step_output' }) },
  { name: 'recovering from the set-up', driver: crashed(drivenTo('initializing')) },
  { name: 'recovering from step_validating', driver: crashed(drivenTo('step_validating')) },
  { name: "recovering from a person's step", driver: crashed(running('human').leftIn('step_running')) },
  {
    name: 'recovering with another plan',
    driver: ((driver: Driver) =>
      driver.send({
        type: 'crash_detected',
        recovery: recoveryOf(driver.current, { recommended_action: 'retry_from_checkpoint' }),
      }))(running('ai')),
  },
  { name: 'a task without steps', driver: new Driver(taskOf([])).send({ type: 'init' }) },
  {
    name: 'a caller that is late',
    driver: running('ai'),
    inputs: [
      { type: 'step_complete', expect: { step: 'analyze' } },
      { type: 'step_output', expect: { step: 'analyze' } },
      { type: 'validate_pass', expect: { step: 'analyze' } },
      { type: 'note', expect: { attempt: 7 } },
      { type: 'checkpoint', trigger: 'manual', description: 'x', expect: { step: 'work', attempt: 7 } },
      { type: 'human_required', kind: 'question', expect: { attempt: 7 } },
    ],
  },
  {
    name: 'a caller that is late, after the end',
    driver: drivenTo('failed'),
    inputs: [
      { type: 'acknowledge', expect: { step: 'analyze' } },
      { type: 'acknowledge', expect: { attempt: 7 } },
    ],
  },
  receiptsRefused(),
  {
    name: 'an input that makes no sense',
    driver: drivenTo('step_validating'),
    inputs: [
      {
        ...(inputOf('validation_command', undefined) as Extract<TaskInput, { type: 'validation_command' }>),
        command: '',
      },
      { type: 'checkpoint', trigger: 'interval', description: 'x' },
      { type: 'crash_detected', recovery: {} as never },
    ],
  },
];

const CALLERS: readonly Caller[] = ['human', 'agent'];

function told({ code, message, hint = '' }: AtlasError): string {
  return `    ${message.replaceAll('\n', '\n    ')}\n    ${hint}\n    [${code}, exit ${exitOf(code)}]\n`;
}

/** What an input is refused with, once for both callers where it is the same. */
function refusalsOf(driver: Driver, input: TaskInput): string {
  const said = CALLERS.map((by) => {
    const result = driver.attempt({ ...input, by });
    return result.ok ? undefined : told(result.error);
  });
  const [human, agent] = said;
  if (human !== undefined && human === agent) return `  ${input.type}\n${human}`;
  return CALLERS.map((by, index) =>
    said[index] === undefined ? '' : `  ${input.type}, by ${by}\n${said[index]}`,
  ).join('');
}

/** What a situation adds to its state; what is refused there in the same words is left out. */
function page({ name, driver, inputs }: Situation): string {
  const state = driver.hook?.state;
  const plain = inputs !== undefined || state === undefined || state === name ? undefined : drivenTo(state);
  const refusals = (inputs ?? EVENT_TYPES.map((type) => inputOf(type, driver.hook)))
    .filter((input) => plain === undefined || refusalsOf(plain, input) !== refusalsOf(driver, input))
    .map((input) => refusalsOf(driver, input));
  return `${name}\n${refusals.join('')}`;
}

it('refuses in the words that were reviewed', async () => {
  await expect(SITUATIONS.map(page).join('\n')).toMatchFileSnapshot(`${GOLDEN}/refusals.txt`);
});
