import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AtlasError, unwrap } from '../../../../src/core/shared/errors';
import type { ProcessIdentity, Vitality } from '../../../../src/core/recovery/liveness';
import type { Clock, FileSystem, LifeSign, Processes } from '../../../../src/core/shared/ports';
import { GenerationLock, type HeldLock, KEEPERS_IN_ROW } from '../../../../src/system/locks/lock';
import { SettlingLock } from '../../../../src/system/locks/settlingLock';
import { NodeFileSystem } from '../../../../src/system/files/nodeFileSystem';
import { SystemProcesses } from '../../../../src/system/processes';
import { systemClock, systemIds } from '../../../../src/system/systemPorts';
import { type TestStore, checkpoint, makeStore, nodeError, tapped } from '../../../support/fixtures/store';
import { WorkerPool } from '../../../support/processes/workerPool';

let folder: string;
let pool: WorkerPool;
beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-lock-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const files: FileSystem = new NodeFileSystem();
const names = (): string[] => readdirSync(folder).sort();

/** A process that sees all others as they are, or as told. */
function processes(told?: Vitality): Processes {
  const real = new SystemProcesses();
  return { self: () => real.self(), vitality: (other) => told ?? real.vitality(other) };
}

function lock(as: Processes = processes(), on = files): SettlingLock {
  return new SettlingLock(folder, { files: on, processes: as, clock: systemClock, ids: systemIds });
}

function taken(from: GenerationLock): HeldLock {
  const held = from.tryAcquire();
  if (held === undefined) throw new Error('the lock is not free');
  return held;
}

