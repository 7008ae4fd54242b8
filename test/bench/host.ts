import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildExtensions } from '../support/vscode/probe/extensions';
import type { Probe } from '../support/vscode/probe/probe';
import type { Sample } from '../support/vscode/probe/sample';
import type { HoldUp } from '../support/vscode/probe/ticker';
import { type ProbedWindow, STATUS, openProbedWindow } from '../support/vscode/probe/window';
import { addFinishedTasks } from '../support/fixtures/manyTasks';
import { type TestStore, makeStore } from '../support/fixtures/store';
import { type Worker, WorkerPool } from '../support/processes/workerPool';
import type { Workbench } from '../support/vscode/workbench';
import { type Row, medianOf } from './rows';
import type { Change } from './workers/hostChanges';

const TASKS = 10_000;
const OPEN = 100;
const STARTS = 5;
/** Changes while the tree is open, and the time between two of them, in ms. */
const REFRESHES = 5;
const REFRESH_PAUSE_MS = 500;
const CHANGES = 55;
/** Between a change and the next of the same kind lies more than twice this, in ms. */
const PAUSE_MS = 1000;

const ACTIVATION_BAR_MS = 40;
const HOLD_UP_BAR_MS = 50;
const MEMORY_BAR_MB = 40;
const SEEN_BAR_MS = 300;

/** What one start of a window came to. `activation`: as VS Code reports it; `activated`: until all was done; in ms. */
interface Start {
  readonly activation: number;
  readonly activated: number;
  readonly holdUp: HoldUp;
  readonly sample: Sample;
}

/** A window, how its extension is called in the list of running ones, and what is done in it while hold-ups are looked for. */
interface Measured {
  readonly window: ProbedWindow;
  readonly name: string;
  readonly isOurs: boolean;
  readonly use: (workbench: Workbench) => Promise<void>;
}

/** Makes the store: one task is running, so that the status bar shows it, the other open ones have not begun. */
async function fill(): Promise<{ store: TestStore; workspace: string; task: string }> {
  const store = makeStore();
  await addFinishedTasks(store, TASKS - OPEN);
  for (let made = 1; made < OPEN; made += 1) await store.start('task');
  const { workspace, id } = await store.running('task');
  return { store, workspace, task: id };
}

/** Whether the bell of a waiting task shows in both, tree and status bar. Resolves, in the page, with when it was so (ms since 1970). */
const seenScript = (waiting: boolean): string => `globalThis.atlasSeen = new Promise((resolve) => {
  const isThere = (selector) => document.querySelector(selector + ' .codicon-bell-dot') !== null;
  const look = () => {
    if (['.statusbar-item[id="${STATUS}"]', '.pane-body .monaco-list-row'].some((each) => isThere(each) !== ${waiting})) return;
    observer.disconnect();
    resolve(Date.now());
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true });
  look();
}), undefined`;

/** Has the task toggled by the other process, and waits until tree and status bar show it; times in ms since 1970. */
async function toggle(workbench: Workbench, changer: Worker, waits: boolean): Promise<{ begun: number; seen: number }> {
  await workbench.page.evaluate(seenScript(waits));
  const { begun, waiting } = JSON.parse(await changer.asked('task')) as Change;
  if (waiting !== waits) throw new Error('the task is not as it was thought to be');
  return { begun, seen: await workbench.page.evaluate<number>('globalThis.atlasSeen') };
}

/** The activation time (ms) that VS Code shows for an extension: loading its code and calling it. */
async function activationOf(workbench: Workbench, name: string): Promise<number> {
  await workbench.palette('Developer: Show Running Extensions');
  const row = workbench.page.locator('.runtime-extensions-editor .monaco-list-row', { hasText: name });
  const time = row.locator('.activation-time', { hasText: /\d/u });
  const ms = /(\d+) ?ms/u.exec(await time.innerText())?.[1];
  if (ms === undefined) throw new Error(`VS Code does not say how long ${name} took`);
  return Number(ms);
}

async function startOf({ window, name, isOurs, use }: Measured, probe: Probe): Promise<Start> {
  if (isOurs) await probe.ask('ready');
  const activation = await activationOf(window.workbench, name);
  const activated = await probe.ask('activated');
  await probe.ask('startTicks');
  await use(window.workbench);
  const holdUp = await probe.ask('stopTicks');
  return { activation, activated, holdUp, sample: await probe.ask('sample') };
}

/** The tree with all that can be seen of the store, while a task changes. */
async function useTree(workbench: Workbench, changer: Worker): Promise<void> {
  await workbench.openSidebar('Atlas');
  await workbench.treeRows('Sample').first().waitFor();
  for (let count = 0; count < REFRESHES * 2; count += 1) {
    await toggle(workbench, changer, count % 2 === 0);
    await sleep(REFRESH_PAUSE_MS);
  }
  await workbench.openSidebar('Explorer');
}

/** As much time with the same views of the editor itself. */
async function useExplorer(workbench: Workbench): Promise<void> {
  await workbench.openSidebar('Search');
  for (let count = 0; count < REFRESHES * 2; count += 1) await sleep(REFRESH_PAUSE_MS);
  await workbench.openSidebar('Explorer');
}

function percentile95(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? NaN;
}

/** VS Code doesn't tell when a watcher that was made sees what happens: the file is written until it does. */
async function watcherIsUp(probe: Probe, changer: Worker): Promise<void> {
  const seen = probe.next('file').then(() => true);
  do await changer.asked('file');
  while (!(await Promise.race([seen, sleep(PAUSE_MS, false)])));
  await sleep(PAUSE_MS); // what was written last is seen by then too
}

