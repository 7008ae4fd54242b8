import { type Stats, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionChange, SessionEvent } from '../../../core/session/sessionEvent';
import type { SessionRecord } from '../../../core/session/sessionRecord';
import type { FoundSession, TranscriptRead } from '../../../service/sessions/sessionHosts';
import { jsonOf } from '../../../system/files/readJson';
import { sessionIdOf } from '../sessionId';
import { askedOf, exitCodeIn, isTyped, listItems } from '../hookReport';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from '../reportText';
import { readLines } from '../transcriptTail';

/** Lines of these kinds are most of a transcript's bytes, and hold the maker's prompts. */
const SKIPPED =
  /"type":"(?:prompt_snapshot|api-request-shape|api-request-blob|api-request|attachment|file-history-snapshot|progress)"/u;

/** Where Claude Code keeps what it writes. */
export function claudeFolder(env: NodeJS.ProcessEnv, home: string): string {
  const own = env['CLAUDE_CONFIG_DIR'] ?? '';
  return own === '' ? join(home, '.claude') : own;
}

/** What a transcript says that wasn't read yet. */
export function readClaudeTranscript(record: SessionRecord): TranscriptRead | undefined {
  if (record.transcript === undefined) return undefined;
  const events: SessionEvent[] = [];
  const wanted = (start: string): boolean => start.startsWith('{') && !SKIPPED.test(start);
  const readTo = readLines(record.transcript, record.read_to, wanted, (line) => {
    events.push(...eventsOfLine(fieldsOf(jsonOf(line))));
  });
  return readTo === undefined ? undefined : { events, readTo };
}

function eventsOfLine(line: Fields): SessionEvent[] {
  const at = Date.parse(textOf(line['timestamp']) ?? '');
  if (Number.isNaN(at) || line['isSidechain'] === true) return [];
  const cwd = textOf(line['cwd']);
  const isHeadless = textOf(line['entrypoint'])?.startsWith('sdk') === true;
  return changesOfLine(line).map((change) => ({
    at,
    source: 'transcript',
    change,
    ...(cwd === undefined ? {} : { cwd }),
    ...(isHeadless ? { marks: ['headless' as const] } : {}),
  }));
}

function changesOfLine(line: Fields): SessionChange[] {
  const { content } = fieldsOf(line['message']);
  if (line['type'] === 'assistant') return listOf(content).flatMap((block) => ofAssistant(fieldsOf(block)));
  if (line['type'] !== 'user') return [];
  if (line['isCompactSummary'] === true) {
    const summary = typeof content === 'string' ? content : textOf(fieldsOf(listOf(content)[0])['text']);
    return [{ kind: 'compacted', ...(summary === undefined ? {} : { summary }) }];
  }
  const text = typeof content === 'string' ? content : undefined;
  if (text !== undefined) return line['isMeta'] === true || !isTyped(text) ? [] : [{ kind: 'request', text }];
  return listOf(content).flatMap((block) => ofUser(fieldsOf(block), line));
}

function ofAssistant(block: Fields): SessionChange[] {
  if (block['type'] === 'text') {
    const text = textOf(block['text']);
    return text === undefined ? [] : [{ kind: 'message', text }];
  }
  const [id, name, input] = [textOf(block['id']), textOf(block['name']), fieldsOf(block['input'])];
  if (block['type'] !== 'tool_use' || id === undefined || name === undefined) return [];
  const list = name === 'TodoWrite' ? [{ kind: 'list' as const, items: listItems(input['todos']) }] : [];
  return [{ kind: 'tool_asked', id, name, ...askedOf(name, input) }, ...list];
}

function ofUser(block: Fields, line: Fields): SessionChange[] {
  const text = textOf(block['text']);
  if (block['type'] === 'text' && text?.startsWith('[Request interrupted') === true) return [{ kind: 'turn_ended' }];
  if (block['type'] === 'text' && text !== undefined && line['isMeta'] !== true && isTyped(text))
    return [{ kind: 'request', text }];
  const id = textOf(block['tool_use_id']);
  if (block['type'] !== 'tool_result' || id === undefined) return [];
  const result = fieldsOf(line['toolUseResult']);
  const failed = block['is_error'] === true;
  const told = textOf(line['toolUseResult']) ?? (typeof block['content'] === 'string' ? block['content'] : undefined);
  const exitCode = failed ? exitCodeIn(told) : undefined;
  const written = textOf(result['filePath']);
  const changes = result['structuredPatch'] !== undefined && written !== undefined;
  return [
    {
      kind: 'tool_ended',
      id,
      ...(failed ? { failed } : {}),
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(changes ? { files: [written] } : {}),
    },
  ];
}

const MAX_SESSION_FILE = 64 * 1024;
/** A session that hasn't been heard of for so long (ms) isn't looked for. */
const LATELY_MS = 24 * 3_600_000;

/**
 * The sessions that `sessions/<pid>.json` names. It stays after a kill, and tells when a session became idle, which no
 * hook does after Esc. The `.key` beside it is never opened.
 */
export function findClaudeSessions(folder: string, now: number): FoundSession[] {
  const sessions = join(folder, 'sessions');
  let names: string[];
  try {
    names = readdirSync(sessions).filter((name) => /^\d{1,10}\.json$/u.test(name));
  } catch {
    return [];
  }
  return names.flatMap((name) => foundIn(join(sessions, name), folder, now) ?? []);
}

function foundIn(path: string, folder: string, now: number): FoundSession | undefined {
  let stat: Stats;
  let fields: Fields;
  try {
    stat = statSync(path);
    if (!stat.isFile() || stat.size > MAX_SESSION_FILE || now - stat.mtimeMs > LATELY_MS) return undefined;
    fields = fieldsOf(jsonOf(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
  const [sessionId, pid, cwd] = [
    sessionIdOf(textOf(fields['sessionId'])),
    numberOf(fields['pid']),
    textOf(fields['cwd']),
  ];
  if (sessionId === undefined || pid === undefined || cwd === undefined) return undefined;
  const startedAt = numberOf(fields['startedAt']) ?? stat.mtimeMs;
  const statusAt = numberOf(fields['statusUpdatedAt']) ?? startedAt;
  const transcript = join(folder, 'projects', cwd.replace(/[^A-Za-z0-9]/gu, '-'), `${sessionId}.jsonl`);
  const isHeadless = textOf(fields['entrypoint'])?.startsWith('sdk') === true;
  const beside = {
    source: 'process' as const,
    cwd,
    transcript,
    ...(isHeadless ? { marks: ['headless' as const] } : {}),
  };
  const startTime = process.platform === 'linux' ? textOf(fields['procStart']) : undefined;
  return {
    sessionId,
    events: [
      { at: startedAt, change: { kind: 'seen' }, ...beside },
      { at: statusAt, change: statusChange(textOf(fields['status'])), ...beside },
    ],
    process: { pid, ...(startTime === undefined ? {} : { startTime }) },
  };
}

function statusChange(status: string | undefined): SessionChange {
  if (status === 'idle') return { kind: 'phase', phase: 'idle' };
  if (status === 'waiting') return { kind: 'phase', phase: 'waiting_permission' };
  return status === 'busy' ? { kind: 'phase', phase: 'working' } : { kind: 'seen' };
}
