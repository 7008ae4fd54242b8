import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_TEMPLATES } from '../../../src/core/task/templates/templates';
import type { TaskTemplate } from '../../../src/core/task/templates/template';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import { BuiltCli } from '../../support/drivers/cli';
import { type Worker, WorkerPool } from '../../support/processes/workerPool';

/**
 * How an agent comes to be killed, and what there is to notice it: the parent too, whose end tells nothing; a session that
 * its host's hooks told of; an open window; nothing at all, soon after or after a silence.
 */
const SETUPS = ['atlas run', 'atlas run, killed too', 'lifecycle hooks', 'window', 'git alone', 'silence'] as const;
type Setup = (typeof SETUPS)[number];

const ALL = process.env['ATLAS_ALL_TEMPLATES'] !== undefined;
/** Of this many kinds of tool calls one is the last of a life. */
const KILL_EVERY = ALL ? 1 : 4;

/** Templates with the same steps are one; each is played in one setup, and with ATLAS_ALL_TEMPLATES all are in all. */
const PLAYED: readonly (readonly [string, Setup, TaskTemplate])[] = BUILTIN_TEMPLATES.filter(
  (template, index) => ALL || BUILTIN_TEMPLATES.findIndex((each) => stepsOf(each) === stepsOf(template)) === index,
).flatMap((template, index) =>
  SETUPS.filter((_, setup) => ALL || setup === index % SETUPS.length).map(
    (setup) => [template.id, setup, template] as const,
  ),
);

/** The feature template has every kind of step. */
const HURRIED = BUILTIN_TEMPLATES.filter(({ id }) => ALL || id === 'feature').map(
  (template) => [template.id, template] as const,
);

function stepsOf({ steps }: TaskTemplate): string {
  return steps.map(({ name, type }) => `${type} ${name}`).join();
}

/** More turns than any task takes: then the agent goes round in circles. */
const MAX_SESSIONS = 120;

let cli: BuiltCli;
let agent: string;
let workers: WorkerPool;

beforeAll(async () => {
  [cli, workers] = await Promise.all([BuiltCli.open(), WorkerPool.open()]);
  agent = path.join(cli.home, 'agent.mjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'markdownAgent.ts')],
    outfile: agent,
    platform: 'node',
    format: 'esm',
  });
  const bin = path.join(cli.home, 'bin');
  mkdirSync(bin);
  writeFileSync(path.join(bin, 'atlas'), `#!/bin/sh\nexec '${process.execPath}' '${cli.entry}' "$@"\n`, {
    mode: 0o755,
  });
}, 60_000);

afterAll(async () => {
  await workers.close();
  cli.dispose();
});

interface State {
  readonly workspace_id: string;
  readonly task_id: string;
  readonly state: string;
  readonly step: { readonly name: string } | null;
}

/** A repository with a remote, and a task in it. */
class Story {
  readonly folder: string;
  readonly log: string;
  readonly root: string;

  constructor(readonly name: string) {
    this.folder = cli.repository(name);
    this.root = path.join(cli.home, `store of ${name}`);
    this.settings({});
    this.log = path.join(cli.home, `${name}.log`);
    const remote = path.join(cli.home, `${name}.git`);
    this.git('init', '-q', '--bare', remote);
    this.git('remote', 'add', 'origin', remote);
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.folder, env: cli.environment(), encoding: 'utf8' }).trim();
  }

  async atlas(...args: readonly string[]): Promise<Record<string, unknown>> {
    const answer = await cli.json({ folder: this.folder, env: { ATLAS_HOME: this.root } }, ...args);
    expect(answer, `atlas ${args.join(' ')}\n${this.said()}`).toMatchObject({ success: true, exit: 0 });
    return answer;
  }

  async state(): Promise<State> {
    return (await this.atlas('status'))['task'] as State;
  }

  /** One life of the agent. Gives how it ended: 137 where it was killed. */
  async session(number: number, setup: Setup, more: NodeJS.ProcessEnv): Promise<number | null> {
    const env: NodeJS.ProcessEnv = {
      ...more,
      ATLAS_HOME: this.root,
      PATH: `${path.join(cli.home, 'bin')}:${process.env['PATH'] ?? ''}`,
      AGENT_LOG: this.log,
      KILL_PARENT: setup === 'atlas run, killed too' ? '1' : undefined,
      ...(setup === 'lifecycle hooks' ? { CLAUDE_CODE_SESSION_ID: `life-${number}`, CLAUDECODE: '1' } : {}),
    };
    const watched = setup === 'atlas run' || setup === 'atlas run, killed too';
    if (watched) return (await cli.runIn({ folder: this.folder, env }, 'run', '--', process.execPath, agent)).code;
    const child = spawn(process.execPath, [agent], { cwd: this.folder, env: cli.environment(env), stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 137;
  }

  /** Writes config.yaml of the store. */
  settings(more: object): void {
    mkdirSync(this.root, { recursive: true });
    writeFileSync(path.join(this.root, 'config.yaml'), JSON.stringify({ hooks: { max_step_attempts: 100, ...more } }));
  }

  /** A process that owns the task as a window does. */
  async window(): Promise<Worker> {
    const { workspace_id: workspace, task_id: id } = await this.state();
    const worker = workers.start('own', this.root, [workspace, id]);
    expect(await worker.speaks()).toBe('owns');
    return worker;
  }

  record(): TaskRecord {
    const [file] = readdirSync(this.root, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('hook.json'),
    );
    return JSON.parse(readFileSync(path.join(this.root, file ?? ''), 'utf8')) as TaskRecord;
  }

  said(): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8') : '';
  }
}

