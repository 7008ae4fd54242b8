import { existsSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { defined } from '../../core/shared/defined';
import type { Repository } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';
import { askGit, runGit } from './gitCommand';
import { listWorktrees } from './locate';
import { readHead } from './refs';
import {
  type ReflogEntry,
  type ReflogPosition,
  branchLeft,
  classifyHeadMove,
  readReflog,
  reflogEnd,
  subjectOf,
} from './reflog';

const ZERO = /^0+$/u;
/** Branches of worker hooks; what happens on them is no work of the user's. */
const FORGE = /^forge\//u;

/** How far a repository's reflogs were read. `heads` by worktree, `remotes` by remote-tracking ref. */
export interface GitCursor {
  readonly heads: Readonly<Record<string, ReflogPosition & { commit?: string }>>;
  readonly remotes: Readonly<Record<string, ReflogPosition>>;
}

/** A commit or a push that was made. Times in ms since the epoch. */
export type GitEvent =
  | {
      readonly kind: 'commit';
      readonly worktree: string;
      readonly commit: string;
      readonly subject: string;
      readonly at: number;
    }
  | {
      readonly kind: 'push';
      readonly remote: string;
      readonly branch: string;
      readonly ref: string;
      readonly commit: string;
      /** `undefined` when git couldn't count them. */
      readonly commits: number | undefined;
      readonly forced: boolean;
      readonly at: number;
    };

/** The text of a checkpoint made for an event. */
export function describeGitEvent(event: GitEvent): string {
  if (event.kind === 'commit') return `Commit: ${oneLine(event.subject, 400)}`;
  const many = event.commits === undefined ? '' : ` (${event.commits} ${event.commits === 1 ? 'commit' : 'commits'})`;
  return `${event.forced ? 'Force-pushed' : 'Pushed'} ${event.branch} to ${event.remote}${many}`;
}

function headLog(worktree: Repository): string {
  return join(worktree.gitDir, 'logs', 'HEAD');
}

function remoteLogs(repository: Repository): { ref: string; path: string }[] {
  const root = join(repository.commonDir, 'logs', 'refs', 'remotes');
  const found: { ref: string; path: string }[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else found.push({ ref: `refs/remotes/${relative(root, path).split(sep).join('/')}`, path });
    }
  };
  if (existsSync(root)) visit(root);
  return found.sort((a, b) => (a.ref < b.ref ? -1 : 1));
}

/** `refs/remotes/<remote>/<branch>`; a remote's name may itself have a slash, which is rare enough to show oddly. */
function splitRef(ref: string): { remote: string; branch: string } {
  const [remote = '', ...branch] = ref.slice('refs/remotes/'.length).split('/');
  return { remote, branch: branch.join('/') };
}

/** The cursor that says "nothing before now": for a repository that is looked at for the first time. */
export function currentCursor(repository: Repository): GitCursor {
  const heads: Record<string, ReflogPosition & { commit?: string }> = {};
  for (const worktree of listWorktrees(repository)) heads[worktree.worktree] = headPosition(worktree);
  const remotes: Record<string, ReflogPosition> = {};
  for (const { ref, path } of remoteLogs(repository)) remotes[ref] = reflogEnd(path) ?? { size: 0, last: '' };
  return { heads, remotes };
}

function headPosition(worktree: Repository): ReflogPosition & { commit?: string } {
  const { commit } = readHead(worktree);
  return { ...(reflogEnd(headLog(worktree)) ?? { size: 0, last: '' }), ...defined({ commit }) };
}

/**
 * What happened since a cursor, oldest first, and the cursor after it. A worktree or ref that the cursor doesn't know
 * is new, so all of its reflog is since then.
 */
export async function readGitEvents(
  repository: Repository,
  cursor: GitCursor,
): Promise<{ events: GitEvent[]; cursor: GitCursor }> {
  const events: GitEvent[] = [];
  const heads: Record<string, ReflogPosition & { commit?: string }> = {};
  for (const worktree of listWorktrees(repository)) {
    const known = cursor.heads[worktree.worktree];
    const { commit, branch } = readHead(worktree);
    const read = readReflog(headLog(worktree), known);
    if (read !== undefined) events.push(...(await commitsOf(worktree, offForge(read.entries, branch))));
    else if (!FORGE.test(branch ?? '')) events.push(...(await compareHead(worktree, known?.commit, commit)));
    heads[worktree.worktree] = {
      ...(read?.position ?? { size: 0, last: '' }),
      ...defined({ commit }),
    };
  }
  const remotes: Record<string, ReflogPosition> = {};
  for (const { ref, path } of remoteLogs(repository)) {
    const read = readReflog(path, cursor.remotes[ref]);
    if (read === undefined) continue;
    remotes[ref] = read.position;
    if (!FORGE.test(splitRef(ref).branch)) events.push(...(await pushesOf(repository, ref, read.entries)));
  }
  return { events: events.sort((a, b) => a.at - b.at), cursor: { heads, remotes } };
}

