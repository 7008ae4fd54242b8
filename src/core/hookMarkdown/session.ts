import { type LastTool, type SessionState, isInTurn, lastTool } from '../session/sessionState';
import { HOST_TITLES } from '../session/sessionHost';
import { type FactSource, type SessionRecord } from '../session/sessionRecord';
import { count } from '../shared/text';
import { formatDuration } from '../shared/time';
import { block, bullets, code, prose } from './escape';
import { utc } from './utc';
import type { SessionSections } from './view';

/** A process of a session that ended without it. */
export interface Survivor {
  readonly pid: number;
  /** Its command line, redacted, on one line. */
  readonly command: string;
}

/** What is known of a session when HOOK.md is written. */
export interface SessionView {
  readonly record: SessionRecord;
  readonly state: SessionState;
  readonly survivors: readonly Survivor[];
}

const MAX_FILES = 200;
const MAX_COMMANDS = 10;
const MAX_COMMAND = 500;

const SOURCES: Readonly<Record<FactSource, string>> = {
  hook: 'reported by its host',
  transcript: 'from its transcript',
  process: 'from its process',
  files: 'from git and the files',
};

/** When a fact was, and how it is known: `(2026-01-17T14:45:33Z, reported by its host)`. */
function known({ at, source }: { readonly at: string; readonly source: FactSource }): string {
  return `${utc(at)}, ${SOURCES[source]}`;
}

/** What HOOK.md of a task says of the session that works on it. */
export function sessionSections(view: SessionView): SessionSections {
  const hasMessage = view.record.message !== undefined;
  return { asked: whatWasAsked(view), work: observedWork(view), hasMessage, first: firstAfterDeath(view) };
}

/** `## What Was Asked`: the first and the latest request, as the host gave them. */
export function whatWasAsked({ record }: SessionView): string[] {
  const { first_request: first, latest_request: latest, folded } = record;
  if (first === undefined || latest === undefined) return [];
  const isOne = first.at === latest.at;
  const between = folded.requests === 0 ? '' : `, after ${count(folded.requests, 'request')} in between`;
  return [
    [
      '## What Was Asked',
      `What the user asked ${HOST_TITLES[record.host]} in this session. These are records: the session may be over, and the user may want something else now.`,
      `**${isOne ? 'The request' : 'First request'}** (${known(first)}):`,
      block(first.text),
      ...(isOne ? [] : [`**Latest request** (${known(latest)}${between}):`, block(latest.text)]),
    ].join('\n\n'),
  ];
}

/** What belongs below `## What You Were Doing`: what was under way, what changed, what ran, and what the agent said. */
export function observedWork(view: SessionView): string[] {
  return [
    ...underWay(view),
    ...changedWhileItRan(view),
    ...lastCommands(view),
    ...ownList(view),
    ...compactions(view),
    ...lastMessage(view),
  ];
}

function underWay({ record, state }: SessionView): string[] {
  const tool = lastTool(record);
  const stopped = state === 'interrupted' || state === 'ended';
  const heading = stopped ? '### Under Way When It Stopped' : '### Under Way';
  if (tool === undefined) {
    if (!isInTurn(record)) return [];
    return [
      heading,
      `No tool: the agent was answering (${known({ at: record.phase_at, source: record.phase_source })}).`,
    ];
  }
  return [heading, ...toolLines(tool)];
}

function toolLines(tool: LastTool): string[] {
  const name = code(tool.name, 80);
  const what = tool.ran
    ? `${name} was asked for and no end of it is known (${known(tool)}).`
    : `${name} was asked for; it may not have run (${known(tool)}).`;
  return [what, ...(tool.input === undefined ? [] : [block(tool.input)])];
}

