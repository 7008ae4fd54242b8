import { readdirSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../../test/support/project.ts';
import { LEFT_OUT } from './leftOut.mts';

/** Folders whose tests run on Windows; `test/windows` is for what only Windows has. */
const FOLDERS = ['test/windows', 'test/unit', 'test/integration', 'test/crash'];

/** Which tests are asked for. */
export interface Wanted {
  /** Files or folders of the project; none are all. */
  readonly under: readonly string[];
  /** Only what CI runs. */
  readonly share: boolean;
}

/** What CI runs beside the unit tests and those of Windows alone: one or two files for each thing that Windows does otherwise. */
const SHARED: readonly string[] = [];

function isShared(file: string): boolean {
  return /^test\/(?:unit|windows)\//.test(file) || SHARED.includes(file);
}

/** The test files to run, by their paths in the project. */
export function chooseTests({ under, share }: Wanted): string[] {
  const all = FOLDERS.flatMap(testsBelow);
  const unknown = LEFT_OUT.map(({ file }) => file).filter((file) => !all.includes(file));
  if (unknown.length > 0) throw new Error(`left out on Windows, but not there: ${unknown.join(', ')}`);
  const isWanted = (file: string): boolean =>
    under.length === 0 || under.some((each) => file === each || file.startsWith(`${each.replace(/\/$/, '')}/`));
  return all.filter((file) => isWanted(file) && !isLeftOut(file) && (!share || isShared(file)));
}

/** Names of the tests of a file that are left out, each as its suites and itself joined by " > ". */
export function skippedIn(file: string): string[] {
  return LEFT_OUT.flatMap((each) => (each.file === file ? (each.tests ?? []) : []));
}

/** What isn't run, by its reason. */
export function describeLeftOut(): string {
  const reasons = new Map<string, string[]>();
  for (const { file, tests, reason } of LEFT_OUT) {
    const what = tests === undefined ? file : `${file} (${tests.length})`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), what]);
  }
  const lines = [...reasons].map(([reason, files]) => `- ${reason}: ${files.join(', ')}`);
  return `Left out (with the number of tests, where not the whole file is):\n${lines.join('\n')}`;
}

function isLeftOut(file: string): boolean {
  return LEFT_OUT.some((each) => each.file === file && each.tests === undefined);
}

function testsBelow(folder: string): string[] {
  const names = readdirSync(path.join(PROJECT, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => path.posix.join(folder, name))
    .sort();
}
