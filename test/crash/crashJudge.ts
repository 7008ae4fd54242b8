import { examine } from '../../src/service/doctor/doctor';
import type { CrashWorld } from '../support/faults/crashWorld';
import { type TaskView, checkTasks, filesBelow, repair } from '../support/faults/storeInvariants';
import type { Arranged, Outcome } from '../support/faults/useCase';

const DAY_AND_MORE_MS = 25 * 3_600_000;
const TEMPORARY = /\.tmp$/u;

/** What a use case was to make of the tasks, as an undisturbed run made it. */
export interface Expectation {
  readonly before: readonly TaskView[];
  readonly after: readonly TaskView[];
}

/** What the caller of an interrupted use case knows. */
export interface Known {
  readonly outcome: Outcome;
  readonly acknowledged: number;
  /** What was returned, if it was done. */
  readonly told?: unknown;
  /**
   * Something could not be read: then a checkpoint may lack what could not be looked at, and HOOK.md may say of a receipt
   * that it can't be verified, until the next change.
   */
  readonly readingFailed?: boolean;
}

/** What was found after an interruption, all being well: the number of versions that came, and what was fixed. */
export interface Found {
  readonly came: number;
  readonly whole: boolean;
  readonly fixed: readonly string[];
}

const versionsIn = (views: readonly TaskView[]): number => views.reduce((sum, each) => sum + each.versions.length, 0);

/** Where two texts part, with a little around it. */
function difference(found: string, wanted: string): string {
  let at = 0;
  while (at < found.length && found[at] === wanted[at]) at += 1;
  return `...${found.slice(Math.max(0, at - 60), at + 60)}... should be ...${wanted.slice(Math.max(0, at - 60), at + 60)}...`;
}

/** Compares the tasks with those of the undisturbed run: each is at one of its versions, and none that was told of is lost. */
function checkViews(views: readonly TaskView[], expected: Expectation, known: Known, several: boolean): number {
  views.forEach((view, index) => {
    const compared = known.readingFailed === true ? 'story' : 'versions';
    const wanted = expected.after[index]?.[compared] ?? [];
    const versions = view[compared];
    versions.forEach((version, at) => {
      if (version !== wanted[at])
        throw new Error(`version ${at + 1} of a task differs: ${difference(version, wanted[at] ?? '')}`);
    });
    const least = expected.before[index]?.versions.length ?? 0;
    if (versions.length < least)
      throw new Error(`a task lost ${least - versions.length} changes that were there before`);
  });
  if (views.length < expected.before.length) throw new Error('a task that was there before is gone');
  const came = versionsIn(views) - versionsIn(expected.before);
  const all = versionsIn(expected.after) - versionsIn(expected.before);
  const least = known.outcome === 'done' ? all : known.acknowledged + (known.outcome === 'recorded' ? 1 : 0);
  if (came < least) throw new Error(`${least} changes were told to be made, ${came} are there`);
  const most = known.outcome === 'refused' && !several ? known.acknowledged : all;
  if (came > most) throw new Error(`it was refused, but ${came} changes are there`);
  return came;
}

/** Fixes a store that was interrupted, as the next process does, and checks all that has to hold; throws what doesn't. */
export async function judge(
  world: CrashWorld,
  arranged: Arranged,
  expected: Expectation,
  known: Known,
): Promise<Found> {
  const next = world.process();
  const fixed = await repair(next);
  const views = await checkTasks(next, known.readingFailed !== true);
  const came = arranged.removes === true ? 0 : checkViews(views, expected, known, arranged.several === true);
  const files = filesBelow(world.stage.files, world.stage.root);
  const again = await repair(world.process());
  if (again.length > 0) throw new Error(`fixing again found ${again.join()}`);
  const twice = filesBelow(world.stage.files, world.stage.root);
  for (const name of new Set([...files.keys(), ...twice.keys()])) {
    if (files.get(name) !== twice.get(name)) throw new Error(`fixing again changed ${name}`);
  }
  await arranged.check?.(world.process(), known.outcome, known.told);
  return { came, whole: came === versionsIn(expected.after) - versionsIn(expected.before), fixed };
}

/** Does the use case again where that makes sense; it has to succeed, and the store to be right after it. */
export async function doAgain(
  world: CrashWorld,
  arranged: Arranged,
  came: number,
  atlas = world.process(),
): Promise<void> {
  if (came > 0 && arranged.repeatable !== true) return;
  const result = await arranged.act(atlas, () => undefined);
  if (!result.ok) throw new Error(`doing it again failed: ${result.error.message}`);
  const next = world.process();
  await repair(next);
  await checkTasks(next);
  await arranged.check?.(world.process(), 'done', result.value);
}

/** Lets the doctor clean up a day later: no temporary file of whoever died stays, and nothing is wrong. */
export async function checkNothingStays(world: CrashWorld): Promise<void> {
  world.wait(DAY_AND_MORE_MS);
  const findings = await examine(world.process(), {
    fix: true,
    folders: [],
    confirm: async () => Promise.resolve(true),
  });
  const wrong = findings.filter(({ level, area }) => level === 'problem' && area !== 'owner');
  if (wrong.length > 0) throw new Error(`the doctor says: ${wrong.map(({ message }) => message).join(' ')}`);
  const { files, root } = world.stage;
  const left = everyName(files, root).filter((name) => TEMPORARY.test(name));
  if (left.length > 0) throw new Error(`the doctor left ${left.join()}`);
}

function everyName(files: CrashWorld['stage']['files'], folder: string): string[] {
  if (files.stat(folder)?.kind !== 'folder') return [];
  return files.list(folder).flatMap((name) => [`${folder}/${name}`, ...everyName(files, `${folder}/${name}`)]);
}
