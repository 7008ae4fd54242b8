import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LedgerEvidence,
  type LedgerTask,
  failedAttempts,
  openBlockers,
  readLedger,
  readyTasks,
  ledgerTaskSchema,
} from '../../../src/core/worker/ledger';
import { appendRecords, foldLedger, mergeLedgers } from '../../../src/core/worker/ledgerLines';
import { compareVersions } from '../../../src/core/worker/versionVector';

const AT = '2026-11-22T12:00:00.000Z';

function record(id: string, more: Partial<LedgerTask> = {}): LedgerTask {
  const task = { id, type: 'translate', input: {} };
  return { id, claim: 0, incarnation: 0, sequence: 0, at: AT, status: 'OPEN', task, ...more };
}

function text(...records: readonly LedgerTask[]): string {
  return appendRecords('', records);
}

function fold(content: string): ReturnType<typeof foldLedger<LedgerTask>> {
  return foldLedger(ledgerTaskSchema, content);
}

describe('a file of the ledger', () => {
  it('counts the record with the last stamp, wherever it stands', () => {
    const late = record('a', { claim: 1, incarnation: 1, sequence: 9, status: 'COMPLETE', worker: 'dead' });
    const now = record('a', { claim: 1, incarnation: 2, sequence: 3, status: 'IN_PROGRESS', worker: 'alive' });
    for (const content of [text(record('a'), now, late), text(late, now, record('a')), text(now, late)])
      expect(fold(content).last.get('a')).toEqual(now);
    const again = record('a', { claim: 2, sequence: 4, status: 'PENDING', worker: 'other' });
    expect(fold(text(again, now, late)).last.get('a')).toEqual(again);
  });

  it('keeps unknown fields, and takes a line once', () => {
    const more = { ...record('a'), later: { x: 1 }, task: { ...record('a').task, extra: true } };
    const { last, all, conflicts } = fold(text(more) + text(more));
    expect(last.get('a')).toEqual(more);
    expect(all).toHaveLength(1);
    expect(conflicts).toEqual([]);
  });

  it('shows both sides of a conflict, and everybody chooses the same', () => {
    const [one, two] = [record('a', { claim: 1, worker: 'x' }), record('a', { claim: 1, worker: 'y' })];
    const both = fold(text(one, two));
    expect(both.conflicts).toEqual([{ id: 'a', sides: [two, one] }]);
    expect(both).toEqual(fold(text(two, one)));
    expect(both.last.get('a')).toEqual(two);
    const settled = record('a', { claim: 1, incarnation: 1 });
    expect(fold(text(one, two, settled)).conflicts).toEqual([]);
  });

  it('reads past a torn last line, says so, and loses nothing that is added after it', () => {
    const whole = text(record('a'), record('b'));
    const torn = whole.slice(0, -20);
    const { last, findings } = fold(torn);
    expect([...last.keys()]).toEqual(['a']);
    expect(findings).toEqual([{ kind: 'torn', line: 2, text: torn.split('\n')[1] }]);
    const after = fold(appendRecords(torn, [record('c')]));
    expect([...after.last.keys()]).toEqual(['a', 'c']);
    expect(after.findings.map(({ kind, line }) => `${kind} ${line}`)).toEqual(['damaged 2']);
    // Only the end of the line is missing: the record is whole.
    expect(fold(whole.slice(0, -1))).toEqual(fold(whole));
  });

  it.each(['{}', '[]', 'null', '7', '{"id":"a"}', JSON.stringify({ ...record('a'), claim: -1 }), '<<<<<<< ours', '\0'])(
    'reports %j, and goes on',
    (line) => {
      const { last, findings } = fold(`${text(record('x'))}${line}\n${text(record('y'))}`);
      expect([...last.keys()]).toEqual(['x', 'y']);
      expect(findings).toEqual([{ kind: 'damaged', line: 2, text: line }]);
    },
  );

  it('takes no record that holds another task', () => {
    expect(fold(text(record('a', { task: record('b').task }))).last.size).toBe(0);
  });
});

const RECORDS = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    claim: fc.nat(2),
    incarnation: fc.nat(2),
    sequence: fc.nat(3),
    worker: fc.constantFrom('x', 'y'),
    at: fc.constantFrom(AT, '2026-11-22T12:00:01.000Z'),
  }),
  { maxLength: 12 },
);

