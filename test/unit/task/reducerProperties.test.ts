import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import type { TaskInput } from '../../../src/core/transition/events';
import {
  CHECKPOINT_TRIGGERS,
  type TaskRecord,
  taskRecordSchema,
  isTerminal,
  serializeRecord,
} from '../../../src/core/task/taskRecord';
import { type RecordDelta } from '../../../src/core/history/journal';
import { applyDelta, diffRecord } from '../../../src/core/history/recordDelta';
import { EVENT_TYPES, type TaskEventType, legalEvents, targetsOf } from '../../../src/core/transition/states';
import { serializeTask, taskSchema } from '../../../src/core/task/task';
import { alignTask, keepsAlignment } from '../../../src/core/task/taskAlignment';
import { STEP_TYPES, type TemplateStep } from '../../../src/core/task/templates/template';
import { RecordEncoder } from '../../../src/store/task/recordEncoder';
import { Driver, deepFreeze, inputOf, receiptOf, taskOf } from '../../support/fixtures/stateHooks';

/** One turn of a random run: which event (of all, or of those that are legal), with which details. */
interface Turn {
  readonly any: TaskEventType;
  readonly legal: number | undefined;
  readonly elapsed: number;
  readonly text: string;
  readonly number: number;
  readonly attempt: number | undefined;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  any: fc.constantFrom(...EVENT_TYPES),
  legal: fc.option(fc.nat(1000), { nil: undefined, freq: 6 }),
  elapsed: fc.integer({ min: -5000, max: 400_000 }),
  text: fc.string({ unit: 'binary', maxLength: 12 }),
  number: fc.nat(8),
  attempt: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 1 }),
});