describe('a lock', () => {
  it('is a numbered file that names its holder, and a release is written into it', () => {
    const own = processes();
    const held = taken(lock(own));
    expect(names()).toEqual(['lock.1']);
    const [line = ''] = readFileSync(path.join(folder, 'lock.1'), 'utf8').split('\n');
    expect((JSON.parse(line) as { process: ProcessIdentity }).process).toEqual(own.self());
    held.release();
    expect(readFileSync(path.join(folder, 'lock.1'), 'utf8')).toBe(`${line}\nreleased\n`);
    expect(taken(lock()).generation).toBe(2);
    expect(names()).toEqual(['lock.1', 'lock.2']);
  });

  it('is not had while its holder lives, even in the same process', () => {
    const held = taken(lock());
    expect(lock().tryAcquire()).toBeUndefined();
    held.release();
    expect(lock().tryAcquire()).toBeDefined();
  });

  it('that is not had in time fails with its holder named, and changes nothing', async () => {
    taken(lock());
    const failure: unknown = await lock()
      .acquire(30)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'lock_timeout' });
    expect((failure as AtlasError).message).toContain(`process ${process.pid}`);
    expect(names()).toEqual(['lock.1']);
  });

  it.each([
    ['dead', true],
    ['rebooted', true],
    ['alive', false],
    ['unknown', false],
  ] as const)('of a holder that is %s is taken over: %s', (vitality, had) => {
    taken(lock());
    const next = lock(processes(vitality)).tryAcquire();
    expect(next?.generation).toBe(had ? 2 : undefined);
  });

  it('on another machine points to the doctor', async () => {
    taken(lock());
    const failure: unknown = await lock(processes('unknown'))
      .acquire(1)
      .catch((error: unknown) => error);
    expect((failure as AtlasError).hint).toContain('Doctor');
  });

  it('of a holder that can not be seen is ended by a person’s word, by the next number, and the holder gives way', () => {
    const first = taken(lock());
    const before = readFileSync(path.join(folder, 'lock.1'));
    expect(lock(processes('unknown')).settle(1)).toBe(true);
    expect(readFileSync(path.join(folder, 'lock.1'))).toEqual(before);
    expect(first.isNewest()).toBe(false);
    expect(lock(processes('unknown')).inspect()).toEqual({ kind: 'free', generation: 2 });
    first.release();
    expect(taken(lock(processes('unknown'))).generation).toBe(3);
  });

  it.each([
    ['its holder lives', 'alive', 1],
    ['another generation was asked about', 'unknown', 2],
  ] as const)('is not ended where %s', (_why, vitality, generation) => {
    const held = taken(lock());
    expect(lock(processes(vitality)).settle(generation)).toBe(false);
    expect(held.isNewest()).toBe(true);
  });

  it('is not ended a second time: who took it meanwhile keeps it', () => {
    taken(lock());
    expect(lock(processes('unknown')).settle(1)).toBe(true);
    const next = taken(lock());
    expect(lock(processes('unknown')).settle(1)).toBe(false);
    expect(next.isNewest()).toBe(true);
  });

  it('tells its holder when somebody took it for dead', () => {
    const first = taken(lock());
    expect(first.isNewest()).toBe(true);
    taken(lock(processes('dead')));
    expect(first.isNewest()).toBe(false);
  });

  it('gives way when a higher generation turns up while it is made', () => {
    const racing = tapped(files, (operation) => {
      if (operation === 'link') writeFileSync(path.join(folder, 'lock.7'), '{"process":');
    });
    expect(lock(processes(), racing).tryAcquire()).toBeUndefined();
    expect(readFileSync(path.join(folder, 'lock.1'), 'utf8')).toMatch(/released\n$/u);
  });

  it('that names nobody is only free once the machine was started since', () => {
    writeFileSync(path.join(folder, 'lock.1'), '');
    expect(lock().tryAcquire()).toBeUndefined();
    files.touch(path.join(folder, 'lock.1'), Date.now() - os.uptime() * 1000 - 60_000);
    expect(taken(lock()).generation).toBe(2);
  });

  it('keeps a few dozen old generations, and passes over other files', () => {
    mkdirSync(path.join(folder, 'lock.x'));
    for (let turn = 0; turn < 120; turn += 1) taken(lock()).release();
    const numbers = names()
      .flatMap((name) => Number(/^lock\.(\d+)$/u.exec(name)?.[1] ?? Number.NaN))
      .filter((n) => !Number.isNaN(n));
    expect(Math.max(...numbers)).toBe(120);
    expect(numbers.length).toBeGreaterThanOrEqual(24);
    expect(numbers.length).toBeLessThanOrEqual(49);
  });

  it('works on a file system without links', () => {
    const without = tapped(files, (operation) => {
      if (operation === 'link') throw nodeError('ENOTSUP');
    });
    const held = taken(lock(processes(), without));
    expect(lock(processes(), without).tryAcquire()).toBeUndefined();
    held.release();
    expect(taken(lock(processes(), without)).generation).toBe(2);
    expect(names()).toEqual(['lock.1', 'lock.2']);
  });

  it('whose release could not be written is free for its own process, and for no other', () => {
    let full = true;
    const disk = tapped(files, (operation) => {
      if (operation === 'append' && full) throw nodeError('ENOSPC');
    });
    const own = lock(processes(), disk);
    const held = taken(own);
    expect(() => held.release()).toThrow('ENOSPC');
    full = false;
    expect(lock().tryAcquire()).toBeUndefined();
    taken(own).release();
    expect(taken(lock()).generation).toBe(3);
  });

  it('leaves no file behind when it could not be made', () => {
    for (const broken of ['write', 'link']) {
      const disk = tapped(files, (operation) => {
        if (operation === broken) throw nodeError('ENOSPC');
      });
      expect(() => lock(processes(), disk).tryAcquire()).toThrow('ENOSPC');
    }
    expect(names()).toEqual([]);
  });
});

