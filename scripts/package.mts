/* `npm run package`: makes atlas-hooks.vsix, and refuses files that were not meant to ship and a package that grew too big. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { createVSIX, listFiles, PackageManager } from '@vscode/vsce';
import { PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/run.ts';

const VSIX = path.join(PROJECT, 'atlas-hooks.vsix');
const BUDGET_BYTES = 1_500_000;

/** What may ship. `.vscodeignore` decides what does; this list notices when that file is loosened by mistake. */
const ALLOWED = [
  /^package(\.nls(\.[a-z-]+)?)?\.json$/,
  /^(README\.md|CHANGELOG\.md|LICENSE)$/,
  /^dist\/(webview\/)?[a-zA-Z0-9]+\.(js|mjs|css|wasm)$/,
  /^dist\/chunks\/[a-zA-Z0-9]+-[A-Z0-9]{8}\.mjs$/,
  /^dist\/schemas\/[a-z]+\.schema\.json$/,
  /^l10n\/bundle\.l10n(\.[a-z-]+)?\.json$/,
  /^media\/([a-zA-Z0-9-]+\/)*[a-zA-Z0-9-]+\.(svg|png|md)$/,
];

/** Without these the package does nothing. */
const REQUIRED = ['package.json', 'package.nls.json', 'dist/extension.mjs', 'README.md', 'CHANGELOG.md', 'LICENSE'];

await run('npm', ['run', '--silent', 'build'], { cwd: PROJECT, output: 'inherit' });
const files = await listFiles({ cwd: PROJECT, packageManager: PackageManager.None });
const shipped = files.map((file) => file.split(path.sep).join('/'));
const problems = [
  ...shipped.filter((file) => !ALLOWED.some((pattern) => pattern.test(file))).map((file) => `must not ship: ${file}`),
  ...REQUIRED.filter((file) => !shipped.includes(file)).map((file) => `is missing: ${file}`),
];
if (problems.length === 0) {
  await createVSIX({ cwd: PROJECT, packagePath: VSIX, dependencies: false, allowMissingRepository: true });
  const { size } = statSync(VSIX);
  console.log(`${size} bytes of ${BUDGET_BYTES}`);
  if (size > BUDGET_BYTES) problems.push(`the package is too big: ${size} bytes, ${BUDGET_BYTES} allowed`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
