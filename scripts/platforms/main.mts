/*
 * `npm run test:windows` and `npm run test:macos`: tests on what stands in for another system; lays out what is missing.
 * Arguments: the system, then test files or folders (all by default), `--share` (what CI runs), `--test <pattern>` (only
 * tests of that name), `--no-left-out` (also what is left out), `--if-possible` (a system that can't be laid out is no
 * failure), `--report <file>`.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/shared/errors.ts';
import { bundleTests } from './bundle.mts';
import { chooseTests, describeLeftOut, skippedIn } from './choice.mts';
import { MACOS } from './macos/macos.mts';
import type { Platform } from './platform.mts';
import { readReport } from '../reports.mts';
import { type RanFile, runTests } from './runTests.mts';
import { WINDOWS } from './windows/windows.mts';

const PLATFORMS: Readonly<Record<string, Platform>> = { windows: WINDOWS, macos: MACOS };

/** Two to three times what Linux takes, on a machine that has other things to do. */
const LIMITS = { testTimeout: 120_000, hookTimeout: 120_000 };

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
      'if-possible': { type: 'boolean', default: false },
      test: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const [name = '', ...under] = positionals;
  const platform = PLATFORMS[name];
  if (platform === undefined) throw new Error(`which of ${Object.keys(PLATFORMS).join(', ')}?`);
  const all = values['no-left-out'];
  const files = chooseTests(platform, { under, share: values.share, all });
  if (files.length === 0) throw new Error('no such tests');
  const machine = await platform.open().catch((error: unknown) => {
    if (!values['if-possible']) throw error;
    console.log(`${platform.name} is left out, since it can't be laid out here: ${messageOf(error)}`);
  });
  if (machine === undefined) return;
  const bundled = await bundleTests(files, platform.preload);
  const ran = await runTests(machine, bundled, files, {
    ...LIMITS,
    skippedIn: (file) => (all ? [] : skippedIn(platform, file)),
    ...(values.test !== undefined && { namePattern: values.test }),
  }).finally(() => machine.close());
  rmSync(bundled.folder, { recursive: true, force: true });
  const report = JSON.stringify(ran);
  if (values.report !== undefined) writeFileSync(values.report, report);
  const { passed, failures } = readReport('platform', report);
  console.log(`\n${describeMissing(ran)}${describeLeftOut(platform)}\n${platform.cannotTell}`);
  console.log(`${platform.name}: ${passed} passed, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
