import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { BuiltCli } from '../support/drivers/cli';
import { hostInputs } from '../support/fixtures/hostInputs';
import { addFinishedTasks } from '../support/fixtures/manyTasks';
import { PretendedRuns } from '../support/fixtures/receipts/signedStore';
import { makeStore } from '../support/fixtures/store';
import { type Row, medianOf } from './rows';

const ROUNDS = 30;
const WARM_UP = 3;
const TASKS = 1000;
const RECEIPTS = 20;
const BAR = 2.5;

/** A whole process, from its start to its end, in ms. */
async function timed(folder: string, env: NodeJS.ProcessEnv, args: readonly string[], input: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'ignore', 'ignore'] });
  // A program that doesn't read it may have ended by then.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code ?? 'a signal'}`);
  return performance.now() - start;
}

/** A store of many tasks: one open, with receipts, and copies of finished ones, as they lie about after a year. */
async function fill(cli: BuiltCli): Promise<{ readonly root: string; readonly folder: string }> {
  const store = makeStore();
  await addFinishedTasks(store, TASKS - 1);
  const open = await store.running('task');
  const runs = await PretendedRuns.open(store.atlas);
  await runs.add(
    open,
    Array.from({ length: RECEIPTS }, (_each, index) => ({ command: `check ${index}`, exitCode: 0 })),
  );
  writeFileSync(path.join(cli.home, 'empty.mjs'), '');
  return { root: store.root, folder: store.folder };
}

/** How long the command takes to start and answer, beside a Node that does nothing; taken in turns in one run. */
export async function commandRows(): Promise<Row[]> {
  const cli = await BuiltCli.open();
  try {
    const { root, folder } = await fill(cli);
    const env = cli.environment({ ATLAS_HOME: root });
    const runs = {
      empty: [path.join(cli.home, 'empty.mjs')],
      version: [cli.entry, '--version'],
      status: [cli.entry, 'status'],
      sessionStart: [cli.entry, 'lifecycle', 'session-start', '--host', 'claude'],
    };
    const times: Record<keyof typeof runs, number[]> = { empty: [], version: [], status: [], sessionStart: [] };
    const input = JSON.stringify(hostInputs(folder).claude['session-start']);
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      for (const [name, args] of Object.entries(runs) as [keyof typeof runs, string[]][]) {
        const time = await timed(folder, env, args, input);
        if (round >= WARM_UP) times[name].push(time);
      }
    }
    const beside = { what: 'an empty Node', amount: medianOf(times.empty), ratio: 'times' } as const;
    const status = medianOf(times.status);
    const sessionStart = medianOf(times.sessionStart);
    return [
      { what: 'atlas --version, from start to end', amount: medianOf(times.version), beside },
      {
        what: `atlas status, ${TASKS.toLocaleString('en')} tasks, ${RECEIPTS} receipts verified`,
        amount: status,
        beside,
        bar: { text: `≤ ${BAR} times`, met: status <= BAR * beside.amount },
      },
      {
        what: `atlas lifecycle session-start, ${TASKS.toLocaleString('en')} tasks`,
        amount: sessionStart,
        beside,
        bar: { text: `≤ ${BAR} times`, met: sessionStart <= BAR * beside.amount },
      },
    ];
  } finally {
    cli.dispose();
  }
}
