import type * as vscode from 'vscode';
import type { Result } from '../../core/shared/errors';
import type { Updated } from '../../core/task/storedTask';
import type { GitBridge } from '../gitHooks/gitBridge';
import type { InboxWindow } from '../inbox/inboxWindow';
import type { LatePanels } from '../panels';
import type { ChannelLogger } from './log';
import type { TextDocuments } from './textDocuments';
import type { Verdicts } from '../receipts/verdicts';
import type { WindowTasks } from '../windowTasks';
import type { SessionsWindow } from '../sessions/sessionsWindow';
import type { TasksTree } from '../tasks/tree/tasksTree';
import type { WorkersWindow } from '../workers/workersWindow';

/** What the commands act on. */
export interface CommandContext {
  readonly session: WindowTasks;
  /** The Tasks tree, loaded when its view is to be seen. */
  readonly tree: () => Promise<TasksTree>;
  readonly log: ChannelLogger;
  /** The Git extension's news, loaded once the tasks were looked at. */
  readonly git: () => Promise<GitBridge>;
  readonly panels: LatePanels;
  /** What is remembered of this user, in every window. */
  readonly memory: vscode.Memento;
  /** Where reports are shown. */
  readonly documents: TextDocuments;
  readonly verdicts: Verdicts;
  /** The inbox, loaded with the window's view of it. */
  readonly inbox: () => Promise<InboxWindow>;
  /** The workers, loaded with the window's view of them. */
  readonly workers: () => Promise<WorkersWindow>;
  /** Agents' sessions, loaded with the window's view of them. */
  readonly sessions: () => Promise<SessionsWindow>;
  /** Where the launcher of the `atlas` command lies. */
  readonly launcherFolder: string;
  /** The terminals of validations that ended, by task: the next one takes its place. */
  readonly terminals: Map<string, { dispose(): void }>;
}

/** A command's argument for a row that the editor no longer knew when its button was pressed. */
export const LOST_ROW = Symbol('lost row');

/** A command: what it does with its argument. Errors it throws are shown. */
export type CommandHandler = (context: CommandContext, argument: unknown) => Promise<void>;

/** Takes a change's result: tells the views at once, or throws its error. */
export function took(context: CommandContext, result: Result<Updated>): Updated {
  if (!result.ok) throw result.error;
  context.session.changed(result.value.ref);
  return result.value;
}
