import { describe, expect, it } from 'vitest';
import type { RanFile } from '../../../scripts/platforms/runTests.mts';
import { readReport } from '../../../scripts/reports.mts';

describe('a report of Vitest', () => {
  const report = (file: object): string =>
    JSON.stringify({ numPassedTests: 1, numFailedTests: 0, testResults: [{ name: '/p/a.test.ts', ...file }] });

  it('counts the tests that passed', () => {
    const all = report({ status: 'passed', message: '', assertionResults: [{ status: 'passed', fullName: 'works' }] });
    expect(readReport('vitest', all)).toEqual({ passed: 1, failures: [] });
  });

  it('names the tests that failed, and why', () => {
    const assertionResults = [
      { status: 'passed', fullName: 'works' },
      { status: 'failed', fullName: 'breaks', failureMessages: ['expected 1', 'got 2'] },
    ];
    expect(readReport('vitest', report({ status: 'failed', message: '', assertionResults })).failures).toEqual([
      { title: 'a.test.ts: breaks', why: 'expected 1\ngot 2' },
    ]);
  });

  it('counts a file that failed outside of its tests', () => {
    const assertionResults = [{ status: 'passed', fullName: 'works' }];
    expect(readReport('vitest', report({ status: 'failed', message: 'afterAll broke', assertionResults }))).toEqual({
      passed: 1,
      failures: [{ title: '/p/a.test.ts', why: 'afterAll broke' }],
    });
  });
});

it('a report of Mocha names what failed, and why', () => {
  const report = {
    stats: { passes: 2, failures: 1 },
    failures: [{ fullTitle: 'tree breaks', err: { message: 'no row' } }],
  };
  expect(readReport('mocha', JSON.stringify(report))).toEqual({
    passed: 2,
    failures: [{ title: 'tree breaks', why: 'no row' }],
  });
});

it('a report of another platform counts what ran there, and names what failed', () => {
  const ran: RanFile[] = [
    {
      file: 'test/unit/a.test.ts',
      seconds: 1,
      tests: [
        { name: 'works', state: 'passed', errors: [] },
        { name: 'is left out', state: 'skipped', errors: [], missing: 'sh' },
        { name: 'breaks', state: 'failed', errors: ['expected 1'] },
      ],
    },
  ];
  expect(readReport('platform', JSON.stringify(ran))).toEqual({
    passed: 1,
    failures: [{ title: 'a.test.ts: breaks', why: 'expected 1' }],
  });
});

it('a report of another form is refused', () => {
  expect(() => readReport('vitest', '{"numPassedTests": 3}')).toThrow(
    /not a report of the form "vitest": .*testResults/s,
  );
});
