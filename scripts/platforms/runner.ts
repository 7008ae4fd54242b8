/* Runs one bundled test file on another platform and writes what became of its tests: `node runner.mjs <job.json>`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { TestRunner } from 'vitest';
import { startTests } from 'vitest/internal/browser';
import { VitestSnapshotEnvironment } from 'vitest/runtime';
import type { FileResult, Job, TestResult } from './job';

type Files = Awaited<ReturnType<typeof startTests>>;
type Task = Files[number]['tasks'][number];

/** Vitest's own runner, which takes a file from its bundle. */
class BundleRunner extends TestRunner {
  constructor(
    config: ConstructorParameters<typeof TestRunner>[0],
    private readonly bundle: string,
    private readonly skipped: ReadonlySet<string>,
  ) {
    super(config);
  }

  override importFile(): Promise<unknown> {
    return import(pathToFileURL(this.bundle).href);
  }

  /** Says which test runs: who kills a file that stands still tells what was said. */
  override async onBeforeRunTask(test: Task): Promise<void> {
    console.log(`${new Date().toISOString()} begins: ${test.name}`);
    await super.onBeforeRunTask(test);
  }

  /** Leaves out what is listed as left out. */
  onCollected(files: Files): void {
    const leave = (task: Task, above: readonly string[]): void => {
      const name = [...above, task.name];
      if (task.type === 'suite') for (const each of task.tasks) leave(each, name);
      else if (this.skipped.has(name.join(' > '))) task.mode = 'skip';
    };
    for (const task of files.flatMap((file) => file.tasks)) leave(task, []);
  }
}

/** What of Vitest's configuration its runner, `expect` and `vi` read. */
function configOf({ testTimeout, hookTimeout, namePattern, root }: Job): ConstructorParameters<typeof TestRunner>[0] {
  const config = {
    root,
    name: 'platform',
    setupFiles: [],
    passWithNoTests: false,
    testNamePattern: namePattern === undefined ? undefined : new RegExp(namePattern),
    allowOnly: false,
    sequence: { seed: 0, hooks: 'stack', setupFiles: 'list' },
    chaiConfig: undefined,
    maxConcurrency: 5,
    testTimeout,
    hookTimeout,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
    tagsFilter: undefined,
    strictTags: false,
    expect: {},
    experimental: { viteModuleRunner: false, importDurations: { limit: 0 } },
    fakeTimers: { toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] },
    // A golden file that is missing or differs fails its test.
    snapshotOptions: {
      updateSnapshot: 'none',
      snapshotFormat: {},
      expand: false,
      snapshotEnvironment: new VitestSnapshotEnvironment(),
    },
  };
  return config as unknown as ConstructorParameters<typeof TestRunner>[0];
}

/** What Vitest's parts ask the worker process for that they usually run in. */
function provideState(config: object, filepath: string): void {
  const done = (): Promise<void> => Promise.resolve();
  const state = {
    config,
    filepath,
    ctx: { pool: 'forks' },
    environment: { name: 'node' },
    rpc: new Proxy({}, { get: () => done }),
    onCleanup: () => undefined,
    providedContext: {},
    metaEnv: process.env,
  };
  Object.defineProperty(globalThis, '__vitest_worker__', { value: state, configurable: true, writable: true });
}

function testsIn(task: Task, above: readonly string[]): TestResult[] {
  const name = [...above, task.name];
  if (task.type === 'suite') {
    const failed = task.result?.errors ?? [];
    const own =
      failed.length === 0 ? [] : [{ name: name.join(' > '), state: 'failed' as const, errors: texts(failed) }];
    return [...own, ...task.tasks.flatMap((each) => testsIn(each, name))];
  }
  const errors = task.result?.errors ?? [];
  const test = { name: name.join(' > '), errors: texts(errors) };
  switch (task.result?.state) {
    case 'pass':
      return [{ ...test, state: 'passed' }];
    case 'fail': {
      const missing = missingIn(errors[0]);
      return [missing === undefined ? { ...test, state: 'failed' } : { ...test, state: 'skipped', missing }];
    }
    default:
      return [{ ...test, state: 'skipped' }];
  }
}

/** Programs that tests start and a Windows has none of. */
const UNIX_PROGRAMS = /^spawn(?:Sync)? (?:\/bin\/sh|sh|bash|mkfifo|mount|script|ln|chmod)$/u;

/** What a test itself asked for in vain that this platform doesn't have: such a test can't tell anything. */
function missingIn(
  error: { message?: string; stack?: string; code?: unknown; syscall?: unknown } | undefined,
): string | undefined {
  if (error?.message?.includes('You installed esbuild for another platform') === true) return 'to bundle';
  const isTestsOwn = /^[^\n]*\n(?:\s+at (?!.*[\\/](?:src|test)[\\/]).*\n)*\s+at .*[\\/]test[\\/]/u.test(
    error?.stack ?? '',
  );
  if (!isTestsOwn) return undefined;
  if (error?.code === 'EPERM' && error.syscall === 'symlink') return 'symbolic links';
  if (error?.code === 'EILSEQ') return 'names that are no UTF-8';
  if (error?.code === 'ENOENT' && UNIX_PROGRAMS.test(String(error.syscall))) return 'a program of Unix';
  return undefined;
}

interface Thrown {
  readonly message?: string;
  readonly stack?: string;
  readonly diff?: string;
  readonly cause?: unknown;
}

function texts(errors: readonly Thrown[]): string[] {
  return errors.map(({ message, stack, diff, cause }) => {
    const causes = typeof cause === 'object' && cause !== null ? texts([cause]) : [];
    return [stack ?? message ?? '', diff ?? '', ...causes.map((each) => `caused by ${each}`)].join('\n').trim();
  });
}

function resultOf(files: Files): FileResult {
  const tests = files.flatMap((file) => {
    const failed = texts(file.result?.errors ?? []);
    const own = failed.length === 0 ? [] : [{ name: '(file)', state: 'failed' as const, errors: failed }];
    return [...own, ...file.tasks.flatMap((task) => testsIn(task, []))];
  });
  return { tests };
}

async function main(): Promise<void> {
  const [jobFile = ''] = process.argv.slice(2);
  // Vitest's own timers let a process end that waits for nothing else.
  setInterval(() => undefined, 60_000);
  const job = JSON.parse(readFileSync(jobFile, 'utf8')) as Job;
  // Here, since Wine sets them when it starts a program.
  process.env['TEMP'] = process.env['TMP'] = process.env['TMPDIR'] = job.temporary;
  const config = configOf(job);
  provideState(config, job.source);
  const stray: string[] = [];
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error) => stray.push(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  const runner = new BundleRunner(config, job.bundle, new Set(job.skipped));
  runner.__setTraces({ $: (...args: unknown[]) => (args.at(-1) as () => unknown)() } as never);
  const result = resultOf(await startTests([job.source], runner));
  const thrown = stray.map((text) => ({
    name: '(thrown outside of a test)',
    state: 'failed' as const,
    errors: [text],
  }));
  writeFileSync(job.report, JSON.stringify({ tests: [...result.tests, ...thrown] } satisfies FileResult));
  // What a test left running must not keep this process.
  process.exit(0);
}

await main();
