import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { WorkerPool } from '../../support/processes/workerPool';

/* Whatever surface is looked at first, all of them say the same of a task: its state, and what to do now. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let cli: BuiltCli;
let workers: WorkerPool;

beforeAll(async () => {
  [cli, workers] = await Promise.all([BuiltCli.open(), WorkerPool.open()]);
}, 120_000);

afterAll(async () => {
  await workers.close();
  cli.dispose();
});

interface Told {
  readonly state: string;
  /** What is to be done, without its mark. */
  readonly heading: string;
}

const SURFACES = [
  'status',
  'hook synopsis',
  'lifecycle session-start --host claude',
  'hook show',
  'recover --dry-run',
] as const;
type Surface = (typeof SURFACES)[number];

function plain(heading: string | undefined): string {
  return (heading ?? '').replace(/^\P{L}+/u, '').replaceAll('`', '');
}

function ofMarkdown(text: string): Partial<Told> {
  const state = /^## Current State: `(\w+)`$/mu.exec(text)?.[1];
  return {
    ...(state === undefined ? {} : { state }),
    heading: plain(/^## What To Do Now\n\n### (.+)$/mu.exec(text)?.[1]),
  };
}

/** What a surface says; what it says nothing of is absent. Only the one that is looked at first needs its own process. */
async function tells(desk: Desk, surface: Surface, isFirst: boolean): Promise<Partial<Told>> {
  const run = async (...args: readonly string[]) =>
    isFirst ? desk.apartWith({ input: '{}' }, ...args) : desk.runWith({ input: '{}' }, ...args);
  if (surface === 'status') {
    const { out } = await run('status', '--json');
    const said = JSON.parse(out) as { task: { state: string }; next: string };
    return { state: said.task.state, heading: said.next };
  }
  const { out } = await run(...surface.split(' '));
  const state = / State: (\w+)[,.]/u.exec(out)?.[1];
  switch (surface) {
    case 'hook synopsis':
      return state === undefined ? {} : { state };
    case 'lifecycle session-start --host claude':
      return out === '' ? {} : { ...ofMarkdown(out), ...(state === undefined ? {} : { state }) };
    case 'hook show':
      return ofMarkdown(out);
    case 'recover --dry-run':
      return {};
  }
}

type Arrange = (desk: Desk) => Promise<TaskRef>;

/** Every state with what can be known of who is at work on it. */
const CASES: Readonly<Record<string, { readonly arrange: Arrange; readonly state: string; readonly says: RegExp }>> = {
  'a task that has not begun': { arrange: async (desk) => desk.started(), state: 'step_pending', says: /^START/u },
  'a step that has just begun': { arrange: async (desk) => desk.running(), state: 'step_running', says: /^BEGIN/u },
  'a step under way': {
    arrange: async (desk) => {
      const ref = await desk.running();
      unwrap(await desk.atlas().checkpoint(ref, 'half of it'));
      return ref;
    },
    state: 'step_running',
    says: /^RESUME/u,
  },
  'a silent step under a process that lives': {
    arrange: async (desk) => {
      const ref = await desk.running('task', 'Sample', HOUR);
      expect(await workers.start('own', desk.root, [ref.workspace, ref.id]).speaks()).toBe('owns');
      return ref;
    },
    state: 'step_running',
    says: /^BEGIN/u,
  },
  'a silent step': {
    arrange: async (desk) => desk.running('task', 'Sample', HOUR),
    state: 'recovering',
    says: /^RECOVER/u,
  },
  'a silent step after a checkpoint': {
    arrange: async (desk) => {
      const ref = await desk.running('task', 'Sample', HOUR);
      unwrap(await desk.atlas(HOUR - MINUTE).checkpoint(ref, 'half of it'));
      return ref;
    },
    state: 'recovering',
    says: /^RECOVER: Continue/u,
  },
  'a step whose process died': {
    arrange: async (desk) => {
      const ref = await desk.running();
      const owner = workers.start('own', desk.root, [ref.workspace, ref.id]);
      await owner.speaks();
      await owner.kill();
      return ref;
    },
    state: 'recovering',
    says: /^RECOVER/u,
  },
  'a validation that fell silent': {
    arrange: async (desk) => {
      const ref = await desk.running('task', 'Sample', HOUR);
      unwrap(await desk.atlas(HOUR).send(ref, { type: 'step_output' }));
      return ref;
    },
    state: 'recovering',
    says: /^RECOVER: Run the checks/u,
  },
  'a question': {
    arrange: async (desk) => {
      const ref = await desk.running();
      unwrap(await desk.atlas().send(ref, { type: 'human_required', kind: 'question', message: 'Which?' }));
      return ref;
    },
    state: 'awaiting_human',
    says: /^STOP/u,
  },
  'a question of long ago': {
    arrange: async (desk) => {
      const ref = await desk.running('task', 'Sample', HOUR);
      unwrap(await desk.atlas(HOUR).send(ref, { type: 'human_required', kind: 'question', message: 'Which?' }));
      return ref;
    },
    state: 'awaiting_human',
    says: /^STOP/u,
  },
  'an answered question': {
    arrange: async (desk) => {
      const ref = await desk.running();
      unwrap(await desk.atlas().send(ref, { type: 'human_required', kind: 'question', message: 'Which?' }));
      await desk.ok('answer', 'this one');
      return ref;
    },
    state: 'step_running',
    says: /^RESUME/u,
  },
  'an interruption that was recovered': {
    arrange: async (desk) => {
      const ref = await desk.running('task', 'Sample', HOUR);
      unwrap(await desk.atlas(HOUR - MINUTE).checkpoint(ref, 'half of it'));
      await desk.ok('recover');
      return ref;
    },
    state: 'step_running',
    says: /^TAKE OVER/u,
  },
};

describe.concurrent.each(Object.entries(CASES))('of %s', { timeout: 120_000 }, (what, { arrange, state, says }) => {
  it.each(SURFACES)('all say the same, also where %s is looked at first', async (first) => {
    const desk = new Desk(cli, `${what} ${first}`.replaceAll(/\W+/gu, '_'));
    const ref = await arrange(desk);
    const told = new Map<string, Partial<Told>>();
    for (const surface of [first, ...SURFACES.filter((each) => each !== first)])
      told.set(surface, await tells(desk, surface, surface === first));
    told.set('HOOK.md', ofMarkdown(desk.hookMarkdown(ref)));
    const heading = told.get('status')?.heading ?? '';
    expect(heading).toMatch(says);
    for (const [surface, said] of told) expect({ state, heading, ...said }, surface).toEqual({ state, heading });
  });
});
