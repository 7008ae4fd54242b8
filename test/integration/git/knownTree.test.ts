import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { Repository } from '../../../src/core/shared/ports';
import { knownTree } from '../../../src/git/read/knownTree';
import { locateRepository } from '../../../src/git/read/locate';
import { workingTreeOf } from '../../../src/git/read/workingTree';
import { environment, gitOf } from '../../../src/git/read/worktreeGit';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { systemIds } from '../../../src/system/systemPorts';

/* The tree of a worktree's files by one look at what changed since the last one, and made anew: the same, whatever happened. */

const PORTS = { files: new NodeFileSystem(), ids: systemIds };
const FILES = ['a.txt', 'b.txt', 'folder/c.txt', 'folder/d.txt', 'ignored/e.txt'];
const STEPS = Number(process.env['ATLAS_KNOWN_STEPS'] ?? '25');

let base: string;
let worlds = 0;

beforeAll(() => {
  base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-known-')));
});
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

/** A repository, with a folder in which the last look is kept. */
class World {
  readonly folder: string;
  readonly repository: Repository;
  readonly scratch: string;

  constructor() {
    worlds += 1;
    this.folder = path.join(base, `world ${worlds}`);
    this.scratch = path.join(base, `scratch ${worlds}`);
    execFileSync('git', ['init', '-q', '-b', 'main', this.folder]);
    this.write('.gitignore', 'ignored/\n');
    for (const name of FILES) this.write(name, `${name}\n`);
    this.git('add', '.');
    this.git('add', '-f', 'ignored/e.txt');
    this.git('commit', '-qm', 'first');
    const repository = locateRepository(this.folder);
    if (repository === undefined) throw new Error('no repository');
    this.repository = repository;
  }

  git(...args: readonly string[]): void {
    const own = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-C', this.folder];
    const env = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', [...own, ...args], { env, stdio: 'ignore' });
  }

  at(name: string): string {
    return path.join(this.folder, name);
  }

  write(name: string, text: string): void {
    rmSync(this.at(name), { recursive: true, force: true });
    mkdirSync(path.dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), text);
  }

  /** The tree as it is made from what the last look kept. */
  async again(): Promise<string> {
    return unwrap(await workingTreeOf(PORTS, this.repository, this.scratch));
  }

  /** The same, made from nothing. */
  async anew(): Promise<string> {
    const scratch = mkdtempSync(path.join(base, 'anew-'));
    return unwrap(await workingTreeOf(PORTS, this.repository, scratch));
  }

  /** What is known by one look; `undefined` where that isn't enough. */
  async known(): Promise<string | undefined> {
    const theirs = gitOf(this.repository, environment(PORTS.files, this.repository, this.scratch, undefined));
    return knownTree(PORTS, this.repository, this.scratch, theirs);
  }
}

type Step = (world: World, name: string, count: number) => void;

/** Puts back a file's size and time after its content changed. */
function sneak(world: World, name: string): void {
  const before = lstatSync(world.at(name), { throwIfNoEntry: false });
  if (before?.isFile() !== true) return;
  const text = readFileSync(world.at(name), 'utf8');
  writeFileSync(
    world.at(name),
    text.replace(/^./u, (first) => (first === 'x' ? 'y' : 'x')),
  );
  utimesSync(world.at(name), before.atime, before.mtime);
}