function changedWhileItRan({ record }: SessionView): string[] {
  const { changes, base, files: named, folded, worktree } = record;
  const listed = new Set(changes?.files.map(({ path }) => path));
  const inside = (path: string): string =>
    worktree !== undefined && path.startsWith(`${worktree}/`) ? path.slice(worktree.length + 1) : path;
  const others = named.filter(({ path }) => !listed.has(inside(path)));
  if (listed.size === 0 && others.length === 0) return [];
  const shown = (changes?.files ?? []).slice(0, MAX_FILES).map(({ path, change }) => `${code(path)} (${change})`);
  const more = (changes?.total ?? 0) - shown.length;
  const from = base?.commit === undefined ? '' : `: \`git diff ${base.commit.slice(0, 12)}\` and \`git status\``;
  const since =
    base?.late === true
      ? `since the session began, by their times (seen ${utc(changes?.at ?? base.at)}, from git and the files)`
      : `compared with ${utc(base?.at ?? record.started_at)} (seen ${utc(changes?.at ?? record.seen_at)}, from git and the files)`;
  return [
    '### Changed While It Ran',
    ...(shown.length === 0
      ? []
      : [
          `${count(changes?.total ?? 0, 'file')} changed, ${since}. Somebody else may have changed some of them.`,
          bullets([...shown, ...(more > 0 ? [`${more} more${from}`] : [])]),
        ]),
    ...(others.length === 0
      ? []
      : [
          'Also named by its file tools:',
          bullets([
            ...others
              .slice(-MAX_FILES)
              .map(
                (file) =>
                  `${code(inside(file.path), 1000)} (${file.tool === '' ? '' : `${code(file.tool, 80)}, `}${known(file)})`,
              ),
            ...(folded.files + Math.max(0, others.length - MAX_FILES) > 0
              ? [`${folded.files + Math.max(0, others.length - MAX_FILES)} earlier`]
              : []),
          ]),
        ]),
  ];
}

function lastCommands({ record, state }: SessionView): string[] {
  const { commands, folded, tools } = record;
  if (commands.length === 0) return [];
  const shown = commands.slice(-MAX_COMMANDS);
  const earlier = folded.commands + commands.length - shown.length;
  const running = (id: string): boolean => tools.some((tool) => tool.id === id);
  const isOver = state === 'interrupted' || state === 'ended';
  const items = shown.map((each) => {
    const took = each.duration_ms === undefined ? '' : `, ${formatDuration(each.duration_ms)}`;
    const lasted = running(each.id) && !isOver ? 'no end yet' : 'no end is known';
    const failed = each.failed === true ? 'failed, exit code unknown' : 'exit code unknown';
    const ended = each.ended_at === undefined ? lasted : `${failed}${took}`;
    const unsure = each.permission === true ? 'was asked for; it may not have run' : ended;
    const end = each.exit_code === undefined ? unsure : `exit code ${each.exit_code}${took}`;
    return `${code(each.command, MAX_COMMAND)}: ${end} (${known(each)})`;
  });
  return ['### Last Commands', bullets([...(earlier > 0 ? [`${earlier} earlier`] : []), ...items])];
}

function ownList({ record: { list } }: SessionView): string[] {
  if (list === undefined || list.items.length === 0) return [];
  const items = list.items.map(({ text, status }) => `${prose(text, 400)}: ${prose(status.replaceAll('_', ' '), 40)}`);
  return [
    "### The Agent's Own List",
    `What the agent itself noted (${known(list)}), checked by nobody:`,
    bullets(items),
  ];
}

function lastMessage({ record: { message } }: SessionView): string[] {
  if (message === undefined) return [];
  return ['### Its Last Message', `What the agent said (${known(message)}), checked by nobody:`, block(message.text)];
}

function compactions({ record }: SessionView): string[] {
  const last = record.compactions.at(-1);
  if (last === undefined) return [];
  const times = count(record.compactions.length + record.folded.compactions, 'time');
  const intro = `Its context was compacted ${times}, last at ${known(last)}.`;
  if (last.summary === undefined) return ['### Compactions', intro];
  return ['### Compactions', `${intro} The summary that its host made, checked by nobody:`, block(last.summary)];
}

/** What comes first in `What To Do Now` after a session that died: ending what it left, then looking at what was under way. */
export function firstAfterDeath(view: SessionView): string[] {
  const { record, state, survivors } = view;
  if (state !== 'interrupted') return [];
  const named = survivors.map(({ pid, command }) => `${code(command, 200)} (process ${pid})`);
  const tool = lastTool(record);
  const what =
    tool === undefined
      ? 'what was under way when the session stopped'
      : `whether ${code(tool.name, 80)} above took effect`;
  return [
    ...(named.length === 0
      ? []
      : [
          `Something that the dead session started still runs: ${named.join(', ')}. Ask the human to end it: \`atlas sessions end-processes ${record.session_id}\``,
        ]),
    `Look with \`git status\` and \`git diff\` ${what} before you repeat it`,
  ];
}
