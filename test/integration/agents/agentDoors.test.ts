import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandSpec, OptionSpec } from '../../../src/cli/parse/commandLine';
import { COMMANDS } from '../../../src/cli/parse/commands';
import { TASK_COMMANDS } from '../../../src/cli/commands/task/taskCommands';
import { CliContext, type Surroundings } from '../../../src/cli/context';
import { ToolContext } from '../../../src/cli/mcp/toolContext';
import { TOOLS, callOf } from '../../../src/cli/mcp/tools';
import { runCli } from '../../../src/cli/run';
import { AtlasError, unwrap } from '../../../src/core/shared/errors';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import type { TaskRef } from '../../../src/core/task/taskRef';
import type { StoredTask } from '../../../src/core/task/storedTask';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { waitingSince } from '../../../src/core/task/waiting';

/**
 * An agent that tries everything that the tables offer, in every state that it can bring a task to: whatever it does, no
 * human's step and no failing check is passed. Commands and tools are the product's own, with real stores and real checks.
 */

/** All of it by `npm run test:agents`; the ordinary run has one task, one attempt, and the commands that change tasks. */
const ALL = process.env['ATLAS_AGENT_DOORS'] === 'all';

/** Commands that cannot touch a task's record, or that are tried otherwise. */
const LEFT_OUT = new Map([
  ['mcp', 'its tools are tried one by one'],
  ['completion', 'prints a script'],
  ['lifecycle doctor', 'starts the hooks that are tried here themselves'],
]);

const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-doors-')));
const repository = path.join(base, 'repository');
const home = path.join(base, 'home');

/** Tasks whose `last` step (by index) no agent may pass. */
const TASKS = {
  review: { last: 1, steps: [{ name: 'work' }, { name: 'review', type: 'human' }, { name: 'after' }] },
  check: { last: 0, steps: [{ name: 'work', validation: ['exit 1'] }, { name: 'after' }] },
  validate: { last: 0, steps: [{ name: 'validate', type: 'validation', validation: ['true', 'false'] }] },
  first: { last: 0, steps: [{ name: 'review', type: 'human', idempotent: true, max_attempts: 1 }] },
} as const;

const ENV: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  HOME: home,
  TZ: 'UTC',
  CLAUDECODE: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

beforeAll(() => {
  for (const folder of [home, path.join(repository, '.atlas', 'templates')]) mkdirSync(folder, { recursive: true });
  for (const [id, { steps }] of Object.entries(TASKS))
    writeFileSync(path.join(repository, '.atlas', 'templates', `${id}.yaml`), JSON.stringify({ id, steps }));
  const git = (...args: readonly string[]): void => {
    execFileSync('git', args, { cwd: repository, env: { ...process.env, ...ENV }, stdio: 'ignore' });
  };
  git('init', '-q', '-b', 'main');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '-q', '--allow-empty', '-m', 'first');
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

/** One thing that an agent can try on a store. */
interface Move {
  readonly name: string;
  run(root: string, ref: TaskRef): Promise<void>;
}

function surroundings(root: string, env: NodeJS.ProcessEnv = ENV): Surroundings {
  const streams = {
    out: () => undefined,
    err: () => undefined,
    columns: undefined,
    errColumns: undefined,
    colors: false,
  };
  const stdin = Readable.from(['{}']) as unknown as NodeJS.ReadStream;
  return { env: { ...env, ATLAS_HOME: root }, folder: repository, streams, stdin };
}

const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  name: ['work', 'review', 'after'],
  n: ['1', '2'],
  command: ['true', 'false'],
  'agent…': ['true'],
  file: ['-', '/dev/null'],
  description: ['commit'],
};

function valuesOf(usage: string, choices: readonly string[] | undefined): readonly string[] {
  if (choices !== undefined) return choices;
  const name = /[<[]([^>\]]+)[>\]]/u.exec(usage)?.[1] ?? '';
  return SAMPLES[name] ?? ['work'];
}

