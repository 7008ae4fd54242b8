import { cut, oneLine, plainLines } from '../shared/text';
import { toMs, toTimestamp } from '../shared/time';
import { redacted } from './secrets';
import type { ListItem, SessionChange, SessionEvent } from './sessionEvent';
import { type FactSource, LIMITS, type Phase, type SessionRecord } from './sessionRecord';

type Said = { at: string; source: FactSource };
type Change<K extends SessionChange['kind']> = Extract<SessionChange, { kind: K }>;

/** How much more of a text is looked at for secrets than is kept. */
const LOOKED_AT = 5;

/** Several lines by others as they may be kept: without secrets, without what hides, cut with a mark. */
export function keptText(text: string, max: number = LIMITS.text): string {
  // A secret that is cut in two no longer looks like one, so that much more is looked at than is kept.
  const plain = plainLines(redacted(cut(text, max * LOOKED_AT))).trim();
  const short = cut(plain, max);
  return short.length < plain.length ? `${cut(plain, max - 1)}…` : plain;
}

/** One line of the same. */
export function keptLine(text: string, max: number): string {
  return oneLine(redacted(cut(text, max * LOOKED_AT)), max);
}

/**
 * What is known of a session after an event. An older one fills in what isn't known yet and changes nothing that
 * happened since; one that was seen already changes nothing, whoever tells of it again.
 */
export function observe(record: SessionRecord, event: SessionEvent): SessionRecord {
  const at = toTimestamp(event.at);
  const isNew = event.at >= toMs(record.seen_at);
  const marks = (event.marks ?? []).filter((mark) => !record.marks.includes(mark));
  const common: SessionRecord = {
    ...record,
    seen_at: isNew ? at : record.seen_at,
    started_at: event.at < toMs(record.started_at) ? at : record.started_at,
    marks: marks.length === 0 ? record.marks : [...record.marks, ...marks],
    ...(event.cwd === undefined || !(isNew || record.cwd === undefined) ? {} : { cwd: cut(event.cwd, LIMITS.path) }),
    ...(event.transcript === undefined ? {} : { transcript: cut(event.transcript, LIMITS.path) }),
  };
  return apply(common, event.change, { at, source: event.source });
}

function apply(record: SessionRecord, change: SessionChange, said: Said): SessionRecord {
  switch (change.kind) {
    case 'started':
      return started(record, change, said);
    case 'request':
      return requested(record, change, said);
    case 'tool_asked':
      return toolAsked(record, change, said);
    case 'tool_ended':
      return toolEnded(record, change, said);
    case 'permission_asked':
      return permissionAsked(record, change, said);
    case 'files':
      return withFiles(record, change.paths, change.tool, said);
    case 'list':
      return listed(record, change.items, said);
    case 'list_item':
      return listed(record, merged(record.list?.items ?? [], change.item), said);
    case 'message':
      return messaged(record, change.text, said);
    case 'compacted':
      return compacted(record, change, said);
    case 'turn_ended': {
      const told = change.message === undefined ? record : messaged(record, change.message, said);
      const ended = phased(told, 'idle', said);
      // What the host ended the turn with has no end of its own any more.
      return ended.phase_at === said.at ? { ...ended, tools: [] } : ended;
    }
    case 'phase':
      return phased(record, change.phase, said);
    case 'ended':
      return {
        ...phased(record, 'ended', said),
        ...(change.reason === undefined ? {} : { ending: keptLine(change.reason, LIMITS.item) }),
      };
    case 'seen':
      return record;
  }
}

/** A phase holds from its time on; one that is older than what is known changes nothing. */
function phased(record: SessionRecord, phase: Phase, { at, source }: Said): SessionRecord {
  if (toMs(at) < toMs(record.phase_at)) return record;
  const { died: _died, ...alive } = record;
  return { ...(phase === 'ended' ? record : alive), phase, phase_at: at, phase_source: source };
}

