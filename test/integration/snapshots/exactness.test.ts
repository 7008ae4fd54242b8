import { afterEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { unwrap } from '../../../src/core/shared/errors';
import type { RestorePreview } from '../../../src/snapshots/preview';
import { type Picture, SnapshotWorld } from '../../support/fixtures/snapshotWorld';
import { type Edit, LARGE, edit, perform } from './randomTrees';

/** How many random worktrees are tried; each takes about a second. */
const CASES = Number(process.env['ATLAS_SNAPSHOT_CASES'] ?? '14');
const SEED = process.env['ATLAS_SNAPSHOT_SEED'];

const KINDS = ['plain', 'plain', 'crlf', 'sha256', 'none', 'filter'] as const;
type Kind = (typeof KINDS)[number];

function make(kind: Kind): SnapshotWorld {
  const world = new SnapshotWorld(
    kind === 'none' ? 'no repository' : kind === 'sha256' ? ['--object-format=sha256'] : [],
  );
  if (kind === 'crlf') world.git('config', 'core.autocrlf', 'true');
  if (kind === 'filter') {
    world.git('config', 'filter.up.clean', 'tr a-z A-Z');
    world.git('config', 'filter.up.smudge', 'tr A-Z a-z');
  }
  return world;
}

/** What a capture has to hold, as the user's git sees the worktree. */
function expected(world: SnapshotWorld, kind: Kind, picture: Picture): Set<string> {
  if (kind === 'none') {
    world.git('init', '-q');
  }
  try {
    const listed = world.gitBytes('ls-files', '-c', '-o', '--exclude-standard', '-z').split('\0');
    return new Set(listed.filter((path) => isContent(world, path, picture)));
  } finally {
    if (kind === 'none') world.remove('.git');
  }
}

function isContent(world: SnapshotWorld, path: string, picture: Picture): boolean {
  const seen = picture[path];
  if (seen === undefined || seen === 'special') return false;
  return seen.startsWith('link') || world.sizeOf(path) <= LARGE;
}

interface Case {
  readonly kind: Kind;
  readonly first: readonly Edit[];
  readonly second: readonly Edit[];
  readonly third: readonly Edit[];
}

let world: SnapshotWorld | undefined;

afterEach(() => {
  world?.dispose();
});

/** What is not as the preview said and the two captures want it. */
function wrong(
  was: Picture,
  before: Picture,
  after: Picture,
  kept: Set<string>,
  now: Set<string>,
  plan: RestorePreview,
): string[] {
  const planned = new Map(plan.paths.map((each) => [each.path, each]));
  const paths = new Set([...Object.keys(was), ...Object.keys(before), ...Object.keys(after)]);
  return [...paths].flatMap((path) => {
    const each = planned.get(path);
    const stays = each?.action === 'keep' || each?.action === 'blocked';
    let should = before[path];
    if (kept.has(path) && !stays) should = was[path];
    else if (!kept.has(path) && now.has(path) && !stays) should = undefined;
    if (after[path] === should) return [];
    return [
      `${JSON.stringify(path)}: ${after[path] ?? 'nothing'} instead of ${should ?? 'nothing'} (${each?.action ?? 'unlisted'})`,
    ];
  });
}

async function check({ kind, first, second, third }: Case): Promise<void> {
  world?.dispose();
  const here = (world = make(kind));
  const isRepository = kind !== 'none';
  const settings = { ...here.settings, maxFileSize: LARGE };
  const act = (edits: readonly Edit[]): void => {
    for (const each of edits) perform(here, each, isRepository);
  };
  const git = (): unknown => (isRepository ? here.gitPicture() : undefined);
  act(first);
  const snapshots = await here.open({}, settings);
  unwrap(await snapshots.capture());
  act(second);
  const was = here.picture();
  const wanted = expected(here, kind, was);
  const untouched = git();
  const { snapshot } = unwrap(await snapshots.capture());
  const listed = unwrap(await snapshots.contents.list(snapshot.tree)).map(({ path }) => path);
  expect(listed.sort()).toEqual([...wanted].sort());
  expect(snapshot.files).toBe(listed.length);
  expect(git()).toEqual(untouched);
  act(third);
  const before = here.picture();
  const now = expected(here, kind, before);
  const still = git();
  const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
  expect(here.picture()).toEqual(before);
  const restored = unwrap(await snapshots.restore(preview));
  expect(restored.skipped).toEqual([]);
  const after = here.picture();
  expect(wrong(was, before, after, wanted, now, preview)).toEqual([]);
  const undone = unwrap(await snapshots.restore(unwrap(await snapshots.previewUndo())));
  expect(undone.skipped).toEqual([]);
  expect(here.picture()).toEqual(before);
  expect(git()).toEqual(still);
}

describe('a random worktree', () => {
  it(
    'comes back as it was, byte for byte, and undoing brings the other state back',
    { timeout: 36_000_000 },
    async () => {
      const edits = (maxLength: number): fc.Arbitrary<Edit[]> => fc.array(edit, { maxLength, size: 'max' });
      const cases = fc.record({
        kind: fc.constantFrom(...KINDS),
        first: edits(25),
        second: edits(12),
        third: edits(15),
      });
      await fc.assert(fc.asyncProperty(cases, check), {
        numRuns: CASES,
        ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      });
    },
  );
});
