import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type FrameLocator, type Locator, errors } from 'playwright-core';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskRef } from '../../../src/core/task/taskRef';
import type { TaskInput } from '../../../src/core/transition/events';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { run } from '../drivers/run';
import type { GitWorkspace } from '../fixtures/gitWorkspace';
import { PROJECT } from '../project';
import type { Workbench } from './workbench';

const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
const MINUTE = 60_000;
/** The check of the sample's second step: it fails until a file says that there is a total. */
const CHECK = `import { existsSync } from 'node:fs';
console.log('invoices: 3 tests');
if (!existsSync('.git/total')) {
  console.log('AssertionError: the invoices have no total');
  process.exit(1);
}
console.log('invoices: 3 passed');
`;
const TEMPLATE = {
  id: 'shared',
  description: 'Steps that an agent and a person share',
  steps: [
    { name: 'analyze', type: 'ai' },
    { name: 'implement', type: 'ai', validation: ['node check.mjs'], max_attempts: 2 },
    { name: 'git_commit', type: 'git' },
    { name: 'code_review', type: 'human' },
  ],
};

/** A task on its way to a state: what a person, an agent and their processes do to it. */
class Actor {
  constructor(
    private readonly atlas: Atlas,
    readonly ref: TaskRef,
    private readonly folder: string,
    /** Resolves once a person has been notified of where the task is now, and has dismissed it. */
    readonly seen: () => Promise<void>,
  ) {}

  async send(...inputs: readonly TaskInput[]): Promise<this> {
    for (const input of inputs) unwrap(await this.atlas.send(this.ref, { by: 'human', ...input }));
    return this;
  }

  async start(workingOn?: string): Promise<this> {
    unwrap(await this.atlas.startStep(this.ref, workingOn === undefined ? {} : { workingOn }));
    return this;
  }

  /** The first step is done, and an agent is in the middle of the second. */
  async work(): Promise<this> {
    await this.start();
    await this.send({ type: 'step_complete', summary: 'Invoices belong into a table of their own.' });
    await this.start('The table of the invoices');
    await this.send({ type: 'checkpoint', trigger: 'manual', description: 'The table is there' });
    return this.send({ type: 'note', workingOn: 'The total of the invoices' });
  }

  /** The agent is killed, and a person decides at once how the step continues. */
  async killed(action: 'manual' | 'retry_step'): Promise<this> {
    this.ended({ signal: 'SIGKILL' });
    unwrap(await this.atlas.recover(this.ref, { action, by: 'human' }));
    return this;
  }

  /** Runs the step's check, for real. */
  async validate(): Promise<this> {
    unwrap(await this.atlas.validate(this.ref, { caller: 'human', signal: new AbortController().signal }));
    return this;
  }

  /** As {@link validate}, where the check passes. The file that it looks for is none of the worktree's. */
  async pass(): Promise<this> {
    const total = path.join(this.folder, '.git', 'total');
    writeFileSync(total, '');
    await this.send({ type: 'step_output', summary: 'The invoices have a table and a total.' });
    await this.validate();
    rmSync(total);
    return this;
  }

  /** The agent's process owned the step, and ended. */
  ended(exit: { readonly code?: number; readonly signal?: string }): this {
    const { current_step: step } = unwrap(this.atlas.catalog.read(this.ref)).hook;
    if (step === undefined) throw new Error('no step to own');
    this.atlas.owners.adopt(this.ref, 'agent', { stepIndex: step.step_index, attempt: step.attempt });
    this.atlas.owners.signOff(this.ref, exit);
    return this;
  }

  /** A window owns the task, so that silence is no crash. */
  watched(): this {
    this.atlas.owners.adopt(this.ref, 'window');
    return this;
  }
}

/** A state that a person can find a task in. */
export interface MatrixState {
  /** The task's title. */
  readonly title: string;
  /** What its row in the tree says once the window has seen it. */
  readonly row: string;
  /** How long ago it came there, in ms. */
  readonly ago?: number;
  /** What its notification says, where there is one. */
  readonly notifies?: string;
  readonly reach: (actor: Actor) => Promise<Actor>;
}

const QUESTION = 'Which database should keep the invoices?';

/**
 * Every state with the finer ones of it that a person tells apart. The later one needs a person more, so that each, while
 * those before it are still there, is the one that the status bar is about.
 */
