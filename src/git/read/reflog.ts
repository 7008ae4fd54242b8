import { readRegularFile } from '../../system/files/regularFile';

/** A line of a reflog: what moved a ref, from where to where, and when (ms since the epoch, whole seconds). */
export interface ReflogEntry {
  readonly from: string;
  readonly to: string;
  readonly at: number;
  readonly message: string;
}

/** How far a reflog was read: the size of its whole lines in bytes and the last of them then. */
export interface ReflogPosition {
  readonly size: number;
  readonly last: string;
}

/**
 * The format of a reflog line, see the git-update-ref(1) manual: old, new, committer, time, zone, tab, message. The time
 * begins where its digits do: a search from each digit of a long row on would take for ever.
 */
const LINE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*?(?<!\d)(\d{1,15}) [+-]\d{4}(?:\t(.*))?$/u;

/** Longer than a text in this runtime may be. */
const MAX_REFLOG_BYTES = 512 * 1024 * 1024;

const NOTHING: ReflogPosition = { size: 0, last: '' };

function readText(path: string): string | undefined {
  try {
    return Buffer.from(readRegularFile(path, MAX_REFLOG_BYTES)).toString('utf8');
  } catch {
    return undefined;
  }
}

function parseEntry(line: string): ReflogEntry | undefined {
  const match = LINE.exec(line);
  if (match === null) return undefined;
  const [, from = '', to = '', seconds = '', message = ''] = match;
  return { from, to, at: Number(seconds) * 1000, message };
}

/** Whole lines only: git may be in the middle of writing the last one. */
function wholeLines(text: string): string[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
}

/** Where a reflog ends now; `undefined` if there is none. */
export function reflogEnd(path: string): ReflogPosition | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  return endOf(wholeLines(text));
}

function endOf(lines: readonly string[]): ReflogPosition {
  return { size: lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0), last: lines.at(-1) ?? '' };
}

/** The index of the line that a position ends with, found by its place first: lines of one second can be equal. */
function indexOf(position: ReflogPosition, lines: readonly string[]): number {
  let size = 0;
  for (const [index, line] of lines.entries()) {
    size += Buffer.byteLength(line) + 1;
    if (size === position.size && line === position.last) return index;
    if (size >= position.size) break;
  }
  return position.last === '' ? -1 : lines.lastIndexOf(position.last);
}

/**
 * The entries since a position, and the position after them. A reflog that was rewritten (expired, pruned) is read on
 * from the last line that is known, or, if that is gone too, from its time on.
 */
export function readReflog(
  path: string,
  since: ReflogPosition = NOTHING,
): { entries: ReflogEntry[]; position: ReflogPosition } | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  const lines = wholeLines(text);
  const position = endOf(lines);
  if (position.size === since.size && position.last === since.last) return { entries: [], position };
  const known = indexOf(since, lines);
  const after = parseEntry(since.last)?.at;
  const entries = lines.slice(known + 1).flatMap((line) => parseEntry(line) ?? []);
  const rewritten = known === -1 && after !== undefined;
  return { entries: rewritten ? entries.filter((entry) => entry.at > after) : entries, position };
}

/** What a HEAD reflog entry means: a new commit, none, or only its parents can tell. */
export type CommitKind = 'commit' | 'other' | 'unknown';

const NO_COMMIT =
  /^(commit \(amend\)|checkout|reset|rebase|pull[^:]* \([a-z]+\)|pull[^:]*: fast-forward|merge [^:]*: fast-forward|branch|clone|initial pull|update by push|fetch|switch|stash|bisect|Branch: renamed|filter-branch|am --abort|worktree)/iu;
const COMMIT =
  /^(commit(?: \((?:initial|merge|cherry-pick|revert)\))?: |merge [^:]*: merge made|pull[^:]*: merge made|cherry-pick: |revert: |am: )/iu;

/** Classifies the message that git wrote beside a move of HEAD. */
export function classifyHeadMove(message: string): CommitKind {
  if (NO_COMMIT.test(message)) return 'other';
  return COMMIT.test(message) ? 'commit' : 'unknown';
}

/** The commit's subject, which git repeats in the reflog after the verb, but not for a merge that it made itself. */
export function subjectOf(message: string): string | undefined {
  return /^(merge|pull)/iu.test(message) ? undefined : message.replace(/^[^:]*: /u, '');
}

/** The branch that a checkout left, which all entries before it were made on. */
export function branchLeft(message: string): string | undefined {
  return /^checkout: moving from (\S+) to /u.exec(message)?.[1];
}
