import * as vscode from 'vscode';
import type { TaskState, RecoveryAction } from '../../core/task/taskRecord';
import type { Diagnosis } from '../../core/recovery/liveness';

/** How a state looks: a codicon and, where it matters, a theme colour. */
export interface Look {
  readonly icon: string;
  readonly color?: string;
}

const LOOKS = {
  initializing: { icon: 'gear' },
  step_pending: { icon: 'circle-large-outline' },
  step_running: { icon: 'play-circle', color: 'charts.blue' },
  step_validating: { icon: 'beaker', color: 'charts.blue' },
  awaiting_human: { icon: 'bell-dot', color: 'charts.yellow' },
  recovering: { icon: 'debug-restart', color: 'charts.orange' },
  completed: { icon: 'pass', color: 'charts.green' },
  failed: { icon: 'error', color: 'charts.red' },
  abandoned: { icon: 'circle-slash' },
} as const satisfies Record<TaskState, Look>;

/** How a task's state looks, crashed and quiet ones first. */
export function lookOf(state: TaskState, diagnosis?: Diagnosis): Look {
  if (diagnosis?.kind === 'crashed') return { icon: 'warning', color: 'charts.orange' };
  if (diagnosis?.kind === 'quiet') return { icon: 'watch', color: 'charts.orange' };
  return LOOKS[state];
}

/** A look as an icon of a tree row. */
export function themeIcon(look: Look): vscode.ThemeIcon {
  return new vscode.ThemeIcon(look.icon, look.color === undefined ? undefined : new vscode.ThemeColor(look.color));
}

/** A state in words. */
export function stateLabel(state: TaskState): string {
  switch (state) {
    case 'initializing':
      return vscode.l10n.t('Setting up');
    case 'step_pending':
      return vscode.l10n.t('Ready');
    case 'step_running':
      return vscode.l10n.t('Running');
    case 'step_validating':
      return vscode.l10n.t('Validating');
    case 'awaiting_human':
      return vscode.l10n.t('Waiting for you');
    case 'recovering':
      return vscode.l10n.t('Interrupted');
    case 'completed':
      return vscode.l10n.t('Completed');
    case 'failed':
      return vscode.l10n.t('failed');
    case 'abandoned':
      return vscode.l10n.t('Abandoned');
  }
}

/** A recovery action in words. */
export function recoveryLabel(action: RecoveryAction): string {
  switch (action) {
    case 'retry_step':
      return vscode.l10n.t('Restart the step');
    case 'retry_from_checkpoint':
      return vscode.l10n.t('Continue from the checkpoint');
    case 'retry_validation':
      return vscode.l10n.t('Validate again');
    case 'skip_step':
      return vscode.l10n.t('Mark the step done');
    case 'manual':
      return vscode.l10n.t('Decide yourself');
    case 'await_human':
      return vscode.l10n.t('Wait for you');
  }
}

/** How a task fares, where that is more than its state. */
export function diagnosisLabel(diagnosis: Diagnosis): string | undefined {
  switch (diagnosis.kind) {
    case 'crashed':
      return vscode.l10n.t('Interrupted');
    case 'quiet':
      return vscode.l10n.t('Quiet');
    case 'agent_left':
      return vscode.l10n.t('Agent left');
    case 'over':
    case 'waiting':
    case 'recovering':
    case 'working':
    case 'recent':
      return undefined;
  }
}
