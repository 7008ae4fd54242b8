import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { analyzeMetafile, build, context } from 'esbuild';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');
const printSizes = process.argv.includes('--metafile');
const root = import.meta.dirname;
/** @param {string} name */
const valueOf = (name) => process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
/** Builds that one bundle alone, into another folder: the tests' own copy of the command. */
const only = valueOf('only');
const outdir = path.resolve(root, valueOf('out') ?? 'dist');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/**
 * One row a bundle. The extension is an ES module, so that what is imported late (`await import(…)`) becomes a chunk
 * of its own that shares its code with the rest.
 * @type {ReadonlyArray<{ out: string, source: string, target: 'extension' | 'cli' | 'webview' }>}
 */
const BUNDLES = [
  { out: 'extension', source: 'src/extension/extension.ts', target: 'extension' },
  { out: 'cli', source: 'src/cli/main.ts', target: 'cli' },
  { out: 'webview/hook', source: 'webview/hook/main.ts', target: 'webview' },
  { out: 'webview/receipts', source: 'webview/receipts/main.ts', target: 'webview' },
];

/** @type {import('esbuild').BuildOptions} */
const NODE = { platform: 'node', target: 'node20', format: 'cjs', mainFields: ['module', 'main'] };

/** Its Node build is CommonJS, which an ES module can't hold without a `require`. */
const YAML = { yaml: './node_modules/yaml/browser/index.js' };

/** @type {Record<'extension' | 'cli' | 'webview', import('esbuild').BuildOptions>} */
const TARGETS = {
  extension: {
    ...NODE,
    format: 'esm',
    splitting: true,
    external: ['vscode'],
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    alias: YAML,
  },
  // `vscode` is not external here: an import of it from the command line's code fails the build. Its chunks are its own.
  cli: {
    ...NODE,
    format: 'esm',
    splitting: true,
    chunkNames: 'cli/[name]-[hash]',
    alias: YAML,
    // The first line is the entry's; to a chunk it is a comment. The rest is for commander, which is CommonJS.
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
    define: { ATLAS_VERSION: JSON.stringify(version) },
  },
  webview: { platform: 'browser', target: 'es2022', format: 'iife' },
};

/**
 * @param {typeof BUNDLES[number]} bundle
 * @returns {import('esbuild').BuildOptions}
 */
function optionsOf({ out, source, target }) {
  return {
    ...TARGETS[target],
    absWorkingDir: root,
    entryPoints: [{ in: source, out }],
    outdir,
    bundle: true,
    metafile: true,
    minify: production,
    sourcemap: production ? false : 'linked',
    legalComments: 'none',
    logLevel: 'info',
  };
}

// Chunks are named by their content: those of an earlier build would ship too.
for (const folder of ['chunks', 'cli']) rmSync(path.join(outdir, folder), { recursive: true, force: true });
const present = BUNDLES.filter(
  ({ out, source }) => existsSync(path.join(root, source)) && (only === undefined || only === out),
);

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
