/*
 * `npm run test:windows`: tests on Windows' own Node and git for Windows, under Wine; lays out what is missing.
 * Arguments: test files or folders (all by default), `--share` (what CI runs), `--test <pattern>` (only tests of that
 * name), `--no-left-out` (also what is left out), `--report <file>`.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bundleTests } from './bundle.mts';
import { chooseTests, describeLeftOut, skippedIn } from './choice.mts';
import { installWindows } from './install.mts';
import { WindowsMachine } from './machine.mts';
import { type RanFile, runTests } from './runTests.mts';

/** Two to three times what Linux takes, on a machine that has other things to do. */
const LIMITS = { testTimeout: 120_000, hookTimeout: 120_000 };

const CANNOT_TELL = `What this can't tell: Wine is a stand-in. It has no NTFS, no virus scanner and no PowerShell; no power is cut, and no
window of VS Code is opened. The shell of Git for Windows can start nothing beside itself there (Cygwin's fork), so that hooks that do are left out.`;

function summarize(files: readonly RanFile[]): { passed: number; failed: number } {
  const tests = files.flatMap((file) => file.tests);
  const countOf = (state: string): number => tests.filter((test) => test.state === state).length;
  return { passed: countOf('passed'), failed: countOf('failed') };
}

/** How many tests asked in vain for what. */
function describeMissing(files: readonly RanFile[]): string {
  const counts = new Map<string, number>();
  for (const { missing } of files.flatMap(({ tests }) => tests))
    if (missing !== undefined) counts.set(missing, (counts.get(missing) ?? 0) + 1);
  if (counts.size === 0) return '';
  return `Skipped, since they need: ${[...counts].map(([what, number]) => `${what} (${number})`).join(', ')}\n`;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      share: { type: 'boolean', default: false },
      'no-left-out': { type: 'boolean', default: false },
      test: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const files = chooseTests({ under: positionals, share: values.share });
  if (files.length === 0) throw new Error('no such tests');
  const machine = new WindowsMachine(await installWindows());
  await machine.keepServer();
  const bundled = await bundleTests(files);
  const ran = await runTests(machine, bundled, files, {
    ...LIMITS,
    skippedIn: values['no-left-out'] ? () => [] : skippedIn,
    ...(values.test !== undefined && { namePattern: values.test }),
  }).finally(() => machine.stopServer());
  rmSync(bundled.folder, { recursive: true, force: true });
  const { passed, failed } = summarize(ran);
  if (values.report !== undefined)
    writeFileSync(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed, files: ran }));
  console.log(
    `\n${describeMissing(ran)}${describeLeftOut()}\n${CANNOT_TELL}\nWindows: ${passed} passed, ${failed} failed`,
  );
  if (failed > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
