import { mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { buildForTests, bundlePrograms } from '../../test/support/built.ts';
import { OUT, PROJECT } from '../../test/support/project.ts';

/** Packages with native parts or with programs of their own, which bundles import from where they lie. */
const NATIVE = ['esbuild', 'typescript', 'playwright-core', '@napi-rs/image', 'vite', '@vscode/l10n-dev'];

/** What Vitest would import for tests of other environments; not installed. */
const OTHER_WORLDS = ['@edge-runtime/vm', 'happy-dom', 'jsdom', 'vscode'];

/** What was bundled for another platform (absolute). */
export interface Bundled {
  /** Where all of it lies; to be removed afterwards. */
  readonly folder: string;
  /** The program that runs one test file. */
  readonly runner: string;
  /** What every Node loads first. */
  readonly preload: string;
  /** The command and the worker programs, built as for a run of Vitest. */
  readonly built: string;
  bundleOf(test: string): string;
}

/**
 * Bundles tests, each to a file of its own, with Vitest's runner: Vitest itself needs a native part, which those platforms can't load.
 * @param tests their paths in the project
 * @param preload the path there of what every Node loads first
 */
export async function bundleTests(tests: readonly string[], preload: string): Promise<Bundled> {
  mkdirSync(OUT, { recursive: true });
  const folder = mkdtempSync(path.join(OUT, 'platform-'));
  await build({
    entryPoints: ['scripts/platforms/runner.ts', ...tests].map((file) => path.join(PROJECT, file)),
    outbase: PROJECT,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Tests and runner share one copy of Vitest's parts.
    splitting: true,
    mainFields: ['module', 'main'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'linked',
    logLevel: 'error',
    external: [...NATIVE, ...OTHER_WORLDS],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  const built = path.join(folder, 'built');
  mkdirSync(built);
  await buildForTests(built);
  await bundlePrograms([preload], folder);
  return {
    folder,
    runner: path.join(folder, 'scripts', 'platforms', 'runner.mjs'),
    preload: path.join(folder, 'preload.cjs'),
    built,
    bundleOf: (test) => path.join(folder, test.replace(/\.ts$/, '.mjs')),
  };
}
