import * as vscode from 'vscode';
import { lastEventOf } from '../../core/history/historyEvent';
import { ok } from '../../core/shared/errors';
import { capitalized } from '../../core/shared/text';
import { type PlannedPath, blockedPaths, changingPaths } from '../../core/snapshot/restorePlan';
import { type ListedCheckpoint, snapshotOf } from '../../core/snapshot/snapshotEntry';
import { quotePath } from '../../core/snapshot/treePath';
import type { StoredTask } from '../../core/task/storedTask';
import { worktreeOf } from '../../core/task/task';
import type { DetailsSubject } from '../../protocol/detailsPanel';
import type { PreviewedRestore } from '../../service/snapshots/fileRestores';
import type { Details, DetailsSource, DetailsSources } from '../details/detailsSource';
import { changesOf } from '../shared/panel';
import type { WindowTasks } from '../windowTasks';
import { carryOut } from './restore';
import { planText } from './restoreTexts';

type Subject = Extract<DetailsSubject, { kind: 'restore' }>;

/** More paths than these nobody reads; the rest is counted. */
const MAX_ROWS = 500;

/** What the preview of a restore shows: every path that would change, be left alone or blocked, and what to know before. */
export function restoreSource(subject: Subject, { session }: DetailsSources): DetailsSource {
  const ref = { workspace: subject.workspace, id: subject.id };
  return {
    changes: changesOf(ref, session),
    read: async () => {
      const read = session.atlas.catalog.read(ref);
      if (!read.ok) return read;
      const restores = await session.atlas.snapshots();
      const item = restores.files.find(read.value, subject.checkpoint);
      if (!item.ok) return item;
      const previewed = await restores.preview(read.value, item.value, subject.paths);
      return previewed.ok ? ok(detailsOf(session, read.value, previewed.value)) : previewed;
    },
  };
}

function detailsOf(session: WindowTasks, stored: StoredTask, previewed: PreviewedRestore): Details {
  const { item, preview } = previewed;
  const changing = changingPaths(preview.paths);
  const isDone = changing.length === 0 && isRestored(stored, item);
  const order = ['blocked', 'remove', 'write', 'mode', 'keep'] as const satisfies PlannedPath['action'][];
  const sorted = [...preview.paths].sort((a, b) => order.indexOf(a.action) - order.indexOf(b.action));
  return {
    tab: vscode.l10n.t('Restore: {0}', item.description),
    kindLabel: vscode.l10n.t('Restore files'),
    title: item.description,
    standing: standingOf(changing.length, isDone),
    at: item.createdAt,
    notices: changing.length === 0 ? [] : noticesOf(stored, previewed),
    actions: actionsOf(session, stored, previewed, isDone),
    facts: factsOf(stored, item),
    texts: [],
    files: {
      heading: vscode.l10n.t('Files'),
      summary: summaryOf(previewed),
      rows: sorted.slice(0, MAX_ROWS).map((path) => rowOf(stored, item, path)),
    },
  };
}

function isRestored({ hook }: StoredTask, { id }: ListedCheckpoint): boolean {
  return (
    lastEventOf(hook.history, 'restore', 'checkpoint')?.type === 'restore' &&
    lastEventOf(hook.history, 'restore')?.details.target_id === id
  );
}

function standingOf(changing: number, isDone: boolean): NonNullable<Details['standing']> {
  if (isDone) return { label: vscode.l10n.t('Restored'), look: 'good' };
  if (changing === 0) return { label: vscode.l10n.t('Nothing to restore'), look: 'plain' };
  return {
    label: changing === 1 ? vscode.l10n.t('1 file would change') : vscode.l10n.t('{0} files would change', changing),
    look: 'waiting',
  };
}

function actionsOf(
  session: WindowTasks,
  stored: StoredTask,
  previewed: PreviewedRestore,
  isDone: boolean,
): Details['actions'] {
  const argument = { kind: 'checkpoint', ref: stored.ref, id: previewed.item.id };
  const compare = {
    label: vscode.l10n.t('Compare with Current Files'),
    rank: 'secondary' as const,
    command: 'atlas.compareCheckpointWithNow',
    argument,
  };
  if (isDone)
    return [
      {
        label: vscode.l10n.t('Undo Restore'),
        rank: 'secondary',
        command: 'atlas.undoRestore',
        argument: { kind: 'task', ref: stored.ref },
      },
    ];
  const changing = changingPaths(previewed.preview.paths).length;
  if (changing === 0 || !vscode.workspace.isTrusted) return [compare];
  return [
    {
      label: changing === 1 ? vscode.l10n.t('Restore 1 File') : vscode.l10n.t('Restore {0} Files', changing),
      rank: 'primary',
      command: 'restore',
      run: async () => carryOut(session, stored, previewed),
    },
    compare,
  ];
}

