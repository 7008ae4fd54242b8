import { defineConfig } from 'vitest/config';

/** Two cores are what a small machine has: more workers than that only make timings worse. */
const MAX_WORKERS = 2;

/** What many test files need is built once. */
const BUILT = 'test/support/built.ts';

/** What is cleared away after a test may be a folder of ten thousand files, on a busy machine. */
const HOOK_LIMIT_MS = 60_000;

/** What captures files goes on after a command ends, in a store that its test removes; tests of it turn it on. */
const QUIET = { ATLAS_SNAPSHOTS: 'off' };

export default defineConfig({
  test: {
    maxWorkers: MAX_WORKERS,
    projects: [
      // Files share what they import, which takes as long as the tests of many. Those of the editor's part replace `vscode`, each by
      // what it needs, and have a world of their own. Properties that are tried on random input take seconds on a busy machine.
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          exclude: ['test/unit/extension/**'],
          testTimeout: 20_000,
          isolate: false,
        },
      },
      { test: { name: 'unit-extension', include: ['test/unit/extension/**/*.test.ts'], testTimeout: 20_000 } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          isolate: false,
          setupFiles: 'test/support/asBefore.ts',
          env: QUIET,
          testTimeout: 20_000,
          hookTimeout: HOOK_LIMIT_MS,
          globalSetup: BUILT,
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          env: QUIET,
          testTimeout: 60_000,
          hookTimeout: HOOK_LIMIT_MS,
          globalSetup: BUILT,
        },
      },
      {
        // Real agents, which are installed on first use.
        test: {
          name: 'agents',
          include: ['test/agents/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          globalSetup: [BUILT, 'test/support/agents/installed.ts'],
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          setupFiles: 'test/support/vscode/failures.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // One at a time: two windows on two cores are as slow as people never are.
          fileParallelism: false,
        },
      },
    ],
  },
});
