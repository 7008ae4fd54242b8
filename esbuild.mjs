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
/** @type {unknown} */
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const { version } = /** @type {{ version: string }} */ (manifest);

/**
 * One row a bundle. The extension is an ES module, so that what is imported late (`await import(…)`) becomes a chunk
 * of its own that shares its code with the rest. The command is one file, and CommonJS, since it is started all the
 * time: Node loads one file faster than forty. What is large and rarely needed lies beside it.
 * @type {ReadonlyArray<{ out: string, source: string, target: 'extension' | 'cli' | 'part' | 'webview' }>}
 */
const BUNDLES = [
  { out: 'extension', source: 'src/extension/extension.ts', target: 'extension' },
  { out: 'cli', source: 'src/cli/main.ts', target: 'cli' },
  { out: 'cli/libsecp256k1', source: 'src/signing/libsecp256k1.ts', target: 'part' },
  { out: 'cli/bsvSdk', source: 'src/signing/bsvSdk.ts', target: 'part' },
  { out: 'cli/yaml', source: 'src/storage/yaml.ts', target: 'part' },
  { out: 'webview/hook', source: 'webview/hook/main.ts', target: 'webview' },
  { out: 'webview/receipts', source: 'webview/receipts/main.ts', target: 'webview' },
];

/** @type {import('esbuild').BuildOptions} */
const NODE = { platform: 'node', target: 'node20', format: 'cjs', mainFields: ['module', 'main'] };

/** Its Node build is CommonJS, which an ES module can't hold without a `require`. */
const YAML = { yaml: './node_modules/yaml/browser/index.js' };

/** @type {Record<'extension' | 'cli' | 'part' | 'webview', import('esbuild').BuildOptions>} */
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
  // `vscode` is not external here: an import of it from the command line's code fails the build.
  cli: {
    ...NODE,
    alias: YAML,
    banner: { js: '#!/usr/bin/env node' },
    define: { ATLAS_VERSION: JSON.stringify(version) },
    // `import()` of a file beside it would start Node's other loader.
    supported: { 'dynamic-import': false },
    plugins: [partsBeside()],
  },
  part: { ...NODE, alias: YAML },
  webview: { platform: 'browser', target: 'es2022', format: 'iife' },
};

/**
 * Leaves the parts out of the command's file.
 * @returns {import('esbuild').Plugin}
 */
function partsBeside() {
  const parts = BUNDLES.filter(({ target }) => target === 'part');
  return {
    name: 'parts-beside',
    setup: (build) => {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path: wanted, resolveDir }) => {
        const file = path.relative(root, path.resolve(resolveDir, `${wanted}.ts`)).replaceAll(path.sep, '/');
        const part = parts.find(({ source }) => source === file);
        return part === undefined ? undefined : { path: `./${part.out}.js`, external: true };
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
  ({ out, source }) => existsSync(path.join(root, source)) && (only === undefined || only === out.split('/')[0]),
);

// The extension's own files say by their names that they are ES modules.
mkdirSync(outdir, { recursive: true });
writeFileSync(path.join(outdir, 'package.json'), '{ "type": "commonjs" }\n');

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
