import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { PROJECT } from '../../project';

/** Folders of extensions that a window can be opened with. */
export interface BuiltExtensions {
  /** Ours, built as it is shipped, which no later build changes. */
  readonly atlas: string;
  /** One that does nothing, activated by the same event. */
  readonly control: string;
  /** The one that measures. */
  readonly probe: string;
}

function writeManifest(folder: string, name: string, fields: Readonly<Record<string, unknown>>): void {
  mkdirSync(folder, { recursive: true });
  const manifest = { publisher: 'bench', name, version: '0.0.1', engines: { vscode: '^1.104.0' }, ...fields };
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
}

/** Added to the file that VS Code loads: VS Code doesn't say how long the promise of `activate` took, in ms. */
const TIMED = `
const { activate } = module.exports;
module.exports = {
  activate: async (context) => {
    const begun = performance.now();
    const api = await activate(context);
    globalThis.benchActivated = performance.now() - begun;
    return api;
  },
};
`;

/** Builds ours, an empty one beside which ours is measured, and the one that measures. `folder` is absolute. */
export async function buildExtensions(folder: string): Promise<BuiltExtensions> {
  const [atlas, control, probe] = ['atlas', 'control', 'probe'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(atlas, { recursive: true });
  const args = [path.join(PROJECT, 'esbuild.mjs'), '--production', `--out=${path.join(atlas, 'dist')}`];
  execFileSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const name of ['package.json', 'package.nls.json', 'media'])
    cpSync(path.join(PROJECT, name), path.join(atlas, name), { recursive: true });
  writeManifest(control, 'empty', {
    main: './extension.js',
    activationEvents: ['onStartupFinished'],
  });
  writeFileSync(path.join(control, 'extension.js'), 'exports.activate = () => {};\n');
  for (const main of [path.join(atlas, 'dist', 'extension.js'), path.join(control, 'extension.js')])
    appendFileSync(main, TIMED);
  writeManifest(probe, 'probe', { main: './extension.cjs', activationEvents: ['*'] });
  await build({
    absWorkingDir: PROJECT,
    entryPoints: ['test/support/vscode/probe/extension.ts'],
    outfile: path.join(probe, 'extension.cjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode'],
    logLevel: 'warning',
  });
  return { atlas, control, probe };
}
