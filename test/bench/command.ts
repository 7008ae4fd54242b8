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

/** A whole process, from its start to its end, in ms. */
async function timed(folder: string, env: NodeJS.ProcessEnv, args: readonly string[], input: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  // As agents read it.
  child.stdout.resume();
  // A program that doesn't read it may have ended by then.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code ?? 'a signal'}`);
  return performance.now() - start;
}

/** The stores that are asked, each with its folder: one task; and many, one of them open, with receipts. */
interface Stores {
  readonly small: { readonly root: string; readonly folder: string };
  readonly large: { readonly root: string; readonly folder: string };
}

/** The large one has copies of finished tasks, as they lie about after a year. */
async function fill(cli: BuiltCli): Promise<Stores> {
  const small = makeStore();
  await small.running('task');
  const large = makeStore();
  await addFinishedTasks(large, TASKS - 1);
  const open = await large.running('task');
  const runs = await PretendedRuns.open(large.atlas);
  await runs.add(
    open,
    Array.from({ length: RECEIPTS }, (_each, index) => ({ command: `check ${index}`, exitCode: 0 })),
  );
  writeFileSync(path.join(cli.home, 'empty.mjs'), '');
  return { small, large };
}

interface Measured {
  readonly what: string;
  readonly args: readonly string[];
  readonly store: Stores[keyof Stores];
  /** How many times an empty Node it may take. */
  readonly bar?: number;
}

/** How long the command takes to start and answer, beside a Node that does nothing; taken in turns in one run. */
export async function commandRows(): Promise<Row[]> {
  const cli = await BuiltCli.open();
  try {
    const { small, large } = await fill(cli);
    const many = `${TASKS.toLocaleString('en')} tasks`;
    const measured: readonly Measured[] = [
      { what: 'an empty Node', args: [path.join(cli.home, 'empty.mjs')], store: small },
      { what: 'atlas --version, from start to end', args: [cli.entry, '--version'], store: small },
      { what: 'atlas status, one task', args: [cli.entry, 'status'], store: small, bar: 1.8 },
      {
        what: `atlas status, ${many}, ${RECEIPTS} receipts verified before`,
        args: [cli.entry, 'status'],
        store: large,
        bar: 2.5,
      },
      {
        what: `atlas lifecycle session-start, ${many}`,
        args: [cli.entry, 'lifecycle', 'session-start', '--host', 'claude'],
        store: large,
        bar: 2,
      },
      { what: 'atlas checkpoint, one task', args: [cli.entry, 'checkpoint', 'measured'], store: small, bar: 2.5 },
    ];
    const times = measured.map((): number[] => []);
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      for (const [index, { args, store }] of measured.entries()) {
        const input = JSON.stringify(hostInputs(store.folder).claude['session-start']);
        const time = await timed(store.folder, cli.environment({ ATLAS_HOME: store.root }), args, input);
        if (round >= WARM_UP) times[index]?.push(time);
      }
    }
    const [empty = 0, ...others] = times.map(medianOf);
    const beside = { what: 'an empty Node', amount: empty, ratio: 'times' } as const;
    return measured.slice(1).map(({ what, bar }, index) => {
      const amount = others[index] ?? 0;
      const row = { what, amount, beside };
      return bar === undefined ? row : { ...row, bar: { text: `≤ ${bar} times`, met: amount <= bar * empty } };
    });
  } finally {
    cli.dispose();
  }
}
