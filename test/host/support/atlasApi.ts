import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import type { AtlasApi, AtlasTask } from '../../../src/extension/api';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { run } from '../../support/drivers/run';
import { eventually } from './gitApi';

/** The running extension's API, once the window's tasks were looked at. */
export async function atlasApi(): Promise<AtlasApi> {
  const extension = vscode.extensions.getExtension<AtlasApi>('atlas-hooks.atlas-hooks');
  if (extension === undefined) throw new Error('the extension is missing');
  const api = await extension.activate();
  await api.ready;
  return api;
}

/** The folder that the window has open. */
export function workspaceFolder(): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (folder === undefined) throw new Error('no folder is open');
  return folder;
}

/** A program of its own that works on the window's store, as the command does. */
export function otherProgram(api: AtlasApi): Atlas {
  return new Atlas(systemPorts(api.root, 'test', silentLog));
}

/** Resolves with a task once it is as `fits` says. */
export async function taskWhen(api: AtlasApi, ref: TaskRef, fits: (task: AtlasTask) => boolean): Promise<AtlasTask> {
  return eventually(api.onDidChangeTask, () => {
    const task = api.task(ref);
    return task !== undefined && fits(task) ? task : undefined;
  });
}

/** Runs git in a folder. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  return run('git', args, { cwd: folder });
}

/** Writes a file of a folder, with the folders above it. */
export function write(folder: string, name: string, text: string): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Whether a file of a task is there. */
export function taskHas(task: AtlasTask, name: string): boolean {
  return existsSync(path.join(path.dirname(task.hookMd), name));
}

/** The descriptions of a task's checkpoints of one kind, oldest first. */
export function checkpointsOf(task: AtlasTask, trigger: string): string[] {
  return task.hook.checkpoints.filter((each) => each.trigger === trigger).map((each) => each.description);
}
