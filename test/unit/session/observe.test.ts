import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordBytes, bounded } from '../../../src/core/session/bounds';
import { observe } from '../../../src/core/session/observe';
import type { SessionChange, SessionEvent } from '../../../src/core/session/sessionEvent';
import {
  type FactSource,
  LIMITS,
  MAX_RECORD_BYTES,
  type SessionRecord,
  newSession,
  sessionRecordSchema,
} from '../../../src/core/session/sessionRecord';
import { becomesTask, lastTool, retention, sessionState, taskState } from '../../../src/core/session/sessionState';
import { toTimestamp } from '../../../src/core/shared/time';

const START = Date.parse('2026-11-24T12:00:00.000Z');
const fresh = (): SessionRecord => newSession({ host: 'claude', sessionId: 'one' }, toTimestamp(START), 'hook');

/** A record after changes that are a second apart. */
function after(...changes: readonly SessionChange[]): SessionRecord {
  return told(changes.map((change, index) => [index + 1, change]));
}

function told(
  changes: readonly (readonly [seconds: number, SessionChange, FactSource?])[],
  from = fresh(),
): SessionRecord {
  return changes.reduce<SessionRecord>((record, [seconds, change, source = 'hook']) => {
    const event: SessionEvent = { at: START + seconds * 1000, source, change };
    return observe(record, event);
  }, from);
}

const request = (text = 'Fix the parser'): SessionChange => ({ kind: 'request', text });
const bash = (id: string, command = 'npm test'): SessionChange => ({ kind: 'tool_asked', id, name: 'Bash', command });
const ended = (id: string, exitCode?: number): SessionChange => ({
  kind: 'tool_ended',
  id,
  ...(exitCode === undefined ? {} : { exitCode }),
});

describe('what a session does', () => {
  it.each([
    ['nothing yet', [], 'idle'],
    ['a request', [request()], 'working'],
    ['a tool', [request(), bash('1')], 'working'],
    ['a tool that waits for permission', [request(), bash('1'), { kind: 'permission_asked' }], 'waiting_permission'],
    ['a tool that was allowed and ended', [request(), bash('1'), { kind: 'permission_asked' }, ended('1')], 'working'],
    [
      'a question',
      [request(), { kind: 'tool_asked', id: '1', name: 'AskUserQuestion', asksUser: true }],
      'waiting_answer',
    ],
    ['a turn that ended', [request(), bash('1'), ended('1', 0), { kind: 'turn_ended' }], 'idle'],
    [
      'Esc at the permission question',
      [request(), bash('1'), { kind: 'permission_asked' }, { kind: 'phase', phase: 'idle' }],
      'idle',
    ],
    ['a compaction in a turn', [request(), bash('1'), { kind: 'started', start: 'compact' }], 'working'],
    ['its end', [request(), { kind: 'ended', reason: 'logout' }], 'ended'],
    ['a resumption', [request(), { kind: 'ended' }, { kind: 'started', start: 'resume' }], 'idle'],
  ] as const)('after %s', (_what, changes, state) => {
    expect(sessionState(after(...(changes as readonly SessionChange[])), 'alive')).toBe(state);
  });

  it.each([
    ['in a turn', [request(), bash('1')], 'dead', 'interrupted'],
    ['while it waited for permission', [request(), bash('1'), { kind: 'permission_asked' }], 'dead', 'interrupted'],
    ['in a turn, by a restart of the machine', [request()], 'rebooted', 'interrupted'],
    ['after a turn', [request(), { kind: 'turn_ended' }], 'dead', 'ended'],
    ['before the first request', [], 'dead', 'ended'],
    ['where its process cannot be seen', [request()], 'unknown', 'working'],
    ['where its process is not known', [request()], undefined, 'working'],
  ] as const)('when it died %s', (_when, changes, vitality, state) => {
    expect(sessionState(after(...(changes as readonly SessionChange[])), vitality)).toBe(state);
  });

  it('is never dead for being slow: only its process can tell', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 * 365 }), (days) => {
        const record = told([[days * 86_400, request()]]);
        expect(sessionState(record, 'alive')).toBe('working');
        expect(sessionState(record, 'unknown')).toBe('working');
      }),
    );
  });
});

