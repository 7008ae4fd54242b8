import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { type Drained, type SpoolService, nativeFolder } from '../../../src/service/git/spoolService';
import { GenerationLock } from '../../../src/system/locks/lock';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { rememberEnvironment } from '../../support/environment';
import { HookWorld, until } from '../../support/fixtures/hookWorld';
import { WorkerPool } from '../../support/processes/workerPool';

let world: HookWorld;
let pool: WorkerPool;
let warnings: string[] = [];
const restoreEnvironment = rememberEnvironment();

beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(async () => {
  world = await HookWorld.open();
  warnings = [];
  mkdirSync(world.spoolFolder);
});
afterEach(() => {
  world.dispose();
  restoreEnvironment();
});

let count = 0;
/** Writes an event as a hook does. */
function event(fields: { trigger?: string; folder?: string; parent?: number; more?: string } = {}): string {
  const { trigger = 'post-commit', folder = world.folder, parent = 1, more = '' } = fields;
  return raw(`atlas-event 1\ntrigger ${trigger}\nfolder ${folder}\nparent ${parent}\n${more}end\n`);
}
function raw(text: string): string {
  const name = `event.${(count += 1)}.0`;
  writeFileSync(path.join(world.spoolFolder, name), text);
  return name;
}
async function drain(): Promise<Drained> {
  return unwrap(await world.spool.drain());
}
/** A second process on the same store, as far as that goes inside of one. */
async function another(): Promise<SpoolService> {
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  return new Atlas(systemPorts(world.ws.atlasHome, '0.0.0', log)).spool();
}
const claim = (): string => path.join(world.spoolFolder, 'claim');

describe('a drain', () => {
  it('looks once at a repository, however many events there are, and makes each checkpoint once', async () => {
    const ref = await world.start();
    await world.commit('one');
    await world.commit('two');
    for (let each = 0; each < 50; each += 1) event();
    expect(await drain()).toEqual({ events: 50, checkpoints: [ref, ref], kept: [], left: 0 });
    event();
    expect(await drain()).toEqual({ events: 1, checkpoints: [], kept: [], left: 0 });
    expect(world.checkpoints(ref)).toEqual(['Commit: one', 'Commit: two']);
    expect(readdirSync(world.spoolFolder)).toEqual(['locks']);
  });

  it("of a repository without a workspace is nobody's", async () => {
    event();
    expect(await drain()).toEqual({ events: 1, checkpoints: [], kept: [], left: 0 });
    expect(world.spool.kept()).toEqual([]);
  });

  it('without a spool makes none', async () => {
    rmSync(world.spoolFolder, { recursive: true });
    expect(await drain()).toEqual({ events: 0, checkpoints: [], kept: [], left: 0 });
    expect(existsSync(world.spoolFolder)).toBe(false);
  });

  it('that starts while another is at it returns, and the other sees its event', async () => {
    const ref = await world.start();
    const other = await another();
    const push = event({ trigger: 'pre-push', parent: process.pid });
    const controller = new AbortController();
    const first = world.spool.drain({ signal: controller.signal });
    await until('it drains', () => existsSync(claim()));
    expect(await drain()).toMatchObject({ events: 0, left: 0 });
    expect(existsSync(claim())).toBe(true);
    await world.commit('meanwhile');
    event();
    expect(unwrap(await other.drain())).toEqual({ events: 0, checkpoints: [], kept: [], left: 0 });
    await until('it is seen', () => world.checkpoints(ref).length === 1 && world.events.length === 1);
    controller.abort();
    expect(unwrap(await first)).toMatchObject({ events: 1, checkpoints: [ref], left: 1 });
    expect([world.events, existsSync(claim())]).toEqual([[push], false]);
  });

  /** A store on files that do something more when one of their functions is called. */
  async function watching(name: 'append' | 'unlink', file: string, act: () => void): Promise<SpoolService> {
    const ports = systemPorts(world.ws.atlasHome, '0.0.0', silentLog);
    const files = new NodeFileSystem();
    let acted = false;
    files[name] = (target: string, data: string | Uint8Array = '') => {
      ports.files[name](target, data);
      if (acted || !path.relative(world.spoolFolder, target).startsWith(file)) return;
      acted = true;
      act();
    };
    return new Atlas({ ...ports, files }).spool();
  }

  it('sees an event that comes while it ends', async () => {
    const ref = await world.start();
    await world.commit();
    event();
    // The moment in which the lock is released: a process that the hook starts now may still find it held.
    const spool = await watching('append', 'locks', () => void event());
    expect(unwrap(await spool.drain())).toMatchObject({ events: 2, checkpoints: [ref] });
    expect(world.events).toEqual([]);
  });

  it('that finds another at it sees what came before the claim in its name was taken back', async () => {
    const lock = new GenerationLock(path.join(world.spoolFolder, 'locks'), world.atlas.ports);
    const held = await lock.acquire();
    writeFileSync(claim(), `${process.pid} -\n`);
    const spool = await watching('unlink', 'claim', () => {
      event();
      held.release();
    });
    expect(unwrap(await spool.drain())).toMatchObject({ events: 1 });
    expect([world.events, existsSync(claim())]).toEqual([[], false]);
  });

  it('says again that it drains when a hook named another process', async () => {
    event({ trigger: 'pre-push', parent: process.pid });
    const controller = new AbortController();
    const draining = world.spool.drain({ signal: controller.signal });
    await until('it drains', () => existsSync(claim()));
    const said = readFileSync(claim(), 'utf8');
    writeFileSync(claim(), '999999 -\n');
    await until('it says so again', () => readFileSync(claim(), 'utf8') === said);
    controller.abort();
    await draining;
  });

  it('waits for a push, and for nothing else', async () => {
    const ref = await world.start();
    const push = spawn('sleep', ['60']);
    event({ trigger: 'pre-push', parent: push.pid ?? 0 });
    const draining = world.spool.drain();
    await until('it drains', () => existsSync(claim()));
    await world.commit('before');
    event();
    await until('the commit is seen', () => world.checkpoints(ref).length === 1);
    await world.run('git', ['push', '--quiet']);
    expect(world.events).toHaveLength(1);
    push.kill('SIGKILL');
    await once(push, 'exit');
    expect(unwrap(await draining)).toEqual({ events: 2, checkpoints: [ref, ref], kept: [], left: 0 });
    expect(world.checkpoints(ref)).toEqual(['Commit: before', 'Pushed main to origin (1 commit)']);
  });

  it('killed at any moment loses nothing and makes nothing twice', { timeout: 60_000 }, async () => {
    const ref = await world.start();
    const subjects: string[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      for (let each = 0; each < 3; each += 1) {
        subjects.push(`nr ${turn}.${each}`);
        await world.commit(subjects.at(-1));
        event();
      }
      const worker = pool.start('drain', world.ws.atlasHome, [], world.ws.env);
      await until('it drains', () => existsSync(claim()) || worker.process.exitCode !== null);
      await new Promise((resolve) => setTimeout(resolve, turn * 6));
      await worker.kill();
    }
    await drain();
    expect(world.checkpoints(ref)).toEqual(subjects.map((subject) => `Commit: ${subject}`));
    expect([world.events, world.spool.kept(), existsSync(claim())]).toEqual([[], [], false]);
  });

  it('by many processes at once makes each checkpoint once and leaves no event', { timeout: 60_000 }, async () => {
    const ref = await world.start();
    await world.install(world.drainer(pool));
    for (let each = 0; each < 20; each += 1) {
      const extra = each % 5 === 0 ? pool.start('drain', world.ws.atlasHome, [], world.ws.env) : undefined;
      await world.commit(`nr ${each}`);
      await extra?.done();
    }
    await world.drained();
    expect(world.checkpoints(ref)).toEqual(Array.from({ length: 20 }, (_each, index) => `Commit: nr ${index}`));
  });
});