function optionsOf({ flags, choices }: OptionSpec): string[][] {
  const flag = /--[a-z-]+/u.exec(flags)?.[0] ?? '';
  if (['--task', '--workspace', '--output', '--retention', '--host'].includes(flag) && !ALL) return [];
  return flags.includes('<') ? valuesOf(flags, choices).map((value) => [flag, value]) : [[flag]];
}

/** Every command with every option alone, with every value of every operand, and bound to each step and attempt. */
function commandMoves(spec: CommandSpec): Move[] {
  const operands = (spec.operands ?? []).map(({ usage, choices }) => valuesOf(usage, choices));
  const usual = operands.map(([first = 'x']) => first);
  const rest = spec.operands?.at(-1)?.usage.includes('…') === true ? ['--'] : [];
  const words = spec.name.split(' ');
  const lines = [
    ...(operands.length === 0
      ? [[]]
      : operands.flatMap((values, index) => values.map((value) => usual.with(index, value)))),
    ...((spec.operands ?? []).every(({ usage }) => usage.startsWith('[')) ? [[]] : []),
  ].map((each) => [...words, ...rest, ...each]);
  const options = (spec.options ?? []).flatMap(optionsOf);
  const combined = options.map((option) => [...words, ...option, ...rest, ...usual]);
  const yes = (spec.options ?? []).some(({ flags }) => flags.includes('--yes')) ? [[...words, '--yes', ...usual]] : [];
  const unique = new Map([...lines, ...combined, ...yes].map((args) => [args.join(' '), args]));
  return [...unique].map(([name, args]) => ({
    name: `atlas ${name}`,
    run: async (root) => {
      await runCli(args, surroundings(root));
    },
  }));
}

/** Every tool with nothing, and with each argument that its schema knows. */
function toolMoves(): Move[] {
  return TOOLS.flatMap((tool) => {
    const names = Object.keys(tool.input._zod.def.shape);
    const needed = { description: 'x', question: 'x', content: 'x', task_id: 1, response_summary: 'x' };
    const base = Object.fromEntries(Object.entries(needed).filter(([name]) => names.includes(name)));
    const values: Record<string, readonly unknown[]> = {
      step: ['work', 'review'],
      attempt: [1, 2],
      keep_going: [true],
      dry_run: [true],
      lease: ['1h'],
      files: [['a.txt']],
    };
    const each = names
      .filter((name) => !['task', 'workspace'].includes(name))
      .flatMap((name) => (values[name] ?? ['x']).map((value) => ({ ...base, [name]: value })));
    return [base, ...each].map((args): Move => ({
      name: `${tool.name} ${JSON.stringify(args)}`,
      run: async (root) => {
        // A host starts the server without any variable by which an agent would be known.
        const { CLAUDECODE: _agent, ...plain } = ENV;
        const server = new CliContext(surroundings(root, plain), true, true);
        const caller = { client: 'test', signal: new AbortController().signal, nameOf: (name: string) => name };
        if (!tool.input.safeParse(args).success) return;
        const { call, input } = callOf(tool, args);
        const handler = await tool.load();
        await handler(new ToolContext(server, caller, input), call).catch((error: unknown) => {
          if (!(error instanceof AtlasError)) throw error;
        });
      },
    }));
  });
}

const DAY = 24 * 60 * 60_000;

function atlasOf(root: string, ahead = 0): Atlas {
  return new Atlas({ ...systemPorts(root, 'test', silentLog), clock: { now: () => Date.now() + ahead } });
}

function taskIn(root: string, ref: TaskRef): StoredTask {
  return unwrap(atlasOf(root).catalog.read(ref));
}

/** What the agent does not do itself: its death is noticed, and the human sends the work back. */
const WORLD: readonly Move[] = [
  {
    name: '(a day of silence is noticed)',
    run: async (root, ref) => {
      await atlasOf(root, DAY).recovery.detect(taskIn(root, ref));
    },
  },
  {
    name: '(the human rejects)',
    run: async (root, ref) => {
      await atlasOf(root).send(ref, { type: 'human_reject', by: 'human' });
    },
  },
];

