import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog } from '../../../src/service/ports';
import type { ProcessTable } from '../../../src/validation/processTable';
import { SlotWatch } from '../../../src/workers/slot/slotWatch';
import { RunRecord, endLeftovers, identityOf, runMarker } from '../../../src/workers/slot/leftovers';
import { programArguments, quotedForWindows } from '../../../src/workers/slot/programArguments';
import { isRunning } from '../../support/drivers/commandRuns';
import { type ForgeWorld, isThere, makeForgeWorld, workerPorts } from '../../support/fixtures/forgeWorld';

/* What a run is made of: when it is woken, what it starts, and what it finds of one that died. */

/** Longer than any test: what is waited for comes by itself, or never. */
const NEVER_MS = 2 ** 31 - 1;
const LEASE = { worker: 'w1', taskId: 't1', claim: 1, incarnation: 1 };

let world: ForgeWorld;
beforeEach(() => {
  world = makeForgeWorld();
});
afterEach(() => {
  world.dispose();
});

describe('a watch', { timeout: 30_000 }, () => {
  const open = (worker: string): SlotWatch => new SlotWatch(world.workers.commonDir, worker, silentLog, NEVER_MS);

  it.each(['w1', 'pool/w1'])('is told of the first task of %s, and of each later step', async (worker) => {
    const { signal } = new AbortController();
    const watch = open(worker);
    watch.arm();
    const first = watch.sign(signal);
    unwrap(await world.workers.slinging.sling({ worker, task: { id: 't1' } }));
    await first;
    watch.arm();
    const second = watch.sign(signal);
    unwrap(await world.workers.claim({ worker }));
    await second;
    watch.close();
  });

  it('misses nothing between a look and the wait', async () => {
    const watch = open('w1');
    watch.arm();
    unwrap(await world.workers.slinging.sling({ worker: 'w1', task: { id: 't1' } }));
    await watch.sign(new AbortController().signal);
    watch.close();
  });

  it('is told where branches were packed away, and ends when it is cancelled', async () => {
    unwrap(await world.workers.slinging.sling({ worker: 'w1', task: { id: 't1' } }));
    const watch = open('w1');
    world.git('pack-refs', '--all', '--prune');
    watch.arm();
    const packed = watch.sign(new AbortController().signal);
    unwrap(await world.workers.claim({ worker: 'w1' }));
    await packed;
    const cancel = new AbortController();
    const waiting = open('w2').sign(cancel.signal);
    cancel.abort();
    await waiting;
    watch.close();
  });
});

describe('what a run left behind', { timeout: 30_000 }, () => {
  /** A system that doesn't show what processes were started with. */
  const blind: ProcessTable = { look: async () => Promise.resolve([]), lives: () => true, carries: () => false };

  const recorded = async (): Promise<{ pid: number; record: RunRecord; end: () => Promise<void> }> => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', detached: true });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    const record = new RunRecord(world.workers.commonDir, runMarker(world.workers.commonDir, LEASE), workerPorts());
    record.write(pid);
    const gone = once(child, 'exit');
    return {
      pid,
      record,
      end: async () => {
        child.kill('SIGKILL');
        await gone;
      },
    };
  };

  it.each([1, 0, -5])('is not looked for under a process id that a foreign record gives as %i', async (pid) => {
    const { record, end } = await recorded();
    const folder = path.join(world.workers.commonDir, 'atlas', 'runs');
    const file = path.join(folder, `${runMarker(world.workers.commonDir, LEASE)}.json`);
    writeFileSync(file, JSON.stringify({ ...identityOf(workerPorts(), process.pid), pid }));
    expect(record.read()).toBeUndefined();
    await end();
  });

  it('is ended by its record where the system shows no marks', async () => {
    const { pid, record, end } = await recorded();
    expect(record.read()).toMatchObject({ pid });
    const ended = await endLeftovers(world.workers.commonDir, LEASE, workerPorts(), {
      platform: 'darwin',
      table: blind,
    });
    expect(ended.ok).toBe(true);
    expect(isRunning(pid)).toBe(false);
    expect(record.read()).toBeUndefined();
    await end();
  });

  it('is left alone where it is that of another incarnation, or another process by now', async () => {
    const { pid, end } = await recorded();
    const { commonDir } = world.workers;
    unwrap(
      await endLeftovers(commonDir, { ...LEASE, incarnation: 2 }, workerPorts(), { platform: 'darwin', table: blind }),
    );
    expect(isRunning(pid)).toBe(true);
    const ports = workerPorts();
    const other = { ...identityOf(ports, pid), start_time: '1' };
    world.write(`.git/atlas/runs/${runMarker(commonDir, LEASE)}.json`, JSON.stringify(other));
    unwrap(await endLeftovers(commonDir, LEASE, ports, { platform: 'darwin', table: blind }));
    expect(isRunning(pid)).toBe(true);
    // A group whose leader is gone may be anybody's.
    const gone = 2 ** 22 + 1;
    world.write(`.git/atlas/runs/${runMarker(commonDir, LEASE)}.json`, JSON.stringify({ ...other, pid: gone }));
    const seen = { pid, parent: 1, group: gone, session: gone, start: '1' };
    const table = { ...blind, look: async () => Promise.resolve([seen]) };
    unwrap(await endLeftovers(commonDir, LEASE, ports, { platform: 'darwin', table }));
    expect(isRunning(pid)).toBe(true);
    await end();
  });

  it('is named where it can not be told apart well enough to be ended, and a damaged record is none', async () => {
    const { pid, end } = await recorded();
    const { commonDir } = world.workers;
    const refused = await endLeftovers(commonDir, LEASE, workerPorts(), { platform: 'win32', table: blind });
    expect(refused.ok ? '' : refused.error.message).toContain(`process ${pid}`);
    expect(isRunning(pid)).toBe(true);
    await end();
    unwrap(await endLeftovers(commonDir, LEASE, workerPorts(), { platform: 'win32', table: blind }));
    expect(isThere(commonDir, 'atlas', 'runs', `${runMarker(commonDir, LEASE)}.json`)).toBe(false);
    world.write(`.git/atlas/runs/${runMarker(commonDir, LEASE)}.json`, '{"pid":1}');
    unwrap(await endLeftovers(commonDir, LEASE, workerPorts(), { platform: 'win32', table: blind }));
  });
});

describe('a program', () => {
  it('gets its arguments as they are, and on Windows written so that it reads them so', () => {
    expect(programArguments(['sh', '-c', 'a "b"'], {}, 'linux')).toEqual(['sh', '-c', 'a "b"']);
    expect(programArguments(['tool.exe', 'a b'], {}, 'win32')).toEqual(['tool.exe', '"a b"']);
    const written: readonly (readonly [string, string])[] = [
      ['plain', 'plain'],
      ['', '""'],
      ['a b', '"a b"'],
      ['C:\\a b\\', '"C:\\a b\\\\"'],
      ['C:\\a\\', 'C:\\a\\'],
      ['say "x"', '"say \\"x\\""'],
      ['a\\"b', '"a\\\\\\"b"'],
    ];
    for (const [argument, text] of written) expect(quotedForWindows(argument)).toBe(text);
  });
});
