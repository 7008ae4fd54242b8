import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../../test/support/project.ts';
import type { Platform } from './platform.mts';

/** Which tests are asked for. */
export interface Wanted {
  /** Files or folders of the project; none are all. */
  readonly under: readonly string[];
  /** Only what CI runs. */
  readonly share: boolean;
  /** What is left out too. */
  readonly all: boolean;
}

/** The test files to run, by their paths in the project. */
export function chooseTests({ tests, share, leftOut }: Platform, wanted: Wanted): string[] {
  const every = testsBelow(tests);
  const unknown = leftOut.map(({ file }) => file).filter((file) => !every.includes(file));
  if (unknown.length > 0) throw new Error(`left out, but not there: ${unknown.join(', ')}`);
  const shared = new Set(wanted.share ? testsBelow(share) : every);
  const isWanted = (file: string): boolean =>
    wanted.under.length === 0 ||
    wanted.under.some((each) => file === each || file.startsWith(`${each.replace(/\/$/, '')}/`));
  const isLeftOut = (file: string): boolean => leftOut.some((each) => each.file === file && each.tests === undefined);
  return every.filter((file) => isWanted(file) && shared.has(file) && (wanted.all || !isLeftOut(file)));
}

/** Names of the tests of a file that are left out, each as its suites and itself joined by " > ". */
export function skippedIn({ leftOut }: Platform, file: string): string[] {
  return leftOut.flatMap((each) => (each.file === file ? (each.tests ?? []) : []));
}

/** What isn't run, by its reason. */
export function describeLeftOut({ leftOut }: Platform): string {
  const reasons = new Map<string, string[]>();
  for (const { file, tests, reason } of leftOut) {
    const what = tests === undefined ? file : `${file} (${tests.length})`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), what]);
  }
  const lines = [...reasons].map(([reason, files]) => `- ${reason}: ${files.join(', ')}`);
  return `Left out (with the number of tests, where not the whole file is):\n${lines.join('\n')}`;
}

function testsBelow(places: readonly string[]): string[] {
  return places.flatMap((place) => {
    const absolute = path.join(PROJECT, place);
    if (statSync(absolute).isFile()) return [place];
    const names = readdirSync(absolute, { recursive: true, encoding: 'utf8' });
    return names
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => path.posix.join(place, name))
      .sort();
  });
}