/** The entries that were not made while HEAD was on a worker hook's branch. `branch` is the one it is on now. */
function offForge(entries: readonly ReflogEntry[], branch: string | undefined): ReflogEntry[] {
  let at = branch;
  const kept = entries.toReversed().filter((entry) => {
    const inForge = FORGE.test(at ?? '');
    at = branchLeft(entry.message) ?? at;
    return !inForge;
  });
  return kept.reverse();
}

/** The commits among HEAD's moves. */
export async function commitsOf(
  worktree: Repository,
  entries: readonly ReflogEntry[],
): Promise<Extract<GitEvent, { kind: 'commit' }>[]> {
  const events: Extract<GitEvent, { kind: 'commit' }>[] = [];
  for (const entry of entries) {
    const kind = classifyHeadMove(entry.message);
    if (kind === 'other' || entry.from === entry.to) continue;
    // The first line of a linked worktree tells that it was made, though git says nothing beside it.
    if (kind === 'unknown' && ZERO.test(entry.from) && worktree.gitDir !== worktree.commonDir) continue;
    if (kind === 'unknown' && !(await isChild(worktree, entry.from, entry.to))) continue;
    const told = kind === 'unknown' ? undefined : subjectOf(entry.message);
    events.push({
      kind: 'commit',
      worktree: worktree.worktree,
      commit: entry.to,
      subject: told ?? (await subject(worktree, entry.to)),
      at: entry.at,
    });
  }
  return events;
}

async function isChild(worktree: Repository, parent: string, commit: string): Promise<boolean> {
  const listed = await askGit(worktree.worktree, ['rev-list', '--parents', '-n', '1', commit, '--']);
  if (listed === undefined) return false;
  const parents = listed.trim().split(' ').slice(1);
  return ZERO.test(parent) ? parents.length === 0 : parents.includes(parent);
}

async function subject(worktree: Repository, commit: string): Promise<string> {
  return (await askGit(worktree.worktree, ['log', '-1', '--format=%s', commit, '--']))?.trim() ?? '';
}

/** Without a reflog: HEAD moved to a child of what it was. Anything else could be a pull or a checkout. */
async function compareHead(
  worktree: Repository,
  before: string | undefined,
  now: string | undefined,
): Promise<GitEvent[]> {
  if (now === undefined || now === before) return [];
  if (!(await isChild(worktree, before ?? '0', now))) return [];
  const at = Number((await askGit(worktree.worktree, ['log', '-1', '--format=%ct', now, '--'])) ?? 0) * 1000;
  return [{ kind: 'commit', worktree: worktree.worktree, commit: now, subject: await subject(worktree, now), at }];
}

async function pushesOf(repository: Repository, ref: string, entries: readonly ReflogEntry[]): Promise<GitEvent[]> {
  const events: GitEvent[] = [];
  for (const entry of entries) {
    if (!entry.message.startsWith('update by push') || entry.from === entry.to) continue;
    const isNew = ZERO.test(entry.from);
    const range = isNew
      ? [entry.to, '--not', `--exclude=${ref.slice('refs/remotes/'.length)}`, '--remotes']
      : [`${entry.from}..${entry.to}`];
    const counted = await askGit(repository.worktree, ['rev-list', '--count', ...range]);
    const ancestor = isNew
      ? undefined
      : await runGit(repository.worktree, ['merge-base', '--is-ancestor', entry.from, entry.to]);
    events.push({
      kind: 'push',
      ...splitRef(ref),
      ref,
      commit: entry.to,
      commits: counted === undefined ? undefined : Number(counted),
      forced: ancestor?.ok === true && ancestor.value.code === 1,
      at: entry.at,
    });
  }
  return events;
}

/** Paths that a commit changed against its first parent, relative to the worktree; empty if git can't say. */
export async function filesOfCommit(worktree: string, commit: string): Promise<string[]> {
  const args = ['diff-tree', '--no-commit-id', '--name-only', '-r', '--root', '-z', commit, '--'];
  const printed = await askGit(worktree, args);
  return printed?.split('\0').filter((path) => path !== '') ?? [];
}
