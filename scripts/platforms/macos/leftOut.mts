import { BUNDLED, type LeftOut, MINUTES } from '../leftOut.mts';

const PROC = 'has hooks in a shell, which sees /proc here';

/** What can tell nothing on a stand-in for macOS. */
export const LEFT_OUT: readonly LeftOut[] = [
  ...BUNDLED,
  { file: 'test/integration/agents/agentDoors.test.ts', reason: MINUTES },
  { file: 'test/integration/cli/oddWorktree.test.ts', reason: MINUTES },
  { file: 'test/integration/workers/workersBranches.test.ts', reason: MINUTES },
  { file: 'test/integration/workers/workersHostile.test.ts', reason: MINUTES },
  { file: 'test/crash/crashMatrix.test.ts', reason: MINUTES },
  {
    file: 'test/integration/snapshots/exactness.test.ts',
    reason: 'compares names exactly, while a file keeps the spelling that it was captured by first',
  },
  {
    file: 'test/integration/git/gitHooksRun.test.ts',
    tests: [
      'a fresh hook > does the same under dash',
      'a fresh hook > does the same under bash',
      'where atlas is > hanging, commits succeed at once and a second one is not started',
      'somebody drains already > an open window: nothing is started; once it has gone, one is',
      'through hook, spool and drain > a push becomes one checkpoint, though the hook runs before it',
    ],
    reason: PROC,
  },
  { file: 'test/integration/sessions/copilot.test.ts', reason: PROC },
  { file: 'test/integration/sessions/needed.test.ts', reason: PROC },
];
