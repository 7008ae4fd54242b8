import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { exportBundle } from '../../../src/service/receipts/receiptBundle';
import { serializePublicKeys } from '../../../src/signing/publicKeys';
import { systemClock } from '../../../src/system/systemPorts';
import { Random } from '../../support/faults/fuzz';
import { type FuzzWorld, otherReaders, storeReaders, taskReaders } from './fuzzedReaders';
import { memoryKeys } from '../../support/fixtures/receipts/memoryKeys';
import { type FuzzReport, type FuzzedReader, fuzzReader } from './readerFuzz';
import { TamperBench } from '../../support/fixtures/receipts/receiptStore';

/* Whatever is read may have been written, cut or changed by others: it is taken whole or refused, never taken for nothing. */

/** How many inputs are read in all; a million take some minutes. */
const CASES = Number(process.env['ATLAS_FUZZ'] ?? '10000');
const SEED = process.env['ATLAS_FUZZ_SEED'];

let bench: TamperBench;
let world: FuzzWorld;
const reports: FuzzReport[] = [];

beforeAll(async () => {
  bench = await TamperBench.make();
  const copy = bench.copy();
  const atlas = copy.atlas();
  const ref = bench.tasks.hd;
  const folder = atlas.ports.paths.receipts(ref);
  const worktree = path.join(atlas.ports.paths.root, 'worktree');
  mkdirSync(worktree);
  mkdirSync(atlas.ports.paths.task({ ...ref, id: 'ledger' }), { recursive: true });
  const keys = [(await memoryKeys('hd')).published, (await memoryKeys('ed25519')).published];
  const service = await atlas.receipts();
  world = {
    ...{ atlas, ref, worktree },
    envelopes: readdirSync(folder).map((name) => readFileSync(path.join(folder, name))),
    publicKeys: keys.map((entries) => Buffer.from(serializePublicKeys(entries))),
    bundles: [Buffer.from(unwrap(await exportBundle(service, systemClock, unwrap(atlas.store.read(ref)))))],
  };
}, 60_000);

afterAll(() => {
  bench.dispose();
  const total = reports.reduce((sum, { cases }) => sum + cases, 0);
  const rows = reports.map(
    ({ name, cases, accepted, outcomes, slowestMs }) =>
      `${name.padEnd(24)} ${String(cases).padStart(8)} cases, ${String(accepted).padStart(7)} accepted, ${String(outcomes).padStart(5)} outcomes, slowest ${slowestMs.toFixed(1)} ms`,
  );
  console.log([...rows, `${total} cases`].join('\n'));
});

async function fuzzAll(readers: readonly FuzzedReader[], share: number): Promise<void> {
  const weights = readers.reduce((sum, { weight }) => sum + weight, 0);
  for (const reader of readers) {
    const random = SEED === undefined ? new Random() : new Random(Number(SEED));
    const cases = Math.ceil((CASES * share * reader.weight) / weights);
    reports.push(await fuzzReader(reader, Math.max(reader.seeds.length, cases), random));
    expect(reports.at(-1)?.outcomes, reader.name).toBeGreaterThan(1);
  }
}

const TIMEOUT = 3_600_000;

it("a task's own files are taken whole or refused", { timeout: TIMEOUT }, async () =>
  fuzzAll(taskReaders(world), 0.45),
);
it('settings, templates and the rest of the store too', { timeout: TIMEOUT }, async () =>
  fuzzAll(storeReaders(world), 0.25),
);
it('statements, keys, messages and command lines too', { timeout: TIMEOUT }, async () =>
  fuzzAll(otherReaders(world), 0.3),
);
