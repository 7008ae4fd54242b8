import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, utimesSync } from 'node:fs';
import fc from 'fast-check';
import type { SnapshotWorld } from '../../support/fixtures/snapshotWorld';

/** Files larger than this (bytes) are left out in these tests. */
export const LARGE = 64 * 1024;

/** Something that a person, a tool or git does in a worktree. */
export type Edit =
  | { readonly do: 'write'; readonly at: string; readonly content: number; readonly mode: number }
  | { readonly do: 'sameSize'; readonly at: string }
  | { readonly do: 'remove' | 'folder' | 'repository' | 'submodule' | 'pipe' | 'large'; readonly at: string }
  | { readonly do: 'link'; readonly at: string; readonly to: string }
  | { readonly do: 'chmod'; readonly at: string; readonly mode: number }
  | { readonly do: 'rename'; readonly at: string; readonly to: string }
  | { readonly do: 'ignore'; readonly at: string; readonly rule: string }
  | { readonly do: 'attributes'; readonly rule: string }
  | { readonly do: 'git'; readonly args: readonly string[] };

const LINE = 'x'.repeat(LARGE - 10);
const CONTENTS: readonly Buffer[] = [
  ...['', 'a\n', 'b\n', 'one\r\ntwo\r\n', 'mixed\r\nline\n', 'no end', '$Id$\n', LINE].map((text) => Buffer.from(text)),
  ...[Buffer.from([0, 255, 254, 13, 10, 0]), Buffer.from('\ufeffü\n', 'utf16le'), Buffer.from([0xff, 0xfe])],
];
const NAMES = [
  'a',
  'A',
  'b',
  'dir',
  'dir/x',
  'dir/X',
  'dir/sub/y',
  'dir/sub',
  'deep/er/file',
  'sp ace/ x ',
  'new\nline',
]
  .concat(['grün/ß', 'q"uote', 'back\\slash', '-dash', ':(top)x', ':x', '*glob?', '[ab]', '#hash', '!bang', 'tab\t'])
  .concat([
    'x.log',
    'build/out',
    'build',
    'dir/x.log',
    '\xff\xfe',
    'dir\xff/x',
    'a.lock',
    '.hidden',
    'ignored/in',
    'git',
  ])
  .map((name) =>
    /[\u00ff-\uffff]/u.test(name) && !name.includes('\xff') ? Buffer.from(name).toString('latin1') : name,
  );
const PLACES = NAMES.map((name) => (name === 'grün/ß' ? Buffer.from(name).toString('latin1') : name));
const RULES = ['*.log', 'build/', '/ignored', '!dir/x.log', 'a', 'dir/*', '*', '', '!x.log', 'deep'];
const ATTRIBUTES = [
  '* text=auto eol=crlf',
  '* text eol=lf',
  '* ident',
  '*.log filter=up',
  '* working-tree-encoding=UTF-16',
].concat(['a filter=up -text', 'dir/** export-ignore']);
/** What git is asked to do; `PLOT` stands for the folder in which the edits are. */
const GITS = [
  ['add', '-A', '--', 'PLOT'],
  ['add', '-A', '-f', '--', 'PLOT'],
  ['commit', '-q', '--allow-empty', '-m', 'x'],
  ['rm', '-rq', '--cached', '--', 'PLOT'],
]
  .concat([
    ['reset', '-q', '--', 'PLOT'],
    ['stash', 'push', '-q', '--', 'PLOT'],
    ['config', 'core.autocrlf', 'true'],
    ['config', 'core.fileMode', 'false'],
  ])
  .concat([
    ['update-index', '--assume-unchanged', 'PLOT/a'],
    ['add', '-N', '--', 'PLOT/b'],
    ['checkout', '-q', '-B', 'other'],
    ['sparse-checkout', 'set', '--no-cone', '/*', '!/PLOT/dir/'],
    ['sparse-checkout', 'disable'],
  ]);

const place = fc.constantFrom(...PLACES);
const mode = fc.constantFrom(0o644, 0o644, 0o644, 0o755, 0o600, 0o444, 0o700, 0o666);
const content = fc.nat({ max: CONTENTS.length - 1 });

