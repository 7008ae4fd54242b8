import { afterEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { unwrap } from '../../../src/core/shared/errors';
import type { PlannedPath } from '../../../src/core/snapshot/restorePlan';
import { parentsOf } from '../../../src/core/snapshot/treePath';
import type { RestorePreview } from '../../../src/snapshots/restore/preview';
import { type Picture, SnapshotWorld } from '../../support/fixtures/snapshotWorld';
import { type Edit, Gardener, LARGE, edit } from './randomTrees';

/** How many random trees are tried, most of them many to a worktree: what git costs is shared. */
const CASES = Number(process.env['ATLAS_SNAPSHOT_CASES'] ?? '300');
/** The usual share is always the same trees: what a change breaks shows at once, and what nobody changed doesn't break. */
const SEED =
  process.env['ATLAS_SNAPSHOT_SEED'] ?? (process.env['ATLAS_SNAPSHOT_CASES'] === undefined ? '20261125' : undefined);
const PLOTS = 100;
/** Trees that are a whole worktree: as many to each hundred. */
const ALONE = 0.5;

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

/** What happens to one tree: before a first capture, before the second, and after it. */
interface Story {
  readonly first: readonly Edit[];
  readonly second: readonly Edit[];
  readonly third: readonly Edit[];
}

interface Case {
  readonly kind: Kind;
  /** One for each folder of the worktree; a single one happens to the worktree itself. */
  readonly stories: readonly Story[];
}

let world: SnapshotWorld | undefined;

afterEach(() => {
  world?.dispose();
});

/** Paths at which a restore had to change something, and those at which it did, over all cases. */
const tally = { different: 0, restored: 0 };

interface Seen {
  readonly was: Picture;
  readonly before: Picture;
  readonly after: Picture;
  /** What the snapshot has, and what the one before the restore has. */
  readonly kept: Set<string>;
  readonly now: Set<string>;
}

/** Why a path may stay as it is, by what can be seen without asking Atlas. */
function isRightToStay({ path, reason, by }: PlannedPath, seen: Seen): boolean {
  const { was, before, after, kept } = seen;
  const hasRules = (picture: Picture): boolean =>
    ['', ...parentsOf(path).map((each) => `${each}/`)].some((folder) => picture[`${folder}.gitignore`] !== undefined);
  switch (reason) {
    case 'ignored_then':
      return hasRules(was) && !kept.has(path);
    case 'ignored_now':
      return hasRules(before);
    case 'left_out_then':
      return was[path] !== undefined || isBelow(was, path) || parentsOf(path).some((each) => isIn(was, `${each}/.git`));
    case 'not_checked_out_then':
      return was[path] === undefined;
    case 'in_the_way':
    case 'link_above':
      return by !== undefined && before[by] !== undefined && after[by] === before[by];
    case 'repository':
      return by !== undefined && isIn(before, `${by.replace(/\/$/u, '')}/.git`);
    case 'special':
      return before[path] === 'special';
    default:
      return false;
  }
}

/** Whether a picture has a folder. */
function isIn(picture: Picture, folder: string): boolean {
  return Object.keys(picture).some((each) => each.startsWith(`${folder}/`));
}

/** Whether something that is no folder is above a path, or something below it. */
function isBelow(picture: Picture, path: string): boolean {
  return isIn(picture, path) || parentsOf(path).some((each) => picture[each] !== undefined);
}

/** What is not as the preview said and the two captures want it. */
function wrong(seen: Seen, plan: RestorePreview): string[] {
  const { was, before, after, kept, now } = seen;
  const planned = new Map(plan.paths.map((each) => [each.path, each]));
  const paths = new Set([...Object.keys(was), ...Object.keys(before), ...Object.keys(after)]);
  return [...paths].flatMap((path) => {
    const each = planned.get(path);
    const isWanted = kept.has(path) ? was[path] !== before[path] : now.has(path);
    const stays = each?.action === 'keep' || each?.action === 'blocked';
    let should = before[path];
    if (isWanted && !stays) should = kept.has(path) ? was[path] : undefined;
    if (isWanted) tally.different += 1;
    if (isWanted && after[path] === (kept.has(path) ? was[path] : undefined)) tally.restored += 1;
    if (after[path] === should && (!stays || isRightToStay(each, seen))) return [];
    const why = each === undefined ? 'unlisted' : `${each.action} ${each.reason ?? ''} ${each.by ?? ''}`.trim();
    return [`${JSON.stringify(path)}: ${after[path] ?? 'nothing'} instead of ${should ?? 'nothing'} (${why})`];
  });
}

async function check({ kind, stories }: Case): Promise<void> {
  world?.dispose();
  const here = (world = make(kind));
  const isRepository = kind !== 'none';
  const settings = { ...here.settings, maxFileSize: LARGE };
  const plots = stories.map((story, at) => ({
    story,
    gardener: new Gardener(here, isRepository, stories.length === 1 ? '' : `p${at}`),
  }));
  const act = (part: keyof Story): void => {
    for (const { story, gardener } of plots) for (const each of story[part]) gardener.perform(each);
  };
  const git = (): unknown => (isRepository ? here.gitPicture() : undefined);
  act('first');
  const snapshots = await here.open({}, settings);
  unwrap(await snapshots.capture());
  act('second');
  const was = here.picture();
  const wanted = expected(here, kind, was);
  const untouched = git();
  const { snapshot } = unwrap(await snapshots.capture());
  const listed = unwrap(await snapshots.contents.list(snapshot.tree)).map(({ path }) => path);
  expect(listed.sort()).toEqual([...wanted].sort());
  expect(snapshot.files).toBe(listed.length);
  expect(git()).toEqual(untouched);
  act('third');
  const before = here.picture();
  const now = expected(here, kind, before);
  const still = git();
  const preview = unwrap(await snapshots.preview({ tree: snapshot.tree }));
  expect(here.picture()).toEqual(before);
  const restored = unwrap(await snapshots.restore(preview));
  expect(restored.skipped).toEqual([]);
  const after = here.picture();
  expect(wrong({ was, before, after, kept: wanted, now }, preview)).toEqual([]);
  const undone = unwrap(await snapshots.restore(unwrap(await snapshots.previewUndo())));
  expect(undone.skipped).toEqual([]);
  expect(here.picture()).toEqual(before);
  expect(git()).toEqual(still);
}

const edits = (maxLength: number): fc.Arbitrary<Edit[]> => fc.array(edit, { maxLength, size: 'max' });
const story: fc.Arbitrary<Story> = fc.record({ first: edits(25), second: edits(12), third: edits(15) });

function cases(stories: number): fc.Arbitrary<Case> {
  return fc.record({
    kind: fc.constantFrom(...KINDS),
    stories: fc.array(story, { minLength: stories, maxLength: stories }),
  });
}

async function tryAll(property: fc.Arbitrary<Case>, numRuns: number): Promise<void> {
  const seed = SEED === undefined ? {} : { seed: Number(SEED) };
  await fc.assert(fc.asyncProperty(property, check), { numRuns, endOnFailure: true, ...seed });
}

describe('a random tree', { timeout: 36_000_000 }, () => {
  it('that is a whole worktree comes back byte for byte, and undoing brings the other state back', async () => {
    await tryAll(cases(1), Math.ceil((CASES / PLOTS) * ALONE));
  });

  it('comes back byte for byte, a hundred of them in a worktree, and undoing brings the others back', async () => {
    await tryAll(cases(PLOTS), Math.ceil(CASES / PLOTS));
    // What stays for a good reason is the exception: a restore that does nothing would satisfy everything above.
    expect(tally.restored / tally.different).toBeGreaterThan(0.7);
  });
});
