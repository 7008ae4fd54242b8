import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { deflateSync } from 'node:zlib';
import { unwrap } from '../../../src/core/shared/errors';
import { type Clone, Clones } from '../../support/fixtures/forgeClones';
import type { ForgeWorld } from '../../support/fixtures/forgeWorld';
import { type Random, mutateBytes, mutateJson } from '../../support/faults/fuzz';

/** How many branches are pushed at once. */
export const ROUND = 40;
const MIB = 1024 * 1024;
/** What all of it may take beyond the beginning, in MiB. */
const MOST_MIB = 400;

interface Entry {
  readonly mode: string;
  readonly name: Uint8Array;
  readonly id: string;
}

type Choices<T> = readonly [T, ...T[]];
const NAMES: Choices<string> = [
  '.git',
  ...[
    '..',
    '.',
    '../x',
    '../../../x',
    '/x',
    'git~1',
    'GIT~2',
    '.GIT',
    '.git.',
    '.git ',
    '.git::$INDEX_ALLOCATION',
    '.git\\x',
  ],
  ...[
    '.g\u200cit',
    '.gitmodules',
    '.gitattributes',
    '.GitAttributes',
    'gitatt~1',
    '.gitignore',
    'HEAD',
    'config',
    'objects',
    'refs',
  ],
  ...[
    'commondir',
    'head',
    'hooks',
    'con',
    'aux.txt',
    'a:b',
    'a\\b',
    'a\nb',
    '\u001b[2J',
    'evidence',
    'x'.repeat(300),
    'plain',
    'é',
    'a b',
  ],
  ...[
    'status.json',
    'task.json',
    'context.json',
    'result.json',
    'tasks.jsonl',
    'evidence.jsonl',
    'rejected.jsonl',
    'out.txt',
  ],
];
const MODES: Choices<string> = [
  '100644',
  '100644',
  '100644',
  '100755',
  '120000',
  '160000',
  '100664',
  '040000',
  '40000',
  '100600',
  '0',
];
const CANARY_CONFIG = '[core]\n\tfsmonitor = touch CANARY\n\thooksPath = .\n\tworktree = ..\n';

/** Puts random branches on a bare remote, has a clone do all that it does with them, and looks whether anything else came of it. */
export class BranchFuzz {
  readonly canary: string;
  private readonly clones: Clones;
  private readonly a: Clone;
  private readonly b: Clone;
  private readonly own: Readonly<Record<string, Buffer>>;
  private readonly startMib: number;
  private readonly seen = new Map<string, number>();
  private readonly large = new Map<number, string>();
  private round = 0;
  private before = '';

  private constructor(
    private readonly world: ForgeWorld,
    private readonly random: Random,
    clones: Clones,
    [a, b]: readonly [Clone, Clone],
  ) {
    [this.clones, this.a, this.b] = [clones, a, b];
    this.canary = path.join(world.base, 'canary');
    const files = ['status.json', 'task.json', 'context.json'];
    this.own = Object.fromEntries(
      files.map((name) => [name, Buffer.from(clones.git('show', `forge/hooks/w1:${name}`))]),
    );
    for (const name of ['smudge', 'clean']) b.git('config', `filter.own.${name}`, `touch '${this.canary}'; cat`);
    this.startMib = process.memoryUsage.rss() / MIB;
    this.before = this.outside();
  }

  static async make(world: ForgeWorld, random: Random): Promise<BranchFuzz> {
    const clones = new Clones(world);
    const a = clones.add('a');
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    return new BranchFuzz(world, random, clones, [a, clones.add('b')]);
  }

  /** How often each thing happened. */
  get report(): string {
    const rows = [...this.seen].sort().map(([what, times]) => `${what}: ${times}`);
    return [...rows, `most memory: ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`].join('\n');
  }

  private note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** Pushes a round of branches and a ledger, uses them, and checks. Throws with what is wrong. */
  async cases(): Promise<void> {
    this.round += 1;
    const { b } = this;
    const ledger = this.clones.git('rev-parse', 'forge/ledger');
    const workers = Array.from({ length: ROUND - 1 }, (_, index) => `f${index}`);
    for (const worker of workers) this.point(`hooks/${worker}`, this.commit(this.hookTree(worker), []));
    this.point('ledger', this.commit(this.ledgerTree(), [ledger]));
    const synced = await b.workers.sharing.sync();
    this.note(synced.ok ? 'synced' : `not synced: ${synced.error.code}`);
    if (synced.ok) {
      for (const { error } of synced.value.unusable) this.note(`unusable: ${error.code}`);
      for (const { count } of synced.value.refused) this.note(count > 0 ? 'with refused files' : '');
    }
    const all = unwrap(await b.workers.statuses.all());
    for (const { damage, worker } of all.workers) {
      this.note(damage === undefined ? 'sound' : damage.code);
      if (worker === 'w1' || this.random.below(2) === 0) continue;
      const restored = await b.workers.steps.restore(worker);
      this.note(restored.ok ? 'shown' : `not shown: ${restored.error.code}`);
    }
    this.check();
    unwrap(await b.workers.repairs.plan());
    if (this.random.below(3) === 0) unwrap(await b.workers.repairs.apply());
    this.check();
    this.clear(ledger);
  }

