import * as vscode from 'vscode';

/** The part of the built-in Git extension's API that the suite uses. */
export interface GitRepository {
  readonly rootUri: vscode.Uri;
  add(paths: string[]): Promise<void>;
  commit(message: string): Promise<void>;
  push(remote?: string, branch?: string): Promise<void>;
  readonly state: {
    readonly HEAD?: { readonly commit?: string; readonly name?: string };
    onDidChange: vscode.Event<void>;
  };
}

/** The Git extension's API, version 1. */
export interface GitApi {
  readonly state: 'uninitialized' | 'initialized';
  readonly repositories: GitRepository[];
  readonly onDidOpenRepository: vscode.Event<GitRepository>;
  openRepository(root: vscode.Uri): Promise<GitRepository | null>;
}

/** Resolves with what `read` finds, now or after one of the event's next firings. */
export function eventually<T>(event: vscode.Event<unknown>, read: () => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const first = read();
    if (first !== undefined) {
      resolve(first);
      return;
    }
    const listener = event(() => {
      const value = read();
      if (value === undefined) return;
      listener.dispose();
      resolve(value);
    });
  });
}

/** Waits until the tab with that label is the active one. */
export async function activeTab(label: string): Promise<void> {
  const { tabGroups } = vscode.window;
  await eventually(tabGroups.onDidChangeTabs, () =>
    tabGroups.activeTabGroup.activeTab?.label === label ? true : undefined,
  );
}

/** The API of the real Git extension. */
export async function gitApi(): Promise<GitApi> {
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): GitApi }>('vscode.git');
  if (extension === undefined) throw new Error('the Git extension is missing');
  return (await extension.activate()).getAPI(1);
}

/** The workspace's repository, once the real Git extension has opened it. */
export async function openedRepository(): Promise<GitRepository> {
  const api = await gitApi();
  return eventually(api.onDidOpenRepository, () => api.repositories[0]);
}