const steps: fc.Arbitrary<TemplateStep[]> = fc.array(
  fc.record({
    name: fc.constantFrom('analyze', 'work', 'commit', 'git_push', 'review', 'odd name'),
    type: fc.constantFrom(...STEP_TYPES),
    idempotent: fc.boolean(),
    validation: fc.array(fc.constantFrom('lint', 'test'), { maxLength: 2 }),
    maxAttempts: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 4 },
);

const runs = fc.record({
  steps,
  turns: fc.array(turn, { minLength: 10, maxLength: 70 }),
  maxCheckpoints: fc.integer({ min: 1, max: 4 }),
});

function varied(input: TaskInput, hook: TaskRecord | undefined, { text, number, elapsed }: Turn): TaskInput {
  switch (input.type) {
    case 'checkpoint': {
      const trigger = CHECKPOINT_TRIGGERS[number % CHECKPOINT_TRIGGERS.length] ?? 'manual';
      const source = number % 2 === 0 ? {} : { source: { repository: '/r', commit: String(number) } };
      const at = number % 3 === 0 ? { at: new Date(Date.UTC(2026, 2, 1, 12) + elapsed).toISOString() } : {};
      return { ...input, trigger, description: text, ...source, ...at };
    }
    case 'note':
      return { ...input, workingOn: text, lastOutput: text, filesTouched: [`${number}.ts`] };
    case 'start_step':
      return { ...input, prompt: text, dirtyBefore: [text] };
    case 'step_output':
      return { ...input, output: text.repeat(100) };
    case 'receipt':
      return hook === undefined
        ? input
        : { ...input, receipt: receiptOf(hook, `r${elapsed}`, number % 2 === 0 ? 'lint' : 'test', number > 6 ? 1 : 0) };
    default:
      return input;
  }
}

function inputFor(driver: Driver, item: Turn): TaskInput {
  const legal = legalEvents(driver.hook?.state ?? 'none');
  // Ends are legal nearly everywhere, and would make most runs short.
  const going = legal.filter((event) => event !== 'fail' && event !== 'abandon');
  const type = item.legal === undefined ? item.any : (going[item.legal % Math.max(1, going.length)] ?? item.any);
  const input = varied(inputOf(type, driver.hook), driver.hook, item);
  return item.attempt === undefined ? input : { ...input, expect: { attempt: item.attempt } };
}

interface Seen {
  readonly before: TaskRecord | undefined;
  readonly after: TaskRecord | undefined;
  readonly input: TaskInput;
  readonly ok: boolean;
  readonly changed: boolean;
}

/** Runs random turns, the hook going through its bytes before each, as it does between processes. */
function play(
  run: typeof runs extends fc.Arbitrary<infer T> ? T : never,
  reread: boolean,
  see: (seen: Seen) => void,
): Driver {
  const config = { ...DEFAULT_CONFIG, maxCheckpoints: run.maxCheckpoints };
  const driver = new Driver(taskOf(run.steps, config), config);
  for (const item of run.turns) {
    if (driver.hook !== undefined && isTerminal(driver.hook.state) && item.number > 1) break;
    if (reread && driver.hook !== undefined) driver.hook = readAgain(driver.hook);
    const before = deepFreeze(driver.hook);
    const copy = structuredClone(before);
    const input = inputFor(driver, item);
    const proven = before?.receipts.filter((receipt) => receipt.exit_code === 0).map((receipt) => receipt.receipt_id);
    const result = driver.try(input, { now: driver.now + item.elapsed, proven: proven ?? [] });
    expect(before).toEqual(copy);
    see({ before, after: driver.hook, input, ok: result.ok, changed: result.ok && result.value.changed });
  }
  return driver;
}

function readAgain(hook: TaskRecord): TaskRecord {
  return taskRecordSchema.parse(JSON.parse(serializeRecord(hook)));
}

const RUNS = { numRuns: 80 };

describe('any sequence of events', { timeout: 60_000 }, () => {
  it('never throws, changes nothing when refused, and follows the table', () => {
    let changes = 0;
    fc.assert(
      fc.property(runs, (run) => {
        play(run, false, ({ before, after, input, ok, changed }) => {
          if (!ok || !changed) {
            expect(after).toBe(before);
            return;
          }
          changes += 1;
          if (after === undefined) throw new Error('an event was accepted without a hook');
          const reached = after.history.find(
            (event, index) => index >= (before?.history.length ?? 0) && event.trigger === input.type,
          );
          expect(reached).toBeDefined();
          expect(targetsOf(before?.state ?? 'none', input.type)).toContain(after.state);
        });
      }),
      RUNS,
    );
    expect(changes).toBeGreaterThan(RUNS.numRuns * 5);
  });

  it('only lets the history grow, each line beginning where the last one ended', () => {
    fc.assert(
      fc.property(runs, (run) => {
        play(run, false, ({ before, after }) => {
          if (after === undefined) return;
          expect(after.history.slice(0, before?.history.length ?? 0)).toEqual(before?.history ?? []);
          for (const [index, event] of after.history.entries()) {
            expect(event.from_state).toBe(after.history[index - 1]?.to_state ?? '');
          }
          expect(after.history.at(-1)?.to_state).toBe(after.state);
        });
      }),
      RUNS,
    );
  });

  it('keeps to the limits: checkpoints, attempts, step index, recovery only in recovering', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const driver = play(run, false, ({ after }) => {
          if (after === undefined) return;
          expect(after.checkpoints.length).toBeLessThanOrEqual(run.maxCheckpoints);
          const ids = after.history.flatMap((event) => event.details?.['checkpoint_id'] ?? []);
          expect(new Set(ids).size).toBe(ids.length);
          const step = after.current_step;
          if (step !== undefined) {
            expect(step.attempt).toBeGreaterThanOrEqual(1);
            expect(step.attempt).toBeLessThanOrEqual(step.max_attempts);
            expect(step.step_index).toBeLessThan(run.steps.length);
          }
          expect(after.recovery !== undefined).toBe(after.state === 'recovering');
          if (after.state === 'completed') expect(step).toBeUndefined();
          if (!isTerminal(after.state) && after.state !== 'initializing' && after.recovery === undefined)
            expect(step).toBeDefined();
        });
        expect(driver.task.steps).toHaveLength(run.steps.length);
      }),
      RUNS,
    );
  });

  it('can be replayed from its changes to the same bytes, though read from its file between any two', () => {
    fc.assert(
      fc.property(runs, (run) => {
        let replayed: TaskRecord | undefined;
        play(run, true, ({ before, after, changed }) => {
          if (!changed || after === undefined) return;
          if (before === undefined || replayed === undefined) {
            replayed = readAgain(after);
            return;
          }
          const delta = diffRecord(before, after);
          if (delta === undefined) throw new Error('a change of ours is not a delta');
          replayed = applyDelta(replayed, JSON.parse(JSON.stringify(delta)) as RecordDelta);
          expect(serializeRecord(replayed)).toBe(serializeRecord(after));
        });
      }),
      RUNS,
    );
  });

  it('gives bytes that read back to themselves', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const { hook } = play(run, false, () => undefined);
        if (hook !== undefined) expect(serializeRecord(readAgain(hook))).toBe(serializeRecord(hook));
      }),
      RUNS,
    );
  });

  it('gives a task.json that agrees with it once it was brought in line', () => {
    fc.assert(
      fc.property(runs, (run) => {
        let { task } = new Driver(taskOf(run.steps));
        play(run, true, ({ after, changed }) => {
          if (!changed || after === undefined) return;
          task = taskSchema.parse(JSON.parse(serializeTask(alignTask(task, after))));
          expect(serializeTask(alignTask(task, after))).toBe(serializeTask(task));
          expect(task.status === 'completed').toBe(after.state === 'completed');
        });
      }),
      RUNS,
    );
  });

  it('needs task.json brought in line only where that is said', () => {
    let kept = 0;
    fc.assert(
      fc.property(runs, (run) => {
        let { task } = new Driver(taskOf(run.steps));
        play(run, false, ({ before, after, changed }) => {
          if (!changed || after === undefined) return;
          const aligned = alignTask(task, after);
          if (before !== undefined && keepsAlignment(before, after)) {
            kept += 1;
            expect(serializeTask(aligned)).toBe(serializeTask(task));
          }
          task = aligned;
        });
      }),
      RUNS,
    );
    // About one a run; so few only if hardly any was tried.
    expect(kept).toBeGreaterThan(RUNS.numRuns / 4);
  });

  it('is encoded piece by piece to the bytes that it has as a whole', () => {
    fc.assert(
      fc.property(runs, fc.array(fc.boolean(), { minLength: 70 }), (run, skips) => {
        const encoder = new RecordEncoder();
        let turns = 0;
        play(run, false, ({ after }) => {
          turns += 1;
          if (after === undefined || skips[turns % skips.length] === true) return;
          const { pieces, sha256 } = encoder.encode(after);
          const bytes = Buffer.concat(pieces);
          expect(bytes.toString('utf8')).toBe(serializeRecord(after));
          expect(sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
        });
      }),
      RUNS,
    );
  });
});