  /** Takes the branches away again, so that each round begins alike. */
  private clear(ledger: string): void {
    const { b } = this;
    for (const folder of [this.clones.bare, b.folder]) {
      const refs = gitBytes(folder, 'for-each-ref', '--format=%(refname)').toString('utf8').split('\n');
      const gone = refs.filter((ref) => /\/forge\/hooks\/f\d+$/u.test(ref)).map((ref) => `delete ${ref}\n`);
      const back = refs.filter((ref) => ref.endsWith('/forge/ledger')).map((ref) => `update ${ref} ${ledger}\n`);
      execFileSync('git', ['update-ref', '--stdin'], { cwd: folder, input: [...gone, ...back].join('') });
    }
    rmSync(path.join(b.folder, '.forge'), { recursive: true, force: true });
    rmSync(path.join(b.folder, '.git', 'worktrees'), { recursive: true, force: true });
  }

  /** Everything that must stay as it is: beside the clone, at its top, and git's own settings and programs. */
  private outside(): string {
    const picture: string[] = [];
    const walk = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const full = path.join(folder, entry.name);
        const name = path.relative(this.world.base, full);
        if (
          /^(?:a|bare\.git)\/|^b\/(?:\.forge$|\.git\/(?:objects|refs|logs|worktrees|atlas)$)|^b\/\.git\/(?:packed-refs|info)/u.test(
            name,
          )
        )
          continue;
        if (entry.isDirectory()) walk(full);
        else
          picture.push(`${name} ${statSync(full).size} ${createHash('sha1').update(readFileSync(full)).digest('hex')}`);
      }
    };
    walk(this.world.base);
    return picture.sort().join('\n');
  }

  private check(): void {
    const { b } = this;
    const list = path.join(b.folder, '.git', 'worktrees');
    for (const name of existsSync(list) ? readdirSync(list) : []) {
      const pointer = path.join(list, name, 'gitdir');
      if (!existsSync(pointer) || !existsSync(path.join(list, name, 'index'))) continue;
      const folder = path.dirname(readFileSync(pointer, 'utf8').trim());
      const bad = unsafeIn(indexEntries(readFileSync(path.join(list, name, 'index'))));
      if (bad !== undefined)
        throw new Error(`round ${this.round}: the index of ${folder} holds ${JSON.stringify(bad)}`);
      if (this.random.below(8) !== 0) continue;
      const listed = unsafeIn(gitEntries(gitBytes(folder, 'ls-files', '-s', '-z')));
      if (listed !== undefined) throw new Error(`git lists ${JSON.stringify(listed)} in ${folder}`);
      for (const args of [['restore', '.'], ['status'], ['diff', '--quiet']]) gitBytes(folder, ...args);
      if (existsSync(this.canary)) throw new Error(`round ${this.round}: git ran a program in ${folder}`);
    }
    if (existsSync(this.canary)) throw new Error(`round ${this.round}: a program ran`);
    const now = this.outside();
    if (now !== this.before)
      throw new Error(`round ${this.round}: something outside changed:\n${difference(this.before, now)}`);
    const mib = process.memoryUsage.rss() / MIB;
    if (mib > this.startMib + MOST_MIB)
      throw new Error(`round ${this.round}: ${Math.round(mib - this.startMib)} MiB more`);
  }

  private point(branch: string, commit: string): void {
    const file = path.join(this.clones.bare, 'refs', 'heads', 'forge', branch);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${commit}\n`);
  }

  private write(type: string, bytes: Uint8Array): string {
    const whole = Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]);
    const id = createHash('sha1').update(whole).digest('hex');
    const file = path.join(this.clones.bare, 'objects', id.slice(0, 2), id.slice(2));
    if (existsSync(file)) return id;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, deflateSync(whole, { level: 1 }));
    return id;
  }

  private tree(entries: readonly Entry[]): string {
    const lines = entries.map(({ mode, name, id }) =>
      Buffer.concat([Buffer.from(`${mode} `), name, Buffer.from([0]), Buffer.from(id, 'hex')]),
    );
    return this.write('tree', Buffer.concat(lines));
  }

  private commit(tree: string, parents: readonly string[]): string {
    const before = parents.map((parent) => `parent ${parent}\n`).join('');
    const who = 'x <x@example.invalid> 0 +0000';
    return this.write(
      'commit',
      Buffer.from(`tree ${tree}\n${before}author ${who}\ncommitter ${who}\n\n${this.random.below(1e9)}\n`),
    );
  }

  private name(): Uint8Array {
    const { random } = this;
    let name = random.pick(NAMES);
    if (random.below(4) === 0)
      name = name.replaceAll(/./gu, (letter) => (random.below(3) === 0 ? letter.toUpperCase() : letter));
    if (random.below(6) === 0) {
      const at = random.below(name.length + 1);
      name =
        name.slice(0, at) +
        random.pick(['\u200c', '\u200d', '\ufeff', '\u206a', '.', ' ', '\u00ad', '~1', '::$DATA', '/']) +
        name.slice(at);
    }
    const bytes = Buffer.from(name);
    const odd = random.below(20) === 0 ? Buffer.from(mutateBytes(bytes, random, Buffer.from('.git'))) : bytes;
    // An empty name, or a zero in it, is no tree to git at all.
    return odd.length === 0 || odd.includes(0) ? bytes : odd;
  }

  private blob(): string {
    const { random } = this;
    const kind = random.below(40);
    if (kind === 0) return this.zeros(random.pick([300_000, 5 * MIB, 70 * MIB]));
    if (kind < 8) return this.write('blob', Buffer.from(CANARY_CONFIG.replaceAll('CANARY', `'${this.canary}'`)));
    if (kind < 12) return this.write('blob', Buffer.from('* filter=own\n'));
    if (kind < 16)
      return this.write(
        'blob',
        Buffer.from(random.pick(['gitdir: fakegit\n', 'ref: refs/heads/main\n', '../../..', '/etc/passwd'])),
      );
    return this.write('blob', Buffer.from(String(random.below(1000))));
  }

  private zeros(bytes: number): string {
    const id = this.large.get(bytes) ?? this.write('blob', Buffer.alloc(bytes));
    this.large.set(bytes, id);
    return id;
  }

  private entries(depth: number): Entry[] {
    const { random } = this;
    // What settings name in a folder only counts with files beside them.
    if (random.below(10) === 0) {
      const own = this.file('.gitattributes', Buffer.from('* filter=own\n'));
      return [
        own,
        this.file('f', Buffer.from('x')),
        { mode: '40000', name: Buffer.from('in'), id: this.tree([own, this.file('f', Buffer.from('x'))]) },
      ];
    }
    return Array.from({ length: random.below(7) }, (): Entry => {
      const name = this.name();
      if (depth < 4 && random.below(3) === 0) return { mode: '40000', name, id: this.tree(this.entries(depth + 1)) };
      const mode = random.pick(MODES);
      const isTree = mode === '40000' || mode === '040000';
      return {
        mode,
        name,
        id: isTree ? this.tree(this.entries(depth + 3)) : mode === '160000' ? '1'.repeat(40) : this.blob(),
      };
    });
  }

  private file(name: string, bytes: Uint8Array): Entry {
    return { mode: '100644', name: Buffer.from(name), id: this.write('blob', bytes) };
  }

  private hookTree(worker: string): string {
    const { random } = this;
    const special = random.below(60);
    const entries = this.entries(0);
    if (special === 0) {
      let inner = this.tree([this.file('f', Buffer.from('x'))]);
      for (let depth = random.below(40); depth > 0; depth -= 1)
        inner = this.tree([{ mode: '40000', name: Buffer.from('d'), id: inner }]);
      entries.push({ mode: '40000', name: Buffer.from('deep'), id: inner });
    } else if (special === 1) {
      const { id } = this.file('f', Buffer.from('x'));
      const many = Array.from({ length: 5000 }, (_, index) => ({ mode: '100644', name: Buffer.from(`f${index}`), id }));
      entries.push({ mode: '40000', name: Buffer.from('many'), id: this.tree(many) });
    }
    for (const [name, bytes] of Object.entries(this.own)) {
      if (random.below(8) === 0) continue;
      const text = bytes.toString('utf8').replaceAll('"w1"', `"${worker}"`);
      const value: unknown = JSON.parse(text);
      const json = random.below(3) === 0 ? JSON.stringify(mutateJson(value, random)) : text;
      const content = random.below(10) === 0 ? mutateBytes(Buffer.from(json), random, bytes) : Buffer.from(json);
      entries.push(this.file(name, content));
    }
    return this.tree(entries);
  }

  private ledgerTree(): string {
    const { random } = this;
    const files = ['tasks', 'convoys', 'evidence'].map((kind): Entry => {
      const text = this.clones.git(
        'cat-file',
        'blob',
        `${this.a.git('rev-parse', 'forge/ledger')}:${kind === 'tasks' ? 'tasks.jsonl' : '.gitattributes'}`,
      );
      const lines = text.split('\n').flatMap((line) => {
        if (!line.startsWith('{')) return [];
        const changed = JSON.stringify(mutateJson(JSON.parse(line), random));
        const deep = line.replace('"input":{}', `"input":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
        return [
          line,
          random.pick([changed, deep, line.slice(0, random.below(line.length)), 'x'.repeat(random.below(2000))]),
        ];
      });
      return this.file(`${kind}.jsonl`, Buffer.from(`${lines.join('\n')}${random.pick(['', '\n'])}`));
    });
    return this.tree([...this.entries(0), ...files]);
  }
}

