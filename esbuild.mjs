import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { analyzeMetafile, build, context } from 'esbuild';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');
const printSizes = process.argv.includes('--metafile');
const root = import.meta.dirname;
/** @param {string} name */
const valueOf = (name) => process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
/** `--only=cli`: builds the command alone, the tests' own copy of it. */
const only = valueOf('only');
const outdir = path.resolve(root, valueOf('out') ?? 'dist');
/** @type {unknown} */
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const { version } = /** @type {{ version: string }} */ (manifest);

/**
 * One row a bundle, each one CommonJS file: of what extension and command cost at their start, most was Node finding,
 * reading and linking modules, which it does one by one. What imports another row's source finds it beside itself.
 * @type {ReadonlyArray<{ out: string, source: string, target: 'extension' | 'cli' | 'changing' | 'reading' | 'hook' | 'part' | 'chunk' | 'webview' }>}
 */
const BUNDLES = [
  { out: 'extension', source: 'src/extension/main.ts', target: 'extension' },
  { out: 'window', source: 'src/extension/activate.ts', target: 'extension' },
  { out: 'cli', source: 'src/cli/main.ts', target: 'cli' },
  { out: 'forge', source: 'src/cli/forgeMain.ts', target: 'cli' },
  { out: 'command', source: 'src/cli/run.ts', target: 'cli' },
  { out: 'changing', source: 'src/cli/changing.ts', target: 'changing' },
  { out: 'reading', source: 'src/cli/reading.ts', target: 'reading' },
  { out: 'hook', source: 'src/cli/hookMain.ts', target: 'hook' },
  { out: 'parts/libsecp256k1', source: 'src/signing/libsecp256k1.ts', target: 'part' },
  { out: 'parts/bsvSdk', source: 'src/signing/bsvSdk.ts', target: 'part' },
  { out: 'parts/yaml', source: 'src/store/config/yaml.ts', target: 'part' },
  { out: 'parts/mcpSdk', source: 'src/cli/mcp/sdk.ts', target: 'part' },
  { out: 'parts/fileRestores', source: 'src/service/snapshots/fileRestores.ts', target: 'part' },
  { out: 'parts/verify', source: 'src/service/verify/verifyParts.ts', target: 'chunk' },
  { out: 'parts/jsonc', source: 'src/agents/install/jsonc.ts', target: 'part' },
  { out: 'editor/markdown', source: 'src/extension/shared/markdown.ts', target: 'part' },
  { out: 'editor/chokidar', source: 'src/store/chokidar.ts', target: 'part' },
  { out: 'webview/panel', source: 'webview/main.ts', target: 'webview' },
  { out: 'webview/taskPanel', source: 'webview/taskPanel/taskPanel.css', target: 'webview' },
  { out: 'webview/receiptsPanel', source: 'webview/receiptsPanel/receiptsPanel.css', target: 'webview' },
  { out: 'webview/detailsPanel', source: 'webview/detailsPanel/detailsPanel.css', target: 'webview' },
];

/** @type {import('esbuild').BuildOptions} */
const PART = {
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  mainFields: ['module', 'main'],
  // Its build for Node is written as CommonJS, nothing of which can be left out.
  alias: { yaml: './node_modules/yaml/browser/index.js' },
};

/** @type {import('esbuild').BuildOptions} */
const WHOLE = {
  ...PART,
  // `import()` of a file beside it would start Node's other loader.
  supported: { 'dynamic-import': false },
  plugins: [partsBeside()],
};

/** @type {import('esbuild').BuildOptions} */
const COMMAND = { ...WHOLE, define: { ATLAS_VERSION: JSON.stringify(version) } };

/**
 * The parser of command lines can start other programs as its commands, which ours are not: what it would need for that
 * takes as long to load as the parser.
 * @type {import('esbuild').Plugin}
 */
const noPrograms = {
  name: 'no-programs',
  setup: (build) => {
    build.onResolve({ filter: /^node:child_process$/ }, ({ importer, path: name }) =>
      importer.includes(path.join('node_modules', 'commander', ''))
        ? { path: name, namespace: 'no-programs' }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'no-programs' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * The file that is imported, as {@link BUNDLES} names it.
 * @param {string} wanted
 * @param {string} folder
 */
function sourceOf(wanted, folder) {
  return path.relative(root, path.resolve(folder, `${wanted}.ts`)).replaceAll(path.sep, '/');
}

/**
 * Leaves out of a file what lies beside it.
 * @param {string} [folder] where the file itself lies
 * @returns {import('esbuild').Plugin}
 */
function partsBeside(folder = '.') {
  return {
    name: 'parts-beside',
    setup: (build) => {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path: wanted, resolveDir }) => {
        const file = sourceOf(wanted, resolveDir);
        const part = BUNDLES.find(({ source }) => source === file);
        if (part === undefined) return undefined;
        const beside = path.posix.relative(folder, `${part.out}.js`);
        return { path: beside.startsWith('.') ? beside : `./${beside}`, external: true };
      });
    },
  };
}

