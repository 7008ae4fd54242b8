import * as vscode from 'vscode';
import type { TaskState, RecoveryAction } from '../../core/task/taskRecord';
import type { Diagnosis } from '../../core/recovery/liveness';
import { ACTION_LABELS, STATE_LABELS } from '../../core/task/labels';
import { coarseAge } from './ages';

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

const UNWELL: Partial<Readonly<Record<Diagnosis['kind'], string>>> = {
  crashed: 'warning',
  quiet: 'watch',
  agent_left: 'sign-out',
};

/** How a task's state looks, crashed and quiet ones first. */
export function lookOf(state: TaskState, diagnosis?: Diagnosis): Look {
  const icon = diagnosis && UNWELL[diagnosis.kind];
  return icon === undefined ? LOOKS[state] : { icon, color: 'charts.orange' };
}

/** A look as an icon of a tree row. */
export function themeIcon(look: Look): vscode.ThemeIcon {
  return new vscode.ThemeIcon(look.icon, look.color === undefined ? undefined : new vscode.ThemeColor(look.color));
}

/** A state in words, in the editor's language. */
export function stateLabel(state: TaskState): string {
  return vscode.l10n.t(STATE_LABELS[state]);
}

/** A recovery action in words, in the editor's language. */
export function recoveryLabel(action: RecoveryAction): string {
  return vscode.l10n.t(ACTION_LABELS[action]);
}

/** How a task is doing, where that is more than its state, at a time in ms. Shown in tree, status bar and tooltips. */
export function healthLabel(diagnosis: Diagnosis, now: number): string | undefined {
  switch (diagnosis.kind) {
    case 'crashed':
    case 'recovering':
      return stateLabel('recovering');
    case 'quiet': {
      const age = now - diagnosis.since;
      return age < 60_000 ? vscode.l10n.t('Quiet') : vscode.l10n.t('Quiet for {0}', coarseAge(age));
    }
    case 'agent_left':
      return vscode.l10n.t('Agent exited');
    case 'over':
    case 'waiting':
    case 'working':
    case 'recent':
      return undefined;
  }
}