describe('the last tool', () => {
  it('ran only where no permission was pending and the host was not idle', () => {
    expect(lastTool(after(request(), bash('1')))).toMatchObject({ input: 'npm test', ran: true });
    expect(lastTool(after(request(), bash('1'), { kind: 'permission_asked' }))?.ran).toBe(false);
    expect(lastTool(after(request(), bash('1'), { kind: 'phase', phase: 'idle' }))?.ran).toBe(false);
    expect(lastTool(after(request(), bash('1'), ended('1', 0)))).toBeUndefined();
  });

  it('is not one that a transcript tells of after its end was reported', () => {
    const record = told([
      [1, request()],
      [2, { kind: 'tool_asked', id: 'w', name: 'Write', files: ['/a'] }],
      [3, ended('w')],
    ]);
    const again = told([[2, { kind: 'tool_asked', id: 'w', name: 'Write', files: ['/a'] }, 'transcript']], record);
    expect(lastTool(again)).toBeUndefined();
  });
});

describe('facts', () => {
  it('have the source and the time of whoever told them first; a transcript fills in what hooks left out', () => {
    const record = told([
      [1, request()],
      [2, bash('1', 'make')],
      [3, ended('1')],
    ]);
    expect(record.commands).toMatchObject([{ command: 'make', source: 'hook', ended_at: toTimestamp(START + 3000) }]);
    expect(record.commands[0]?.exit_code).toBeUndefined();
    const filled = told(
      [
        [2, bash('1', 'make'), 'transcript'],
        [3, { kind: 'tool_ended', id: '1', exitCode: 2, durationMs: 900 }, 'transcript'],
      ],
      record,
    );
    expect(filled.commands).toMatchObject([
      { command: 'make', source: 'hook', exit_code: 2, end_source: 'transcript', duration_ms: 900 },
    ]);
  });

  it('about requests keep the first and the latest, and count those between', () => {
    const record = after(request('one'), request('two'), request('three'), request('four'));
    expect(record.first_request?.text).toBe('one');
    expect(record.latest_request?.text).toBe('four');
    expect(record.folded.requests).toBe(2);
    expect(told([[9, request('four'), 'transcript']], record).folded.requests).toBe(2);
  });

  it('never hold a secret, or more than is allowed', () => {
    const long = `token=${'s'.repeat(40)} ${'x'.repeat(9000)}`;
    const record = after(request(long), bash('1', long), { kind: 'message', text: long });
    expect(JSON.stringify(record)).not.toContain('ssss');
    expect(Array.from(record.first_request?.text ?? '')).toHaveLength(LIMITS.text);
    expect(Array.from(record.commands[0]?.command ?? '')).toHaveLength(LIMITS.command);
  });
});

const anyChange: fc.Arbitrary<SessionChange> = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), text: fc.string({ unit: 'binary', maxLength: 200 }) }),
  fc.record({ kind: fc.constant('started' as const), start: fc.constantFrom('startup', 'resume', 'compact') }),
  fc.record({
    kind: fc.constant('tool_asked' as const),
    id: fc.constantFrom('a', 'b', 'c'),
    name: fc.constantFrom('Bash', 'Write'),
    command: fc.string({ maxLength: 50 }),
    files: fc.array(fc.string({ maxLength: 20 }), { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('tool_ended' as const),
    id: fc.constantFrom('a', 'b', 'c'),
    exitCode: fc.integer({ min: 0, max: 255 }),
  }),
  fc.constant({ kind: 'permission_asked' as const }),
  fc.constant({ kind: 'turn_ended' as const }),
  fc.record({ kind: fc.constant('message' as const), text: fc.string({ maxLength: 50 }) }),
  fc.record({ kind: fc.constant('compacted' as const), summary: fc.string({ maxLength: 50 }) }),
  fc.record({ kind: fc.constant('ended' as const), reason: fc.string({ maxLength: 10 }) }),
);
const anyEvents = fc.array(
  fc.record({
    at: fc.integer({ min: START, max: START + 100_000 }),
    source: fc.constantFrom<FactSource>('hook', 'transcript', 'process'),
    change: anyChange,
  }),
  { maxLength: 40 },
);

describe('any order of events', () => {
  it('gives a record that can be read again, within its limits', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const record = events.reduce<SessionRecord>(observe, fresh());
        expect(sessionRecordSchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(
          JSON.parse(JSON.stringify(record)),
        );
        expect(record.tools.length).toBeLessThanOrEqual(LIMITS.tools);
        // What has ended is not under way.
        for (const { id } of record.tools) expect(record.done.includes(id) && record.phase === 'ended').toBe(false);
      }),
    );
  });

  it('told twice says the same about commands, files and requests', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const sorted = [...events].sort((a, b) => a.at - b.at);
        const once = sorted.reduce<SessionRecord>(observe, fresh());
        const twice = sorted.reduce<SessionRecord>(observe, once);
        expect(twice.commands.map(({ id }) => id)).toEqual(once.commands.map(({ id }) => id));
        expect(new Set(twice.files.map(({ path }) => path))).toEqual(new Set(once.files.map(({ path }) => path)));
        expect(twice.latest_request).toEqual(once.latest_request);
      }),
    );
  });
});

