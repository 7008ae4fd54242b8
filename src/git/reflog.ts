import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** A line of a reflog: what moved a ref, from where to where, and when (ms since the epoch, whole seconds). */
export interface ReflogEntry {
  readonly from: string;
  readonly to: string;
  readonly at: number;
  readonly message: string;
}

/** How far a reflog was read: its size in bytes and its last line then. */
export interface ReflogPosition {
  readonly size: number;
  readonly last: string;
}

/** The format of a reflog line, see the git-update-ref(1) manual: old, new, committer, time, zone, tab, message. */
const LINE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*?(\d+) [+-]\d{4}(?:\t(.*))?$/u;

const NOTHING: ReflogPosition = { size: 0, last: '' };

function readText(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(size);
    const read = readSync(fd, buffer, 0, size, 0);
    return buffer.toString('utf8', 0, read);
  } finally {
    closeSync(fd);
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
  const lines = wholeLines(text);
  return { size: Buffer.byteLength(text), last: lines.at(-1) ?? '' };
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
  const position = { size: Buffer.byteLength(text), last: lines.at(-1) ?? '' };
  if (position.size === since.size && position.last === since.last) return { entries: [], position };
  const known = since.last === '' ? -1 : lines.lastIndexOf(since.last);
  const after = parseEntry(since.last)?.at;
  const entries = lines.slice(known + 1).flatMap((line) => parseEntry(line) ?? []);
  const rewritten = known === -1 && after !== undefined;
  return { entries: rewritten ? entries.filter((entry) => entry.at > after) : entries, position };
}

/** What a HEAD reflog entry means: a new commit, none, or only its parents can tell. */
export type CommitKind = 'commit' | 'other' | 'unknown';

const NO_COMMIT =
  /^(commit \(amend\)|checkout|reset|rebase|pull.*(fast-forward|rebase)|merge .*: fast-forward|branch|clone|initial pull|update by push|fetch|switch|stash|bisect|Branch: renamed|initial|filter-branch|am --abort|worktree)/iu;
const COMMIT =
  /^(commit(?: \((?:initial|merge|cherry-pick|revert)\))?: |merge .*: |pull.*: merge made|cherry-pick: |revert: |am: )/iu;

/** Classifies the message that git wrote beside a move of HEAD. */
export function classifyHeadMove(message: string): CommitKind {
  if (NO_COMMIT.test(message)) return 'other';
  return COMMIT.test(message) ? 'commit' : 'unknown';
}

/** The commit's subject, which git repeats in the reflog after the verb. */
export function subjectOf(message: string): string {
  return message.replace(/^[^:]*: /u, '');
}