function gitBytes(folder: string, ...args: readonly string[]): Buffer {
  try {
    return execFileSync('git', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 * MIB });
  } catch (error) {
    return (error as { readonly stdout?: Buffer }).stdout ?? Buffer.alloc(0);
  }
}

/** A file in an index, its name byte by byte. */
interface IndexEntry {
  readonly mode: string;
  readonly name: string;
}

function gitEntries(listed: Buffer): IndexEntry[] {
  const lines = listed
    .toString('latin1')
    .split('\0')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const [, mode = '', name = ''] = /^(\d+) [0-9a-f]+ \d\t(.*)$/su.exec(line) ?? [];
    return { mode, name };
  });
}

/** The entries of an index of version 2 (gitformat-index). */
function indexEntries(index: Buffer): IndexEntry[] {
  const entries: IndexEntry[] = [];
  if (index.toString('latin1', 0, 4) !== 'DIRC' || index.readUInt32BE(4) !== 2)
    throw new Error('no index of version 2');
  let at = 12;
  for (let left = index.readUInt32BE(8); left > 0; left -= 1) {
    const end = index.indexOf(0, at + 62);
    entries.push({ mode: index.readUInt32BE(at + 24).toString(8), name: index.toString('latin1', at + 62, end) });
    at += Math.ceil((end - at + 1) / 8) * 8;
  }
  return entries;
}