describe('a record', () => {
  it('takes at most 256 KB: the oldest are folded into counts, and the newest stay', () => {
    const many = Array.from({ length: 3000 }, (_, index) => `/repo/${'ü'.repeat(300)}/${index}`);
    let record = after(request(), { kind: 'files', paths: many, tool: 'Write' });
    for (let index = 0; index < 200; index += 1)
      record = told([[index, bash(String(index), '✓'.repeat(3000))]], record);
    expect(recordBytes(record)).toBeGreaterThan(MAX_RECORD_BYTES);
    const small = bounded(record);
    expect(recordBytes(small)).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    expect(small.files.length + small.folded.files).toBe(3000);
    expect(small.commands.length + small.folded.commands).toBe(200);
    expect(small.files.at(-1)?.path).toBe(many.at(-1));
    expect(small.commands.at(-1)?.id).toBe('199');
  });
});

describe('a session task', () => {
  const placed = (record: SessionRecord): SessionRecord => ({ ...record, worktree: '/repo', repository: '/repo' });
  const changed = (record: SessionRecord, uncommitted = 1): SessionRecord => ({
    ...placed(record),
    changes: { at: toTimestamp(START), files: [{ path: 'a', change: 'added' }], total: 1, uncommitted },
  });
  const here = { home: '/home/me', headless: false };

  it.each([
    ['a file changed', changed(after(request())), 'working', 'changed'],
    ['nothing changed', placed(after(request())), 'working', undefined],
    [
      'it was interrupted after a minute',
      placed(
        told([
          [1, request()],
          [90, bash('1')],
        ]),
      ),
      'interrupted',
      'interrupted',
    ],
    [
      'a throwaway question was interrupted',
      placed(
        told([
          [1, request()],
          [20, bash('1')],
        ]),
      ),
      'interrupted',
      undefined,
    ],
    ['it works outside a repository', { ...changed(after(request())), worktree: undefined }, 'working', undefined],
    ['the repository is the home folder', { ...changed(after(request())), worktree: '/home/me' }, 'working', undefined],
    ...(['ci', 'headless', 'subagent', 'run'] as const).map(
      (mark) =>
        [`it is marked ${mark}`, { ...changed(after(request())), marks: [mark] }, 'working', undefined] as const,
    ),
    [
      'it is bound to a task',
      { ...changed(after(request())), bound: { workspace: 'w', id: 't' } },
      'working',
      undefined,
    ],
  ] as const)('begins or not, where %s', (_why, record, state, because) => {
    expect(becomesTask(record as SessionRecord, { ...here, state })).toBe(because);
  });

  it('of a session without a terminal begins only where the user wants that', () => {
    const record: SessionRecord = { ...changed(after(request())), marks: ['headless'] };
    expect(becomesTask(record, { ...here, headless: true, state: 'working' })).toBe('changed');
    expect(
      becomesTask({ ...record, marks: ['headless', 'ci'] }, { ...here, headless: true, state: 'working' }),
    ).toBeUndefined();
  });

  it.each([
    ['working', 1, 'open'],
    ['idle', 1, 'open'],
    ['ended', 1, 'waiting'],
    ['ended', 0, 'closed'],
    ['interrupted', 0, 'waiting'],
  ] as const)('of a session that is %s with %i uncommitted is %s', (state, uncommitted, expected) => {
    expect(taskState(changed(after(request()), uncommitted), state)).toBe(expected);
  });

  it('is offered 14 days while it waits, and kept 7 days once it is closed', () => {
    const DAY = 86_400_000;
    const since = toTimestamp(START);
    const waiting: SessionRecord = { ...fresh(), task: { state: 'waiting', since, because: 'changed' } };
    expect(retention(waiting, 'ended', START + 14 * DAY)).toBe('offered');
    expect(retention(waiting, 'ended', START + 15 * DAY)).toBe('line');
    const closed: SessionRecord = { ...fresh(), task: { state: 'closed', since, because: 'changed' } };
    expect(retention(closed, 'ended', START + 7 * DAY)).toBe('offered');
    expect(retention(closed, 'ended', START + 8 * DAY)).toBe('removed');
    expect(retention(fresh(), 'idle', START + 100 * DAY)).toBe('offered');
  });
});
