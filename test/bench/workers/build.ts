import path from 'node:path';
import { build } from 'esbuild';
import { PROJECT } from '../../support/project';

/**
 * Builds workers of this folder as the extension is built, so that they cost what it costs; `vscode` is a stand-in.
 * @returns what starts the worker of a name
 */
export async function buildWorkers(outdir: string, names: readonly string[]): Promise<(name: string) => string> {
  await build({
    absWorkingDir: PROJECT,
    entryPoints: names.map((name) => `test/bench/workers/${name}.ts`),
    outdir,
    bundle: true,
    minify: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    outExtension: { '.js': '.mjs' },
    alias: { vscode: './test/bench/workers/vscodeStub.ts', yaml: './node_modules/yaml/browser/index.js' },
    logLevel: 'error',
  });
  return (name) => path.join(outdir, `${name}.mjs`);
}
