import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../../../src/core/history/historyEvent';
import { unwrap } from '../../../src/core/shared/errors';
import { type ListedCheckpoint, snapshotOf } from '../../../src/core/snapshot/snapshotEntry';
import { trackedSessions } from '../../../src/agents/sessions/trackedSessions';
import type { StoredTask } from '../../../src/core/task/storedTask';
import type { TaskRef } from '../../../src/core/task/taskRef';
import type { Atlas } from '../../../src/service/atlas';
import { examine } from '../../../src/service/doctor/doctor';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { BackgroundCaptures } from '../../../src/service/snapshots/backgroundCaptures';
import type { FileRestores } from '../../../src/service/snapshots/fileRestores';
import { createAtlas } from '../../../src/service/createAtlas';
import { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

/* The files of a task's checkpoints: kept, told, compared, restored, and let go. */

/** A busy machine may take longer than people are let wait. */
const PATIENT_MS = 60_000;

let world: SnapshotWorld;
let atlas: Atlas;
let ref: TaskRef;
let restores: FileRestores;
let captures: BackgroundCaptures;

/** An Atlas that captures in this process, as a window does. */
async function open(more: object = {}): Promise<void> {
  captures = new BackgroundCaptures(
    () => created,
    () => undefined,
  );
  const created = createAtlas({
    ...systemPorts(world.root, '0.0.0', silentLog),
    recorded: captures.recorded,
    ...more,
  });
  atlas = await created.drive();
  restores = await created.snapshots();
}

const file = (name: string): string => path.join(world.folder, name);
const stored = (): StoredTask => unwrap(atlas.catalog.read(ref));
const listed = (): ListedCheckpoint[] => restores.files.list(stored());
const named = (description: string): ListedCheckpoint => {
  const found = listed().find((each) => each.description === description);
  if (found === undefined) throw new Error(`no checkpoint ${description}`);
  return found;
};

async function checkpoint(description: string): Promise<ListedCheckpoint> {
  unwrap(await atlas.checkpoint(ref, description));
  await captures.idle();
  return named(description);
}

function settings(snapshots: object, hooks: object = {}): void {
  mkdirSync(world.root, { recursive: true });
  writeFileSync(path.join(world.root, 'config.yaml'), JSON.stringify({ snapshots, hooks }));
}

beforeEach(async () => {
  world = new SnapshotWorld();
  world.write('a.txt', 'one\n');
  world.write('b.txt', 'two\n');
  world.write('.gitignore', 'ignored\n');
  world.commit();
  await open();
  ({ ref } = unwrap(await atlas.startTask({ title: 'Sample', template: 'task', folder: world.folder })));
  unwrap(await atlas.startStep(ref));
  await captures.idle();
});

afterEach(() => {
  world.dispose();
});

describe('a checkpoint', () => {
  it('keeps the files, and says how many changed since the one before', async () => {
    const first = await checkpoint('first');
    expect(snapshotOf(first)?.files).toBe(3);
    world.write('a.txt', 'changed\n');
    world.write('new.txt', 'new\n');
    rmSync(file('b.txt'));
    const second = await checkpoint('second');
    expect(second.entry?.changes).toEqual({ since: first.id, added: 1, modified: 1, removed: 1 });
    const was = unwrap(await restores.files.read(first, 'b.txt', 100));
    expect(was?.bytes.toString()).toBe('two\n');
  });

  it('is there before its files are, which are captured while everything goes on', async () => {
    unwrap(await atlas.checkpoint(ref, 'quick'));
    expect(stored().hook.checkpoints.at(-1)?.description).toBe('quick');
    expect(snapshotOf(named('quick'))).toBeUndefined();
    await captures.idle();
    expect(snapshotOf(named('quick'))).toBeDefined();
  });

  it('has its files captured with those of the others that wait for them', async () => {
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { ports } = atlas;
    const captured: TaskRef[] = [];
    const busy = new BackgroundCaptures(
      () => ({ ports, snapshots: async () => held.then(async () => atlas.snapshots()) }),
      (each) => captured.push(each),
    );
    const driven = await createAtlas({ ...ports, recorded: busy.recorded }).drive();
    for (const name of ['first', 'second', 'third', 'fourth']) unwrap(await driven.checkpoint(ref, name));
    goOn();
    await busy.idle();
    for (const name of ['first', 'second', 'third', 'fourth']) expect(snapshotOf(named(name))?.files).toBe(3);
    // The first was begun before the others were there.
    expect(captured).toEqual([ref, ref]);
    world.write('a.txt', 'changed\n');
    busy.recorded(ref, { event: 'turn_ended', checkpoints: [], mayCapture: true });
    busy.recorded(ref, { event: 'turn_started', checkpoints: [], mayCapture: true });
    unwrap(await driven.checkpoint(ref, 'fifth'));
    await busy.idle();
    expect(snapshotOf(named('fifth'))?.files).toBe(3);
    // A restore point that waits comes before the checkpoint, after which there would be none.
    expect(snapshotOf(named("After a turn of the agent's"))?.files).toBe(3);
  });

  it('has none where snapshots are turned off', async () => {
    settings({ enabled: false });
    const made = await checkpoint('off');
    expect(made.entry).toBeUndefined();
  });

  it('says why it has none, and is a checkpoint all the same', async () => {
    settings({ max_size: 1 });
    const made = await checkpoint('too large');
    expect(made.entry?.status).toBe('none');
    expect(made.entry?.problem?.message).toMatch(/snapshots\.max_size/u);
    expect(stored().hook.checkpoints.at(-1)?.description).toBe('too large');
  });

  it('whose process died while it captured says so', async () => {
    const made = await checkpoint('first');
    const entry = path.join(atlas.ports.paths.snapshots(ref), `${made.id}.json`);
    const parsed = JSON.parse(readFileSync(entry, 'utf8')) as object;
    const dead = { ...atlas.ports.processes.self(), pid: 2 ** 22 - 7, start_time: '1', incarnation: 'x' };
    writeFileSync(entry, JSON.stringify({ ...parsed, status: 'pending', snapshot: undefined, process: dead }));
    expect(named('first').entry?.problem?.reason).toBe('died');
  });

  it('is found by the beginning of its id, and a beginning of two is refused', async () => {
    const made = await checkpoint('first');
    expect(unwrap(restores.files.find(stored(), made.id.slice(0, 10))).id).toBe(made.id);
    expect(restores.files.find(stored(), 'ckpt-zzzzzzzz')).toMatchObject({ ok: false, error: { code: 'not_found' } });
    expect(restores.files.find(stored(), '../../etc')).toMatchObject({ ok: false, error: { code: 'not_found' } });
  });

  it('that is dropped takes its files with it, and restore points have a quota of their own', async () => {
    settings({}, { max_checkpoints: 2 });
    for (let at = 0; at < 4; at += 1) {
      world.write('a.txt', `${at}\n`);
      await checkpoint(`number ${at}`);
    }
    expect(listed().map(({ description }) => description)).toEqual([
      'Before "implement" started',
      'number 2',
      'number 3',
    ]);
    const files = readdirSync(atlas.ports.paths.snapshots(ref)).filter((name) => name.endsWith('.json'));
    expect(files).toHaveLength(3);
    const snapshot = snapshotOf(named('number 3'));
    for (let at = 0; at < 55; at += 1) {
      const point = restores.files.pointEntry(`point ${at}`, new Date(Date.now() + at).toISOString());
      restores.files.entries.write(ref, { ...point, status: 'taken', snapshot });
    }
    world.write('a.txt', 'last\n');
    await checkpoint('last');
    const points = listed().filter(({ trigger }) => trigger === 'auto');
    expect(points).toHaveLength(50);
    expect(points.at(-1)?.description).toBe('point 54');
  });

  it('makes no restore point where nothing changed', async () => {
    await checkpoint('first');
    expect(unwrap(await restores.files.restorePoint(stored(), 'same'))).toBeUndefined();
    expect(existsSync(atlas.ports.paths.snapshots(ref))).toBe(true);
    expect(listed().map(({ description }) => description)).not.toContain('same');
  });
});

describe('room for snapshots', () => {
  it('is made by removing the oldest, which says so; the newest of an open task stays', async () => {
    const noise = (): string =>
      Array.from({ length: 60_000 }, () => String.fromCharCode(33 + Math.random() * 90)).join('');
    settings({ max_size: '400 KB' });
    for (let at = 0; at < 12; at += 1) {
      world.write('a.txt', noise());
      await checkpoint(`number ${at}`);
    }
    const items = listed().filter(({ trigger }) => trigger !== 'auto');
    const gone = items.filter((each) => snapshotOf(each) === undefined);
    expect(gone.length).toBeGreaterThan(0);
    expect(gone[0]?.entry?.problem?.reason).toBe('room');
    expect(snapshotOf(named('number 11'))).toBeDefined();
    const whole = unwrap(await restores.files.read(named('number 11'), 'a.txt', 100_000));
    expect(whole?.bytes.toString()).toBe(readFileSync(file('a.txt'), 'utf8'));
  }, 60_000);
});

describe('restoring', () => {
  it('gives the files back, is in the history, and is undone by one call, also by another process', async () => {
    const first = await checkpoint('first');
    world.write('a.txt', 'changed\n');
    world.write('new.txt', 'new\n');
    world.write('ignored', 'mine\n');
    rmSync(file('b.txt'));
    const before = world.picture();
    const previewed = unwrap(await restores.preview(stored(), first));
    expect(previewed.runningStep).toBe('implement');
    const done = unwrap(await restores.restore(stored(), previewed));
    expect(done).toMatchObject({ written: 2, removed: 1, skipped: [] });
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('one\n');
    expect(existsSync(file('new.txt'))).toBe(false);
    expect(readFileSync(file('ignored'), 'utf8')).toBe('mine\n');
    const [event] = eventsOf(stored().hook.history, 'restore');
    expect(event?.details).toMatchObject({ target_id: first.id, written: 2, removed: 1, undo: false });
    const markdown = await atlas.hookMarkdown(stored(), PATIENT_MS);
    expect(markdown).toContain(`A human restored files of checkpoint \`${first.id}\``);
    expect(markdown).toContain('No file has changed since the checkpoint.');

    await open();
    const undo = unwrap(await restores.previewUndo(stored()));
    unwrap(await restores.restore(stored(), undo));
    expect(world.picture()).toEqual(before);
    expect(eventsOf(stored().hook.history, 'restore').at(-1)?.details.undo).toBe(true);
  });

  it('names the files that a tool of an agent is at work on', async () => {
    const first = await checkpoint('first');
    world.write('a.txt', 'changed\n');
    world.write('b.txt', 'changed\n');
    writeFileSync(path.join(world.root, 'config.yaml'), 'sessions:\n  track: true\n');
    const sessions = trackedSessions(createAtlas(systemPorts(world.root, '0.0.0', silentLog)), {}, world.base);
    sessions.spool.open('true');
    const tell = async (event: string): Promise<readonly string[]> => {
      const told = { tool_name: 'Write', tool_use_id: 'w1', tool_input: { file_path: file('a.txt') } };
      const input = { session_id: 'one', cwd: world.folder, hook_event_name: event, ...told };
      sessions.spool.put('claude', JSON.stringify(input), Date.now());
      await sessions.refresh();
      return unwrap(await restores.preview(stored(), first)).inHand;
    };
    expect(await tell('PreToolUse')).toEqual(['a.txt']);
    expect(await tell('PostToolUse')).toEqual([]);
  });

  it('of a task that is over is possible, and in its history', async () => {
    const first = await checkpoint('first');
    unwrap(await atlas.send(ref, { type: 'abandon', by: 'human' }));
    world.write('a.txt', 'changed\n');
    unwrap(await restores.restore(stored(), unwrap(await restores.preview(stored(), first))));
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('one\n');
    expect(stored().hook.state).toBe('abandoned');
    expect(eventsOf(stored().hook.history, 'restore')).toHaveLength(1);
  });

  it('is refused where files changed since the preview, and leaves no restore point', async () => {
    const first = await checkpoint('first');
    world.write('a.txt', 'changed\n');
    const previewed = unwrap(await restores.preview(stored(), first));
    world.write('a.txt', 'changed again\n');
    const refused = await restores.restore(stored(), previewed);
    expect(refused).toMatchObject({ ok: false, error: { reason: 'changed' } });
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('changed again\n');
    expect(
      listed()
        .map(({ description }) => description)
        .join(),
    ).not.toContain('Before restoring');
  });

  it('says that there is nothing to undo where nothing was restored', async () => {
    expect(await restores.previewUndo(stored())).toMatchObject({ ok: false, error: { reason: 'nothing_to_undo' } });
  });

  it('in a folder that is gone, or another repository now, says so', async () => {
    const first = await checkpoint('first');
    renameSync(world.folder, `${world.folder}-moved`);
    expect(await restores.preview(stored(), first)).toMatchObject({ ok: false, error: { reason: 'no_folder' } });
    mkdirSync(world.folder);
    world.git('init', '-q', '--object-format=sha256');
    expect(await restores.preview(stored(), first)).toMatchObject({ ok: false, error: { reason: 'lost' } });
    // What it was can still be looked at.
    expect(unwrap(await restores.files.read(first, 'a.txt', 100))?.bytes.toString()).toBe('one\n');
  });
});

describe('a database that lost files', () => {
  it('is found by the doctor, which marks the checkpoints; the next ones are whole', async () => {
    const first = await checkpoint('first');
    rmSync(path.join(world.root, 'snapshots'), { recursive: true });
    expect(await restores.files.read(first, 'a.txt', 100)).toMatchObject({ ok: false, error: { reason: 'lost' } });
    const options = { fix: false, folders: [], confirm: async () => Promise.resolve(true) };
    const found = (await examine(atlas, options)).filter(({ area }) => area === 'snapshots');
    expect(found.map(({ level }) => level)).toContain('problem');
    expect(found.map(({ message }) => message).join()).toContain(first.id);
    await examine(atlas, { ...options, fix: true });
    expect(named('first').entry?.problem?.reason).toBe('lost');
    const next = await checkpoint('next');
    expect(unwrap(await restores.files.read(next, 'a.txt', 100))?.bytes.toString()).toBe('one\n');
    const after = (await examine(atlas, options)).filter(({ area }) => area === 'snapshots');
    expect(after.map(({ level }) => level)).toEqual(['ok']);
  });

  it('is deleted by the doctor once no task needs it', async () => {
    await checkpoint('first');
    unwrap(await atlas.send(ref, { type: 'abandon', by: 'human' }));
    await atlas.cleanup.run(atlas.cleanup.plan({ completed: 0, failed: 0, abandoned: 0 }));
    expect(existsSync(atlas.ports.paths.snapshots(ref))).toBe(false);
    await examine(atlas, { fix: true, folders: [], confirm: async () => Promise.resolve(true) });
    expect(readdirSync(path.join(world.root, 'snapshots'))).toEqual([]);
  });
});

describe('HOOK.md', () => {
  it('lists what changed since the checkpoint, committed or not', async () => {
    await checkpoint('first');
    world.write('a.txt', 'changed\n');
    world.commit('changed');
    world.write('new.txt', 'new\n');
    const markdown = await atlas.hookMarkdown(stored(), PATIENT_MS);
    expect(markdown).toMatch(/^- `a\.txt` \(modified, \+1 −1 lines\)$/mu);
    expect(markdown).toMatch(/^- `new\.txt` \(new, \+1 −0 lines\)$/mu);
    expect(markdown).toMatch(/^\*\*2 files changed since the checkpoint:\*\*$/mu);
    expect(markdown).toMatch(/^In all, 1 file is uncommitted\.$/mu);
  });

  it('says that a file is in conflict', async () => {
    await checkpoint('first');
    world.git('checkout', '-q', '-b', 'other');
    world.write('a.txt', 'theirs\n');
    world.commit('theirs');
    world.git('checkout', '-q', 'main');
    world.write('a.txt', 'ours\n');
    world.commit('ours');
    expect(() => world.git('merge', 'other')).toThrow(/CONFLICT|Command failed/u);
    const markdown = await atlas.hookMarkdown(stored(), PATIENT_MS);
    expect(markdown).toMatch(/^- `a\.txt` \(in conflict/mu);
    expect(markdown).toContain('A merge is in progress');
  });
});
