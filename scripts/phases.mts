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
  /** Arguments more, where other phases run at the same time. */
  readonly besideOthers?: readonly string[];
  /**
   * Set for a runner: the folder of its tests (the phase is skipped only when that is absent), its report's form, and whether it
   * may say that its tests can't be run here, and write no report.
   */
  readonly tests?: { readonly folder: string; readonly report: 'vitest' | 'mocha'; readonly isOptional?: boolean };
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
  const counts = read(phases, (reader, report) => reader.count(report));
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** What failed by the reports of those phases, with the first lines of why: a log's last lines have to say it. */
export function failures(phases: readonly Phase[]): string[] {
  return read(phases, (reader, report, name) =>
    reader.failures(report).map(({ title, why }) => `${name}: ${title}\n${firstLines(why)}`),
  ).flat();
}

/** How many lines of a failure's reason are repeated. */
const REASON_LINES = 12;

function firstLines(text: string): string {
  const lines = text.split('\n').slice(0, REASON_LINES);
  return lines.map((line) => `    ${line}`).join('\n');
}

function read<T>(phases: readonly Phase[], take: (reader: Reader, report: unknown, name: string) => T): T[] {
  return phases.flatMap(({ name, tests }) => {
    if (tests === undefined || !existsSync(reportOf(name))) return [];
    return [take(READERS[tests.report], JSON.parse(readFileSync(reportOf(name), 'utf8')), name)];
  });
}

interface Failure {
  readonly title: string;
  readonly why: string;
}

/** What a runner's report says. */
interface Reader {
  readonly count: (report: unknown) => Count;
  readonly failures: (report: unknown) => Failure[];
}

/** The parts of Vitest's report in JSON that are read. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** The parts of Mocha's report in JSON that are read. */
interface MochaReport {
  readonly stats: { readonly passes: number; readonly failures: number };
  readonly failures: readonly {
    readonly fullTitle: string;
    readonly err: { readonly message?: string; readonly stack?: string };
  }[];
}

const READERS: Readonly<Record<'vitest' | 'mocha', Reader>> = {
  vitest: {
    count: (report) => {
      const { numPassedTests, numFailedTests } = report as VitestReport;
      return { passed: numPassedTests, failed: numFailedTests };
    },
    failures: (report) =>
      (report as VitestReport).testResults.flatMap(({ name, status, message, assertionResults }) => {
        const failed = assertionResults.filter((each) => each.status === 'failed');
        // A file that can't be loaded has no test that failed.
        if (failed.length === 0 && status === 'failed') return [{ title: name, why: message ?? '' }];
        return failed.map(({ fullName, failureMessages }) => ({
          title: `${path.basename(name)}: ${fullName}`,
          why: failureMessages?.join('\n') ?? '',
        }));
      }),
  },
  mocha: {
    count: (report) => {
      const { stats } = report as MochaReport;
      return { passed: stats.passes, failed: stats.failures };
    },
    failures: (report) =>
      (report as MochaReport).failures.map(({ fullTitle, err }) => ({
        title: fullTitle,
        why: err.stack ?? err.message ?? '',
      })),
  },
};
