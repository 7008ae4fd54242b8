/* A small extension that looks at its own extension host and answers what a `Probe` asks; built by `buildExtensions`. */
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import type { AtlasApi } from '../../../../src/extension/api';
import type { TaskRef } from '../../../../src/core/task/taskRef';
import { eventually } from '../../../host/support/gitApi';
import { takeSample } from './sample';
import { Ticker } from './ticker';

const ticker = new Ticker();
const subscriptions: vscode.Disposable[] = [];
let tell: (event: Told) => void = () => undefined;

/** What the probe tells unasked: when (ms since 1970) a watched file or a task changed. */
export type Told = { readonly event: 'file' | 'task'; readonly at: number };

async function atlas(): Promise<AtlasApi> {
  const extension = vscode.extensions.getExtension<AtlasApi>('atlas-hooks.atlas-hooks');
  if (extension === undefined) throw new Error('the extension is missing');
  const api = await extension.activate();
  await api.ready;
  return api;
}

const ANSWERS = {
  /** Waits until the extension has looked at the window's tasks. */
  ready: async (): Promise<void> => {
    await atlas();
  },
  /** How long the activation of the extension beside this one took until its promise was kept, in ms. */
  activated: (): number => (globalThis as { benchActivated?: number }).benchActivated ?? NaN,
  /** Memory, handles and listeners, after a collection. */
  sample: () => takeSample(new vscode.EventEmitter<void>()),
  /** Tells from now on of changes of the files in a folder, by a watcher of VS Code's, and of tasks, by the extension's API. */
  watch: async (folder: string): Promise<void> => {
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(folder), '*'));
    const onFile = (): void => tell({ event: 'file', at: Date.now() });
    const { onDidChangeTask } = await atlas();
    const onTask = (ref: TaskRef | undefined): void => {
      if (ref !== undefined) tell({ event: 'task', at: Date.now() });
    };
    subscriptions.push(watcher, watcher.onDidChange(onFile), onDidChangeTask(onTask));
  },
  /** Waits until the window knows a task by a history of this length, in this state. */
  knows: async ({ ref, history, state }: { ref: TaskRef; history: number; state: string }): Promise<true> => {
    const api = await atlas();
    return eventually(api.onDidChangeTask, () => {
      const hook = api.task(ref)?.hook;
      return hook?.state === state && hook.history.length === history ? true : undefined;
    });
  },
  /** Starts looking for hold-ups of the event loop. */
  startTicks: (): void => ticker.start(),
  /** Ends that and gives the longest one. */
  stopTicks: () => ticker.stop(),
} as const satisfies Record<string, (arg: never) => unknown>;

/** What can be asked. */
export type Answers = typeof ANSWERS;

/** Called by VS Code: signs in at the process that opened the window. */
export function activate(): void {
  const socket = createConnection(Number(process.env['HOST_PROBE_PORT']), '127.0.0.1');
  const send = (message: object): void => void socket.write(`${JSON.stringify(message)}\n`);
  tell = send;
  createInterface(socket).on('line', (line) => {
    const [id, name, arg] = JSON.parse(line) as [number, keyof Answers, never];
    const answer: (arg: never) => unknown = ANSWERS[name];
    Promise.resolve(arg)
      .then(answer)
      .then(
        (result: unknown) => send({ id, result }),
        (error: unknown) => send({ id, error: String(error) }),
      );
  });
}
