import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { ProcessIdentity, Vitality } from '../../../src/core/recovery/liveness';
import type { Clock, Processes } from '../../../src/core/shared/ports';
import { toTimestamp } from '../../../src/core/shared/time';
import { createAtlas } from '../../../src/service/createAtlas';
import type { OpenAtlas } from '../../../src/service/createAtlas';
import { WindowOwnership } from '../../../src/service/sessions/ownership';
import { silentLog, systemPorts } from '../../../src/service/ports';
import type { TaskRef } from '../../../src/core/task/taskRef';

const MINUTE = 60_000;

/** Windows as processes that the test starts and kills, on a clock that it sets. */
class Desk {
  readonly alive = new Set<string>();
  now = Date.parse('2026-01-17T14:30:00Z');
  private pids = 100;

  constructor(private readonly root: string) {}

  open(name: string): { atlas: OpenAtlas; ownership: WindowOwnership; kill: () => void } {
    const identity: ProcessIdentity = {
      machine_id: 'desk',
      boot_id: 'boot',
      pid_namespace: '',
      pid: (this.pids += 1),
      start_time: name,
      incarnation: name,
    };
    const processes: Processes = {
      self: () => identity,
      vitality: (other): Vitality => (this.alive.has(other.incarnation) ? 'alive' : 'dead'),
    };
    const clock: Clock = { now: () => this.now };
    const atlas = createAtlas({ ...systemPorts(this.root, 'test', silentLog), processes, clock });
    this.alive.add(name);
    return { atlas, ownership: new WindowOwnership(atlas), kill: () => this.alive.delete(name) };
  }
}

describe('windows as owners of a running step', () => {
  let folder: string;
  let desk: Desk;
  let first: ReturnType<Desk['open']>;
  let ref: TaskRef;

  const sound = (): boolean => false;
  const fares = (window: { atlas: OpenAtlas }): string =>
    window.atlas.diagnose(unwrap(window.atlas.catalog.read(ref)), 5 * MINUTE).kind;

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-owner-')));
    desk = new Desk(path.join(folder, 'home'));
    first = desk.open('first');
    const atlas = await first.atlas.drive();
    ref = unwrap(await atlas.startTask({ title: 'work', template: 'task', folder })).ref;
    unwrap(await atlas.startStep(ref));
    first.ownership.update([ref], sound);
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('work while one lives, and have crashed when the only one is dead', () => {
    expect(fares(first)).toBe('working');
    first.kill();
    expect(fares(desk.open('second'))).toBe('crashed');
  });

  it('that reload or close have not crashed, until nothing was heard for longer than the threshold', () => {
    first.ownership.signOff();
    first.kill();
    const second = desk.open('second');
    expect(fares(second)).toBe('recent');
    desk.now += 5 * MINUTE;
    expect(fares(second)).toBe('recent');
    desk.now += 1;
    expect(fares(second)).toBe('crashed');
  });

  it('that die while another lives leave nothing that looks like a crash when that one closes', () => {
    const second = desk.open('second');
    second.ownership.update([ref], sound);
    first.kill();
    expect(fares(second)).toBe('working');
    second.ownership.heartbeat();
    second.ownership.signOff();
    second.kill();
    expect(fares(desk.open('third'))).toBe('recent');
  });

  it('do not adopt a task that crashed before it was recovered', () => {
    first.kill();
    const second = desk.open('second');
    second.ownership.update([ref], () => fares(second) === 'crashed');
    expect(fares(second)).toBe('crashed');
  });

  it('own a step that runs for 20 minutes, over a machine that sleeps for a day and a clock that is put back', () => {
    for (let minute = 0; minute < 20; minute += 1) {
      desk.now += MINUTE;
      first.ownership.heartbeat();
      expect(['working', 'quiet']).toContain(fares(first));
    }
    expect(fares(first)).toBe('quiet');
    desk.now += 24 * 60 * MINUTE;
    expect(fares(desk.open('second'))).toBe('quiet');
    desk.now -= 48 * 60 * MINUTE;
    expect(['working', 'quiet']).toContain(fares(first));
  });

  it('note that the machine slept, and count that time for no silence', async () => {
    await first.ownership.tick();
    desk.now += 10_000;
    await first.ownership.tick();
    desk.now += 8 * 60 * MINUTE;
    expect(fares(first)).toBe('quiet');
    await first.ownership.tick();
    expect(fares(first)).toBe('working');
    const slept = first.atlas.owners.list(ref).map(({ file }) => file.slept);
    expect(slept).toEqual([{ from: toTimestamp(desk.now - 8 * 60 * MINUTE), until: toTimestamp(desk.now) }]);
    desk.now += 5 * MINUTE + 1;
    expect(fares(first)).toBe('quiet');
  });

  it('let go of a step that ended', async () => {
    const atlas = await first.atlas.drive();
    unwrap(await atlas.send(ref, { type: 'step_complete' }));
    first.ownership.update([ref], sound);
    expect(first.atlas.owners.isOwner(ref)).toBe(false);
  });

  it('make one interval checkpoint together when it is due', async () => {
    const second = desk.open('second');
    second.ownership.update([ref], sound);
    desk.now += 5 * MINUTE;
    await Promise.all([first.ownership.tick(), second.ownership.tick(), first.ownership.tick()]);
    const { hook } = unwrap(first.atlas.catalog.read(ref));
    expect(hook.checkpoints.map((each) => each.trigger)).toEqual(['interval']);
  });

  it('make HOOK.md with the same bytes again, and on another day', async () => {
    const atlas = await first.atlas.drive();
    const read = (): string => readFileSync(atlas.ports.paths.markdown(ref), 'utf8');
    const before = read();
    unwrap(await atlas.regenerate(ref));
    expect(read()).toBe(before);
    desk.now += 3 * 24 * 60 * MINUTE;
    rmSync(atlas.ports.paths.markdown(ref));
    unwrap(await atlas.regenerate(ref));
    expect(read()).toBe(before);
  });
});
