import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BUILT_FOLDER } from '../../test/support/built.ts';
import { PROJECT } from '../../test/support/project.ts';
import type { Bundled } from './bundle.mts';
import type { FileResult, Job } from './job.ts';
import type { Machine } from './platform.mts';

/** Each runs in a process of its own, like with Vitest; more at once only makes timings worse. */
const AT_ONCE = Math.min(2, os.availableParallelism());
/** What stands still for that long is counted as failed, in ms. */
const FILE_LIMIT_MS = 240_000;

/** A file's results. */
export interface RanFile extends FileResult {
  readonly file: string;
  readonly seconds: number;
  /** What broke of the platform itself, where that did. */
  readonly broke?: string;
}

/** Which tests of a file run, and how long they may take, in ms. */
export interface Limits {
  readonly testTimeout: number;
  readonly hookTimeout: number;
  readonly namePattern?: string;
  /** Names of a file's tests that are left out. */
  readonly skippedIn: (file: string) => readonly string[];
}

/** Runs test files on that platform, two at once, and tells of each as it ends. */
export async function runTests(
  machine: Machine,
  bundled: Bundled,
  files: readonly string[],
  limits: Limits,
): Promise<RanFile[]> {
  const folder = mkdtempSync(path.join(machine.temporary, 'atlas-platform-'));
  const waiting = [...files];
  const ran: RanFile[] = [];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      let each = await runFile(machine, bundled, { file, folder, limits });
      if (each.broke !== undefined) {
        // That says nothing about the tests: what runs on a server that died waits for ever.
        console.log(`${each.broke} while it ran ${file}, which is started anew.`);
        each = await runFile(machine, bundled, { file, folder, limits });
      }
      ran.push(each);
      tell(each);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  return ran;
}

interface FileRun {
  readonly file: string;
  readonly folder: string;
  readonly limits: Limits;
}

async function runFile(machine: Machine, bundled: Bundled, { file, folder, limits }: FileRun): Promise<RanFile> {
  const { skippedIn, ...rest } = limits;
  const own = path.join(folder, file.replaceAll('/', '-'));
  const temporary = path.join(own, 'temp');
  mkdirSync(temporary, { recursive: true });
  const [jobFile, report] = [path.join(own, 'job.json'), path.join(own, 'report.json')];
  const job: Job = {
    root: machine.pathOf(PROJECT),
    source: machine.pathOf(path.join(PROJECT, file)),
    bundle: machine.pathOf(bundled.bundleOf(file)),
    report: machine.pathOf(report),
    temporary: machine.pathOf(temporary),
    skipped: skippedIn(file),
    ...rest,
  };
  writeFileSync(jobFile, JSON.stringify(job));
  const env = {
    [BUILT_FOLDER]: machine.pathOf(bundled.built),
    ATLAS_SNAPSHOTS: 'off',
    NODE_OPTIONS: `--require ${JSON.stringify(machine.pathOf(bundled.preload))}`,
  };
  const start = performance.now();
  const args = ['--enable-source-maps', machine.pathOf(bundled.runner), machine.pathOf(jobFile)];
  const { code, stdout, stderr, broke } = await machine.runNode(args, { env, cwd: PROJECT, limitMs: FILE_LIMIT_MS });
  const seconds = (performance.now() - start) / 1000;
  const result = resultIn(report) ?? {
    tests: [{ name: '(process)', state: 'failed', errors: [`${broke ?? `ended with ${code}`}\n${stdout}${stderr}`] }],
  };
  rmSync(own, { recursive: true, force: true, maxRetries: 3 });
  return { file, seconds, ...result, ...(broke !== undefined && { broke }) };
}

function resultIn(report: string): FileResult | undefined {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as FileResult;
  } catch {
    return undefined;
  }
}

function tell({ file, seconds, tests }: RanFile): void {
  const failed = tests.filter(({ state }) => state === 'failed');
  const passed = tests.filter(({ state }) => state === 'passed');
  const skipped = tests.length - failed.length - passed.length;
  const parts = [`${passed.length} passed`, ...(skipped > 0 ? [`${skipped} skipped`] : [])];
  if (failed.length > 0) parts.push(`${failed.length} FAILED`);
  console.log(`${failed.length > 0 ? '✗' : '✓'} ${file}: ${parts.join(', ')} (${seconds.toFixed(1)} s)`);
  for (const { name, errors } of failed) console.log(`  ✗ ${name}\n${errors.join('\n').replace(/^/gm, '      ')}`);
}
