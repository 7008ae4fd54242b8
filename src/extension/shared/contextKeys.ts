import * as vscode from 'vscode';

/** The context keys that menus and commands depend on. */
export interface ContextKeys {
  /** Whether the store was looked at, so that "no task" is an answer. */
  readonly 'atlas.ready': boolean;
  /** Whether this window has a task that isn't finished. */
  readonly 'atlas.hasOpenTask': boolean;
  /** Whether the store has any task, finished ones included. */
  readonly 'atlas.hasTask': boolean;
  /** Whether an inbox of this window's workspaces was ever used. */
  readonly 'atlas.hasInbox': boolean;
  /** Whether one of them has an item that is neither done nor cancelled. */
  readonly 'atlas.hasOpenInboxItem': boolean;
  /** Whether a repository of this window has workers. */
  readonly 'atlas.hasWorkers': boolean;
  /** Whether agents' sessions are observed, or one of this window's repositories is kept. */
  readonly 'atlas.hasSessions': boolean;
  /** Whether the store's root can't be used. */
  readonly 'atlas.storeDamaged': boolean;
  /** Whether this window ever had a task. */
  readonly 'atlas.hasStartedTask': boolean;
  /** Whether a step of a task in this window was ever started. */
  readonly 'atlas.hasStartedStep': boolean;
  /** Whether a task in this window has a checkpoint. */
  readonly 'atlas.hasCheckpoint': boolean;
  /** Whether a task in this window was ever interrupted. */
  readonly 'atlas.hasRecovered': boolean;
  /** Whether a HOOK.md was shown in this window. */
  readonly 'atlas.hasOpenedHookMd': boolean;
  /** Whether an agent was set up in this window. */
  readonly 'atlas.hasSetUpAgent': boolean;
  /** Whether the tree shows only the tasks that need a person. */
  readonly 'atlas.showsOnlyNeedsYou': boolean;
  /** Whether the tree shows all workspaces instead of this window's. */
  readonly 'atlas.showsAllWorkspaces': boolean;
}

const known = new Map<string, unknown>();

/** Sets a context key, if it isn't so already. */
export function setContext<K extends keyof ContextKeys>(key: K, value: ContextKeys[K]): void {
  if (known.get(key) === value) return;
  known.set(key, value);
  void vscode.commands.executeCommand('setContext', key, value);
}
