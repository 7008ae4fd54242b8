import type { Result } from '../../core/errors';
import type { Updated } from '../../storage/stored';
import type { TaskRef } from '../../storage/paths';
import type { GitBridge } from '../git/gitBridge';
import type { ChannelLogger } from '../platform/log';
import type { Verdicts } from '../receipts/verdicts';
import type { Session } from '../session';
import type { TasksTree } from '../views/tasksTree';

/** What the commands act on. */
export interface CommandContext {
  readonly session: Session;
  readonly tree: TasksTree;
  readonly log: ChannelLogger;
  readonly git: GitBridge;
  /** Opens or shows the HOOK.md panel of a task. */
  readonly openPanel: (ref: TaskRef) => void;
  /** Opens or shows a task's receipts, and the details of one of them. */
  readonly openReceipts: (ref: TaskRef, receiptId?: string) => void;
  readonly verdicts: Verdicts;
}

/** A command: what it does with its argument. Errors it throws are shown. */
export type CommandHandler = (context: CommandContext, argument: unknown) => Promise<void>;

/** Takes a change's result: tells the views at once, or throws its error. */
export function took(context: CommandContext, result: Result<Updated>): Updated {
  if (!result.ok) throw result.error;
  context.session.changed(result.value.ref);
  return result.value;
}
