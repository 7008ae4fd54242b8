import * as vscode from 'vscode';
import { MAX_ATTEMPTS } from '../../../core/worker/slotSteps';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';
import { explain } from '../../../core/shared/errors';
import type { Look } from '../../shared/stateLook';
import type { EvidenceVerdict } from './evidenceCheck';
import type { Bucket, LedgerKind, Problem, WorkerShape } from './outline';

/** How a worker's hook looks. */
export const SHAPE_LOOKS = {
  FREE: { icon: 'circle-outline' },
  PENDING: { icon: 'circle-large-outline' },
  IN_PROGRESS: { icon: 'play-circle', color: 'charts.blue' },
  COMPLETE: { icon: 'pass', color: 'charts.green' },
  FAILED: { icon: 'error', color: 'charts.red' },
  DAMAGED: { icon: 'error', color: 'list.errorForeground' },
  LOST: { icon: 'warning', color: 'charts.orange' },
} as const satisfies Record<WorkerShape, Look>;

/** How tasks of a kind look. */
export const BUCKET_LOOKS = {
  ready: { icon: 'circle-large-outline' },
  blocked: { icon: 'lock' },
  in_progress: { icon: 'play-circle', color: 'charts.blue' },
  failed: { icon: 'error', color: 'charts.red' },
  complete: { icon: 'pass', color: 'charts.green' },
} as const satisfies Record<Bucket, Look>;

/** How a file looks against the ledger. */
export const VERDICT_LOOKS = {
  verified: { icon: 'pass', color: 'charts.green' },
  changed: { icon: 'warning', color: 'charts.orange' },
  missing: { icon: 'warning', color: 'charts.orange' },
  unproven: { icon: 'question' },
  open: { icon: 'file' },
} as const satisfies Record<EvidenceVerdict, Look>;

/** A hook's status in words. */
export function shapeLabel(shape: WorkerShape): string {
  switch (shape) {
    case 'FREE':
      return vscode.l10n.t('free');
    case 'PENDING':
      return vscode.l10n.t('not started');
    case 'IN_PROGRESS':
      return vscode.l10n.t('in progress');
    case 'COMPLETE':
      return vscode.l10n.t('complete');
    case 'FAILED':
      return vscode.l10n.t('failed');
    case 'DAMAGED':
      return vscode.l10n.t('damaged');
    case 'LOST':
      return vscode.l10n.t('branch is gone');
  }
}

/** What tasks of a kind are called. */
export function bucketLabel(bucket: Bucket): string {
  switch (bucket) {
    case 'ready':
      return vscode.l10n.t('Ready');
    case 'blocked':
      return vscode.l10n.t('Blocked');
    case 'in_progress':
      return vscode.l10n.t('In Progress');
    case 'failed':
      return vscode.l10n.t('Failed');
    case 'complete':
      return vscode.l10n.t('Complete');
  }
}

/** How many tasks of a kind there are, in words. */
export function bucketCount(bucket: Bucket, count: number): string {
  switch (bucket) {
    case 'ready':
      return vscode.l10n.t('{0} ready', count);
    case 'blocked':
      return vscode.l10n.t('{0} blocked', count);
    case 'in_progress':
      return vscode.l10n.t('{0} in progress', count);
    case 'failed':
      return vscode.l10n.t('{0} failed', count);
    case 'complete':
      return vscode.l10n.t('{0} complete', count);
  }
}

/** A file of the ledger in words. */
export function kindLabel(kind: LedgerKind): string {
  switch (kind) {
    case 'tasks':
      return vscode.l10n.t('task');
    case 'convoys':
      return vscode.l10n.t('batch');
    case 'evidence':
      return vscode.l10n.t('evidence');
  }
}

/** A file against the ledger in words. */
export function verdictLabel(verdict: EvidenceVerdict): string {
  switch (verdict) {
    case 'verified':
      return vscode.l10n.t('verified');
    case 'changed':
      return vscode.l10n.t('changed since it was recorded');
    case 'missing':
      return vscode.l10n.t('recorded, but missing');
    case 'unproven':
      return vscode.l10n.t('not recorded');
    case 'open':
      return vscode.l10n.t('not recorded yet');
  }
}

/** What is wrong, in a few words. */
export function problemLabel(problem: Problem): string {
  switch (problem) {
    case 'damaged':
      return vscode.l10n.t('damaged');
    case 'no_branch':
      return vscode.l10n.t('branch is gone');
    case 'claimed_elsewhere':
      return vscode.l10n.t('another worker has its task');
    case 'owner_dead':
      return vscode.l10n.t('process died');
    case 'ask':
      return vscode.l10n.t('unknown whether it is running');
    case 'give_up':
      return vscode.l10n.t('tried {0} times', MAX_ATTEMPTS);
    case 'deadline':
      return vscode.l10n.t('past its deadline');
    case 'no_worktree':
      return vscode.l10n.t('folder is gone');
    case 'folder_differs':
      return vscode.l10n.t('folder was edited');
    case 'ledger_behind':
      return vscode.l10n.t('ledger is behind');
    case 'hopeless':
      return vscode.l10n.t('failed for good');
  }
}

/** What is wrong and what fixes it, in sentences. */
export function problemText(problem: Problem, { damage, task, folder }: WorkerStatus): string {
  const recover = vscode.l10n.t('Run "Recover Worker".');
  const repair = vscode.l10n.t('Run "Repair Workers".');
  switch (problem) {
    case 'damaged':
      return damage === undefined ? vscode.l10n.t("It can't be read.") : explain(damage);
    case 'no_branch':
      return vscode.l10n.t('{0} exists, but has no branch. {1}', folder, repair);
    case 'claimed_elsewhere':
      return vscode.l10n.t("Two clones assigned this task. The other clone's assignment counts. {0}", repair);
    case 'owner_dead':
      return [vscode.l10n.t('The process that worked on it ended without a result.'), recover].join(' ');
    case 'ask':
      return [
        vscode.l10n.t(
          'It was claimed without a process, or on another machine. Only you can tell whether its process is gone.',
        ),
        recover,
      ].join(' ');
    case 'give_up':
      return [vscode.l10n.t('It was started {0} times and never finished.', MAX_ATTEMPTS), recover].join(' ');
    case 'deadline':
      return vscode.l10n.t('It was due {0}.', task?.timeout ?? '');
    case 'no_worktree':
      return [
        vscode.l10n.t('The branch has everything that was recorded.'),
        vscode.l10n.t('Run "Recover Worker" to restore the folder.'),
      ].join(' ');
    case 'folder_differs':
      return vscode.l10n.t(
        "One of Atlas's files in the folder was edited. The branch counts; the next step restores the file.",
      );
    case 'ledger_behind':
      return vscode.l10n.t('A crash left the ledger behind. The next change updates it.');
    case 'hopeless':
      return vscode.l10n.t('The worker reported that another attempt would fail, too.');
  }
}