/** One edit. */
export const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('write' as const), at: place, content, mode }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sameSize' as const), at: place }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('remove' as const), at: place }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(...(['folder', 'repository', 'submodule', 'pipe', 'large'] as const)),
      at: place,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('link' as const),
      at: place,
      to: fc.constantFrom('a', 'dir', '../..', 'nowhere', '.'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('chmod' as const), at: place, mode }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), at: place, to: place }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('ignore' as const),
      at: fc.constantFrom('', 'dir/', 'deep/'),
      rule: fc.constantFrom(...RULES),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('attributes' as const), rule: fc.constantFrom(...ATTRIBUTES) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('git' as const), args: fc.constantFrom(...GITS) }) },
);

function bytes(at: string): Buffer {
  return Buffer.from(at, 'latin1');
}

function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // A folder lies where a file is to be, nothing where something is to go, git refuses: then this edit is none.
  }
}

/** Does edits in a folder of a worktree: `''` for the worktree itself. One that can't be done does nothing. */
export class Gardener {
  constructor(
    private readonly world: SnapshotWorld,
    private readonly isRepository: boolean,
    private readonly plot: string,
  ) {
    if (plot !== '') mkdirSync(world.at(plot), { recursive: true });
  }

  perform(change: Edit): void {
    tryTo(() => {
      this.act(change);
    });
  }

  private at(name: string): string {
    return this.plot === '' ? name : `${this.plot}/${name}`;
  }

  private act(change: Edit): void {
    const { world } = this;
    switch (change.do) {
      case 'git':
        if (this.isRepository) world.git(...change.args.map((arg) => this.inPlot(arg)));
        return;
      case 'attributes':
        world.write(this.at('.gitattributes'), `${change.rule}\n`);
        return;
      case 'ignore':
        world.write(this.at(`${change.at}.gitignore`), `${change.rule}\n`);
        return;
      case 'rename':
        renameSync(world.at(bytes(this.at(change.at))), world.at(bytes(this.at(change.to))));
        return;
      default:
        this.change(change, this.at(change.at));
    }
  }

  private inPlot(arg: string): string {
    if (this.plot !== '') return arg.replace('PLOT', this.plot);
    return arg === 'PLOT' ? '.' : arg.replace('PLOT/', '');
  }

  private change(change: Exclude<Edit, { do: 'git' | 'attributes' | 'ignore' | 'rename' }>, at: string): void {
    const { world } = this;
    const full = world.at(bytes(at));
    switch (change.do) {
      case 'write':
        world.write(bytes(at), CONTENTS[change.content] ?? '', change.mode);
        return;
      case 'sameSize':
        sameSize(world, bytes(at));
        return;
      case 'link':
        world.remove(bytes(at));
        world.link(change.to, at);
        return;
      case 'chmod':
        if (lstatSync(full).isFile()) chmodSync(full, change.mode);
        return;
      case 'remove':
        world.remove(bytes(at));
        return;
      case 'folder':
        world.remove(bytes(at));
        mkdirSync(full, { recursive: true });
        return;
      case 'large':
        world.write(bytes(at), Buffer.alloc(LARGE + 1, at));
        return;
      case 'pipe':
        pipe(world, at);
        return;
      case 'repository':
      case 'submodule':
        nested(world, at, change.do === 'submodule');
    }
  }
}

/** Other bytes of the same number, and the old time of modification. */
function sameSize(world: SnapshotWorld, at: Buffer): void {
  const full = world.at(at);
  const stat = lstatSync(full);
  if (!stat.isFile() || stat.size === 0) return;
  const turned = readFileSync(full).map((byte) => byte ^ 1);
  world.write(at, turned);
  utimesSync(full, stat.atime, stat.mtime);
}

/** @param committed whether git can add it as a submodule */
function nested(world: SnapshotWorld, at: string, committed: boolean): void {
  const folder = world.at(bytes(at)).toString();
  if (at.includes('\xff') || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  world.gitIn(folder, 'init', '-q');
  world.write(`${at}/inner`, 'inner');
  if (!committed) return;
  world.gitIn(folder, 'add', '-A');
  world.gitIn(folder, 'commit', '-q', '-m', 'inner');
}

function pipe(world: SnapshotWorld, at: string): void {
  if (at.includes('\xff')) return;
  world.remove(bytes(at));
  execFileSync('mkfifo', ['--', world.at(bytes(at)).toString()], { stdio: 'ignore' });
}
