/** The tags by which an agent tells what we say from what others wrote. */
export const AGENT_TAGS = [
  'atlas-recovery',
  'earlier-session',
  'long-term-memory',
  'recent-journals',
  'inbox-status',
  'active-task-warning',
  'pending-tasks',
  'task-instruction',
  'system-notice',
  'system-reminder',
] as const;

/** One of them. */
export type AgentTag = (typeof AGENT_TAGS)[number];

/** The most characters that one hook prints: hosts cut what is longer, or leave it out. */
export const MAX_AGENT_TEXT = 9000;

const OUR_TAG = new RegExp(String.raw`<(?=[\s/\\]*(?:${AGENT_TAGS.join('|')})(?![A-Za-z0-9-]))`, 'giu');
const LINE_BREAKS = /\r\n?|[\v\f\u0085\u2028\u2029]/gu;
// What shows nothing could stand inside a tag that a model still reads as one.
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;

/** Outside text, several lines of it, which can neither open nor close a tag of ours, nor hide anything. */
export function embedded(text: string): string {
  return text.replace(LINE_BREAKS, '\n').replace(INVISIBLE, '').replace(OUR_TAG, '&lt;');
}

/** At most so many UTF-16 units of a text; a surrogate pair is never split. */
function beginning(text: string, max: number): string {
  return text.slice(0, max).replace(/[\ud800-\udbff]$/u, '');
}

/** A text between the tags of a section. What others wrote in it has to be {@link embedded} already. */
export function section(tag: AgentTag, text: string): string {
  return `<${tag}>\n${text}\n</${tag}>`;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/u;
const HEADING = /^ {0,3}#{1,6}\s/u;
/** Kept at least, as a part of what there is room for: a heading further up is no place to cut at. */
const KEPT = 0.25;

/** The places at which a Markdown text's lines begin that are headings, but for its first line. */
function headings(text: string): number[] {
  const found: number[] = [];
  let fence: string | undefined;
  let start = 0;
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      fence = mark;
      if (start > 0 && HEADING.test(line)) found.push(start);
    } else if (mark?.startsWith(fence) === true) fence = undefined;
    start += line.length + 1;
  }
  return found;
}

/**
 * A Markdown text of at most `max` characters; a longer one ends before a heading (else before a line) and says where
 * the rest is.
 * @param more whether the text goes on beyond what was read
 */
export function cutAtHeading(text: string, max: number, file: string, more = false): string {
  if (text.length <= max && !more) return text;
  const note = (line: number): string => `\n\n[Truncated. The rest, from line ${line}, is in ${file}]`;
  const room = Math.max(0, Math.min(text.length, max - note(9_999_999).length));
  const at =
    headings(text.slice(0, room + 1 + 8)).findLast((place) => place <= room && place >= room * KEPT) ??
    text.lastIndexOf('\n', room) + 1;
  const kept = at > 0 ? text.slice(0, at) : beginning(text, room);
  return `${kept.trimEnd()}${note(kept.split('\n').length)}`;
}

/** A text of at most `max` characters, cut at the end of a line, with a last line that says where the rest is. */
export function cutAtLine(text: string, max: number, rest: string): string {
  if (text.length <= max) return text;
  const room = Math.max(0, max - rest.length - 1);
  const end = text.lastIndexOf('\n', room);
  return `${end > 0 ? text.slice(0, end) : beginning(text, room)}\n${rest}`;
}

/** What the placeholders of a prompt template stand for. */
export interface PromptValues {
  /** `YYYY-MM-DD` where the agent is. */
  readonly today: string;
  readonly task: string;
  readonly channel: string;
}

/** Fills `{{today}}`, `{{task}}` and `{{channel}}`; anything else between braces stays as it is. */
export function fillPrompt(template: string, values: PromptValues): string {
  return template.replace(/\{\{\s*(today|task|channel)\s*\}\}/gu, (_all, name: keyof PromptValues) => values[name]);
}
