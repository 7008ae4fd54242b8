import { defined } from '../../core/shared/defined';
import type { ChangedSince, CommitsSince, LineCounts, Publishing, Repository } from '../../core/shared/ports';
import { askGit, runGit } from './gitCommand';
import { shownPath } from './gitPath';

/** What a repository's settings must not change: programs of its own run here, or names are written otherwise. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-renames', '--no-color'];

const CHANGES: Readonly<Record<string, ChangedSince['change']>> = { A: 'added', D: 'deleted' };

/**
 * The tracked files that differ from a commit now; `undefined` where git can't say in time (ms), or doesn't have the
 * commit. A file's record begins with `:`, the one of its lines with a number or a dash.
 */
export async function changedSince(
  { worktree }: Repository,
  commit: string,
  timeoutMs: number,
): Promise<ChangedSince[] | undefined> {
  const args = ['diff', '--raw', '--numstat', '-z', '--ignore-submodules=dirty', ...PLAIN, commit, '--'];
  const printed = await askGit(worktree, args, { timeoutMs, bytes: true });
  if (printed === undefined) return undefined;
  const changes = new Map<string, ChangedSince['change']>();
  const counts = new Map<string, Pick<ChangedSince, 'added' | 'removed'>>();
  const records = printed.split('\0');
  for (let at = 0; at < records.length; at += 1) {
    const record = records[at] ?? '';
    if (record.startsWith(':')) {
      changes.set(records[at + 1] ?? '', CHANGES[record.at(-1) ?? ''] ?? 'modified');
      at += 1;
    } else {
      const [, added, removed, path] = /^(\d+)\t(\d+)\t(.+)$/su.exec(record) ?? [];
      if (path !== undefined) counts.set(path, { added: Number(added), removed: Number(removed) });
    }
  }
  return [...changes].map(([path, change]) => ({ path: shownPath(path), change, ...counts.get(path) }));
}

/** Added and removed lines of the tracked files that differ from HEAD, by path; `undefined` where git can't say in time (ms). */
export async function lineCountsOf({ worktree }: Repository, timeoutMs: number): Promise<LineCounts | undefined> {
  const args = ['diff', '--numstat', '-z', ...PLAIN, 'HEAD', '--'];
  const printed = await askGit(worktree, args, { timeoutMs, bytes: true });
  if (printed === undefined) return undefined;
  const counts = new Map<string, { readonly added: number; readonly removed: number }>();
  for (const record of printed.split('\0')) {
    const [added = '', removed = '', path] = record.split('\t');
    // A binary file's counts are dashes.
    if (path !== undefined && /^\d+$/u.test(added) && /^\d+$/u.test(removed))
      counts.set(shownPath(path), { added: Number(added), removed: Number(removed) });
  }
  return counts;
}

/** The commits that HEAD has and a commit doesn't, newest first; `undefined` where git can't say in time (ms). */
export async function commitsAfter(
  { worktree }: Repository,
  since: string,
  most: number,
  timeoutMs: number,
): Promise<CommitsSince | undefined> {
  const count = ['rev-list', '--left-right', '--count', `${since}...HEAD`, '--'];
  const list = [
    'log',
    `--max-count=${most}`,
    '-z',
    '--no-show-signature',
    '--format=%H %ct %s',
    `${since}..HEAD`,
    '--',
  ];
  const [counted, printed] = await Promise.all([
    runGit(worktree, count, { timeoutMs }),
    askGit(worktree, list, { timeoutMs }),
  ]);
  if (!counted.ok) return undefined;
  // 128: the commit is no longer in the repository at all.
  if (counted.value.code === 128) return { isGone: true, total: undefined, commits: [] };
  const [, gone = '', total = ''] = /^(\d+)\s+(\d+)/u.exec(counted.value.stdout) ?? [];
  if (counted.value.code !== 0 || total === '') return undefined;
  if (printed === undefined) return undefined;
  const commits = printed.split('\0').flatMap((line) => {
    const [, commit, seconds, subject = ''] = /^(\S+) (\d+) (.*)$/su.exec(line) ?? [];
    return commit === undefined ? [] : [{ commit, subject, at: Number(seconds) * 1000 }];
  });
  return { isGone: gone !== '0', total: Number(total), commits };
}

/** How many remotes there are, and which branch the HEAD of one names; `undefined` where git can't say in time (ms). */
export async function publishingOf({ worktree }: Repository, timeoutMs: number): Promise<Publishing | undefined> {
  const format = '--format=%(symref:lstrip=3)';
  const [remotes, heads] = await Promise.all([
    askGit(worktree, ['remote'], { timeoutMs }),
    askGit(worktree, ['for-each-ref', format, 'refs/remotes/*/HEAD'], { timeoutMs }),
  ]);
  if (remotes === undefined) return undefined;
  const count = remotes.split('\n').filter((name) => name !== '').length;
  if (count === 0) return { remotes: 0 };
  const base = heads?.split('\n').find((name) => name !== '');
  return { remotes: count, ...defined({ baseBranch: base }) };
}