async function changeRows({ workbench }: ProbedWindow, probe: Probe, changer: Worker, folder: string): Promise<Row[]> {
  await workbench.openSidebar('Atlas');
  await workbench.treeRows('Sample').first().waitFor();
  await probe.ask('watch', folder);
  await watcherIsUp(probe, changer);
  const [files, known, shown]: number[][] = [[], [], []];
  for (let count = 0; count < CHANGES; count += 1) {
    const fileSeen = probe.next('file');
    const { begun: written } = JSON.parse(await changer.asked('file')) as Change;
    files?.push((await fileSeen) - written);
    await sleep(PAUSE_MS);
    const taskSeen = probe.next('task');
    const { begun, seen } = await toggle(workbench, changer, count % 2 === 0);
    known?.push((await taskSeen) - begun);
    shown?.push(seen - begun);
    await sleep(PAUSE_MS);
  }
  const [file, api, drawn] = [files ?? [], known ?? [], shown ?? []].map(percentile95) as [number, number, number];
  const beside = { what: 'a file that a VS Code watcher sees, p95', amount: file, ratio: 'times' } as const;
  const what = `change by another process (${CHANGES}, p95), from before it is made until`;
  return [
    { what: `${what} extensions hear of it`, amount: api, beside },
    {
      what: `${what} tree and status bar show it`,
      amount: drawn,
      beside,
      bar: { text: `≤ 2 × or ≤ ${SEEN_BAR_MS} ms`, met: drawn <= 2 * file || drawn <= SEEN_BAR_MS },
    },
  ];
}

function startRows(ours: readonly Start[], control: readonly Start[]): Row[] {
  const row = (what: string, unit: 'ms' | 'MB', limit: number | undefined, of: (start: Start) => number): Row => {
    const [amount, empty] = [medianOf(ours.map(of)), medianOf(control.map(of))];
    const beside = { what: 'an empty extension', amount: empty, ratio: 'times' } as const;
    const bar = limit === undefined ? {} : { bar: { text: `≤ ${limit} ${unit} more`, met: amount - empty <= limit } };
    return { what, amount, unit, beside, ...bar };
  };
  const store = `${TASKS.toLocaleString('en')} tasks, ${OPEN} open`;
  const hold = `longest hold-up of the extension host, tree open and drawn ${REFRESHES * 2} times, ${store}`;
  return [
    row(`activation as VS Code reports it, ${store}`, 'ms', ACTIVATION_BAR_MS, (start) => start.activation),
    row(`activation until its promise is kept, ${store}`, 'ms', undefined, (start) => start.activated),
    row(hold, 'ms', HOLD_UP_BAR_MS, (start) => start.holdUp.longest),
    row(`${hold}, without what other programs took`, 'ms', undefined, (start) => start.holdUp.longestOnProcessor),
    row(`memory of the extension host after a collection, ${store}`, 'MB', MEMORY_BAR_MB, (start) => start.sample.heap),
    row('the same with what lies outside of the heap', 'MB', undefined, ({ sample }) => sample.heap + sample.external),
  ];
}

/** Starts windows in turns, so that what else the machine does falls on both. */
async function startsOf(measured: readonly Measured[]): Promise<{ starts: Start[][]; probes: Probe[] }> {
  const starts = measured.map((): Start[] => []);
  const probes = measured.map(({ window }) => window.probe);
  // The first start of each fills the editor's own caches.
  for (let count = 0; count <= STARTS; count += 1) {
    for (const [index, each] of measured.entries()) {
      const probe = count === 0 ? each.window.probe : await each.window.reload();
      probes[index] = probe;
      const start = await startOf(each, probe);
      if (process.env['BENCH_VERBOSE'] !== undefined) console.log(JSON.stringify({ name: each.name, ...start }));
      if (count > 0) starts[index]?.push(start);
    }
  }
  return { starts, probes };
}

/** What a window costs, in a real VS Code, beside one with an empty extension. */
export async function hostRows(root: string): Promise<Row[]> {
  const extensions = await buildExtensions(path.join(root, 'extensions'));
  const { store, workspace, task } = await fill();
  const plain = path.join(root, 'plain');
  mkdirSync(plain);
  const file = path.join(plain, 'file');
  writeFileSync(file, '');
  const pool = await WorkerPool.open('test/bench/workers/hostChanges.ts');
  const changer = pool.start('changes', store.root, [workspace, task, file]);
  const windows: ProbedWindow[] = [];
  const open = async (extension: string): Promise<ProbedWindow> => {
    const window = await openProbedWindow({
      workspace: store.folder,
      env: { ATLAS_HOME: store.root },
      // Nobody answers them.
      settings: { 'atlas.notifications.humanNeeded': false },
      extensions: [extension, extensions.probe],
      viewport: { width: 1280, height: 2000 },
    });
    windows.push(window);
    return window;
  };
  try {
    const ours = await open(extensions.atlas);
    const measured: Measured[] = [
      { window: ours, name: 'Atlas', isOurs: true, use: async (workbench) => useTree(workbench, changer) },
      { window: await open(extensions.control), name: 'empty', isOurs: false, use: useExplorer },
    ];
    const { starts, probes } = await startsOf(measured);
    const [oursStarts = [], controlStarts = []] = starts;
    const probe = probes[0] ?? ours.probe;
    return [...startRows(oursStarts, controlStarts), ...(await changeRows(ours, probe, changer, plain))];
  } finally {
    for (const window of windows) await window.close();
    await pool.close();
    store.dispose();
  }
}