function started(record: SessionRecord, { start }: Change<'started'>, said: Said): SessionRecord {
  const { ending: _ending, died: _died, ...rest } = record;
  const named = start === undefined ? {} : { start: keptLine(start, 40) };
  // In the middle of a turn, a compaction starts the session again and nothing of it has ended.
  if (start === 'compact') return { ...record, ...named };
  const isLater = toMs(said.at) >= toMs(record.phase_at);
  return isLater
    ? { ...rest, ...named, tools: [], phase: 'idle', phase_at: said.at, phase_source: said.source }
    : record;
}

/** Nobody types the same request again this fast (ms). */
const SAME_REQUEST_MS = 1000;

function requested(record: SessionRecord, { text }: Change<'request'>, said: Said): SessionRecord {
  const request = { text: keptText(text), ...said };
  if (request.text === '') return record;
  const { first_request: first, latest_request: latest } = record;
  if (first === undefined || latest === undefined)
    return phased({ ...record, first_request: request, latest_request: request }, 'working', said);
  if (toMs(said.at) < toMs(first.at)) {
    // The hooks were put in after it.
    return request.text === first.text ? record : { ...record, first_request: request };
  }
  const isOld = toMs(said.at) <= toMs(latest.at);
  // A transcript tells again, a little later, what a hook told; so does a hook that stands in two of a host's files.
  const isTwice = said.source !== latest.source || toMs(said.at) - toMs(latest.at) < SAME_REQUEST_MS;
  const isAgain = isTwice && request.text === latest.text;
  if (isOld || isAgain) return record;
  const between = latest.at === first.at ? 0 : 1;
  const folded = { ...record.folded, requests: record.folded.requests + between };
  return phased({ ...record, latest_request: request, folded }, 'working', said);
}

function toolAsked(record: SessionRecord, change: Change<'tool_asked'>, said: Said): SessionRecord {
  const { id, name, command, files = [], about, asksUser = false } = change;
  const isSame = (each: { readonly id: string }): boolean => each.id === id;
  const known = record.tools.some(isSame) || record.commands.some(isSame) || record.done.includes(id);
  if (known) return record;
  const input = command ?? about ?? files[0];
  const tool = {
    id,
    name: keptLine(name, 80),
    ...said,
    ...(input === undefined ? {} : { input: keptLine(input, LIMITS.command) }),
  };
  const withCommand = command === undefined ? record : ranCommand(record, { id, command }, said);
  const isOver = toMs(said.at) < toMs(record.phase_at) && (record.phase === 'idle' || record.phase === 'ended');
  const tools = isOver ? record.tools : [...record.tools, tool].slice(-LIMITS.tools);
  const named = withFiles({ ...withCommand, tools }, files, name, said);
  return phased(named, asksUser ? 'waiting_answer' : 'working', said);
}

function toolEnded(record: SessionRecord, change: Change<'tool_ended'>, said: Said): SessionRecord {
  const { id, command, files = [], exitCode, failed, durationMs } = change;
  // A transcript names the tool where it was asked for, and a file that a hook named already keeps its tool.
  const name =
    change.name ??
    record.tools.find((tool) => tool.id === id)?.name ??
    record.files.find(({ path }) => files.includes(path))?.tool ??
    '';
  const withCommand = command === undefined ? record : ranCommand(record, { id, command }, said);
  // A refusal ends a tool, too: only an exit code, or a hook that comes after a tool, tells that it ran.
  const ran = exitCode !== undefined || (said.source === 'hook' && failed !== true);
  const commands = withCommand.commands.map((each) =>
    each.id !== id
      ? each
      : {
          ...each,
          ...(ran && each.permission === true ? { permission: false } : {}),
          ended_at: each.ended_at ?? said.at,
          ...(exitCode === undefined && each.end_source !== undefined ? {} : { end_source: said.source }),
          ...(exitCode === undefined ? {} : { exit_code: exitCode }),
          ...(failed === undefined ? {} : { failed }),
          ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
        },
  );
  const tools = record.tools.filter((tool) => tool.id !== id);
  const done = record.done.includes(id) ? record.done : [...record.done, cut(id, 200)].slice(-LIMITS.done);
  const named = withFiles({ ...withCommand, commands, tools, done }, files, name, said);
  return tools.length === record.tools.length ? named : phased(named, 'working', said);
}

