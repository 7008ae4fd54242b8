import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionChange, SessionEvent } from '../../../core/session/sessionEvent';
import type { SessionRecord } from '../../../core/session/sessionRecord';
import type { FoundSession, TranscriptRead } from '../../../service/sessions/sessionHosts';
import { jsonOf } from '../../../system/files/readJson';
import { runProgram } from '../../../system/runProgram';
import { askedOf } from '../hookReport';
import { type Fields, fieldsOf, filesOfPatch, listOf, numberOf, textOf, wholeOf } from '../reportText';
import { requestText } from './opencodeReports';

/** How long OpenCode may take to answer a query, in ms: it starts in two seconds. */
const ASK_MS = 8000;
const SESSION_ID = /^ses_[A-Za-z0-9]{1,60}$/u;

/** The parts of a session that changed, the newest 300; outputs of tools and contents of files are left in the database. */
const PARTS = `select p.time_updated as updated, json_extract(m.data, '$.role') as role,
  json_extract(p.data, '$.type') as type, json_extract(p.data, '$.tool') as tool, json_extract(p.data, '$.callID') as call,
  json_extract(p.data, '$.state.status') as status, json_extract(p.data, '$.state.input.command') as command,
  json_extract(p.data, '$.state.input.filePath') as path, json_extract(p.data, '$.state.input.description') as about,
  substr(json_extract(p.data, '$.state.input.patchText'), 1, 100000) as patch,
  json_extract(p.data, '$.state.metadata.exit') as exit, json_extract(p.data, '$.state.time.start') as began,
  json_extract(p.data, '$.state.time.end') as ended, json_extract(p.data, '$.files') as files,
  substr(json_extract(p.data, '$.text'), 1, 20000) as text, json_extract(p.data, '$.synthetic') as synthetic,
  p.time_created as created
  from part p join message m on m.id = p.message_id
  where p.session_id = ? and p.time_updated > ? order by p.time_updated desc limit 300`;
const TODOS = `select content, status, time_updated as updated from todo where session_id = ? order by position limit 200`;
const LATELY = `select id, directory, parent_id as parent, time_created as created from session where time_updated > ? limit 200`;

interface Statement {
  all(...parameters: readonly (string | number)[]): unknown[];
}
interface Database {
  prepare(sql: string): Statement;
  close(): void;
}
type Sqlite = { readonly DatabaseSync: new (path: string, options: { readOnly: boolean }) => Database };

/** Where OpenCode keeps its sessions. */
export function opencodeDatabase(env: NodeJS.ProcessEnv, home: string): string {
  const data = env['XDG_DATA_HOME'] ?? '';
  return join(data === '' ? join(home, '.local', 'share') : data, 'opencode', 'opencode.db');
}

/** Node's own SQLite, which it has from 22.13 on; the editor's is newer. Its notice that it is new is nobody's. */
function sqlite(): Sqlite | undefined {
  const warn: unknown = Reflect.get(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule('node:sqlite') as Sqlite | undefined;
  } catch {
    return undefined;
  } finally {
    Reflect.set(process, 'emitWarning', warn);
  }
}

/** What queries find; `undefined` where nothing can be asked. */
async function ask(
  path: string,
  queries: readonly (readonly [string, ...(string | number)[]])[],
  cli: boolean,
): Promise<Fields[][] | undefined> {
  if (!existsSync(path)) return undefined;
  const loaded = sqlite();
  if (loaded === undefined) return cli ? Promise.all(queries.map(async (query) => askProgram(query))) : undefined;
  try {
    const database = new loaded.DatabaseSync(path, { readOnly: true });
    try {
      return queries.map(([sql, ...values]) =>
        database
          .prepare(sql)
          .all(...values)
          .map(fieldsOf),
      );
    } finally {
      database.close();
    }
  } catch {
    // It is locked, or of another version.
    return undefined;
  }
}

/** The same by OpenCode itself, for Node without SQLite. What is put into the query was checked before. */
async function askProgram([sql, ...values]: readonly [string, ...(string | number)[]]): Promise<Fields[]> {
  let next = 0;
  const filled = sql.replace(/\?/gu, () => {
    const value = values[next];
    next += 1;
    return typeof value === 'number' ? String(value) : `'${value ?? ''}'`;
  });
  const limits = { timeoutMs: ASK_MS, maxBytes: 16 * 1024 * 1024 };
  const ended = await runProgram('opencode', ['db', filled, '--format', 'json'], { encoding: 'utf8', ...limits });
  return ended.how === 'exited' && ended.code === 0 ? listOf(jsonOf(ended.stdout)).map(fieldsOf) : [];
}