export const MATRIX = {
  abandoned: {
    title: 'Fax the invoices',
    row: 'Abandoned',
    reach: async (actor) => (await actor.work()).send({ type: 'abandon', reason: 'Nobody has a fax.' }),
  },
  failed: {
    title: 'Fetch the rates',
    row: 'Failed',
    reach: async (actor) => (await actor.work()).send({ type: 'fail', reason: 'The service of the rates is gone.' }),
  },
  completed: {
    title: 'List the customers',
    row: 'Completed',
    reach: async (actor) => {
      await (await actor.work()).pass();
      await actor.start();
      await actor.send({ type: 'step_complete', nothingToDo: 'Committed with the work before' });
      await (await actor.start()).seen();
      return actor.send({ type: 'human_approve' });
    },
  },
  ready: {
    title: 'Mail the invoices',
    row: 'Ready',
    reach: async (actor) => Promise.resolve(actor),
  },
  'sent-back': {
    title: 'Sort the invoices',
    row: 'Ready',
    reach: async (actor) => {
      await (await actor.work()).validate();
      await actor.seen();
      return actor.send({ type: 'human_reject', reason: 'Sort by date, newest first' });
    },
  },
  'accepted-despite-failure': {
    title: 'Group the invoices',
    row: 'Ready',
    reach: async (actor) => {
      await (await actor.work()).validate();
      await actor.seen();
      return actor.send({ type: 'human_approve', reason: 'The total comes with the next task' });
    },
  },
  running: {
    title: 'Translate the invoices',
    row: 'Running',
    reach: async (actor) => actor.work(),
  },
  validating: {
    title: 'Check the addresses',
    row: 'Validating',
    reach: async (actor) => (await actor.work()).send({ type: 'step_output', summary: 'All addresses are checked' }),
  },
  quiet: {
    title: 'Archive the invoices',
    row: 'Quiet for 12 min',
    ago: 12 * MINUTE,
    reach: async (actor) => actor.watched().work(),
  },
  left: {
    title: 'Number the invoices',
    row: 'Agent exited: Number the invoices',
    reach: async (actor) => (await actor.work()).ended({ code: 0 }),
  },
  review: {
    title: 'Print the invoices',
    row: 'review',
    notifies: 'ready for your review',
    reach: async (actor) => {
      await (await actor.work()).pass();
      await actor.start();
      await actor.send({ type: 'step_complete', nothingToDo: 'Committed with the work before' });
      return actor.start();
    },
  },
  'interruption-to-decide': {
    title: 'Send the reminders',
    row: 'interruption',
    notifies: 'Decide how',
    reach: async (actor) => (await actor.work()).killed('manual'),
  },
  'attempts-spent': {
    title: 'Round the amounts',
    row: 'all attempts used',
    notifies: 'used up',
    reach: async (actor) => {
      await actor.work();
      await actor.killed('retry_step');
      await (await actor.start()).killed('retry_step');
      return actor.start();
    },
  },
  'failed-step': {
    title: 'Convert the currencies',
    row: 'failed step',
    notifies: 'gave up',
    reach: async (actor) =>
      (await actor.work()).send({
        by: 'agent',
        type: 'human_required',
        kind: 'step_failed',
        message: 'The rates need a key that I do not have.',
      }),
  },
  'failed-check': {
    title: 'Add up the invoices',
    row: 'failed check',
    notifies: 'A check failed',
    reach: async (actor) => (await actor.work()).validate(),
  },
  question: {
    title: 'Store the invoices',
    row: 'question',
    notifies: 'has a question',
    reach: async (actor) =>
      (await actor.work()).send({ by: 'agent', type: 'human_required', kind: 'question', message: QUESTION }),
  },
  interrupted: {
    title: 'Import the orders',
    row: 'Interrupted: Import the orders',
    notifies: 'was interrupted',
    reach: async (actor) => (await actor.work()).ended({ signal: 'SIGKILL' }),
  },
} as const satisfies Readonly<Record<string, MatrixState>>;

/** The name of one of {@link MATRIX}. */
export type StateName = keyof typeof MATRIX;

/** All states, what needs a person most last. */
export const STATES = Object.entries(MATRIX) as readonly (readonly [StateName, MatrixState])[];

/** Writes the sample's template, check and changes into a repository. */
export async function prepareMatrix(workspace: GitWorkspace): Promise<void> {
  const { folder, atlasHome } = workspace;
  // A periodic checkpoint comes when it comes.
  writeFileSync(path.join(atlasHome, 'config.yaml'), 'hooks:\n  checkpoint_interval: 24h\n');
  const templates = path.join(folder, '.atlas', 'templates');
  mkdirSync(templates, { recursive: true });
  writeFileSync(path.join(templates, 'shared.yaml'), JSON.stringify(TEMPLATE));
  writeFileSync(path.join(folder, 'check.mjs'), CHECK);
  writeFileSync(path.join(folder, 'orders.sql'), 'CREATE TABLE orders (id INTEGER);\n');
  await workspace.git('add', '.');
  await workspace.git('commit', '--quiet', '--message', 'orders');
  writeFileSync(path.join(folder, 'orders.sql'), 'CREATE TABLE orders (id INTEGER, customer TEXT);\n');
  writeFileSync(path.join(folder, 'invoices.sql'), 'CREATE TABLE invoices (id INTEGER, amount INTEGER);\n');
}

/** Waits until a window notifies of a task, and dismisses that. */
export async function notified(workbench: Workbench, { title }: MatrixState): Promise<void> {
  await workbench.toast(title).first().waitFor();
  await workbench.dismissNotifications();
}

