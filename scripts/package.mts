/* `npm run package`: makes atlas-hooks.vsix, and refuses files that were not meant to ship and a package that grew too big. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import { createVSIX, listFiles, PackageManager } from '@vscode/vsce';
import { PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/run.ts';

const VSIX = path.join(PROJECT, 'atlas-hooks.vsix');
const BUDGET_BYTES = 1_500_000;
/** What the editor loads when it activates the extension. */
const ACTIVATION_BUDGET_BYTES = 160_000;
/** Packages that only late chunks may hold. */
const LATE_PACKAGES = ['marked', '@bsv/sdk', 'yaml', 'chokidar'];

/** What may ship. `.vscodeignore` decides what does; this list notices when that file is loosened by mistake. */
const ALLOWED = [
  /^package(\.nls(\.[a-z-]+)?)?\.json$/,
  /^(README\.md|CHANGELOG\.md|LICENSE)$/,
  /^dist\/(webview\/)?[a-zA-Z0-9]+\.(js|mjs|css|wasm)$/,
  /^dist\/chunks\/[a-zA-Z0-9]+-[A-Z0-9]{8}\.mjs$/,
  /^dist\/cli\/[a-zA-Z0-9]+\.js$/,
  /^dist\/package\.json$/,
  /^dist\/schemas\/[a-z]+\.schema\.json$/,
  /^l10n\/bundle\.l10n(\.[a-z-]+)?\.json$/,
  /^media\/([a-zA-Z0-9-]+\/)*[a-zA-Z0-9-]+\.(svg|png|md)$/,
];

/** Without these the package does nothing. */
const REQUIRED = ['package.json', 'package.nls.json', 'dist/extension.mjs', 'dist/cli.js', 'dist/package.json'].concat([
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
]);

await run('npm', ['run', '--silent', 'build', '--', '--metafile'], { cwd: PROJECT, output: 'pipe' });
/** What is loaded at activation: the entry and what it imports at once, with the packages in it. */
function loadedAtActivation(): { bytes: number; packages: Set<string> } {
  const { outputs } = JSON.parse(readFileSync(path.join(PROJECT, 'out', 'extension.meta.json'), 'utf8')) as Metafile;
  const packages = new Set<string>();
  const seen = new Set<string>();
  const open = ['dist/extension.mjs'];
  let bytes = 0;
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const output = outputs[file];
    if (output === undefined || seen.has(file)) continue;
    seen.add(file);
    bytes += output.bytes;
    for (const input of Object.keys(output.inputs)) {
      const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
      if (name !== undefined) packages.add(name);
    }
    open.push(...output.imports.filter(({ kind }) => kind === 'import-statement').map((each) => each.path));
  }
  return { bytes, packages };
}

const files = await listFiles({ cwd: PROJECT, packageManager: PackageManager.None });
const shipped = files.map((file) => file.split(path.sep).join('/'));
const problems = [
  ...shipped.filter((file) => !ALLOWED.some((pattern) => pattern.test(file))).map((file) => `must not ship: ${file}`),
  ...REQUIRED.filter((file) => !shipped.includes(file)).map((file) => `is missing: ${file}`),
];
const { bytes, packages } = loadedAtActivation();
console.log(`${bytes} bytes of ${ACTIVATION_BUDGET_BYTES} are loaded at activation`);
if (bytes > ACTIVATION_BUDGET_BYTES) problems.push(`too much is loaded at activation: ${bytes} bytes`);
for (const name of LATE_PACKAGES) if (packages.has(name)) problems.push(`${name} is loaded at activation`);
if (problems.length === 0) {
  await createVSIX({
    cwd: PROJECT,
    packagePath: VSIX,
    dependencies: false,
    allowMissingRepository: true,
    rewriteRelativeLinks: false, // there is no public address yet that they could lead to
  });
  const { size } = statSync(VSIX);
  console.log(`${size} bytes of ${BUDGET_BYTES}`);
  if (size > BUDGET_BYTES) problems.push(`the package is too big: ${size} bytes, ${BUDGET_BYTES} allowed`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
