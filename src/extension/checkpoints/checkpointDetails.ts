import * as vscode from 'vscode';
import { type AtlasError, fail, ok } from '../../core/shared/errors';
import { sizeText } from '../../core/shared/text';
import { type ListedCheckpoint, checkpointBefore, snapshotOf, whyNoFiles } from '../../core/snapshot/snapshotEntry';
import type { LeftOut } from '../../core/snapshot/snapshotRecord';
import { quotePath } from '../../core/snapshot/treePath';
import type { FileSnapshot, StepCheckpoint } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import type { DetailsSubject } from '../../protocol/detailsPanel';
import type { CheckpointFiles } from '../../service/snapshots/checkpointFiles';
import type { SnapshotChange } from '../../snapshots/storage/contents';
import type { Details, DetailsAction, DetailsFile, DetailsSource, DetailsSources } from '../details/detailsSource';
import { changesOf } from '../shared/panel';
import { kindOf } from './checkpointArguments';

type Subject = Extract<DetailsSubject, { kind: 'checkpoint' }>;

/** More files than these nobody reads; the rest is counted. */
const MAX_ROWS = 500;

/** What the panel of a checkpoint or restore point shows. */
export function checkpointSource(subject: Subject, { session }: DetailsSources): DetailsSource {
  const ref = { workspace: subject.workspace, id: subject.id };
  return {
    changes: changesOf(ref, session),
    read: async () => {
      const read = session.atlas.catalog.read(ref);
      if (!read.ok) return read;
      const { files } = await session.atlas.snapshots();
      const item = files.list(read.value).find(({ id }) => id === subject.checkpoint);
      if (item === undefined) return removed(subject.checkpoint);
      return ok(detailsOf(read.value, item, await changedFiles(files, read.value, item)));
    },
  };
}

/** What is said of a checkpoint that is no longer kept. */
export function removed(id: string): { readonly ok: false; readonly error: AtlasError } {
  return fail('not_found', vscode.l10n.t('Checkpoint {0} was already removed.', id), {
    hint: vscode.l10n.t("The task's journal still has it."),
  });
}

/** What differs from the checkpoint before; `undefined` where there is none, or where it can't be said. */
async function changedFiles(
  files: CheckpointFiles,
  stored: StoredTask,
  item: ListedCheckpoint,
): Promise<readonly SnapshotChange[] | undefined> {
  const before = checkpointBefore(
    files.list(stored),
    item.id,
    item.trigger === 'auto' ? 'with restore points' : undefined,
  );
  if (before === undefined || snapshotOf(item) === undefined) return undefined;
  const diff = await files.diff(stored, before, item, { stat: true });
  return diff.ok ? diff.value.changes : undefined;
}

function detailsOf(
  stored: StoredTask,
  item: ListedCheckpoint,
  changes: readonly SnapshotChange[] | undefined,
): Details {
  const { hook } = stored;
  const kind = kindOf(item);
  const title = item.description === '' ? kind : item.description;
  const isLast = hook.checkpoints.at(-1)?.checkpoint_id === item.id;
  return {
    tab: vscode.l10n.t('Checkpoint: {0}', title),
    kindLabel: item.trigger === 'manual' || item.trigger === 'auto' ? kind : vscode.l10n.t('Checkpoint · {0}', kind),
    title,
    ...(isLast && { standing: { label: vscode.l10n.t('Latest'), look: 'good' as const } }),
    at: item.createdAt,
    notices: noticesOf(item),
    actions: actionsOf(stored, item, changes !== undefined),
    facts: factsOf(stored, item),
    texts: [],
    files: filesOf(stored, item, changes),
  };
}

function noticesOf(item: ListedCheckpoint): Details['notices'] {
  if (snapshotOf(item) !== undefined || item.entry === undefined) return [];
  const { message, hint } = whyNoFiles(item);
  const isPending = item.entry.status === 'pending';
  const text = isPending ? message : [message, hint].filter((part) => part !== undefined).join(' ');
  return [{ id: 'files', level: isPending ? 'info' : 'warning', text }];
}