/** How a life may end: killed, with nothing left to do, or where a human has to decide. */
const ENDS: readonly (number | null)[] = [137, null, 0, 10];

/**
 * Plays a task to its end: the agent dies after its tool calls, and a human decides only what is a human's. Gives the steps
 * that they approved. Of a step that can't simply be repeated, they say that it goes on.
 */
async function play(
  story: Story,
  setup: Setup,
  template: TaskTemplate,
  env: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const decided: string[] = [];
  for (let session = 0; session < MAX_SESSIONS; session += 1) {
    const { state, step } = await story.state();
    if (state === 'completed') return decided;
    if (state === 'awaiting_human') {
      const planned = template.steps.find(({ name }) => name === step?.name);
      if (planned?.type === 'human') {
        decided.push(planned.name);
        await story.atlas('approve');
      } else {
        expect(planned?.idempotent === true && planned.type === 'ai', story.said()).toBe(false);
        await story.atlas('resume');
        story.settings({});
      }
      continue;
    }
    const code = await story.session(session, setup, { KILL_EVERY: String(KILL_EVERY), ...env });
    expect(ENDS, story.said()).toContain(code);
    // Whoever looks next finds that nobody was heard of for longer than this.
    if (setup === 'silence') story.settings({ stale_threshold: '1ms' });
  }
  throw new Error(`The agent never came to an end:\n${story.said()}`);
}

function humanSteps({ steps }: TaskTemplate): string[] {
  return steps.filter(({ type }) => type === 'human').map(({ name }) => name);
}

/** What has to be so after a task, however often somebody died on the way. */
function checkDone(story: Story, template: TaskTemplate): void {
  const file = path.join(story.folder, 'work.txt');
  const worked = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  expect(
    worked.filter((line) => !line.endsWith(': done')),
    story.said(),
  ).toEqual([]);
  expect(new Set(worked).size).toBe(worked.length);
  const commits = story
    .git('log', '--format=%s')
    .split('\n')
    .filter((subject) => subject.endsWith(': the work'));
  expect(commits.length, story.said()).toBe(template.steps.filter(({ name }) => /commit/u.test(name)).length);
  // No command was refused, in any life: whoever does what HOOK.md says takes no wrong turn.
  expect(story.said()).not.toContain('exit ');
  const { history } = story.record();
  const ended = history.filter(({ trigger }) =>
    /^(step_complete|validate_pass|human_approve|skip_step)$/u.test(trigger),
  );
  const names = template.steps.map(({ name }) => name);
  expect(
    ended.map(({ step_name: name }) => name),
    story.said(),
  ).toEqual(names);
  const pushes = history.filter(({ details }) => details?.['trigger'] === 'pr_created');
  expect(pushes.length).toBe(names.filter((name) => /pr$/u.test(name)).length);
}

describe.concurrent('an agent that knows only HOOK.md and atlas', () => {
  it.each(PLAYED)(
    'brings a task of %s to its end, though it is killed after its tool calls (%s)',
    { timeout: 600_000 },
    async (id, setup, template) => {
      const story = new Story(`${id} ${setup}`.replaceAll(/\W+/gu, '-'));
      await story.atlas('start', `Play ${id}`, '--template', id);
      const window = setup === 'window' ? await story.window() : undefined;
      const decided = await play(story, setup, template);
      await window?.kill();
      expect(decided, story.said()).toEqual(humanSteps(template));
      expect(story.said(), 'somebody died').toContain('! dies in');
      checkDone(story, template);
    },
  );

  it.each(HURRIED)('needs two commands a step for %s', { timeout: 600_000 }, async (id, template) => {
    const story = new Story(`${id}-in-a-hurry`);
    await story.atlas('start', `Play ${id}`, '--template', id);
    await play(story, 'git alone', template, { KILL_EVERY: '0', AGENT_HURRIES: '1' });
    checkDone(story, template);
    const lines = story
      .said()
      .split('\n')
      .filter((line) => /^\$ atlas (step|checkpoint|validate)/u.test(line));
    const agentSteps = template.steps.length - humanSteps(template).length;
    // Each start of a step that no command could bring along: the first, and those after a human's decision.
    const starts = lines.filter((line) => line.startsWith('$ atlas step start')).length;
    expect(starts, story.said()).toBeLessThanOrEqual(1 + 2 * humanSteps(template).length);
    expect(lines.length - starts, story.said()).toBeLessThanOrEqual(2 * agentSteps);
  });
});