describe('an event that is not whole', () => {
  const whole = (): string => `atlas-event 1\ntrigger post-commit\nfolder ${world.folder}\nparent 1\nend\n`;

  it('is waited for', async () => {
    const ref = await world.start();
    await world.commit();
    const name = raw(whole().slice(0, -3));
    const draining = drain();
    await until('it drains', () => existsSync(claim()));
    writeFileSync(path.join(world.spoolFolder, name), whole());
    expect(await draining).toMatchObject({ events: 1, checkpoints: [ref], kept: [] });
    expect(world.checkpoints(ref)).toHaveLength(1);
  });

  it('and never will be is kept, and the others are dealt with', async () => {
    const ref = await world.start();
    await world.commit();
    raw(whole().slice(0, 40));
    raw('');
    event();
    expect(await drain()).toMatchObject({ events: 1, checkpoints: [ref], left: 0 });
    expect(world.spool.kept().map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'It was not written completely.'),
    );
    expect(world.events).toEqual([]);
  });
});

describe('an event that can not be turned is kept with its reason', () => {
  const cases: readonly (readonly [string, () => void, RegExp])[] = [
    ['another version', () => void raw('atlas-event 2\nend\n'), /was not written by a git hook/u],
    ['a line break in the folder', () => void event({ folder: '/a\nb' }), /was not written by a git hook/u],
    ['lines put in', () => void event({ folder: `${world.folder}\nparent 1\nend` }), /was not written by a git hook/u],
    ['an unknown trigger', () => void event({ trigger: 'rm -rf' }), /was not written by a git hook/u],
    ['a line that no hook writes', () => void event({ more: 'task $(id)\n' }), /was not written by a git hook/u],
    [
      'a folder that is too long',
      () => void event({ folder: `/${'a'.repeat(5000)}` }),
      /was not written by a git hook/u,
    ],
    ['far too large', () => void raw('x'.repeat(100_000)), /could not be read/u],
    ['a link', () => symlinkSync('/etc/passwd', path.join(world.spoolFolder, 'event.9.9')), /is a link, not a file/u],
    ['a folder', () => mkdirSync(path.join(world.spoolFolder, 'event.9.9')), /is a folder, not a file/u],
    ['a relative folder', () => void event({ folder: '../x' }), /is not an absolute path/u],
    ['a folder that is gone', () => void event({ folder: '/nowhere/at all' }), /no longer exists/u],
    [
      'a folder below a file',
      () => void event({ folder: path.join(world.folder, 'README.md', 'x') }),
      /no longer exists/u,
    ],
    ['a file for a folder', () => void event({ folder: path.join(world.folder, 'README.md') }), /is not a folder/u],
    ['no repository', () => void event({ folder: world.ws.root }), /is not in a repository/u],
    [
      'a damaged workspace',
      () => {
        const folder = path.join(world.ws.atlasHome, 'workspaces', 'repo');
        mkdirSync(folder, { recursive: true });
        writeFileSync(path.join(folder, 'workspace.json'), '{');
        event();
      },
      /workspace\.json is damaged/u,
    ],
  ];
  it.each(cases)('%s', async (_what, make, reason) => {
    make();
    const drained = await drain();
    expect(drained).toMatchObject({ events: 0, checkpoints: [], left: 0 });
    expect(drained.kept).toHaveLength(1);
    expect(world.spool.kept()).toMatchObject([{ reason: expect.stringMatching(reason) as string }]);
    expect(world.spool.pending()).toBe(0);
    expect(world.spool.discardKept()).toBe(1);
    expect(world.spool.kept()).toEqual([]);
  });

  it('and what is kept tells when and where it was', async () => {
    const before = Date.now() - 2000;
    event({ folder: '/nowhere' });
    await drain();
    const [kept] = world.spool.kept();
    expect(kept).toMatchObject({ trigger: 'post-commit', folder: '/nowhere' });
    expect(kept?.at).toBeGreaterThan(before);
  });

  it('up to 200 of them, the newest', async () => {
    const spool = await another();
    for (let each = 0; each < 205; each += 1) event({ folder: `/nowhere/${each}` });
    unwrap(await spool.drain());
    expect(spool.kept()).toHaveLength(200);
    expect(warnings.some((text) => text.includes('dropped'))).toBe(true);
  });

  it('though what was kept is damaged', async () => {
    event({ folder: '/nowhere' });
    await drain();
    const folder = path.join(world.spoolFolder, 'kept');
    writeFileSync(path.join(folder, readdirSync(folder)[0] ?? ''), '{');
    expect(world.spool.kept()).toMatchObject([{ reason: 'Its saved copy is damaged.' }]);
  });

  it('but not because something is busy: then it waits for the next drain', { timeout: 30_000 }, async () => {
    const ref = await world.start();
    await world.commit('work');
    const held = pool.start('hold', world.ws.atlasHome, [ref.workspace, ref.id]);
    await held.speaks();
    event();
    expect(await drain()).toMatchObject({ events: 0, checkpoints: [], kept: [], left: 1 });
    await held.kill();
    expect(await drain()).toMatchObject({ events: 1, checkpoints: [ref], left: 0 });
  });
});

