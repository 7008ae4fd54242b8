import { lastEventOf } from '../history/historyEvent';
import type { ChangedFile, SinceCheckpoint, WorktreeState } from '../task/worktreeState';
import { count } from '../shared/text';
import { bullets, code, prose } from './escape';
import { type HookView } from './view';
import { utc } from './utc';

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
  const since = state.since_checkpoint;
  // What differs from an older checkpoint than the one that is shown would only mislead.
  const compared = since?.checkpoint_id === view.checkpoint?.checkpoint_id ? since : undefined;
  const changed = compared === undefined ? files(state) : sinceFiles(compared, state);
  return [
    title,
    ...restored(view),
    ...alarms(view, state),
    ...commits(state),
    ...changed,
    ...howToSee(state, compared),
  ];
}

/** That files were restored after the last checkpoint: what was done in between is no longer there. */
function restored({ hook, step }: HookView): string[] {
  const event = lastEventOf(hook.history, 'restore', 'checkpoint');
  if (event?.type !== 'restore' || event.details.step_index !== step?.step_index) return [];
  const { target_id: target, written, removed, blocked, undo } = event.details;
  const at = utc(event.timestamp);
  if (undo) return [`> ⚠️ A human undid a restore of files at ${at}. Read files again before you edit them.`];
  const counts = [
    ...(written > 0 ? [`${count(written, 'file')} written`] : []),
    ...(removed > 0 ? [`${count(removed, 'file')} removed`] : []),
    ...(blocked > 0 ? [`${count(blocked, 'path')} left as they were`] : []),
  ];
  const what = counts.length === 0 ? '' : ` (${counts.join(', ')})`;
  return [
    `> ⚠️ A human restored files of checkpoint ${code(target ?? '')} at ${at}${what}. What was changed in them after that checkpoint is no longer in the worktree. Read files again before you edit them.`,
  ];
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

const SINCE: Readonly<Record<SinceCheckpoint['files'][number]['change'], string>> = {
  added: 'new',
  modified: 'modified',
  deleted: 'deleted',
  permissions: 'other permissions',
};

/** What differs from the files that the checkpoint kept, committed or not. */
function sinceFiles(
  { files: changed, files_total: all, unknown = 0 }: SinceCheckpoint,
  state: WorktreeState,
): string[] {
  const inConflict = new Set(
    (state.files ?? []).filter(({ change }) => change === 'conflicted').map(({ path }) => path),
  );
  const more = all - changed.length;
  const items = changed.map(({ path, change, added, removed }) => {
    const what = inConflict.has(path) ? CHANGES.conflicted : SINCE[change];
    return `${code(path)} (${what}${linesText(added, removed)})`;
  });
  const left = unknown === 1 ? 'it' : 'them';
  return [
    ...(all === 0
      ? ['No file has changed since the checkpoint.']
      : [
          `**${count(all, 'file')} changed since the checkpoint:**`,
          bullets([...items, ...(more > 0 ? [`${more} more`] : [])]),
        ]),
    ...(unknown === 0 ? [] : [`${count(unknown, 'path')} could not be compared: the checkpoint left ${left} out.`]),
    ...uncommittedText(state),
  ];
}

function uncommittedText(state: WorktreeState): string[] {
  const uncommitted = state.files_total ?? state.files?.length;
  if (uncommitted === undefined) return [];
  if (uncommitted === 0) return ['Nothing is uncommitted.'];
  return [`In all, ${count(uncommitted, 'file is', 'files are')} uncommitted.`];
}

function linesText(added: number | undefined, removed: number | undefined): string {
  return added === undefined || removed === undefined ? '' : `, +${added} −${removed} lines`;
}

function changedFile({ path, change, added, removed, modified_at: at }: ChangedFile): string {
  const time = at === undefined ? '' : `, last changed ${utc(at)}`;
  return `${code(path)} (${CHANGES[change]}${linesText(added, removed)}${time})`;
}

function howToSee(
  { since, since_is_gone: isGone, commits: made = [], files: changed = [] }: WorktreeState,
  compared: SinceCheckpoint | undefined,
): string[] {
  if (compared !== undefined && /^[\w-]+$/u.test(compared.checkpoint_id))
    return compared.files_total === 0
      ? []
      : [`See all of it: \`atlas checkpoint diff ${compared.checkpoint_id}\` and \`git status\`.`];
  if (made.length === 0 && changed.length === 0) return [];
  const from = since === undefined || isGone === true ? 'HEAD' : since.slice(0, SHORT);
  return [`See all of it: \`git diff ${/^[0-9a-f]+$/u.test(from) ? from : 'HEAD'}\` and \`git status\`.`];
}
