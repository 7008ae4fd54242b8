import * as vscode from 'vscode';
import { type AtlasError, explain } from '../../core/shared/errors';
import { stepLabel } from '../../core/task/labels';
import { needsPerson, urgencyOf } from '../../core/task/urgency';
import { refKey, type TaskRef } from '../../core/task/taskRef';
import { insideWorktree } from '../../system/files/worktreePath';
import { affects, setting } from '../shared/config';
import { plain } from '../shared/messages';
import { type Attention, type TaskView, type WindowTasks, rankedView } from '../windowTasks';
import { ageOf } from '../shared/ages';
import { healthLabel, lookOf, stateLabel } from '../shared/stateLook';

/** The one item in the status bar: the task of the active editor's folder, or of any folder of this window. */
export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('atlas.status', vscode.StatusBarAlignment.Left, 50);
  private readonly subscriptions: vscode.Disposable[];
  /** The task that the tooltip is about. */
  private explained: TaskView | undefined;

  constructor(private readonly session: WindowTasks) {
    this.item.name = vscode.l10n.t('Atlas Task');
    this.subscriptions = [
      session.onDidChange(() => this.update()),
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (affects(event, 'statusBar.enabled')) this.update();
      }),
    ];
    this.update();
  }

  private update(): void {
    if (!setting('statusBar.enabled')) {
      this.item.hide();
      return;
    }
    const damaged = this.firstDamaged();
    const ranked = this.session.ranked();
    const view = mostUrgent(this.session, ranked);
    const { attention } = this.session;
    const needing = ranked.filter((each) => needsPerson(rankedView(each))).length + (attention?.count ?? 0);
    // A task that needs nobody gives way to a session that does.
    if (view !== undefined && (attention === undefined || needsPerson(rankedView(view)))) this.show(view, needing);
    else if (attention !== undefined) this.showSession(attention, needing);
    else if (damaged !== undefined) this.showDamaged(damaged);
    else this.item.hide();
  }

  private show(view: TaskView, needing: number): void {
    const { hook, task, ref } = view.stored;
    const now = this.session.atlas.ports.clock.now();
    const step = hook.current_step;
    const last = hook.checkpoints.at(-1);
    const where =
      step === undefined
        ? ''
        : ` · ${plain(stepLabel(step.step_name), 30)} ${step.step_index + 1}/${task.steps.length}`;
    const age = last === undefined ? '' : ` $(bookmark) ${ageOf(last.created_at, now)}`;
    const more = needing < 2 ? '' : ` · ${vscode.l10n.t('{0} need you', needing)}`;
    const health = healthLabel(view.diagnosis, now);
    const state = stateLabel(hook.state);
    const title = plain(task.description, 30);
    const text =
      health !== undefined
        ? `$(warning) ${health} · ${title}${where}${age}`
        : hook.state === 'awaiting_human'
          ? `$(bell-dot) ${title}: ${state}${where}`
          : `$(${lookOf(hook.state).icon}) ${title}${where}${age}`;
    this.item.text = text + more;
    // Waiting is neither a warning nor an error, and those are all the backgrounds there are. No colour of the text
    // either: one that is made for a background can't be read without it.
    this.item.backgroundColor =
      health === undefined ? undefined : new vscode.ThemeColor('statusBarItem.warningBackground');
    void this.explain(view, now);
    this.run('atlas.showTaskActions', vscode.l10n.t('Show Task Actions'), ref);
    this.item.accessibilityInformation = {
      label: vscode.l10n.t(
        'Atlas task {0}, {1}',
        plain(task.description),
        `${health === undefined || health === state ? state : `${state}, ${health}`}${more}`,
      ),
      role: 'button',
    };
    this.item.show();
  }

  /** What a click runs. The same is not set again: the editor drops the argument of the last one before it has the next. */
  private run(command: string, title: string, ref: TaskRef): void {
    const next = { command, title, arguments: [{ kind: 'task', ref }] };
    if (JSON.stringify(next) !== JSON.stringify(this.item.command)) this.item.command = next;
  }

  private showSession({ text, tooltip, interrupted }: Attention, needing: number): void {
    const more = needing < 2 ? '' : ` · ${vscode.l10n.t('{0} need you', needing)}`;
    this.item.text = `$(${interrupted ? 'warning' : 'bell-dot'}) ${text}${more}`;
    this.explained = undefined;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = interrupted ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.command = 'atlas.sessions.focus';
    this.item.accessibilityInformation = { label: tooltip, role: 'button' };
    this.item.show();
  }

  /** What is told where the pointer rests comes a moment later: no window waits for it. */
  private async explain(view: TaskView, now: number): Promise<void> {
    this.explained = view;
    const { taskTooltip } = await import('./taskTooltip');
    if (this.explained === view) this.item.tooltip = taskTooltip(view, now);
  }

  private firstDamaged(): { ref: TaskRef; error: AtlasError } | undefined {
    for (const workspace of this.session.ownWorkspaces()) {
      for (const ref of this.session.atlas.catalog.open(workspace)) {
        const read = this.session.atlas.catalog.read(ref);
        if (!read.ok) return { ref, error: read.error };
      }
    }
    return undefined;
  }

  private showDamaged(damaged: { ref: TaskRef; error: AtlasError }): void {
    const newer = damaged.error.code === 'too_new';
    const what = newer ? vscode.l10n.t('Atlas: update needed') : vscode.l10n.t('Atlas: damaged task');
    this.item.text = `${newer ? '$(lock)' : '$(error)'} ${what}`;
    this.explained = undefined;
    this.item.tooltip = plain(`${refKey(damaged.ref)}: ${explain(damaged.error)}`, 500);
    this.item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
    this.run('atlas.runDoctor', vscode.l10n.t('Run Doctor'), damaged.ref);
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** The task that a person most likely means: the most urgent, of equally urgent ones that of the active editor's repository. */
function mostUrgent(session: WindowTasks, ranked: readonly TaskView[]): TaskView | undefined {
  const [first] = ranked;
  if (first === undefined) return undefined;
  const file = vscode.window.activeTextEditor?.document.uri;
  const path = file?.scheme === 'file' ? file.fsPath : undefined;
  const place = session.ownPlaces.find(
    ({ worktree }) => path !== undefined && insideWorktree(worktree, path) !== undefined,
  );
  const urgency = urgencyOf(rankedView(first));
  const equal = ranked.filter((view) => urgencyOf(rankedView(view)) === urgency);
  return equal.find(({ stored }) => stored.ref.workspace === place?.workspace) ?? first;
}

/** The task that a person most likely means. */
export function currentTask(session: WindowTasks): { ref: TaskRef } | undefined {
  return mostUrgent(session, session.ranked())?.stored;
}
