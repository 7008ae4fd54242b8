import { type Stats, closeSync, openSync, readFileSync, readSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { SessionChange, SessionEvent } from '../../../core/session/sessionEvent';
import type { SessionMark, SessionRecord } from '../../../core/session/sessionRecord';
import type { FoundSession, TranscriptRead } from '../../../service/sessions/sessionHosts';
import { jsonOf } from '../../../system/files/readJson';
import { sessionIdOf } from '../sessionId';
import { askedOf, commandOf, isTyped, listItems } from '../hookReport';
import { type Fields, fieldsOf, filesOfPatch, listOf, numberOf, textOf, wholeOf } from '../reportText';
import { readLines } from '../transcriptTail';

/** What is looked at: the other lines are makers' prompts, settings and counts. */
const WANTED = /"type":"(?:event_msg|response_item|session_meta|turn_context|compacted)"/u;
const FIRST_LINE_BYTES = 64 * 1024;

/** Where Codex keeps what it writes. */
export function codexFolder(env: NodeJS.ProcessEnv, home: string): string {
  const own = env['CODEX_HOME'] ?? '';
  return own === '' ? join(home, '.codex') : own;
}

/** What a rollout says that wasn't read yet. */
export function readCodexTranscript(record: SessionRecord): TranscriptRead | undefined {
  const path = record.transcript;
  // Compressed ones are of sessions that are long over.
  if (path?.endsWith('.jsonl') !== true) return undefined;
  const events: SessionEvent[] = [...(record.read_to === undefined ? (metaOf(path) ?? []) : [])];
  const wanted = (start: string): boolean => WANTED.test(start);
  const readTo = readLines(path, record.read_to, wanted, (line) => {
    events.push(...eventsOfLine(fieldsOf(jsonOf(line))));
  });
  return readTo === undefined ? undefined : { events, readTo };
}

/** What the first line of a rollout says of the whole session. */
function metaOf(path: string): SessionEvent[] | undefined {
  let text: string;
  try {
    const file = openSync(path, 'r');
    try {
      const buffer = Buffer.alloc(FIRST_LINE_BYTES);
      text = buffer.subarray(0, readSync(file, buffer, 0, FIRST_LINE_BYTES, 0)).toString('utf8');
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  const end = text.indexOf('\n');
  const line = end === -1 ? undefined : fieldsOf(jsonOf(text.slice(0, end)));
  return line?.['type'] === 'session_meta' ? eventsOfLine(line) : undefined;
}

function marksOf(payload: Fields): SessionMark[] {
  const { source } = payload;
  const isHeadless = source === 'exec' || textOf(payload['originator']) === 'codex_exec';
  const isSubagent = fieldsOf(source)['subagent'] !== undefined;
  return [...(isHeadless ? (['headless'] as const) : []), ...(isSubagent ? (['subagent'] as const) : [])];
}

function eventsOfLine(line: Fields): SessionEvent[] {
  const at = Date.parse(textOf(line['timestamp']) ?? '');
  if (Number.isNaN(at)) return [];
  const payload = fieldsOf(line['payload']);
  const isMeta = line['type'] === 'session_meta';
  const cwd = isMeta || line['type'] === 'turn_context' ? textOf(payload['cwd']) : undefined;
  const marks = isMeta ? marksOf(payload) : [];
  const changes = changesOfLine(textOf(line['type']), payload);
  if (changes.length === 0 && cwd === undefined) return [];
  return (changes.length === 0 ? [{ kind: 'seen' as const }] : changes).map((change) => ({
    at,
    source: 'transcript',
    change,
    ...(cwd === undefined ? {} : { cwd }),
    ...(marks.length === 0 ? {} : { marks }),
  }));
}

function changesOfLine(type: string | undefined, payload: Fields): SessionChange[] {
  if (type === 'event_msg') return ofEvent(payload);
  if (type === 'response_item') return ofItem(payload);
  if (type !== 'compacted') return [];
  const summary = textOf(payload['message']);
  return [{ kind: 'compacted', ...(summary === undefined ? {} : { summary }) }];
}

function ofEvent(payload: Fields): SessionChange[] {
  switch (payload['type']) {
    case 'task_started':
      return [{ kind: 'phase', phase: 'working' }];
    case 'task_complete': {
      const message = textOf(payload['last_agent_message']);
      return [{ kind: 'turn_ended', ...(message === undefined ? {} : { message }) }];
    }
    case 'turn_aborted':
      return [{ kind: 'turn_ended' }];
    case 'item_completed':
      return ofCompleted(fieldsOf(payload['item']));
    case 'user_message':
      return request(textOf(payload['message']));
    case 'agent_message': {
      const text = textOf(payload['message']);
      return text === undefined ? [] : [{ kind: 'message', text }];
    }
    default:
      return [];
  }
}

function request(text: string | undefined): SessionChange[] {
  return text === undefined || !isTyped(text) ? [] : [{ kind: 'request', text }];
}

function textIn(content: unknown): string | undefined {
  const parts = listOf(content).flatMap((part) => textOf(fieldsOf(part)['text']) ?? []);
  return parts.length === 0 ? undefined : parts.join('\n');
}

function ofCompleted(item: Fields): SessionChange[] {
  switch (item['type']) {
    case 'UserMessage':
      return request(textIn(item['content']));
    case 'AgentMessage': {
      const text = textIn(item['content']);
      return text === undefined ? [] : [{ kind: 'message', text }];
    }
    case 'CommandExecution':
      return commandEnded(item);
    case 'ContextCompaction':
      return [{ kind: 'compacted' }];
    default:
      return [];
  }
}

function commandEnded(item: Fields): SessionChange[] {
  const id = textOf(item['id']);
  const exitCode = wholeOf(item['exit_code']);
  const { secs, nanos } = fieldsOf(item['duration']);
  const seconds = numberOf(secs);
  const durationMs = seconds === undefined ? undefined : Math.round(seconds * 1000 + (numberOf(nanos) ?? 0) / 1e6);
  // Its shell stands before what was asked.
  const words = listOf(item['command']).filter((word) => typeof word === 'string');
  const command = words.length === 3 && words[1] === '-lc' ? words[2] : words.join(' ');
  if (id === undefined) return [];
  return [
    {
      kind: 'tool_ended',
      id,
      ...(command === undefined || command === '' ? {} : { command }),
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(durationMs === undefined ? {} : { durationMs }),
    },
  ];
}

function ofItem(payload: Fields): SessionChange[] {
  const id = textOf(payload['call_id']);
  if (id === undefined) return [];
  switch (payload['type']) {
    case 'function_call': {
      const name = textOf(payload['name']) ?? '';
      const input = fieldsOf(jsonOf(textOf(payload['arguments']) ?? ''));
      if (name === 'update_plan') return [{ kind: 'list', items: listItems(input['plan']) }];
      return [{ kind: 'tool_asked', id, ...patchOr(name, input) }];
    }
    case 'custom_tool_call': {
      const name = textOf(payload['name']) ?? '';
      return [{ kind: 'tool_asked', id, ...patchOr(name, { command: payload['input'] }) }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ kind: 'tool_ended', id }];
    default:
      return [];
  }
}

function patchOr(name: string, input: Fields): { name: string } & ReturnType<typeof askedOf> {
  if (name !== 'apply_patch') return { name, ...askedOf(name, input) };
  return { name, files: filesOfPatch(commandOf(input) ?? textOf(input['input']) ?? '') };
}

const ROLLOUT = /^rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/u;
/** A session that hasn't been heard of for so long (ms) isn't looked for. */
const LATELY_MS = 24 * 3_600_000;

/** The sessions whose rollouts were written lately, with the process that holds each open, where that can be seen. */
export function findCodexSessions(folder: string, now: number): FoundSession[] {
  const open = openRollouts();
  return [0, 1].flatMap((ago) => {
    const [day = ''] = new Date(now - ago * LATELY_MS).toISOString().split('T');
    const within = join(folder, 'sessions', ...day.split('-'));
    return names(within).flatMap((name) => foundIn(join(within, name), now, open) ?? []);
  });
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function foundIn(path: string, now: number, open: ReadonlyMap<string, number>): FoundSession | undefined {
  const sessionId = sessionIdOf(ROLLOUT.exec(basename(path))?.[1]);
  if (sessionId === undefined) return undefined;
  let stat: Stats;
  try {
    stat = statSync(path);
  } catch {
    return undefined;
  }
  if (!stat.isFile() || now - stat.mtimeMs > LATELY_MS) return undefined;
  const events = (metaOf(path) ?? []).map((event): SessionEvent => ({ ...event, transcript: path }));
  const pid = open.get(path);
  return { sessionId, events, ...(pid === undefined ? {} : { process: { pid } }) };
}

function isCodex(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('codex');
  } catch {
    return false;
  }
}

/** Which process holds which rollout open, by Linux's own account. */
function openRollouts(): Map<string, number> {
  const found = new Map<string, number>();
  if (process.platform !== 'linux') return found;
  for (const pid of names('/proc').filter((name) => /^\d+$/u.test(name) && isCodex(name))) {
    for (const handle of names(`/proc/${pid}/fd`)) {
      try {
        const target = readlinkSync(`/proc/${pid}/fd/${handle}`);
        if (ROLLOUT.test(basename(target))) found.set(target, Number(pid));
      } catch {
        // It was closed meanwhile.
      }
    }
  }
  return found;
}
