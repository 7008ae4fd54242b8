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
export const SHAPE_LABELS = {
  FREE: vscode.l10n.t('free'),
  PENDING: vscode.l10n.t('not started'),
  IN_PROGRESS: vscode.l10n.t('in progress'),
  COMPLETE: vscode.l10n.t('complete'),
  FAILED: vscode.l10n.t('failed'),
  DAMAGED: vscode.l10n.t('damaged'),
  LOST: vscode.l10n.t('branch is gone'),
} satisfies Record<WorkerShape, string>;

/** What tasks of a kind are called. */
export const BUCKET_LABELS = {
  ready: vscode.l10n.t('Ready'),
  blocked: vscode.l10n.t('Blocked'),
  in_progress: vscode.l10n.t('In Progress'),
  failed: vscode.l10n.t('Failed'),
  complete: vscode.l10n.t('Complete'),
} satisfies Record<Bucket, string>;

/** How many tasks of a kind there are, in words. */
export function bucketCount(bucket: Bucket, count: number): string {
  const counts: Readonly<Record<Bucket, string>> = {
    ready: vscode.l10n.t('{0} ready', count),
    blocked: vscode.l10n.t('{0} blocked', count),
    in_progress: vscode.l10n.t('{0} in progress', count),
    failed: vscode.l10n.t('{0} failed', count),
    complete: vscode.l10n.t('{0} complete', count),
  };
  return counts[bucket];
}

/** A file of the ledger in words. */
export const KIND_LABELS = {
  tasks: vscode.l10n.t('task'),
  convoys: vscode.l10n.t('batch'),
  evidence: vscode.l10n.t('evidence'),
} satisfies Record<LedgerKind, string>;

/** A file against the ledger in words. */
export const VERDICT_LABELS = {
  verified: vscode.l10n.t('verified'),
  changed: vscode.l10n.t('changed since it was recorded'),
  missing: vscode.l10n.t('recorded, but missing'),
  unproven: vscode.l10n.t('not recorded'),
  open: vscode.l10n.t('not recorded yet'),
} satisfies Record<EvidenceVerdict, string>;

/** What is wrong, in a few words. */
export const PROBLEM_LABELS = {
  damaged: vscode.l10n.t('damaged'),
  no_branch: vscode.l10n.t('branch is gone'),
  claimed_elsewhere: vscode.l10n.t('another worker has its task'),
  owner_dead: vscode.l10n.t('process died'),
  ask: vscode.l10n.t('unknown whether it is running'),
  give_up: vscode.l10n.t('tried {0} times', MAX_ATTEMPTS),
  deadline: vscode.l10n.t('past its deadline'),
  no_worktree: vscode.l10n.t('folder is gone'),
  folder_differs: vscode.l10n.t('folder was edited'),
  ledger_behind: vscode.l10n.t('ledger is behind'),
  hopeless: vscode.l10n.t('failed for good'),
} satisfies Record<Problem, string>;

/** What is wrong and what fixes it, in sentences. */
export function problemText(problem: Problem, { damage, task, folder }: WorkerStatus): string {
  const recover = vscode.l10n.t('Run "Recover Worker".');
  const repair = vscode.l10n.t('Run "Repair Workers".');
  const texts: Readonly<Record<Problem, readonly string[]>> = {
    damaged: [damage === undefined ? vscode.l10n.t("It can't be read.") : explain(damage)],
    no_branch: [vscode.l10n.t('{0} exists, but has no branch. {1}', folder, repair)],
    claimed_elsewhere: [
      vscode.l10n.t("Two clones assigned this task. The other clone's assignment counts. {0}", repair),
    ],
    owner_dead: [vscode.l10n.t('The process that worked on it ended without a result.'), recover],
    ask: [
      vscode.l10n.t(
        'It was claimed without a process, or on another machine. Only you can tell whether its process is gone.',
      ),
      recover,
    ],
    give_up: [vscode.l10n.t('It was started {0} times and never finished.', MAX_ATTEMPTS), recover],
    deadline: [vscode.l10n.t('It was due {0}.', task?.timeout ?? '')],
    no_worktree: [
      vscode.l10n.t('The branch has everything that was recorded.'),
      vscode.l10n.t('Run "Recover Worker" to restore the folder.'),
    ],
    folder_differs: [
      vscode.l10n.t(
        "One of Atlas's files in the folder was edited. The branch counts; the next step restores the file.",
      ),
    ],
    ledger_behind: [vscode.l10n.t('A crash left the ledger behind. The next change updates it.')],
    hopeless: [vscode.l10n.t('The worker reported that another attempt would fail, too.')],
  };
  return texts[problem].join(' ');
}