function actionsOf({ ref }: StoredTask, item: ListedCheckpoint, hasPrevious: boolean): DetailsAction[] {
  const argument = { kind: 'checkpoint', ref, id: item.id };
  const hasFiles = snapshotOf(item) !== undefined;
  const button = (rank: DetailsAction['rank'], label: string, command: string): DetailsAction => ({
    ...{ label, rank, argument },
    command: `atlas.${command}`,
  });
  const isTrusted = vscode.workspace.isTrusted;
  const hasHashes = (item.checkpoint?.files_snapshot ?? []).length > 0;
  return [
    ...(isTrusted && (hasFiles || hasHashes)
      ? [button('primary', vscode.l10n.t('Compare with Current Files'), 'compareCheckpointWithNow')]
      : []),
    ...(hasPrevious
      ? [button('secondary', vscode.l10n.t('Compare with Previous'), 'compareCheckpointWithPrevious')]
      : []),
    ...(isTrusted && hasFiles
      ? [
          button('secondary', vscode.l10n.t('Restore…'), 'restoreCheckpoint'),
          button('secondary', vscode.l10n.t('Restore Files…'), 'restoreFiles'),
        ]
      : []),
    {
      label: vscode.l10n.t('Open HOOK.md'),
      rank: 'secondary',
      command: 'atlas.openHookMd',
      argument: { kind: 'task', ref },
    },
  ];
}

function factsOf({ task }: StoredTask, item: ListedCheckpoint): Details['facts'] {
  const { checkpoint, entry } = item;
  const snapshot = snapshotOf(item);
  const undoes =
    entry?.safety_for === undefined
      ? []
      : [{ label: vscode.l10n.t('Undoes'), text: vscode.l10n.t('the restore of {0}', entry.safety_for) }];
  return [
    { label: vscode.l10n.t('Task'), text: task.description },
    ...(checkpoint === undefined ? [] : [stepFact(checkpoint, task.steps.length)]),
    { label: vscode.l10n.t('Recorded'), text: '', at: item.createdAt },
    ...(checkpoint === undefined ? [] : [...gitFacts(checkpoint), ...artifactFacts(checkpoint)]),
    ...undoes,
    ...(entry?.possibly_late === true
      ? [
          {
            label: vscode.l10n.t('Captured'),
            text: vscode.l10n.t('possibly after the command had changed files already'),
          },
        ]
      : []),
    ...(snapshot === undefined || snapshot.left_out_total === 0
      ? []
      : [{ label: vscode.l10n.t('Left out'), text: leftOutText(snapshot.left_out, snapshot.left_out_total) }]),
    { label: vscode.l10n.t('Checkpoint ID'), text: item.id },
  ];
}

function stepFact(checkpoint: StepCheckpoint, steps: number): Details['facts'][number] {
  const step = vscode.l10n.t('{0} ({1} of {2})', checkpoint.step_name, checkpoint.step_index + 1, steps);
  const isRepeated = checkpoint.attempt !== undefined && checkpoint.attempt > 1;
  return {
    label: vscode.l10n.t('Step'),
    text: isRepeated ? vscode.l10n.t('{0}, attempt {1}', step, checkpoint.attempt ?? 1) : step,
  };
}

function gitFacts({ git_branch: branch, git_commit: commit, git_dirty: dirty }: StepCheckpoint): Details['facts'] {
  if (branch === '' && commit === undefined) return [];
  const state =
    dirty === undefined
      ? undefined
      : dirty
        ? vscode.l10n.t('with uncommitted changes')
        : vscode.l10n.t('without uncommitted changes');
  const text = [branch, commit?.slice(0, 10), state].filter((part) => part !== undefined && part !== '').join(' · ');
  return [{ label: vscode.l10n.t('Branch'), text }];
}

function artifactFacts({ artifacts = [] }: StepCheckpoint): Details['facts'] {
  return artifacts.length === 0 ? [] : [{ label: vscode.l10n.t('Artifacts'), text: artifacts.join(', ') }];
}