function noticesOf(stored: StoredTask, { preview, runningStep, item, inHand }: PreviewedRestore): Details['notices'] {
  const { paths, headDiffers, operation } = preview;
  const warn = (id: string, text: string) => ({ id, level: 'warning' as const, text });
  const unsaved = unsavedAmong(stored, changingPaths(paths));
  const blocked = blockedPaths(paths).length;
  return [
    ...(runningStep === undefined
      ? []
      : [
          warn(
            'running',
            vscode.l10n.t('Step "{0}" is running. Whoever works on it would find other files.', runningStep),
          ),
        ]),
    ...(inHand.length === 0
      ? []
      : [
          warn(
            'inHand',
            vscode.l10n.t('An agent is working on {0} right now.', inHand.slice(0, 10).map(quotePath).join(', ')),
          ),
        ]),
    ...(unsaved.length === 0
      ? []
      : [
          warn(
            'unsaved',
            vscode.l10n.t(
              'Unsaved changes in the editor: {0}. They are not part of what can be brought back.',
              unsaved.join(', '),
            ),
          ),
        ]),
    ...(headDiffers
      ? [
          warn(
            'head',
            vscode.l10n.t(
              'HEAD is at another commit than then ({0}). HEAD, branch and index stay as they are.',
              snapshotOf(item)?.head?.slice(0, 10) ?? '',
            ),
          ),
        ]
      : []),
    ...(operation === undefined
      ? []
      : [warn('operation', vscode.l10n.t('A {0} is in progress in this worktree.', operation))]),
    ...(blocked === 0
      ? []
      : [
          warn(
            'blocked',
            blocked === 1
              ? vscode.l10n.t("1 path can't be restored. The rest can.")
              : vscode.l10n.t("{0} paths can't be restored. The rest can.", blocked),
          ),
        ]),
  ];
}

/** Those of some paths that are open with changes that were not saved. */
function unsavedAmong(stored: StoredTask, paths: readonly PlannedPath[]): string[] {
  const worktree = worktreeOf(stored.task);
  if (worktree === undefined) return [];
  const dirty = new Set(
    vscode.workspace.textDocuments
      .filter((each) => each.isDirty && each.uri.scheme === 'file')
      .map(({ uri }) => uri.fsPath),
  );
  const fullPath = (path: string): string =>
    vscode.Uri.joinPath(vscode.Uri.file(worktree), Buffer.from(path, 'latin1').toString('utf8')).fsPath;
  return paths.filter(({ path }) => dirty.has(fullPath(path))).map(({ path }) => quotePath(path));
}

function factsOf({ task }: StoredTask, item: ListedCheckpoint): Details['facts'] {
  return [
    { label: vscode.l10n.t('Task'), text: task.description },
    { label: vscode.l10n.t('Captured'), text: '', at: snapshotOf(item)?.ended_at ?? item.createdAt },
    { label: vscode.l10n.t('Folder'), text: worktreeOf(task) ?? '' },
    { label: vscode.l10n.t('Checkpoint ID'), text: item.id },
  ];
}

function summaryOf({ preview }: PreviewedRestore): string {
  if (preview.paths.length === 0)
    return (preview.target.chosen ?? []).length === 0
      ? vscode.l10n.t('All files are those of the checkpoint.')
      : vscode.l10n.t('The chosen files are those of the checkpoint.');
  const rest = preview.paths.length - MAX_ROWS;
  const more = rest > 0 ? ` ${vscode.l10n.t('{0} more are not listed.', rest)}` : '';
  return `${vscode.l10n.t('Before anything changes, the files as they are now become a restore point, so that you can undo this. Git is not touched.')}${more}`;
}

function rowOf(
  stored: StoredTask,
  item: ListedCheckpoint,
  path: PlannedPath,
): NonNullable<Details['files']>['rows'][number] {
  const opens = path.action === 'write' || path.action === 'remove';
  return {
    path: quotePath(path.path),
    detail: capitalized(planText(path)),
    ...(opens && {
      open: async () => {
        const argument = { kind: 'checkpoint', ref: stored.ref, id: item.id, treePath: path.path };
        await vscode.commands.executeCommand('atlas.compareCheckpointWithNow', argument);
      },
    }),
  };
}
