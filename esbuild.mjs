import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { analyzeMetafile, build, context } from 'esbuild';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');
const printSizes = process.argv.includes('--metafile');
const root = import.meta.dirname;

/**
 * One row a bundle. CommonJS bundles can't be split, so a part that is loaded late has a row of its own:
 * write `await import('…/that/source')` and the bundle that does so requires the other bundle at run time.
 * @type {ReadonlyArray<{ out: string, source: string, target: 'extension' | 'cli' | 'webview' }>}
 */
const BUNDLES = [
  { out: 'extension', source: 'src/extension/extension.ts', target: 'extension' },
  { out: 'markdown', source: 'src/extension/panels/markdown.ts', target: 'extension' },
  { out: 'yaml', source: 'src/storage/yaml.ts', target: 'extension' },
  { out: 'cli', source: 'src/cli/main.ts', target: 'cli' },
  { out: 'webview/hook', source: 'webview/hook/main.ts', target: 'webview' },
  { out: 'webview/receipts', source: 'webview/receipts/main.ts', target: 'webview' },
];

/** @type {import('esbuild').BuildOptions} */
const NODE = { platform: 'node', target: 'node20', format: 'cjs', mainFields: ['module', 'main'] };

/** @type {Record<'extension' | 'cli' | 'webview', import('esbuild').BuildOptions>} */
const TARGETS = {
  extension: { ...NODE, external: ['vscode'] },
  // `vscode` is not external here: an import of it from the command line's code fails the build.
  cli: { ...NODE, banner: { js: '#!/usr/bin/env node' } },
  webview: { platform: 'browser', target: 'es2022', format: 'iife' },
};

/**
 * Turns a dynamic import of another row's source into a require of that row's bundle.
 * @param {string} from the bundle that is being built
 * @returns {import('esbuild').Plugin}
 */
function lateBundles(from) {
  const late = new Map(BUNDLES.map(({ source, out }) => [path.join(root, source), out]));
  return {
    name: 'late-bundles',
    setup(bundler) {
      bundler.onResolve({ filter: /^\./ }, ({ kind, path: specifier, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined;
        const base = path.resolve(resolveDir, specifier).replace(/\.[jt]s$/, '');
        const out = late.get(`${base}.ts`);
        if (out === undefined) return undefined;
        return { path: `./${path.posix.relative(path.posix.dirname(from), out)}.js`, external: true };
      });
    },
  };
}

/**
 * @param {typeof BUNDLES[number]} bundle
 * @returns {import('esbuild').BuildOptions}
 */
function optionsOf({ out, source, target }) {
  return {
    ...TARGETS[target],
    absWorkingDir: root,
    entryPoints: [{ in: source, out }],
    outdir: 'dist',
    bundle: true,
    metafile: true,
    minify: production,
    sourcemap: production ? false : 'linked',
    legalComments: 'none',
    logLevel: 'info',
    plugins: [lateBundles(out)],
  };
}

const present = BUNDLES.filter(({ source }) => existsSync(path.join(root, source)));

if (watch) {
  const contexts = await Promise.all(present.map((bundle) => context(optionsOf(bundle))));
  await Promise.all(contexts.map((each) => each.watch()));
} else {
  const results = await Promise.all(present.map((bundle) => build(optionsOf(bundle))));
  if (printSizes) {
    mkdirSync(path.join(root, 'out'), { recursive: true });
    for (const [i, { metafile }] of results.entries()) {
      if (metafile === undefined) continue;
      const name = present[i]?.out.replaceAll('/', '-');
      writeFileSync(path.join(root, 'out', `${name}.meta.json`), JSON.stringify(metafile));
      console.log(await analyzeMetafile(metafile));
    }
  }
}