describe('windows', () => {
  const windows = (): string[] => readdirSync(world.spoolFolder).filter((name) => name.startsWith('window.'));

  it('are announced and withdrawn, and what dead ones left is removed', () => {
    for (const [pid, text] of [
      ['999999', '999999 12 - -\n'],
      [String(process.pid), 'nonsense'],
      ['999998', `${process.pid} 123456789012 - -\n`],
      ['7', '7 12 another-machine -\n'],
    ] as const) {
      writeFileSync(path.join(world.spoolFolder, `window.${pid}`), text);
    }
    world.spool.announceWindow();
    expect(windows().sort()).toEqual([`window.${process.pid}`, 'window.7'].sort());
    world.spool.withdrawWindow();
    world.spool.withdrawWindow();
    expect(windows()).toEqual(['window.7']);
  });

  it('make the spool, and bear one that can not be made', async () => {
    rmSync(world.spoolFolder, { recursive: true });
    world.spool.announceWindow();
    expect(windows()).toHaveLength(1);
    rmSync(world.spoolFolder, { recursive: true });
    writeFileSync(world.spoolFolder, '');
    const spool = await another();
    spool.announceWindow();
    spool.withdrawWindow();
    expect(warnings).not.toEqual([]);
  });
});

it("Git for Windows' paths are read as Windows' own", () => {
  expect(nativeFolder('/c/Users/x', 'win32')).toBe('c:/Users/x');
  expect(nativeFolder('/c', 'win32')).toBe('c:');
  expect(nativeFolder('C:/Users', 'win32')).toBe('C:/Users');
  expect(nativeFolder('/c/Users/x', 'linux')).toBe('/c/Users/x');
});
