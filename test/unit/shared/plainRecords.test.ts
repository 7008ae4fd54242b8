import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { taskRecordSchema } from '../../../src/core/task/taskRecord';
import { RECORD_LISTS, TASK_LISTS, takePlainLists } from '../../../src/core/history/plainRecords';
import { taskSchema } from '../../../src/core/task/task';
import { alignTask } from '../../../src/core/task/taskAlignment';
import { parseRecord, parseTask } from '../../../src/store/task/recordFile';
import { drivenTo, receiptOf } from '../../support/fixtures/stateHooks';

const driver = drivenTo('step_validating');
const driven = driver.current;
const snapshot = {
  path: 'a.ts',
  size: 3,
  mod_time: '2026-01-17T14:30:22.000Z',
  sha256: '0123456789abcdef',
  exists: true,
};
const checkpoint = {
  ...{ checkpoint_id: 'ckpt-00000001', created_at: '2026-01-17T14:30:22.000Z', step_name: 'work', step_index: 0 },
  ...{
    attempt: 1,
    description: 'half way',
    trigger: 'manual',
    git_branch: 'main',
    git_commit: 'c0ffee',
    git_dirty: true,
  },
  ...{ artifacts: ['log.txt'], files_snapshot: [snapshot, snapshot] },
};
const hook = {
  ...driven,
  checkpoints: [checkpoint, checkpoint],
  receipts: [receiptOf(driven, 'rcpt-1'), receiptOf(driven, 'rcpt-2', 'npm test', 1)],
};
const aligned = alignTask(driver.task, driven);
const [step] = aligned.steps;
const times = { started_at: '2026-01-17T14:30:22.000Z', completed_at: '2026-01-17T14:31:22.000Z' };
const result = { step_index: 0, step_name: 'work', status: 'success', ...times, duration_ms: 60_000 };
const task = { ...aligned, steps: [step, { ...step, ...times }], step_results: [result, result] };

const bytes = (data: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(data));
const values = (read: { ok: boolean; value?: unknown }): unknown => (read.ok ? read.value : 'refused');
const asRead = (read: { success: boolean; data?: unknown }): unknown => (read.success ? read.data : 'refused');
const again = (data: unknown): unknown => JSON.parse(JSON.stringify(data)) as unknown;

/** A file with lists: as it is read, as its schema alone would read it, and what fields an item of a list may have. */
const FILES = [
  {
    name: 'hook.json',
    sample: hook as Record<string, unknown>,
    lists: RECORD_LISTS,
    parse: (data: unknown) => values(parseRecord('hook.json', bytes(data))),
    schema: (data: unknown) => asRead(taskRecordSchema.safeParse(again(data))),
    fields: [
      ...(['timestamp', 'from_state', 'to_state', 'trigger', 'step_name', 'details', 'unknown'] as const),
      ...(['receipt_id', 'attempt', 'command', 'exit_code', 'started_at', 'completed_at', 'duration'] as const),
      ...([
        'stdout_hash',
        'stderr_hash',
        'key_path',
        'signature',
        'checkpoint_id',
        'created_at',
        'step_index',
      ] as const),
      ...(['description', 'git_branch', 'git_commit', 'git_dirty', 'artifacts', 'files_snapshot'] as const),
    ],
  },
  {
    name: 'task.json',
    sample: task as Record<string, unknown>,
    lists: TASK_LISTS,
    parse: (data: unknown) => values(parseTask('task.json', bytes(data))),
    schema: (data: unknown) => asRead(taskSchema.safeParse(again(data))),
    fields: [
      ...(['name', 'type', 'status', 'started_at', 'completed_at', 'error', 'attempts', 'idempotent'] as const),
      ...(['goal', 'done_when'] as const),
      ...(['validation', 'max_attempts', 'step_index', 'step_name', 'duration_ms', 'from_status'] as const),
      ...(['to_status', 'timestamp', 'reason', 'unknown'] as const),
    ],
  },
] as const;

/** What a field may hold in a file that something else wrote, the near misses among it. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom('', 'step_running', 'no_state', '2026-01-17T14:30:22.000Z', '2026-02-30T00:00:00.000Z'),
  fc.constantFrom('2026-01-31T23:59:59.999Z', '2026-01-17T15:30:22+01:00', '2026-01-17T24:00:00.000Z'),
  fc.constantFrom('0001-01-01T00:00:00Z', '2026-13-01T00:00:00.000Z', '2026-01-00T00:00:00.000Z', 1.5, 2 ** 60, -1),
  fc.constant(undefined),
);

describe.each(FILES)(
  'lists of $name that are as Atlas writes them',
  { timeout: 60_000 },
  ({ sample, lists, parse, schema, fields }) => {
    const names = Object.keys(lists);

    it('are taken out, so that the schema need not look at each record', () => {
      const { rest, plain } = takePlainLists(again(sample), lists);
      expect(plain).toEqual(Object.fromEntries(names.map((name) => [name, again(sample[name])])));
      expect(rest).toMatchObject(Object.fromEntries(names.map((name) => [name, []])));
    });

    it('give what the schema gives, whatever a record holds', () => {
      const change = fc.record({
        list: fc.constantFrom(...names),
        name: fc.constantFrom(...fields),
        value: anything,
      });
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
          const data = structuredClone(sample) as Record<string, Record<string, unknown>[]>;
          for (const { list, name, value } of changes) Object.assign(data[list]?.[1] ?? {}, { [name]: value });
          expect(parse(data)).toStrictEqual(schema(data));
        }),
        { numRuns: 2000 },
      );
    });

    it.each([null, {}, 'text', [null], [[]], [1]])('are no lists that hold %j', (list) => {
      for (const name of names) {
        expect(parse({ ...sample, [name]: list })).toEqual(schema({ ...sample, [name]: list }));
      }
    });
  },
);

describe('records of hook.json', () => {
  it.each([28, 29, 30, 31])('are known as ours on day %i of a month', (day) => {
    const history = hook.history.map((event) => ({ ...event, timestamp: `2026-01-${day}T00:00:00.000Z` }));
    expect(takePlainLists({ ...hook, history }, RECORD_LISTS).plain.history).toHaveLength(history.length);
  });

  it('are read whatever a snapshot holds', () => {
    const change = fc.record({ name: fc.constantFrom(...Object.keys(snapshot), 'unknown'), value: anything });
    const { parse, schema } = FILES[0];
    fc.assert(
      fc.property(change, ({ name, value }) => {
        const changed = { ...checkpoint, files_snapshot: [snapshot, { ...snapshot, [name]: value }] };
        const data = { ...hook, checkpoints: [changed] };
        expect(parse(data)).toStrictEqual(schema(data));
      }),
      { numRuns: 500 },
    );
  });
});
