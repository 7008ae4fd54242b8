import type { ChangedFile, WorktreeState } from '../task/worktreeState';
import { count } from '../shared/text';
import { bullets, code, prose } from './escape';
import { type HookView, utc } from './view';

const SHORT = 12;

/** `### Since the Last Checkpoint`: the commits and uncommitted files that were there when Atlas last looked; empty without git. */
export function sinceLastCheckpoint(view: HookView): string[] {
  const { worktree_state: state } = view.hook;
  if (state === undefined) return [];
  const heading = view.checkpoint === undefined ? '### Uncommitted Work' : '### Since the Last Checkpoint';
  const title = `${heading} (as of ${utc(state.observed_at)})`;
  if (state.is_missing === true) {
    return [title, "> ⚠️ The task's worktree is missing: it was moved or removed. What was done in it can't be seen."];
  }
  return [title, ...alarms(view, state), ...commits(state), ...files(state), ...howToSee(state)];
}

/** What is not as the task left it; everything else is normal. */
function alarms({ checkpoint }: HookView, state: WorktreeState): string[] {
  const left = checkpoint?.git_branch ?? '';
  const on = state.branch === undefined ? 'no branch (detached HEAD)' : code(state.branch);
  return [
    ...(state.operation === undefined
      ? []
      : [`> ⚠️ A ${prose(state.operation, 40)} is in progress in this worktree. \`git status\` says how to end it.`]),
    ...(state.since_is_gone === true && state.since !== undefined
      ? [`> ⚠️ Commit ${code(state.since.slice(0, SHORT))} of the last checkpoint is missing from this branch.`]
      : []),
    ...(left === '' || left === state.branch || state.operation !== undefined
      ? []
      : [`The worktree is on ${on}. The last checkpoint was on ${code(left)}.`]),
  ];
}

function commits({ commits: made = [], commits_total: total }: WorktreeState): string[] {
  if (made.length === 0) return [];
  const all = total ?? made.length;
  const more = all - made.length;
  return [
    `**${count(all, 'commit')}, newest first:**`,
    bullets([
      ...made.map(({ commit, subject, at }) => `${code(commit.slice(0, SHORT))} ${prose(subject, 200)} (${utc(at)})`),
      ...(more > 0 ? [`${more} more: \`git log\``] : []),
    ]),
  ];
}

const CHANGES: Readonly<Record<ChangedFile['change'], string>> = {
  modified: 'modified',
  added: 'added',
  deleted: 'deleted',
  renamed: 'renamed',
  untracked: 'new, not added to git',
  conflicted: 'in conflict',
};

function files({ files: changed, files_total: total }: WorktreeState): string[] {
  if (changed === undefined) return ["Which files are uncommitted isn't known: git did not answer. Run `git status`."];
  if (changed.length === 0) return ['Nothing is uncommitted.'];
  const all = total ?? changed.length;
  const more = all - changed.length;
  return [
    `**${count(all, 'uncommitted file')}, last changed first:**`,
    bullets([...changed.map(changedFile), ...(more > 0 ? [`${more} more: \`git status\``] : [])]),
  ];
}

function changedFile({ path, change, added, removed, modified_at: at }: ChangedFile): string {
  const lines = added === undefined || removed === undefined ? '' : `, +${added} −${removed} lines`;
  const time = at === undefined ? '' : `, last changed ${utc(at)}`;
  return `${code(path)} (${CHANGES[change]}${lines}${time})`;
}

function howToSee({ since, since_is_gone: isGone, commits: made = [], files: changed = [] }: WorktreeState): string[] {
  if (made.length === 0 && changed.length === 0) return [];
  const from = since === undefined || isGone === true ? 'HEAD' : since.slice(0, SHORT);
  return [`See all of it: \`git diff ${/^[0-9a-f]+$/u.test(from) ? from : 'HEAD'}\` and \`git status\`.`];
}
