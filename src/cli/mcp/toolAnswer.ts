import type { AtlasError } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { Answer } from '../render/output';

/** The most text that an agent is given at once, in characters; hosts cut or refuse more. */
const MAX_ANSWER = 9000;
/** A line is given up for a cut between lines only where more than this stays. */
const MIN_KEPT = MAX_ANSWER / 2;

/** What a tool gives: a text, and whether it says that something went wrong. */
export interface ToolAnswer {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError: boolean;
}

/** A command's answer as a tool's. @param rest where the rest is of one that has to be cut */
export function said(answer: Answer, rest?: string): ToolAnswer {
  const { text, notes = [], error } = answer;
  const lines = notes.map((note) => `Note: ${oneLine(note, 500)}\n`).join('');
  return toolAnswer(`${lines}${text}`, error !== undefined, rest ?? hookFileOf(answer));
}

/** A command's failure as a tool's answer: what went wrong and what fixes it. */
export function failed({ code, message, hint }: AtlasError): ToolAnswer {
  return toolAnswer([`${code}: ${message}`, ...(hint === undefined ? [] : [hint])].join('\n'), true, undefined);
}

function toolAnswer(text: string, isError: boolean, rest: string | undefined): ToolAnswer {
  return { content: [{ type: 'text', text: cut(text, rest ?? 'Run "atlas" in a shell to see all of it.') }], isError };
}

/** What is said of a task is in its HOOK.md too. */
function hookFileOf({ data }: Answer): string | undefined {
  const { task } = data as { readonly task?: { readonly hook_path?: unknown } };
  return typeof task?.hook_path === 'string' ? `HOOK.md has all of it: ${oneLine(task.hook_path, 1000)}` : undefined;
}

function cut(text: string, rest: string): string {
  if (text.length <= MAX_ANSWER) return text;
  const note = `\n\n[Truncated. ${rest}]\n`;
  const head = text.slice(0, MAX_ANSWER - note.length);
  const line = head.lastIndexOf('\n');
  // Half of a surrogate pair is no text.
  const kept = line > MIN_KEPT ? head.slice(0, line) : head.replace(/[\ud800-\udbff]$/, '');
  return `${kept}${note}`;
}
