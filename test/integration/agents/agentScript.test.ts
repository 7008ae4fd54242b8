import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_TEMPLATES, type TaskTemplate } from '../../../src/core/task/template';
import { BuiltCli } from '../../support/drivers/cli';

/** Of templates with the same steps the first is played; with ATLAS_ALL_TEMPLATES each is. */
const PLAYED = BUILTIN_TEMPLATES.filter(
  (template, index) =>
    process.env['ATLAS_ALL_TEMPLATES'] !== undefined ||
    BUILTIN_TEMPLATES.findIndex((each) => stepsOf(each) === stepsOf(template)) === index,
);

function stepsOf({ steps }: TaskTemplate): string {
  return steps.map(({ name, type }) => `${type} ${name}`).join();
}

/** More turns than any task takes: then the agent goes round in circles. */
const MAX_SESSIONS = 40;

let cli: BuiltCli;
let agent: string;

beforeAll(async () => {
  cli = await BuiltCli.open();
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

afterAll(() => {
  cli.dispose();
});

interface State {
  readonly state: string;
  readonly step: { readonly name: string } | null;
}

/** A repository with a remote, and a task in it. */
class Story {
  readonly folder: string;
  readonly log: string;

  constructor(readonly name: string) {
    this.folder = cli.repository(name);
    this.log = path.join(cli.home, `${name}.log`);
    const remote = path.join(cli.home, `${name}.git`);
    this.git('init', '-q', '--bare', remote);
    this.git('remote', 'add', 'origin', remote);
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.folder, env: cli.environment(), encoding: 'utf8' }).trim();
  }

  async atlas(...args: readonly string[]): Promise<Record<string, unknown>> {
    const answer = await cli.json({ folder: this.folder }, ...args);
    expect(answer, `atlas ${args.join(' ')}\n${this.said()}`).toMatchObject({ success: true, exit: 0 });
    return answer;
  }

  async state(): Promise<State> {
    return (await this.atlas('status'))['task'] as State;
  }

  /** One life of the agent, under `atlas run`. Gives how it ended: 137 where it was killed. */
  async session(kill: { readonly step: string; readonly parentToo: boolean } | undefined): Promise<number | null> {
    const env = {
      PATH: `${path.join(cli.home, 'bin')}:${process.env['PATH'] ?? ''}`,
      AGENT_LOG: this.log,
      KILL_IN: kill?.step,
      KILL_PARENT: kill?.parentToo === true ? '1' : undefined,
    };
    const { code } = await cli.runIn({ folder: this.folder, env }, 'run', '--', process.execPath, agent);
    return code;
  }

  said(): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8') : '';
  }
}

/** The steps in which somebody works, so that the agent can die there. */
function mortal(template: TaskTemplate): string[] {
  return template.steps.filter(({ type }) => type !== 'human').map(({ name }) => name);
}

/** Plays a task to its end: the agent dies once in each of those steps, and a human decides only what is a human's. */
async function play(story: Story, kills: readonly string[]): Promise<string[]> {
  const decided: string[] = [];
  for (let session = 0; session < MAX_SESSIONS; session += 1) {
    const { state, step } = await story.state();
    if (state === 'completed') return decided;
    if (state === 'awaiting_human') {
      decided.push(step?.name ?? '');
      await story.atlas('approve');
      continue;
    }
    const next = kills.find((name) => !existsSync(`${story.log}.died-in-${name}`));
    await story.session(next === undefined ? undefined : { step: next, parentToo: session % 2 === 1 });
  }
  throw new Error(`The agent never came to an end:\n${story.said()}`);
}

describe.concurrent('an agent that knows only HOOK.md and atlas', () => {
  it.each(PLAYED.map((template) => [template.id, template] as const))(
    'brings a task of %s to its end, though it is killed once in each step',
    { timeout: 600_000 },
    async (id, template) => {
      const story = new Story(id);
      await story.atlas('start', `Play ${id}`, '--template', id);
      const decided = await play(story, mortal(template));
      expect(decided, story.said()).toEqual(
        template.steps.filter(({ type }) => type === 'human').map(({ name }) => name),
      );
      for (const step of mortal(template)) expect(existsSync(`${story.log}.died-in-${step}`), step).toBe(true);
      // Each step's work is there once, and so is each commit, whatever was begun twice.
      const worked = existsSync(path.join(story.folder, 'work.txt'))
        ? readFileSync(path.join(story.folder, 'work.txt'), 'utf8').trim().split('\n')
        : [];
      expect(new Set(worked).size).toBe(worked.length);
      const commits = story
        .git('log', '--format=%s')
        .split('\n')
        .filter((subject) => subject.endsWith(': the work'));
      expect(commits.length).toBe(template.steps.filter(({ name }) => /commit/u.test(name)).length);
      expect(story.said()).not.toContain('exit ');
    },
  );
});