const leftOutReasons = (): Readonly<Record<LeftOut['reason'], string>> => ({
  too_large: vscode.l10n.t('too large'),
  repository: vscode.l10n.t('a repository of its own'),
  submodule: vscode.l10n.t('a submodule'),
  special: vscode.l10n.t('not a file'),
  unreadable: vscode.l10n.t('not readable'),
  unstable: vscode.l10n.t('it kept changing'),
  name: vscode.l10n.t('an unsafe name'),
});

function leftOutText(leftOut: readonly LeftOut[], total: number): string {
  const shown = leftOut.slice(0, 10).map(({ path, reason, size }) => {
    const why = leftOutReasons()[reason];
    return size === undefined ? `${path} (${why})` : `${path} (${why}, ${sizeText(size)})`;
  });
  const more = total - shown.length;
  return [...shown, ...(more > 0 ? [vscode.l10n.t('{0} more', more)] : [])].join(', ');
}

type Files = NonNullable<Details['files']>;

function filesOf(stored: StoredTask, item: ListedCheckpoint, changes: readonly SnapshotChange[] | undefined): Files {
  const heading = vscode.l10n.t('Files');
  const argument = { kind: 'checkpoint', ref: stored.ref, id: item.id };
  const snapshot = snapshotOf(item);
  if (snapshot === undefined) {
    const rows = (item.checkpoint?.files_snapshot ?? []).map((file) => hashRow(file, argument));
    return { heading, summary: touchedText(rows.length), rows };
  }
  if (changes === undefined)
    return {
      heading,
      summary:
        snapshot.files === 1
          ? vscode.l10n.t('1 file is kept. There is no earlier checkpoint to compare it with.')
          : vscode.l10n.t('{0} files are kept. There is no earlier checkpoint to compare them with.', snapshot.files),
      rows: [],
    };
  const rows = changes.slice(0, MAX_ROWS).map((change) => changeRow(change, argument));
  const more = changes.length - rows.length;
  const rest = more > 0 ? ` ${vscode.l10n.t('{0} more are not listed.', more)}` : '';
  return { heading, summary: `${changedText(changes.length, snapshot.files)}${rest}`, rows };
}

function changedText(changed: number, all: number): string {
  if (changed === 0) return vscode.l10n.t('{0} files are kept. None changed since the checkpoint before.', all);
  return changed === 1
    ? vscode.l10n.t('{0} files are kept. 1 changed since the checkpoint before.', all)
    : vscode.l10n.t('{0} files are kept. {1} changed since the checkpoint before.', all, changed);
}

const changeKinds = (): Readonly<Record<SnapshotChange['kind'], string>> => ({
  added: vscode.l10n.t('new'),
  modified: vscode.l10n.t('modified'),
  removed: vscode.l10n.t('deleted'),
  mode: vscode.l10n.t('permissions'),
  type: vscode.l10n.t('file or link'),
});

function changeRow({ path, kind, additions, deletions, binary }: SnapshotChange, argument: object): DetailsFile {
  const lines =
    binary === true ? vscode.l10n.t('binary') : additions === undefined ? '' : `+${additions} −${deletions ?? 0}`;
  return {
    path: quotePath(path),
    detail: [changeKinds()[kind], kind === 'mode' ? '' : lines].filter((part) => part !== '').join(' · '),
    open: async () => {
      await vscode.commands.executeCommand('atlas.compareCheckpointWithPrevious', { ...argument, treePath: path });
    },
  };
}

/** Of a checkpoint that kept no files: how many its hashes are of. */
function touchedText(count: number): string {
  if (count === 0) return vscode.l10n.t('The checkpoint recorded no files.');
  return count === 1
    ? vscode.l10n.t('1 file had been touched. Select it to compare it with the current one.')
    : vscode.l10n.t('{0} files had been touched. Select one to compare it with the current one.', count);
}

function hashRow({ path, size, exists }: FileSnapshot, argument: object): DetailsFile {
  const detail = exists ? sizeText(size) : vscode.l10n.t('deleted');
  if (!vscode.workspace.isTrusted) return { path, detail };
  return {
    path,
    detail,
    open: async () => {
      await vscode.commands.executeCommand('atlas.compareCheckpointWithNow', { ...argument, path });
    },
  };
}
