import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hookSchema } from '../../src/core/hook';
import { takePlainLists } from '../../src/core/plainRecords';
import { parseHook } from '../../src/storage/hookFile';
import { drivenTo, receiptOf } from '../support/stateHooks';

const driven = drivenTo('step_validating').current;
const sample = { ...driven, receipts: [receiptOf(driven, 'rcpt-1'), receiptOf(driven, 'rcpt-2', 'npm test', 1)] };
const parse = (data: unknown): unknown => {
  const read = parseHook('hook.json', new TextEncoder().encode(JSON.stringify(data)));
  return read.ok ? read.value : 'refused';
};
const schema = (data: unknown): unknown => {
  const read = hookSchema.safeParse(JSON.parse(JSON.stringify(data)));
  return read.success ? read.data : 'refused';
};

/** What a field may hold in a file that something else wrote, the near misses among it. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom('', 'step_running', 'no_state', '2026-01-17T14:30:22.000Z', '2026-02-30T00:00:00.000Z'),
  fc.constantFrom('2026-01-31T23:59:59.999Z', '2026-01-17T15:30:22+01:00', '2026-01-17T24:00:00.000Z'),
  fc.constantFrom('0001-01-01T00:00:00Z', '2026-13-01T00:00:00.000Z', '2026-01-00T00:00:00.000Z', 1.5, 2 ** 60, -1),
  fc.constant(undefined),
);

describe('lists that are as Atlas writes them', () => {
  it('are taken out, so that the schema need not look at each record', () => {
    const { rest, plain } = takePlainLists(sample);
    expect(plain.history).toHaveLength(sample.history.length);
    expect(plain.receipts).toHaveLength(2);
    expect(rest).toMatchObject({ history: [], receipts: [], state: sample.state });
  });

  it.each([28, 29, 30, 31])('are known as such on day %i of a month', (day) => {
    const history = sample.history.map((event) => ({ ...event, timestamp: `2026-01-${day}T00:00:00.000Z` }));
    expect(takePlainLists({ ...sample, history }).plain.history).toHaveLength(history.length);
  });

  it('give the hook that the schema gives, whatever a record holds', () => {
    const names = fc.constantFrom(
      ...(['timestamp', 'from_state', 'to_state', 'trigger', 'step_name', 'details', 'unknown'] as const),
      ...(['receipt_id', 'attempt', 'command', 'exit_code', 'started_at', 'completed_at', 'duration'] as const),
      ...(['stdout_hash', 'stderr_hash', 'key_path', 'signature'] as const),
    );
    const change = fc.record({ list: fc.constantFrom('history', 'receipts'), name: names, value: anything });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const data = structuredClone(sample) as unknown as Record<string, Record<string, unknown>[]>;
        for (const { list, name, value } of changes) Object.assign(data[list]?.[1] ?? {}, { [name]: value });
        expect(parse(data)).toStrictEqual(schema(data));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([null, {}, 'text', [null], [[]], [1]])('are no lists that hold %j', (list) => {
    for (const name of ['history', 'receipts']) {
      expect(parse({ ...sample, [name]: list })).toEqual(schema({ ...sample, [name]: list }));
    }
  });
});
