import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { OUT, PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/drivers/run.ts';

/** How many tests a runner's report counts. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** A part of `npm test`. */
export interface Phase {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Whether it runs at once with the phase after it. */
  readonly withNext?: boolean;
  /** Set for a runner: the folder of its tests (the phase is skipped only when that is absent) and its report's form. */
  readonly tests?: { readonly folder: string; readonly report: 'vitest' | 'mocha' };
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
export async function runPhase({ name, command: [program, ...args], tests }: Phase): Promise<void> {
  const report = reportOf(name);
  mkdirSync(REPORTS, { recursive: true });
  if (tests !== undefined) rmSync(report, { force: true }); // an old one must not count
  await run(program, args, { cwd: PROJECT, output: 'inherit' });
  const { passed, failed } = count([{ name, command: [program], ...(tests && { tests }) }]);
  if (tests !== undefined && passed + failed === 0) throw new Error(`${name} ran no test`);
  if (failed > 0) throw new Error(`${name}: ${failed} failed`);
}

/** Sums the reports of those phases; a phase without report adds nothing. */
export function count(phases: readonly Phase[]): Count {
  const counts = phases.flatMap(({ name, tests }) => {
    if (tests === undefined || !existsSync(reportOf(name))) return [];
    return [READERS[tests.report](JSON.parse(readFileSync(reportOf(name), 'utf8')))];
  });
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
}

const READERS = {
  vitest: (report: unknown): Count => {
    const { numPassedTests, numFailedTests } = report as { numPassedTests: number; numFailedTests: number };
    return { passed: numPassedTests, failed: numFailedTests };
  },
  mocha: (report: unknown): Count => {
    const { stats } = report as { stats: { passes: number; failures: number } };
    return { passed: stats.passes, failed: stats.failures };
  },
} as const;