function ranCommand(
  record: SessionRecord,
  { id, command }: { id: string; command: string },
  said: Said,
): SessionRecord {
  if (record.commands.some((each) => each.id === id)) return record;
  const text = keptText(command, LIMITS.command);
  const all = [...record.commands, { id, command: text, ...said }].sort((a, b) => toMs(a.at) - toMs(b.at));
  const over = Math.max(0, all.length - LIMITS.commands);
  return {
    ...record,
    commands: all.slice(over),
    folded: { ...record.folded, commands: record.folded.commands + over },
  };
}

function permissionAsked(record: SessionRecord, { id }: Change<'permission_asked'>, said: Said): SessionRecord {
  const asked = record.tools.find((tool) => tool.id === id) ?? record.tools.at(-1);
  // It was answered before this came to be known.
  if (asked === undefined && record.phase !== 'working') return record;
  const mark = <T extends { readonly id: string }>(each: T): T & { permission?: boolean } =>
    each.id === asked?.id ? { ...each, permission: true } : each;
  const [tools, commands] = [record.tools.map(mark), record.commands.map(mark)];
  return phased({ ...record, tools, commands }, 'waiting_permission', said);
}

function withFiles(record: SessionRecord, paths: readonly string[], tool: string, said: Said): SessionRecord {
  const fresh = paths
    .filter((path) => path !== '')
    .map((path) => ({ path: cut(path, LIMITS.path), tool: keptLine(tool, 80), ...said }));
  if (fresh.length === 0) return record;
  const again = new Set(fresh.map(({ path }) => path));
  const newest = new Map(fresh.map((file) => [file.path, file]));
  for (const file of record.files)
    if (again.has(file.path) && toMs(file.at) > toMs(said.at)) newest.set(file.path, file);
  const all = [...record.files.filter(({ path }) => !again.has(path)), ...newest.values()];
  const over = Math.max(0, all.length - LIMITS.files);
  return { ...record, files: all.slice(over), folded: { ...record.folded, files: record.folded.files + over } };
}

function merged(items: readonly ListItem[], item: ListItem): ListItem[] {
  const before = items.find((each) => each.id === item.id);
  if (before === undefined) return [...items, item];
  const text = item.text === '' ? before.text : item.text;
  return items.map((each) => (each.id === item.id ? { ...item, text } : each));
}

function listed(record: SessionRecord, items: readonly ListItem[], said: Said): SessionRecord {
  if (record.list !== undefined && toMs(record.list.at) > toMs(said.at)) return record;
  const kept = items.slice(0, LIMITS.items).map(({ id, text, status }) => ({
    id: cut(id, 80),
    text: keptLine(text, LIMITS.item),
    status: keptLine(status, 40),
  }));
  return { ...record, list: { items: kept, ...said } };
}

function messaged(record: SessionRecord, text: string, said: Said): SessionRecord {
  const kept = keptText(text);
  if (kept === '' || (record.message !== undefined && toMs(record.message.at) >= toMs(said.at))) return record;
  return { ...record, message: { text: kept, ...said } };
}

/** Within this (ms), a compaction that is told of again is the same. */
const SAME_COMPACTION_MS = 60_000;

function compacted(record: SessionRecord, { trigger, summary }: Change<'compacted'>, said: Said): SessionRecord {
  const told = {
    ...said,
    ...(trigger === undefined ? {} : { trigger: keptLine(trigger, 40) }),
    ...(summary === undefined ? {} : { summary: keptText(summary) }),
  };
  const at = record.compactions.findIndex((each) => Math.abs(toMs(each.at) - toMs(said.at)) < SAME_COMPACTION_MS);
  if (at !== -1) {
    const same = record.compactions[at];
    const compactions = record.compactions.with(at, { ...told, ...same, ...(summary === undefined ? {} : told) });
    return { ...record, compactions };
  }
  const all = [...record.compactions, told];
  const over = Math.max(0, all.length - LIMITS.compactions);
  const folded = { ...record.folded, compactions: record.folded.compactions + over };
  return { ...record, compactions: all.slice(over), folded };
}
