import path from 'node:path';
import { once } from 'node:events';
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { unwrap } from '../../src/core/shared/errors';
import { PROJECT } from '../support/project';
import { makeStore } from '../support/fixtures/store';
import { type Row, medianOf } from './rows';

const WRITERS = 8;
const CHANGES = 50;
const RUNS = 3;

/** A process that is ready to make checkpoints, and says how long they took it. */
class Writer {
  private readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;

  constructor(program: string, root: string, workspace: string, id: string, changes: number) {
    this.child = spawn(process.execPath, [program, root, workspace, id, String(changes)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (this.child.stdout === null) throw new Error('no output');
    this.lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value } = (await this.lines.next()) as { value?: string };
    if (value === undefined) throw new Error('a writer ended early');
    return value;
  }

  /** Runs and gives how long it took, in ms. */
  async go(): Promise<number> {
    this.child.stdin?.end('go\n');
    const took = Number(await this.line());
    if (this.child.exitCode === null) await once(this.child, 'exit');
    return took;
  }
}

/** How long each of some writers took for its changes, all at once on one task, in ms. */
async function race(program: string, writers: number, changes: number): Promise<number[]> {
  const store = makeStore();
  try {
    const ref = await store.running();
    const ready = Array.from(
      { length: writers },
      () => new Writer(program, store.root, ref.workspace, ref.id, changes),
    );
    for (const writer of ready) await writer.line();
    const took = await Promise.all(ready.map(async (writer) => writer.go()));
    const made = unwrap(store.atlas.store.read(ref)).hook.history.filter((event) => event.trigger === 'checkpoint');
    if (made.length !== writers * changes) throw new Error(`${made.length} checkpoints of ${writers * changes}`);
    return took;
  } finally {
    store.dispose();
  }
}

/** Eight processes that write to one task at once, beside one that makes as many changes alone. */
export async function writerRows(root: string): Promise<Row[]> {
  const program = path.join(root, 'writer.cjs');
  await build({
    absWorkingDir: PROJECT,
    entryPoints: ['test/bench/workers/writer.ts'],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
  });
  const alone: number[] = [];
  const slowest: number[] = [];
  const middle: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    alone.push(Math.max(...(await race(program, 1, WRITERS * CHANGES))));
    const took = await race(program, WRITERS, CHANGES);
    slowest.push(Math.max(...took));
    middle.push(medianOf(took));
  }
  const [one, all, half] = [medianOf(alone), medianOf(slowest), medianOf(middle)];
  return [
    {
      what: `${WRITERS} processes make ${CHANGES} checkpoints each on one task`,
      amount: all,
      beside: { what: `one process makes ${WRITERS * CHANGES}`, amount: one, ratio: 'times' },
      bar: { text: '≥ 0.3 × the rate', met: one / all >= 0.3 },
    },
    {
      what: 'the slowest of these processes',
      amount: all,
      beside: { what: 'the middle one', amount: half, ratio: 'times' },
      bar: { text: '≤ 3 ×', met: all <= 3 * half },
    },
  ];
}
