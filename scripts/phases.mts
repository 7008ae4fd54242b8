import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { OUT, PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/drivers/run.ts';
import { readReport, type Report, type ReportForm } from './reports.mts';

/** How many tests a runner's report counts. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** A part of `npm test`. */
export interface Phase {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Arguments more, where other phases run at the same time. */
  readonly besideOthers?: readonly string[];
  /**
   * Set for a runner: the folder of its tests (the phase is skipped only when that is absent), its report's form, and whether it
   * may say that its tests can't be run here, and write no report.
   */
  readonly tests?: { readonly folder: string; readonly report: ReportForm; readonly isOptional?: boolean };
}

const REPORTS = path.join(OUT, 'reports');

/** Where that phase's report goes (absolute). */
export function reportOf(name: string): string {
  return path.join(REPORTS, `${name}.json`);
}

/** Whether the phase has anything to run. */
export function isPresent(phase: Phase): boolean {
  return phase.tests === undefined || existsSync(path.join(PROJECT, phase.tests.folder));
}

/** Runs a phase; rejects when its command fails, and when its report is missing or counts no test. */
export async function runPhase(
  { name, command: [program, ...words], besideOthers = [], tests }: Phase,
  { isAlone }: { readonly isAlone: boolean },
): Promise<void> {
  const args = isAlone ? words : [...words, ...besideOthers];
  const report = reportOf(name);
  mkdirSync(REPORTS, { recursive: true });
  if (tests !== undefined) rmSync(report, { force: true }); // an old one must not count
  await run(program, args, { cwd: PROJECT, output: 'inherit' });
  const { passed, failed } = count([{ name, command: [program], ...(tests && { tests }) }]);
  const mayHaveNone = tests === undefined || (tests.isOptional === true && !existsSync(report));
  if (!mayHaveNone && passed + failed === 0) throw new Error(`${name} ran no test`);
  if (failed > 0) throw new Error(`${name}: ${failed} failed`);
}

/** Sums the reports of those phases; a phase without report adds nothing. */
export function count(phases: readonly Phase[]): Count {
  const reports = phases.map(reportIn).filter((report) => report !== undefined);
  return {
    passed: reports.reduce((sum, { passed }) => sum + passed, 0),
    failed: reports.reduce((sum, { failures }) => sum + failures.length, 0),
  };
}

/** What failed by the reports of those phases, with the first lines of why: a log's last lines have to say it. */
export function failures(phases: readonly Phase[]): string[] {
  return phases.flatMap((phase) =>
    (reportIn(phase)?.failures ?? []).map(({ title, why }) => `${phase.name}: ${title}\n${firstLines(why)}`),
  );
}

/** How many lines of a failure's reason are repeated. */
const REASON_LINES = 12;

function firstLines(text: string): string {
  const lines = text.split('\n').slice(0, REASON_LINES);
  return lines.map((line) => `    ${line}`).join('\n');
}

function reportIn({ name, tests }: Phase): Report | undefined {
  if (tests === undefined || !existsSync(reportOf(name))) return undefined;
  return readReport(tests.report, readFileSync(reportOf(name), 'utf8'));
}