/** The first path that no index of ours may hold. These rules are written apart from the product's. */
function unsafeIn(entries: readonly IndexEntry[]): string | undefined {
  const heads = new Set<string>();
  const paths: string[] = [];
  for (const { mode, name } of entries) {
    const text = Buffer.from(name, 'latin1').toString('utf8');
    if (mode !== '100644' && mode !== '100755') return `${mode} ${text}`;
    if (Buffer.from(text, 'utf8').toString('latin1') !== name) return text;
    for (const part of text.split('/')) if (isUnsafe(part)) return text;
    paths.push(text.toLowerCase());
    if (/(?:^|\/)head$/iu.test(text)) heads.add(text.toLowerCase().slice(0, -4));
  }
  const holds = (start: string): boolean => paths.some((each) => each === start || each.startsWith(`${start}/`));
  for (const folder of heads)
    if (holds(`${folder}commondir`) || (holds(`${folder}objects`) && holds(`${folder}refs`))) return `${folder}HEAD`;
  return undefined;
}

function isUnsafe(part: string): boolean {
  // What HFS+ leaves out, as git's utf8.c lists it.
  const seen = part.replaceAll(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu, '').toLowerCase();
  if (part === '' || /^[. ]*$/u.test(part)) return true;
  for (const letter of part) if (letter < ' ' || letter === '\\' || letter === ':' || letter === '\u007f') return true;
  const bare = seen.replace(/[ .]+$/u, '');
  if (bare === '.git' || /^git~[0-9]+$/u.test(bare)) return true;
  if (/^(?:gitmod|gitatt|gitign|mailma)~[0-9]+$/u.test(bare)) return true;
  return ['.gitmodules', '.gitattributes'].includes(bare) && part !== '.gitattributes' && part !== '.gitmodules';
}

function difference(before: string, after: string): string {
  const [old, fresh] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...old].filter((line) => !fresh.has(line)).map((line) => `- ${line}`),
    ...[...fresh].filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ].join('\n');
}