/** A file as it may be: records, other lines, either kind of line end, a torn end. */
const FILE = fc
  .tuple(
    RECORDS,
    fc.array(fc.constantFrom('not json', '{"kind":"from a newer version"}', '', '{"id":"a"}'), { maxLength: 3 }),
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom('', '{"id":"a","cla', 'x'),
  )
  .map(([records, others, end, torn]) => {
    const lines = [...others, ...records.map(({ id, ...more }) => JSON.stringify(record(id, more)))];
    return lines.map((line) => line + end).join('') + torn;
  });

describe('the union of files', () => {
  it('is the same in whatever order and however often it is made', () => {
    fc.assert(
      fc.property(FILE, FILE, FILE, (a, b, c) => {
        const ab = mergeLedgers(a, b);
        expect(mergeLedgers(b, a)).toBe(ab);
        expect(mergeLedgers(ab, c)).toBe(mergeLedgers(a, mergeLedgers(b, c)));
        expect(mergeLedgers(ab, ab)).toBe(ab);
        expect(mergeLedgers(ab, b)).toBe(ab);
        expect(mergeLedgers(a, '')).toBe(mergeLedgers(a, a));
      }),
    );
  });

  it('holds each line of either, and counts what the last stamp of either says', () => {
    fc.assert(
      fc.property(FILE, FILE, (a, b) => {
        const merged = mergeLedgers(a, b);
        const lines = (content: string): Set<string> => new Set(content.split(/\r?\n/u).filter((line) => line !== ''));
        expect(lines(merged)).toEqual(new Set([...lines(a), ...lines(b)]));
        const [ours, theirs, both] = [fold(a), fold(b), fold(merged)];
        for (const [id, last] of both.last)
          for (const side of [ours, theirs]) {
            const other = side.last.get(id);
            if (other !== undefined) expect(compareVersions(other, last)).toBeLessThanOrEqual(0);
          }
        expect(new Set(both.last.keys())).toEqual(new Set([...ours.last.keys(), ...theirs.last.keys()]));
        // What an append adds is what a merge with it adds.
        expect(fold(appendRecords(a, ours.all)).last).toEqual(ours.last);
      }),
    );
  });
});

describe('the tasks', () => {
  const blocked = record('late', { task: { id: 'late', type: 't', input: {}, blockedBy: ['first', 'unknown'] } });
  const read = (tasks: string, evidence = ''): ReturnType<typeof readLedger> =>
    readLedger({ tasks, convoys: '', evidence });

  it('that can be slung are those that nobody has and that wait for nothing, the oldest first', () => {
    const done = record('first', { claim: 1, status: 'COMPLETE' });
    const old = record('old', { at: '2026-11-21T12:00:00.000Z' });
    const taken = record('taken', { claim: 1, status: 'PENDING' });
    const before = read(text(blocked, record('first'), record('b'), record('a'), old, taken));
    expect(readyTasks(before).map(({ id }) => id)).toEqual(['old', 'a', 'b', 'first']);
    expect(openBlockers(before, blocked.task)).toEqual(['first', 'unknown']);
    const half = read(text(blocked, record('first'), done));
    expect(openBlockers(half, blocked.task)).toEqual(['unknown']);
    const unknown = record('unknown', { claim: 1, status: 'FAILED' });
    expect(openBlockers(read(text(blocked, done, unknown)), blocked.task)).toEqual(['unknown']);
    const free = read(text(blocked, done, { ...unknown, status: 'COMPLETE' }));
    expect(readyTasks(free).map(({ id }) => id)).toEqual(['late']);
  });

  it('tell their next worker of the last three attempts that failed', () => {
    const hash = 'a'.repeat(64);
    const error = { code: 'c', message: 'm', recoverable: true };
    const evidence = [4, 1, 3, 2, 5].map((claim): LedgerEvidence => ({
      ...{ id: `a#${claim}`, claim, incarnation: 1, sequence: claim, at: AT, taskId: 'a', worker: 'w' },
      ...{ status: claim === 5 ? 'COMPLETE' : 'FAILED', error, inputHash: hash, outputHash: hash },
    }));
    const ledger = read(text(record('a')), appendRecords('', evidence));
    expect(failedAttempts(ledger, 'a')).toEqual([2, 3, 4].map((claim) => ({ claim, worker: 'w', error })));
    expect(failedAttempts(ledger, 'b')).toEqual([]);
  });
});
