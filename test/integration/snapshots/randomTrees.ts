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
  | { readonly do: 'remove' | 'folder' | 'repository' | 'pipe' | 'large'; readonly at: string }
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
const GITS = [
  ['add', '-A'],
  ['add', '-A', '-f'],
  ['commit', '-q', '--allow-empty', '-m', 'x'],
  ['rm', '-rq', '--cached', '--', '.'],
]
  .concat([
    ['reset', '-q'],
    ['stash', '-q'],
    ['config', 'core.autocrlf', 'true'],
    ['config', 'core.fileMode', 'false'],
  ])
  .concat([
    ['update-index', '--assume-unchanged', 'a'],
    ['add', '-N', '--', 'b'],
    ['checkout', '-q', '-B', 'other'],
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
      do: fc.constantFrom('folder' as const, 'repository' as const, 'pipe' as const, 'large' as const),
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

type Doers = { readonly [K in Edit['do']]: (world: SnapshotWorld, edit: Extract<Edit, { do: K }>) => void };

const simple: Pick<Doers, 'remove' | 'folder' | 'repository' | 'pipe' | 'large'> = {
  remove: (world, { at }) => {
    world.remove(bytes(at));
  },
  folder: (world, { at }) => {
    world.remove(bytes(at));
    mkdirSync(world.at(bytes(at)), { recursive: true });
  },
  repository: (world, { at }) => {
    nested(world, at);
  },
  pipe: (world, { at }) => {
    pipe(world, at);
  },
  large: (world, { at }) => {
    world.write(bytes(at), Buffer.alloc(LARGE + 1, at));
  },
};

const DOERS: Omit<Doers, keyof typeof simple | 'git'> = {
  write: (world, { at, content: which, mode: bits }) => {
    world.write(bytes(at), CONTENTS[which] ?? '', bits);
  },
  sameSize: (world, { at }) => {
    sameSize(world, bytes(at));
  },
  link: (world, { at, to }) => {
    world.remove(bytes(at));
    world.link(to, at);
  },
  chmod: (world, { at, mode: bits }) => {
    const full = world.at(bytes(at));
    if (lstatSync(full).isFile()) chmodSync(full, bits);
  },
  rename: (world, { at, to }) => {
    renameSync(world.at(bytes(at)), world.at(bytes(to)));
  },
  ignore: (world, { at, rule }) => {
    world.write(`${at}.gitignore`, `${rule}\n`);
  },
  attributes: (world, { rule }) => {
    world.write('.gitattributes', `${rule}\n`);
  },
};

/** Does an edit; one that can't be done does nothing. */
export function perform(world: SnapshotWorld, change: Edit, isRepository: boolean): void {
  const git = (_world: SnapshotWorld, { args }: Extract<Edit, { do: 'git' }>): void => {
    if (isRepository) world.git(...args);
  };
  const doers: Readonly<Record<string, (world: SnapshotWorld, edit: never) => void>> = { ...DOERS, ...simple, git };
  tryTo(() => doers[change.do]?.(world, change as never));
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

function nested(world: SnapshotWorld, at: string): void {
  const folder = world.at(bytes(at)).toString();
  if (at.includes('\xff') || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  world.gitIn(folder, 'init', '-q');
  world.write(`${at}/inner`, 'inner');
}

function pipe(world: SnapshotWorld, at: string): void {
  if (at.includes('\xff')) return;
  world.remove(bytes(at));
  execFileSync('mkfifo', ['--', world.at(bytes(at)).toString()], { stdio: 'ignore' });
}