/** Attempts of a step that are gone through. */
const MAX_ATTEMPT = ALL ? 2 : 1;

/** What tells one state from another for those rules that decide about an agent. */
function keyOf({ hook }: StoredTask): string {
  const step = hook.current_step;
  const recovery = hook.recovery;
  return JSON.stringify([
    hook.state,
    ...(step === undefined ? [] : [step.step_index, Math.min(step.attempt, MAX_ATTEMPT + 1), step.max_attempts]),
    step?.started_at !== undefined,
    hook.state === 'awaiting_human' ? waitingSince(hook).kind : '',
    ...(recovery === undefined ? [] : [recovery.recommended_action, recovery.last_known_state]),
  ]);
}

function isPassed(hook: TaskRecord, last: number): boolean {
  return hook.state === 'completed' || (hook.current_step?.step_index ?? 0) > last;
}

/** What a move can change: the task, or which tasks there are. */
function stampOf(root: string, ref: TaskRef): string {
  const { catalog, workspaces } = atlasOf(root);
  return JSON.stringify([unwrap(catalog.read(ref)).hook, workspaces.taskIds(ref.workspace)]);
}

/** Tries every move in every state until no new state is found. */
async function explore(
  template: keyof typeof TASKS,
  moves: readonly Move[],
): Promise<{ states: Set<string>; tried: number }> {
  const { last } = TASKS[template];
  const stores = path.join(base, `stores of ${template}`);
  const begin = path.join(stores, '0');
  const { ref } = unwrap(await atlasOf(begin).startTask({ title: 'Sample', template, folder: repository }));
  const known = new Map([[keyOf(taskIn(begin, ref)), begin]]);
  const scratch = path.join(stores, 'scratch');
  let tried = 0;
  // A map gives what is added while it is gone through.
  for (const [from, store] of known) {
    let changed = true;
    for (const move of [...moves, ...WORLD]) {
      // A refusal changes nothing, so the next move finds what this one found.
      if (changed) {
        rmSync(scratch, { recursive: true, force: true });
        cpSync(store, scratch, { recursive: true });
      }
      const before = stampOf(scratch, ref);
      await move.run(scratch, ref);
      changed = stampOf(scratch, ref) !== before;
      tried += 1;
      const after = taskIn(scratch, ref);
      expect(isPassed(after.hook, last), `${move.name} in ${from} led to ${keyOf(after)}`).toBe(false);
      const key = keyOf(after);
      const isNew = !known.has(key) && (after.hook.current_step?.attempt ?? 1) <= MAX_ATTEMPT;
      if (!isNew) continue;
      const kept = path.join(stores, String(known.size));
      cpSync(scratch, kept, { recursive: true });
      known.set(key, kept);
    }
  }
  return { states: new Set(known.keys()), tried };
}

describe('an agent that tries every command and tool', () => {
  const specs = ALL
    ? COMMANDS
    : [...TASK_COMMANDS, ...COMMANDS.filter(({ name }) => /^(?:doctor|spool|hook reg)/u.test(name))];
  const commands = specs.filter(({ name }) => !LEFT_OUT.has(name) && !name.startsWith('worker ')).flatMap(commandMoves);
  const moves = [...commands, ...toolMoves()];

  const templates = Object.keys(TASKS) as (keyof typeof TASKS)[];
  it.each(ALL ? templates : ['review' as const])(
    'passes no human step and no failing check of %s',
    { timeout: 600_000 },
    async (template) => {
      const { states, tried } = await explore(template, moves);
      console.log(`${template}: ${moves.length} moves, ${states.size} states, ${tried} tries`);
      for (const state of ['step_pending', 'awaiting_human'])
        expect(
          [...states].some((key) => key.includes(`"${state}"`)),
          state,
        ).toBe(true);
    },
  );
});