describe('a lock that others wait for', () => {
  const tickets = (): number => names().filter((name) => name.startsWith('wait.')).length;

  // No two of them come in the same millisecond, which is what tells who came first.
  let now = Date.now();
  const clock: Clock = { now: () => (now += 1) };
  const queued = (inRow?: number, on = files): GenerationLock =>
    new GenerationLock(folder, { files: on, processes: processes(), clock, ids: systemIds }, { inRow });
  const keeper = (on = files): GenerationLock => queued(KEEPERS_IN_ROW, on);

  it('goes to a keeper four times in a row, and then to those who wait', async () => {
    const [own, other] = [keeper(), keeper()];
    let held = await own.acquire();
    const theirs = other.acquire();
    for (const generation of [2, 3, 4]) {
      held.release();
      held = await own.acquire();
      expect(held.generation).toBe(generation);
      expect(tickets()).toBe(1);
    }
    held.release();
    const again = own.acquire();
    expect(tickets()).toBe(2);
    const order: number[] = [];
    const take = async (waiting: Promise<HeldLock>): Promise<void> => {
      const turn = await waiting;
      order.push(turn.generation);
      turn.release();
    };
    await Promise.all([take(theirs), take(again)]);
    expect(order).toEqual([5, 6]);
    expect(tickets()).toBe(0);
  });

  it('goes to those who wait before it goes to the same process again, which keeps nothing', async () => {
    const [own, other] = [queued(), queued()];
    const held = await own.acquire();
    const theirs = other.acquire();
    held.release();
    const again = own.acquire();
    expect(tickets()).toBe(2);
    const turn = await theirs;
    expect(turn.generation).toBe(2);
    turn.release();
    expect((await again).generation).toBe(3);
  });

  it('goes to them in the order in which they came', async () => {
    const held = await keeper().acquire();
    const looks = Array.from({ length: 12 }, () => 0);
    let looked: () => void = () => undefined;
    /** Holds the lock until the next in line has seen more than once that it is held. */
    const hold = async (turn: HeldLock, next: number): Promise<void> => {
      const enough = (looks[next] ?? Infinity) + 4;
      while ((looks[next] ?? Infinity) < enough) await new Promise<void>((resolve) => (looked = resolve));
      turn.release();
    };
    const order: number[] = [];
    const waiting = looks.map(async (_, index) => {
      const counted = tapped(files, (operation) => {
        if (operation === 'list') looks[index] = (looks[index] ?? 0) + 1;
        looked();
      });
      const turn = await keeper(counted).acquire();
      order.push(index);
      await hold(turn, index + 1);
    });
    expect(tickets()).toBe(12);
    await hold(held, 0);
    await Promise.all(waiting);
    expect(order).toEqual(looks.map((_, index) => index));
  });

  it('goes on to the next where the first is gone', async () => {
    const held = await lock().acquire();
    writeFileSync(path.join(folder, `wait.${String(Date.now() - 1).padStart(15, '0')}.000000000000`), '');
    const next = lock().acquire();
    held.release();
    expect((await next).generation).toBe(2);
  });

  /** Somebody who looks at a lock that is held each time, by another each time for as long as `goes` says so. */
  async function lookingOn(timeoutMs: number, goes: () => boolean): Promise<HeldLock> {
    let held: HeldLock | undefined = taken(lock());
    const looked = tapped(files, (operation, [file]) => {
      if (operation !== 'read' || !path.basename(String(file)).startsWith('lock.')) return;
      held?.release();
      held = goes() ? taken(lock()) : undefined;
    });
    return lock(processes(), looked).acquire(timeoutMs);
  }

  it('is waited for beyond the time while it goes from one to another', async () => {
    const timeoutMs = 100;
    const end = performance.now() + 3 * timeoutMs;
    let moves = 0;
    const held = await lookingOn(timeoutMs, () => {
      moves += 1;
      return performance.now() < end || moves < 20;
    });
    expect(held.isNewest()).toBe(true);
    expect(held.generation).toBeGreaterThan(20);
  });

  it('is not waited for without end, though it goes from one to another', async () => {
    await expect(lookingOn(5, () => true)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(tickets()).toBe(0);
  });

  it('goes to those who wait first where it was theirs in between', async () => {
    const [own, other] = [keeper(), keeper()];
    (await own.acquire()).release();
    const held = await other.acquire();
    const mine = own.acquire();
    expect(tickets()).toBe(1);
    held.release();
    (await mine).release();
    expect(tickets()).toBe(0);
  });
});

describe('the lock of a task', () => {
  let store: TestStore;
  beforeEach(() => {
    store = makeStore();
  });
  afterEach(() => {
    store.dispose();
  });

  it('is had at once when its holder was killed', async () => {
    const ref = await store.running();
    const holder = pool.start('hold', store.root, [ref.workspace, ref.id]);
    await holder.speaks();
    await holder.kill();
    await checkpoint(store.atlas, ref);
  });

  it('is not had while its holder lives, nor while it is stopped', async () => {
    const ref = await store.running();
    const holder = pool.start('hold', store.root, [ref.workspace, ref.id]);
    await holder.speaks();
    const attempt = async (): Promise<unknown> =>
      store.atlas.store.locked(ref, () => ({ ok: true, value: 'robbed' }), 200);
    expect(await attempt()).toMatchObject({ ok: false, error: { code: 'lock_timeout' } });
    holder.process.kill('SIGSTOP');
    expect(await attempt()).toMatchObject({ ok: false, error: { code: 'lock_timeout' } });
    holder.process.kill('SIGCONT');
    await holder.kill();
    expect(await attempt()).toEqual({ ok: true, value: 'robbed' });
  });

  it('gives one process its turns in order', async () => {
    const ref = await store.running();
    const turns = Array.from({ length: 12 }, (_, index) => `turn ${index}`);
    await Promise.all(turns.map(async (name) => checkpoint(store.atlas, ref, name)));
    const { hook } = unwrap(store.atlas.store.read(ref));
    expect(hook.checkpoints).toHaveLength(12);
    expect(new Set(hook.checkpoints.map((item) => item.description))).toEqual(new Set(turns));
  });

  it('is released though what ran under it threw', async () => {
    const ref = await store.running();
    const thrown = await store.atlas.store.locked(ref, () => {
      throw nodeError('EIO');
    });
    expect(thrown).toMatchObject({ ok: false, error: { code: 'write_failed' } });
    await checkpoint(store.other(), ref);
  });
});

describe('a process', () => {
  it('is alive, and dead once it was killed', async () => {
    const store = makeStore();
    const ref = await store.running();
    const owner = pool.start('own', store.root, [ref.workspace, ref.id]);
    await owner.speaks();
    const [file] = store.atlas.owners.list(ref);
    expect(file).toMatchObject({ vitality: 'alive', file: { kind: 'window', process: { pid: owner.process.pid } } });
    await owner.kill();
    expect(store.atlas.owners.list(ref)).toMatchObject([{ vitality: 'dead' }]);
    expect(await store.atlas.recovery.diagnose(unwrap(store.atlas.store.read(ref)))).toMatchObject({
      kind: 'crashed',
      cause: 'window_died',
    });
    store.dispose();
  });

  it('is trusted by its id for a second after it took the lock', () => {
    const asked: (LifeSign | undefined)[] = [];
    const told: Processes = {
      self: () => processes().self(),
      vitality: (_other, sign) => {
        asked.push(sign);
        return 'alive';
      },
    };
    taken(lock());
    const content = JSON.parse(readFileSync(path.join(folder, 'lock.1'), 'utf8')) as { taken_at: string };
    expect(lock(told).tryAcquire()).toBeUndefined();
    expect(asked).toEqual([{ at: Date.parse(content.taken_at), trustedMs: 1000 }]);
  });

  it('is told from a later one with its id, another machine, another start of it, another namespace', () => {
    const here = new SystemProcesses();
    const self = here.self();
    const told = (more: Partial<ProcessIdentity>): Vitality => here.vitality({ ...self, ...more });
    expect(told({})).toBe('alive');
    expect(told({ start_time: '1' })).toBe('dead');
    expect(told({ start_time: '' })).toBe('alive');
    expect(told({ pid: 4_194_303 })).toBe('dead');
    expect(told({ machine_id: 'other' })).toBe('unknown');
    expect(told({ machine_id: 'other', boot_id: 'other' })).toBe('unknown');
    expect(told({ boot_id: 'before' })).toBe('rebooted');
    expect(told({ pid_namespace: 'pid:[1]' })).toBe('unknown');
  });
});