const STEPS_BY_NAME: Readonly<Record<string, Step>> = {
  edited: (world, name, count) => world.write(name, `${count}\n`),
  'edited in secret': sneak,
  'written again': (world, name) => {
    if (lstatSync(world.at(name), { throwIfNoEntry: false })?.isFile() === true)
      world.write(name, readFileSync(world.at(name), 'utf8'));
  },
  deleted: (world, name) => rmSync(world.at(name), { recursive: true, force: true }),
  'made a program': (world, name) => {
    if (lstatSync(world.at(name), { throwIfNoEntry: false })?.isFile() === true) chmodSync(world.at(name), 0o755);
  },
  'made a link': (world, name) => {
    world.write(name, '');
    rmSync(world.at(name));
    symlinkSync('nowhere', world.at(name));
  },
  'made a folder': (world, name) => {
    rmSync(world.at(name), { recursive: true, force: true });
    world.write(`${name}/inside.txt`, 'inside\n');
  },
  'joined by a new one': (world, name, count) =>
    world.write(`${path.dirname(name)}/new-${count % 5}.txt`, `${count}\n`),
  'joined by an ignored one': (world, _name, count) => world.write(`ignored/new-${count % 5}.txt`, `${count}\n`),
  'joined by a repository': (world, _name, count) => {
    execFileSync('git', ['init', '-q', world.at(`inner-${count % 3}`)]);
  },
  'given attributes': (world, name) => world.write(`${path.dirname(name)}/.gitattributes`, '*.txt text eol=crlf\n'),
  'rid of attributes': (world, name) => rmSync(world.at(`${path.dirname(name)}/.gitattributes`), { force: true }),
  'ignored in part': (world, _name, count) => world.write('.gitignore', `ignored/\nnew-${count % 5}.txt\n`),
  'added to the index': (world) => world.git('add', '--all', '--', '.', ':!inner-*'),
  committed: (world) => world.git('commit', '-qam', 'more', '--allow-empty'),
  'taken from the index': (world, name) => world.git('rm', '-q', '-r', '--cached', '--ignore-unmatch', name),
  'put back': (world) => world.git('checkout', '-f', '-q', 'HEAD', '--', '.'),
  'marked as unchanged': (world) => world.git('update-index', '--assume-unchanged', '.gitignore'),
  'read with a filter': (world, _name, count) =>
    world.git('config', 'core.autocrlf', count % 2 === 0 ? 'input' : 'false'),
};

describe('the tree of files that were', () => {
  it.each([1, 2])('changed at random (%i), known and made anew, is the same', { timeout: 240_000 }, async (seed) => {
    const world = new World();
    let state = seed * 7919;
    const next = (below: number): number => {
      state = (state * 48271) % 0x7fffffff;
      return state % below;
    };
    const names = Object.keys(STEPS_BY_NAME);
    const done: string[] = [];
    let quick = 0;
    for (let step = 0; step < STEPS; step += 1) {
      const name = names[next(names.length)] ?? '';
      const file = FILES[next(FILES.length)] ?? '';
      done.push(`${name}: ${file}`);
      STEPS_BY_NAME[name]?.(world, file, step);
      const known = await world.known();
      const anew = await world.anew();
      if (known !== undefined) {
        quick += 1;
        expect(known, done.join('\n')).toBe(anew);
      }
      expect(await world.again(), done.join('\n')).toBe(anew);
    }
    expect(quick).toBeGreaterThan(STEPS / 10);
  });

  const QUICK = ['edited', 'written again', 'deleted', 'made a program', 'made a link', 'joined by a new one'];
  it.each(QUICK)('%s, is known by one look', async (name) => {
    const world = new World();
    await world.again();
    STEPS_BY_NAME[name]?.(world, 'a.txt', 1);
    expect(await world.known()).toBe(await world.anew());
  });

  const SLOW = ['given attributes', 'added to the index', 'committed', 'read with a filter'];
  it.each(SLOW)('%s, is made anew', async (name) => {
    const world = new World();
    await world.again();
    world.write('a.txt', 'other\n');
    STEPS_BY_NAME[name]?.(world, 'a.txt', 2);
    expect(await world.known()).toBeUndefined();
    expect(await world.again()).toBe(await world.anew());
  });

  it('looked at by another process meanwhile, or noted by one that was killed, is made anew', async () => {
    const world = new World();
    const first = await world.again();
    const note = path.join(world.scratch, noteOf(world.scratch));
    const noted = readFileSync(note);
    // Index and note of different looks.
    world.write('a.txt', 'other\n');
    world.git('add', '--all');
    const second = await world.again();
    expect(second).not.toBe(first);
    writeFileSync(note, noted);
    expect(await world.known()).toBeUndefined();
    for (const damage of ['', '{', '{"tree":1}']) {
      writeFileSync(note, damage);
      expect(await world.known()).toBeUndefined();
      expect(await world.again()).toBe(second);
    }
  });
});

function noteOf(scratch: string): string {
  const name = new NodeFileSystem().list(scratch).find((each) => each.startsWith('known-'));
  if (name === undefined) throw new Error('nothing is noted');
  return name;
}
