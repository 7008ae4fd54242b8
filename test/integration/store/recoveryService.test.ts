import { existsSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { Diagnosis } from '../../../src/core/recovery/liveness';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { listArtifacts, takeSnapshots } from '../../../src/store/snapshots/snapshots';
import { insideWorktree } from '../../../src/system/files/worktreePath';
import type { StoredTask } from '../../../src/core/task/storedTask';
import { type TestStore, contentsOf, makeStore } from '../../support/fixtures/store';
import { WorkerPool } from '../../support/processes/workerPool';

const MINUTE = 60_000;
let store: TestStore;
let pool: WorkerPool;
/** How far the clock is ahead, in ms. */
let ahead = 0;
let atlas: ReturnType<TestStore['other']>;

beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(() => {
  ahead = 0;
  store = makeStore();
  atlas = store.other({ clock: { now: () => Date.now() + ahead } });
});
afterEach(() => {
  store.dispose();
});

const stored = (ref: TaskRef): StoredTask => unwrap(atlas.store.read(ref));
const look = async (ref: TaskRef): Promise<Diagnosis> => atlas.recovery.diagnose(stored(ref));

describe('the interval checkpoint', () => {
  it('is made when it is due, once though two windows tick at a time', async () => {
    const ref = await store.running();
    const windows = [atlas, store.other({ clock: atlas.ports.clock })];
    const tick = async (): Promise<number> => {
      const made = await Promise.all(windows.map(async (window) => window.intervalCheckpoint(ref)));
      return made.filter((each) => unwrap(each).changed).length;
    };
    const made: number[] = [];
    for (const minutes of [4, 5, 9, 10, 14, 16]) {
      ahead = minutes * MINUTE;
      made.push(await tick());
    }
    expect(made).toEqual([0, 1, 0, 1, 0, 1]);
    expect(stored(ref).hook.checkpoints.map((item) => item.trigger)).toEqual(['interval', 'interval', 'interval']);
    unwrap(await atlas.send(ref, { type: 'human_required', kind: 'review' }));
    ahead = 60 * MINUTE;
    expect(await tick()).toBe(0);
  });
});

describe('owner files', () => {
  it('that say they are another file are not removed by that name', async () => {
    const ref = await store.running();
    const worker = pool.start('own', store.root, [ref.workspace, ref.id]);
    await worker.speaks();
    await worker.kill();
    const folder = atlas.ports.paths.owners(ref);
    const [name = ''] = readdirSync(folder);
    const file = JSON.parse(new TextDecoder().decode(new NodeFileSystem().read(path.join(folder, name), 9999))) as {
      process: object;
    };
    writeFileSync(
      path.join(folder, name),
      JSON.stringify({ ...file, process: { ...file.process, incarnation: '../hook' } }),
    );
    atlas.owners.removeDead(ref);
    expect(readdirSync(folder)).toEqual([]);
    expect(existsSync(atlas.ports.paths.hook(ref))).toBe(true);
  });

  it('that are damaged, folders or links say nothing', async () => {
    const ref = await store.running();
    const folder = atlas.ports.paths.owners(ref);
    mkdirSync(path.join(folder, 'a.json'), { recursive: true });
    writeFileSync(path.join(folder, 'b.json'), '{');
    writeFileSync(path.join(folder, 'c.json'), '{"kind":"robot"}');
    symlinkSync('/etc/passwd', path.join(folder, 'd.json'));
    expect(atlas.owners.list(ref)).toEqual([]);
    atlas.owners.removeDead(ref);
    expect(readdirSync(folder)).toHaveLength(4);
  });
});

describe('recovering', () => {
  it('records a killed window with its plan, once, and applies it', async () => {
    const ref = await store.running();
    const worker = pool.start('own', store.root, [ref.workspace, ref.id]);
    await worker.speaks();
    await worker.kill();
    const detected = unwrap(await atlas.recovery.detect(stored(ref)));
    expect(detected).toMatchObject({ recorded: true, diagnosis: { cause: 'window_died', type: 'signal' } });
    expect(stored(ref).hook).toMatchObject({
      state: 'recovering',
      recovery: { recommended_action: 'retry_step', last_known_state: 'step_running' },
    });
    expect(atlas.owners.list(ref)).toEqual([]);
    const before = contentsOf(store.root);
    expect(unwrap(await atlas.recovery.detect(stored(ref))).recorded).toBe(false);
    expect(contentsOf(store.root)).toEqual(before);
    expect(unwrap(await atlas.resume(ref, 'human')).hook.state).toBe('step_pending');
    expect(unwrap(await atlas.startStep(ref)).hook.current_step?.attempt).toBe(2);
  });

  it('does not find the same death twice, though its finder died before it tidied up', async () => {
    const ref = await store.running();
    unwrap(await atlas.checkpoint(ref, 'recent'));
    const worker = pool.start('own', store.root, [ref.workspace, ref.id]);
    await worker.speaks();
    await worker.kill();
    const [owner = ''] = readdirSync(atlas.ports.paths.owners(ref));
    const file = path.join(atlas.ports.paths.owners(ref), owner);
    const content = new NodeFileSystem().read(file, 9999);
    unwrap(await atlas.recovery.detect(stored(ref)));
    writeFileSync(file, content);
    unwrap(await atlas.recover(ref, { action: 'retry_from_checkpoint', by: 'human' }));
    expect((await look(ref)).kind).toBe('recent');
  });

  it('repeats a set-up that was interrupted', async () => {
    const { paths } = atlas.ports;
    const first = await store.start();
    const ref = unwrap(
      atlas.workspaces.addTask(first.workspace, (id) => {
        const { completed_at: _none, ...task } = stored(first).task;
        return { ...task, id, status: 'pending', current_step: 0 };
      }),
    );
    const { config } = await atlas.configs.forWorktree(undefined);
    unwrap(await atlas.store.create(ref, { config }));
    expect(stored(ref).hook.state).toBe('initializing');
    ahead = 6 * MINUTE;
    expect(unwrap(await atlas.recovery.detect(stored(ref))).recorded).toBe(true);
    expect(unwrap(await atlas.recover(ref)).hook.state).toBe('step_pending');
    expect(existsSync(paths.marker(ref))).toBe(true);
  });

  it('can be asked for, and only a human chooses another action', async () => {
    const ref = await store.running();
    const plan = await atlas.recovery.plan(stored(ref));
    expect(plan).toMatchObject({ diagnosis: { kind: 'recent' }, plan: { action: 'retry_step', rule: 'idempotent' } });
    expect(stored(ref).hook.state).toBe('step_running');
    for (const choice of [{}, { takeOver: true }, { by: 'human' }] as const)
      expect(unwrap(await atlas.recover(ref, choice))).toMatchObject({
        changed: false,
        hook: { state: 'step_running' },
      });
    const recovered = unwrap(await atlas.recover(ref, { action: 'manual', by: 'human', takeOver: true }));
    expect(recovered.hook).toMatchObject({ state: 'awaiting_human' });
    expect(recovered.hook.history.find((event) => event.trigger === 'crash_detected')).toBeDefined();
    expect(await atlas.recover(ref)).toMatchObject({ ok: false, error: { code: 'illegal_transition' } });
  });

  it('of a window that came back before the lock was had condemns nobody', async () => {
    const ref = await store.running();
    ahead = 10 * MINUTE;
    const before = stored(ref);
    unwrap(await atlas.send(ref, { type: 'note', stillWorking: true }));
    const detected = unwrap(await atlas.recovery.detect(before));
    expect(detected).toMatchObject({ recorded: false, diagnosis: { kind: 'recent' } });
    expect(stored(ref).hook.state).toBe('step_running');
  });

  it("takes only this round's validation log for its partial output", async () => {
    const ref = await store.running();
    const log = path.join(atlas.ports.paths.artifacts(ref), 'v.log');
    writeFileSync(log, `${'old '.repeat(300)}the end`);
    unwrap(await atlas.send(ref, { type: 'step_output' }));
    unwrap(
      await atlas.send(ref, {
        type: 'validation_command',
        command: 'npm test',
        log: 'v.log',
        receiptId: 'r',
        index: 0,
        link: { sequence: 1, previous: null },
      }),
    );
    ahead = 6 * MINUTE;
    unwrap(await atlas.recovery.detect(stored(ref)));
    const { recovery } = stored(ref).hook;
    expect(recovery).toMatchObject({ validation_cmd: 'npm test', was_validating: true });
    expect(recovery?.partial_output).toMatch(/^[^]{493}the end$/u);
    unwrap(await atlas.recover(ref));
    unwrap(await atlas.send(ref, { type: 'validate_fail', reason: 'x' }));
    for (const type of ['human_resume', 'step_output'] as const) unwrap(await atlas.send(ref, { type, by: 'human' }));
    ahead += 6 * MINUTE;
    unwrap(await atlas.recovery.detect(stored(ref)));
    expect(stored(ref).hook.recovery).not.toHaveProperty('partial_output');
  });

  it.each(['../../../../secret', '/etc/passwd'])('reads no log outside the artifacts: %s', async (log) => {
    const ref = await store.running();
    unwrap(await atlas.send(ref, { type: 'step_output' }));
    unwrap(
      await atlas.send(ref, {
        type: 'validation_command',
        command: 'x',
        log,
        receiptId: 'r',
        index: 0,
        link: { sequence: 1, previous: null },
      }),
    );
    ahead = 6 * MINUTE;
    unwrap(await atlas.recovery.detect(stored(ref)));
    expect(stored(ref).hook.recovery).not.toHaveProperty('partial_output');
  });
});

describe('snapshots', () => {
  const files = new NodeFileSystem();
  const put = (name: string, text: string): void => writeFileSync(path.join(store.folder, name), text);

  it('hold size, time and the first 16 hex of the hash; a missing file is told', async () => {
    put('a.txt', 'abc');
    expect(await takeSnapshots(files, store.folder, ['a.txt', 'gone.txt', 'a.txt', './a.txt'])).toMatchObject([
      { path: 'a.txt', size: 3, sha256: 'ba7816bf8f01cfea', exists: true },
      { path: 'gone.txt', size: 0, sha256: '', mod_time: '', exists: false },
    ]);
  });

  it('leave the hash out above 10 MiB, and take it at exactly that', async () => {
    for (const [name, size] of [
      ['edge', 10 * 1024 * 1024],
      ['over', 10 * 1024 * 1024 + 1],
    ] as const) {
      put(name, '');
      truncateSync(path.join(store.folder, name), size);
    }
    const [edge, over] = await takeSnapshots(files, store.folder, ['edge', 'over']);
    expect(edge?.sha256).toHaveLength(16);
    expect(over).toMatchObject({ sha256: '', size: 10 * 1024 * 1024 + 1, exists: true });
  });

  it('never leave the worktree, by path or by link', async () => {
    const outside = path.join(store.root, 'outside');
    mkdirSync(outside, { recursive: true });
    writeFileSync(path.join(outside, 'secret'), 's');
    symlinkSync(outside, path.join(store.folder, 'link'));
    symlinkSync(path.join(outside, 'secret'), path.join(store.folder, 'direct'));
    put('inside.txt', 'x');
    symlinkSync('inside.txt', path.join(store.folder, 'alias'));
    const paths = [
      '../home/outside/secret',
      path.join(outside, 'secret'),
      'link/secret',
      'direct',
      '/etc/passwd',
      '..',
      '.',
      '',
      'alias',
    ];
    expect((await takeSnapshots(files, store.folder, paths)).map((file) => [file.path, file.size])).toEqual([
      ['alias', 1],
    ]);
    expect(insideWorktree('/w', '/w/..x/a')).toBe('..x/a');
    expect(insideWorktree('/w', 'a/../../b')).toBeUndefined();
  });

  it('keep a known hash while size and time are the same', async () => {
    put('a.txt', 'abc');
    const [first] = await takeSnapshots(files, store.folder, ['a.txt']);
    const known = { ...first, sha256: 'feedfeedfeedfeed' } as NonNullable<typeof first>;
    expect((await takeSnapshots(files, store.folder, ['a.txt'], [known]))[0]?.sha256).toBe('feedfeedfeedfeed');
    put('a.txt', 'abcd');
    expect((await takeSnapshots(files, store.folder, ['a.txt'], [known]))[0]?.sha256).toBe('88d4266fd4e6338d');
  });

  it('list artifacts, not what links lead to', () => {
    const folder = path.join(store.folder, 'artifacts');
    mkdirSync(path.join(folder, 'b'), { recursive: true });
    for (const name of ['b/2', 'b/1', 'a']) writeFileSync(path.join(folder, name), '');
    symlinkSync(store.root, path.join(folder, 'link'));
    expect(listArtifacts(files, folder)).toEqual(['a', 'b/1', 'b/2']);
    expect(listArtifacts(files, folder, 2)).toEqual(['a', 'b/1']);
    expect(listArtifacts(files, path.join(folder, 'none'))).toEqual([]);
  });
});

describe('a recovery that comes late', () => {
  it('is refused when its crash was dealt with and another one happened since', async () => {
    const ref = await store.running();
    const crash = async (): Promise<StoredTask> => {
      ahead += 6 * MINUTE;
      return unwrap(await atlas.recovery.detect(stored(ref))).task;
    };
    const first = await crash();
    expect(first.hook.recovery?.recommended_action).toBe('retry_step');
    unwrap(await atlas.recovery.recover(first));
    unwrap(await atlas.startStep(ref));
    unwrap(await atlas.send(ref, { type: 'step_complete' }));
    unwrap(await atlas.startStep(ref));
    const second = await crash();
    const files = contentsOf(store.root);
    const late = await atlas.recovery.recover(first, { action: 'skip_step', by: 'human' });
    expect(late).toMatchObject({ ok: false, error: { code: 'stale_caller' } });
    expect(await atlas.recovery.recover(first)).toMatchObject({ ok: false, error: { code: 'stale_caller' } });
    expect(contentsOf(store.root)).toEqual(files);
    expect(unwrap(await atlas.recovery.recover(second)).changed).toBe(true);
  });
});
