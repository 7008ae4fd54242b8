import path from 'node:path';
import * as z from 'zod';

/** A test that failed, or a file that failed outside of its tests. */
export interface Failure {
  readonly title: string;
  readonly why: string;
}

/** What a runner's report says. */
export interface Report {
  readonly passed: number;
  /** Also counts each file that failed although none of its tests did. */
  readonly failures: readonly Failure[];
}

/** Whose form a report has. */
export type ReportForm = keyof typeof FORMS;

/** The parts that are read of what Vitest's JSON reporter writes. */
const VITEST = z
  .object({
    numPassedTests: z.number(),
    testResults: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        message: z.string().nullish(),
        assertionResults: z.array(
          z.object({
            status: z.string(),
            fullName: z.string(),
            failureMessages: z.array(z.string()).nullish(),
          }),
        ),
      }),
    ),
  })
  .transform(({ numPassedTests, testResults }): Report => {
    const failures = testResults.flatMap(({ name, status, message, assertionResults }): Failure[] => {
      const failed = assertionResults.filter((each) => each.status === 'failed');
      // A file that can't be loaded, or whose last hook fails, has no test that failed.
      if (failed.length === 0 && status === 'failed') return [{ title: name, why: message ?? '' }];
      return failed.map(({ fullName, failureMessages }) => ({
        title: `${path.basename(name)}: ${fullName}`,
        why: failureMessages?.join('\n') ?? '',
      }));
    });
    return { passed: numPassedTests, failures };
  });

/** The parts that are read of what Mocha's JSON reporter writes. */
const MOCHA = z
  .object({
    stats: z.object({ passes: z.number() }),
    failures: z.array(
      z.object({
        fullTitle: z.string(),
        err: z.object({ message: z.string().nullish(), stack: z.string().nullish() }),
      }),
    ),
  })
  .transform(({ stats, failures }): Report => ({
    passed: stats.passes,
    failures: failures.map(({ fullTitle, err }) => ({ title: fullTitle, why: err.stack ?? err.message ?? '' })),
  }));

/** What `scripts/platforms/main.mts` writes: an array of `RanFile`. */
const PLATFORM = z
  .array(
    z.object({
      file: z.string(),
      tests: z.array(z.object({ name: z.string(), state: z.string(), errors: z.array(z.string()) })),
    }),
  )
  .transform((files): Report => {
    const tests = files.flatMap(({ file, tests }) => tests.map((test) => ({ file, ...test })));
    return {
      passed: tests.filter(({ state }) => state === 'passed').length,
      failures: tests
        .filter(({ state }) => state === 'failed')
        .map(({ file, name, errors }) => ({ title: `${path.basename(file)}: ${name}`, why: errors.join('\n') })),
    };
  });

const FORMS = { vitest: VITEST, mocha: MOCHA, platform: PLATFORM };

/** Reads a report of that form from its JSON; throws what is wrong with it. */
export function readReport(form: ReportForm, json: string): Report {
  const parsed = FORMS[form].safeParse(JSON.parse(json));
  if (!parsed.success) throw new Error(`not a report of the form "${form}": ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