/** What changes tasks: where what only reads has something to record after all, it is in the part that changes tasks. */
const DRIVING = 'src/service/driving.ts';
/** @param {readonly string[]} names */
const services = (...names) => names.map((name) => `src/service/${name}.ts`);
/** What is asked for by people only, or by what changes tasks. */
const NOT_IN_HOOKS = services('git/gitHooks', 'receipts/receiptService', 'git/spoolService');
/** What says how a task stands asks none of these. */
const NOT_ASKED = services('git/gitHooks', 'git/spoolService', 'checkpoints/gitCheckpoints', 'inbox/inbox');

/**
 * Leaves out what is loaded late and never here: agents wait for the answer, and every part of a file is looked over before it
 * runs.
 * @param {readonly string[]} files
 * @returns {import('esbuild').Plugin}
 */
function leavingOut(files) {
  return {
    name: 'leaving-out',
    setup: (build) => {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path: wanted, resolveDir, kind }) => {
        const file = sourceOf(wanted, resolveDir);
        return kind === 'dynamic-import' && files.includes(file) ? { path: file, namespace: 'left-out' } : undefined;
      });
      build.onResolve({ filter: /./, namespace: 'left-out' }, ({ path: part }) => ({ path: part, external: true }));
      build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path: file }) => ({
        contents:
          file === DRIVING
            ? `exports.drivingAtlas = (ports) => require('./changing.js').drivingAtlas(ports);`
            : `throw new Error('What is called all day has no ${file}.');`,
      }));
    },
  };
}

/** @param {readonly string[]} names */
const handlers = (...names) => names.map((name) => `src/cli/commands/${name}.ts`);

/** What changes tasks all day, and what asks how they stand: handlers are loaded by their commands, and by nothing else. */
const CHANGING = handlers('task/step', 'task/hook', 'checkpoint/checkpoint');
const ASKING = handlers('task/status', 'task/hook');

/**
 * Leaves out what other commands do: it is in the whole program.
 * @param {readonly string[]} own
 * @returns {import('esbuild').Plugin}
 */
function handlersOnly(own) {
  return {
    name: 'handlers-only',
    setup: (build) => {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path: wanted, resolveDir, importer, kind }) => {
        const file = sourceOf(wanted, resolveDir);
        // Beside it lies the one with all handlers.
        if (file === 'src/cli/run.ts') return { path: path.join(root, file) };
        const isLeftOut = kind === 'dynamic-import' && /[cC]ommands\.ts$/.test(importer) && !own.includes(file);
        return isLeftOut ? { path: file, namespace: 'other-handler' } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: 'other-handler' }, ({ path: file }) => ({
        contents: `throw new Error('What is called all day has no ${file}.');`,
      }));
    },
  };
}

/** @type {Record<'extension' | 'cli' | 'changing' | 'reading' | 'hook' | 'part' | 'chunk' | 'webview', import('esbuild').BuildOptions>} */
const TARGETS = {
  extension: { ...WHOLE, external: ['vscode'] },
  // `vscode` is not external here: an import of it from the command line's code fails the build.
  cli: { ...COMMAND, plugins: [partsBeside(), noPrograms], banner: { js: '#!/usr/bin/env node' } },
  changing: { ...COMMAND, plugins: [handlersOnly(CHANGING), partsBeside(), noPrograms] },
  reading: {
    ...COMMAND,
    plugins: [handlersOnly(ASKING), partsBeside(), noPrograms, leavingOut([DRIVING, ...NOT_ASKED])],
  },
  hook: { ...COMMAND, plugins: [partsBeside(), leavingOut([DRIVING, ...NOT_IN_HOOKS])] },
  part: PART,
  // A part that needs other parts, which lie beside it.
  chunk: { ...WHOLE, plugins: [partsBeside('parts')] },
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

const present = BUNDLES.filter(
  ({ out, source, target }) =>
    existsSync(path.join(root, source)) &&
    (only !== 'cli' ||
      target === 'cli' ||
      target === 'changing' ||
      target === 'reading' ||
      target === 'hook' ||
      target === 'chunk' ||
      (target === 'part' && out.startsWith('parts/'))),
);

// The project's own files are ES modules.
mkdirSync(outdir, { recursive: true });
writeFileSync(path.join(outdir, 'package.json'), '{ "type": "commonjs" }\n');
// What the launcher tries in the shell first.
copyFileSync(path.join(root, 'src/agents/lifecycle/stop.sh'), path.join(outdir, 'stop.sh'));

if (watch) {
  const contexts = await Promise.all(present.map((bundle) => context(optionsOf(bundle))));
  await Promise.all(contexts.map((each) => each.watch()));
} else {
  const results = await Promise.all(present.map((bundle) => build(optionsOf(bundle))));
  if (printSizes) {
    const folder = path.join(root, 'out');
    mkdirSync(folder, { recursive: true });
    // Those of a bundle that no longer exists would count as shipped.
    for (const file of readdirSync(folder)) if (file.endsWith('.meta.json')) rmSync(path.join(folder, file));
    for (const [i, { metafile }] of results.entries()) {
      if (metafile === undefined) continue;
      const name = present[i]?.out.replaceAll('/', '-');
      writeFileSync(path.join(folder, `${name}.meta.json`), JSON.stringify(metafile));
      console.log(await analyzeMetafile(metafile));
    }
  }
}