/**
 * Brings a new task into a state.
 * @param seen waits until a person has been notified of a moment on the way there; not at all where there is no window
 */
export async function reach(
  { folder, atlasHome }: GitWorkspace,
  state: MatrixState,
  seen: () => Promise<void> = async () => Promise.resolve(),
): Promise<TaskRef> {
  const began = Date.now();
  // Five seconds later it is another age, and of no more interest.
  const clock = { now: () => Date.now() - (state.ago ?? 0) };
  const atlas = new Atlas({ ...systemPorts(atlasHome, '0.0.0', silentLog), clock });
  const { ref } = unwrap(await atlas.startTask({ title: state.title, template: 'shared', folder }));
  await state.reach(new Actor(atlas, ref, folder, seen));
  if (Date.now() - began > MINUTE / 2) throw new Error(`${state.title} took too long`);
  return ref;
}

/** Waits until a window shows a task in a state, and reads what every surface says of it. */
export async function readSurfaces(
  workbench: Workbench,
  { env, folder }: GitWorkspace,
  [state, ref]: readonly [MatrixState, TaskRef],
): Promise<string> {
  const said = async (locator: Locator): Promise<string> =>
    (await locator.count()) === 0 ? '(nothing)' : locator.first().innerText();
  // It is read at once, as the editor soon hides it.
  let notification: string | undefined;
  const toast = workbench.toast(state.title).filter({ hasText: state.notifies ?? '' });
  if (state.notifies !== undefined) {
    await toast.first().waitFor();
    notification = await said(toast);
  }
  if (isOver(state)) await workbench.expand(workbench.treeRows(/^Finished/u).first());
  const row = workbench.treeRows(state.title).filter({ hasText: state.row }).first();
  await row.waitFor();
  const status = workbench.statusItem(STATUS);
  if (!isOver(state)) await status.filter({ hasText: state.title }).waitFor();
  const panel = await openPanel(workbench, state);
  const cli = path.join(PROJECT, 'dist', 'cli.js');
  const printed = await run(process.execPath, [cli, 'status', '--task', ref.id], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  const label = async (locator: Locator): Promise<string> =>
    (await locator.count()) === 0 ? '' : ((await locator.first().getAttribute('aria-label')) ?? '');
  const parts: readonly (readonly [string, string])[] = [
    ['Tree', `${await said(row.locator('.monaco-icon-label'))}\nRead aloud: ${await label(row)}`],
    ['Status bar', `${await said(status)}\nRead aloud: ${await label(status.locator('a'))}`],
    ['Badge', await said(workbench.activityBadge('Atlas').filter({ hasText: /\d/u }))],
    ['Notification', notification ?? (await said(toast))],
    ['Panel', await panel.locator('#root').innerText()],
    ['Command line', printed],
  ];
  const text = parts.map(([name, value]) => `## ${name}\n\n${value.trim()}\n`).join('\n');
  return steady(text, ref);
}

/** How long a panel may take to come after the click on its row. */
const OPEN = { timeout: 5000 };
const MAX_TRIES = 4;

/**
 * Opens the panel of a task by its row, and waits until all is in it that is looked up later: its changes, and whether its
 * receipts are valid. A row that is drawn again just then makes the editor ask which task is meant; then the click comes
 * again.
 */
export async function openPanel(workbench: Workbench, { title }: MatrixState): Promise<FrameLocator> {
  const panel = workbench.webview();
  for (let tries = 1; ; tries += 1) {
    await workbench.treeRows(title).first().click();
    try {
      await panel.locator('h1', { hasText: title }).waitFor(OPEN);
      break;
    } catch (error) {
      if (!(error instanceof errors.TimeoutError) || tries === MAX_TRIES) throw error;
      await workbench.page.keyboard.press('Escape');
    }
  }
  await panel.locator('.changes').waitFor();
  await panel.locator('.fact', { hasText: 'Not checked' }).first().waitFor({ state: 'detached' });
  return panel;
}

/** Whether a task is among the finished ones. */
export function isOver({ row }: MatrixState): boolean {
  return ['Completed', 'Failed', 'Abandoned'].includes(row);
}

/** Without what differs from run to run: ids, times, ages, places. */
function steady(text: string, ref: TaskRef): string {
  return text
    .replaceAll(ref.id, '<task>')
    .replaceAll(ref.workspace, '<workspace>')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/gu, '<moment>')
    .replaceAll(/\b(?:ckpt|rcpt)-[0-9a-z-]+/gu, '<id>')
    .replaceAll(/\b\d{1,2}:\d\d(?::\d\d)?(?:[\s\u202f][AP]M)?/gu, '<time>')
    .replaceAll(
      /\b(?:(?:only|less than) )?\d+(?:\.\d+)?\s?(?:ms|s|min|seconds?|minutes?)\b(?: ago)?|\bnow\b/gu,
      '<age>',
    )
    .replaceAll(/(?:\/[^\s/]+)+\/(?=workspaces\/|repo\b)/gu, '<store>/')
    .replaceAll(/[ \t]+$/gmu, '');
}
