import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findClaudeSessions, readClaudeTranscript } from '../../../src/agents/hosts/claude/claudeTranscript';
import { readCodexTranscript } from '../../../src/agents/hosts/codex/codexTranscript';
import { readOpencodeTranscript } from '../../../src/agents/hosts/opencode/opencodeTranscript';
import { observe } from '../../../src/core/session/observe';
import { type SessionRecord, newSession } from '../../../src/core/session/sessionRecord';
import { lastTool } from '../../../src/core/session/sessionState';

/* Transcripts as they should not be. Their lines are written here: none is an agent's. */

const AT = '2026-11-24T12:00:00.000Z';
const LATER = '2026-11-24T12:00:05.000Z';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-transcripts-'));
  file = path.join(folder, 'one.jsonl');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const record = (transcript = file): SessionRecord => ({
  ...newSession({ host: 'claude', sessionId: 'one' }, AT, 'hook'),
  transcript,
});
const lines = (...all: readonly object[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('');
const user = (content: unknown, more: object = {}): object => ({
  type: 'user',
  timestamp: AT,
  message: { content },
  ...more,
});
const asked = (id: string, command: string): object => ({
  type: 'assistant',
  timestamp: LATER,
  message: { content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] },
});

/** What a record holds after its transcript was read once more. */
function read(from: SessionRecord): SessionRecord {
  const found = readClaudeTranscript(from);
  return found === undefined ? from : { ...found.events.reduce(observe, from), read_to: found.readTo };
}

describe("Claude Code's transcript", () => {
  it('tells request, tools, results and messages, and leaves out what no user said', () => {
    writeFileSync(
      file,
      lines(
        { type: 'queue-operation', timestamp: AT },
        user('<command-name>/compact</command-name>'),
        user('hidden', { isMeta: true }),
        user('of a subagent', { isSidechain: true }),
        user('Fix the parser'),
        asked('t1', 'npm test'),
        user([{ type: 'tool_result', tool_use_id: 't1', is_error: true, content: 'Exit code 3\nout' }], {
          timestamp: LATER,
        }),
        asked('t2', 'npm run build'),
        {
          type: 'assistant',
          timestamp: LATER,
          message: { content: [{ type: 'thinking', thinking: 'secret thought' }] },
        },
      ),
    );
    const known = read(record());
    expect(known.first_request?.text).toBe('Fix the parser');
    expect(known.commands).toMatchObject([{ command: 'npm test', exit_code: 3 }, { command: 'npm run build' }]);
    expect(lastTool(known)).toMatchObject({ input: 'npm run build', ran: true, source: 'transcript' });
    expect(JSON.stringify(known)).not.toContain('secret thought');
  });

  it('is read on from where it ended: a line that is cut is read once it is whole', () => {
    const whole = lines(user('Fix the parser'));
    const next = lines(asked('t1', 'make'));
    writeFileSync(file, whole + next.slice(0, 40));
    const first = read(record());
    expect(first.commands).toEqual([]);
    expect(first.read_to).toBe(whole.length);
    appendFileSync(file, next.slice(40));
    expect(read(first).commands).toMatchObject([{ command: 'make' }]);
  });

  it('that was rewritten, deleted or replaced by something else is no error', () => {
    writeFileSync(file, lines(user('A long request that is gone later'), asked('t1', 'make')));
    const first = read(record());
    writeFileSync(file, lines(asked('t9', 'ls')));
    expect(read(first).commands.map(({ command }) => command)).toContain('ls');
    rmSync(file);
    expect(read(first)).toEqual(first);
    mkdirSync(file);
    expect(read(first)).toEqual(first);
    rmSync(file, { recursive: true });
    symlinkSync('/nowhere', file);
    expect(read(first)).toEqual(first);
  });

  it.each([
    ['NUL bytes', `\u0000\u0000\n${lines(user('Fix it'))}\u0000`],
    ['lines that are no JSON', `{"type":"user"\n[]\nnull\n"text"\n${lines(user('Fix it'))}`],
    [
      'fields of other types',
      lines({ type: 'user', timestamp: 5, message: 'x' }, { type: 7 }, user({ a: 1 }), user('Fix it')),
    ],
    [
      'another version',
      lines({ kind: 'turn', v: 9, timestamp: AT }, user('Fix it', { version: '99.0.0', fresh: { a: [1] } })),
    ],
    ['Windows line ends', lines(user('Fix it')).replaceAll('\n', '\r\n')],
    [
      'a line of 3 MB',
      `${JSON.stringify({ type: 'user', timestamp: AT, message: { content: 'x'.repeat(3_000_000) } })}\n${lines(user('Fix it'))}`,
    ],
  ])('with %s is read as far as it makes sense', (_what, text) => {
    writeFileSync(file, text);
    expect(read(record()).first_request?.text).toBe('Fix it');
  });

  it('of 1 GB is read from its end, with memory that does not grow', () => {
    writeFileSync(file, lines(user('Long ago')));
    truncateSync(file, 1024 ** 3);
    appendFileSync(file, `\n${lines(user('Fix the parser'), asked('t1', 'make'))}`);
    global.gc?.();
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    const known = read(record());
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before;
    expect(known.latest_request?.text).toBe('Fix the parser');
    expect(known.read_to).toBeGreaterThan(1024 ** 3);
    expect(grown).toBeLessThan(20 * 1024 * 1024);
  });
});

describe("Claude Code's list of sessions", () => {
  it('tells which process runs which, and never opens the key beside it', () => {
    const sessions = path.join(folder, 'sessions');
    mkdirSync(sessions);
    const status = {
      pid: 4711,
      sessionId: 'abc',
      cwd: '/repo',
      status: 'idle',
      statusUpdatedAt: Date.parse(LATER),
      startedAt: Date.parse(AT),
    };
    writeFileSync(path.join(sessions, '4711.json'), JSON.stringify(status));
    writeFileSync(path.join(sessions, '4711.0123.key'), JSON.stringify({ ...status, sessionId: 'from-the-key' }));
    writeFileSync(path.join(sessions, '1.json'), '{"pid":');
    writeFileSync(path.join(sessions, '2.json'), JSON.stringify({ pid: 2, sessionId: '../../x', cwd: '/repo' }));
    const found = findClaudeSessions(folder, Date.now());
    expect(found.map(({ sessionId }) => sessionId)).toEqual(['abc']);
    expect(found[0]?.process?.pid).toBe(4711);
    expect(found[0]?.events.at(-1)?.change).toEqual({ kind: 'phase', phase: 'idle' });
  });
});

describe("Codex's rollout", () => {
  it('tells exit codes and durations, and an open turn from one that ended', () => {
    const event = (payload: object): object => ({ timestamp: AT, type: 'event_msg', payload });
    const done = {
      type: 'CommandExecution',
      id: 'c1',
      command: ['/bin/bash', '-lc', 'make'],
      exit_code: 2,
      duration: { secs: 1, nanos: 500_000_000 },
    };
    writeFileSync(
      file,
      lines(
        { timestamp: AT, type: 'session_meta', payload: { cwd: '/repo', source: 'exec' } },
        event({ type: 'task_started' }),
        event({ type: 'item_completed', item: { type: 'UserMessage', content: [{ type: 'text', text: 'Build it' }] } }),
        {
          timestamp: AT,
          type: 'response_item',
          payload: { type: 'function_call', name: 'exec_command', call_id: 'c1', arguments: '{"cmd":"make"}' },
        },
        event({ type: 'item_completed', item: done }),
        {
          timestamp: LATER,
          type: 'response_item',
          payload: { type: 'function_call', name: 'exec_command', call_id: 'c2', arguments: '{"cmd":"make install"' },
        },
      ),
    );
    const found = readCodexTranscript({ ...record(), host: 'codex' });
    const known = (found?.events ?? []).reduce(observe, { ...record(), host: 'codex' as const });
    expect(known).toMatchObject({ cwd: '/repo', marks: ['headless'], phase: 'working' });
    expect(known.commands).toMatchObject([{ command: 'make', exit_code: 2, duration_ms: 1500 }]);
    expect(lastTool(known)?.name).toBe('exec_command');
  });
});

describe("OpenCode's database", () => {
  it('that is missing, empty or something else says nothing', async () => {
    const session = { ...newSession({ host: 'opencode', sessionId: 'ses_abc' }, AT, 'hook') };
    expect(await readOpencodeTranscript(path.join(folder, 'none.db'), session)).toBeUndefined();
    writeFileSync(file, 'no database');
    const said = await readOpencodeTranscript(file, {
      ...session,
      first_request: { text: 'x', at: AT, source: 'hook' },
    });
    expect(said).toBeUndefined();
    expect(await readOpencodeTranscript(file, { ...session, session_id: "x' or 1=1" })).toBeUndefined();
  });
});