/** What the database says that wasn't read yet; `read_to` is the time (ms) of the newest part here. */
export async function readOpencodeTranscript(path: string, record: SessionRecord): Promise<TranscriptRead | undefined> {
  const { session_id: id, read_to: readTo = 0 } = record;
  if (!SESSION_ID.test(id)) return undefined;
  // Its own program takes two seconds to start: that is worth it only where the plugin told nothing.
  const silent = record.first_request?.source !== 'hook';
  const rows = await ask(
    path,
    [
      [PARTS, id, readTo],
      [TODOS, id],
    ],
    silent,
  );
  if (rows === undefined) return undefined;
  const [parts = [], todos = []] = rows;
  const isHeadless = record.marks.includes('headless');
  const events = parts.toReversed().flatMap((row) => eventsOf(row, isHeadless));
  const newest = Math.max(readTo, ...parts.map((row) => numberOf(row['updated']) ?? 0));
  return { events: [...events, ...listEvent(todos)], readTo: newest };
}

function listEvent(rows: readonly Fields[]): SessionEvent[] {
  const at = Math.max(...rows.map((row) => numberOf(row['updated']) ?? 0));
  if (rows.length === 0) return [];
  const items = rows.map((row, index) => ({
    id: String(index + 1),
    text: textOf(row['content']) ?? '',
    status: textOf(row['status']) ?? '',
  }));
  return [{ at, source: 'transcript', change: { kind: 'list', items } }];
}

function eventsOf(row: Fields, isHeadless: boolean): SessionEvent[] {
  const [created, updated] = [numberOf(row['created']), numberOf(row['updated'])];
  if (created === undefined || updated === undefined) return [];
  const told = (at: number, change: SessionChange): SessionEvent => ({ at, source: 'transcript', change });
  switch (row['type']) {
    case 'text': {
      const text = textOf(row['text']);
      if (text === undefined || row['synthetic'] === 1) return [];
      if (row['role'] !== 'user') return [told(updated, { kind: 'message', text })];
      return [told(created, { kind: 'request', text: requestText(text, isHeadless) ?? text })];
    }
    case 'tool':
      return toolEvents(row, created).map(({ at, change }) => told(at, change));
    case 'patch': {
      const paths = listOf(jsonOf(textOf(row['files']) ?? '')).flatMap((file) => textOf(file) ?? []);
      return [told(created, { kind: 'files', tool: 'patch', paths })];
    }
    case 'compaction':
      return [told(created, { kind: 'compacted' })];
    default:
      return [];
  }
}

function toolEvents(row: Fields, created: number): { at: number; change: SessionChange }[] {
  const [id, name] = [textOf(row['call']), textOf(row['tool'])];
  if (id === undefined || name === undefined) return [];
  const patch = textOf(row['patch']);
  const input = { command: row['command'], filePath: row['path'], description: row['about'] };
  const asked = { name, ...askedOf(name, input), ...(patch === undefined ? {} : { files: filesOfPatch(patch) }) };
  const [began, ended] = [numberOf(row['began']) ?? created, numberOf(row['ended'])];
  const events: { at: number; change: SessionChange }[] = [{ at: began, change: { kind: 'tool_asked', id, ...asked } }];
  if (ended === undefined) return events;
  const exitCode = wholeOf(row['exit']);
  const failed = row['status'] === 'error';
  const end = { ...(exitCode === undefined ? {} : { exitCode }), ...(failed ? { failed } : {}) };
  return [...events, { at: ended, change: { kind: 'tool_ended', id, durationMs: ended - began, ...end } }];
}

/** A session that hasn't been heard of for so long (ms) isn't looked for. */
const LATELY_MS = 24 * 3_600_000;

/** The sessions of the last day. */
export async function findOpencodeSessions(path: string, now: number): Promise<FoundSession[]> {
  const rows = await ask(path, [[LATELY, now - LATELY_MS]], false);
  return (rows?.[0] ?? []).flatMap((row) => {
    const [sessionId, cwd, at] = [textOf(row['id']), textOf(row['directory']), numberOf(row['created'])];
    if (sessionId === undefined || cwd === undefined || at === undefined) return [];
    const marks = textOf(row['parent']) === undefined ? {} : { marks: ['subagent' as const] };
    return [{ sessionId, events: [{ at, source: 'transcript', change: { kind: 'seen' }, cwd, ...marks }] }];
  });
}