const unknowns = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }).map((key) => `x_${key}`),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 4 },
);

describe('fields that this version does not know', { timeout: 60_000 }, () => {
  it('survive reading, events and writing, at every place', () => {
    fc.assert(
      fc.property(unknowns, fc.array(turn, { minLength: 3, maxLength: 20 }), (extra, turns) => {
        const driver = new Driver(
          taskOf([{ name: 'work', type: 'ai', idempotent: false, validation: [], maxAttempts: 3 }]),
        );
        driver.send({ type: 'init' }, { type: 'setup_complete' }, { type: 'start_step' });
        const file = JSON.parse(serializeRecord(driver.current)) as Record<string, object> & { history: object[] };
        const told = JSON.parse(JSON.stringify(extra)) as object;
        Object.assign(file, told, { constructor: 'c', toString: 't', 'z z': null });
        Object.assign(file['current_step'] ?? {}, told);
        Object.assign(file.history[0] ?? {}, told);
        driver.hook = taskRecordSchema.parse(file);
        for (const item of turns) driver.try(inputFor(driver, item));
        const text = serializeRecord(driver.current);
        expect(Buffer.concat(new RecordEncoder().encode(driver.current).pieces).toString('utf8')).toBe(text);
        const written = JSON.parse(text) as Record<string, object> & { history: object[] };
        expect(written).toMatchObject({ ...told, constructor: 'c', toString: 't', 'z z': null });
        expect(written.history[0]).toMatchObject(told);
        if (driver.current.current_step?.step_index === 0) expect(written['current_step']).toMatchObject(told);
      }),
      { numRuns: 50 },
    );
  });
});
