/* `npm run package`: makes atlas-hooks.vsix, and refuses files that were not meant to ship and a package that grew too big. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import { createVSIX, listFiles, PackageManager } from '@vscode/vsce';
import { OUT, PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/drivers/run.ts';
import { NOTICES, thirdPartyNotices } from './thirdParty.mts';

const VSIX = path.join(PROJECT, 'atlas-hooks.vsix');
/**
 * What agents call all day is there twice, in parts that start sooner, which takes 320 KB; a jump past this is a dependency
 * that slipped in.
 */
const BUDGET_BYTES = 1_750_000;
/** What runs when a window begins, the record's schema with it; the rest of its file is only looked over. */
const BEGIN_BUDGET_BYTES = 140_000;
/** Packages that lie beside the window's file. */
const LATE_PACKAGES = ['marked', '@bsv/sdk', 'yaml', 'chokidar'];

/** Folders of a checkout that never ship. vsce tries each of its patterns on each file, and there are over ten thousand in these. */
const LEFT_OUT = ['node_modules', '.git', '.vscode-test', 'out'].map((name) => path.join(PROJECT, name));

/** What may ship. `.vscodeignore` decides what does; this list notices when that file is loosened by mistake. */
const ALLOWED = [
  /^package(\.nls(\.[a-z-]+)?)?\.json$/,
  /^(README\.md|CHANGELOG\.md|LICENSE|THIRD-PARTY-NOTICES\.txt)$/,
  /^dist\/(extension|window|cli|command|changing|reading|hook)\.js$/,
  /^dist\/(parts|editor)\/[a-zA-Z0-9]+\.js$/,
  /^dist\/webview\/[a-zA-Z]+\.(js|css)$/,
  /^dist\/(package\.json|stop\.sh)$/,
  /^dist\/schemas\/[a-z-]+\.schema\.json$/,
  /^l10n\/bundle\.l10n(\.[a-z-]+)?\.json$/,
  /^media\/([a-zA-Z0-9-]+\/)*[a-zA-Z0-9-]+\.(svg|png|md)$/,
];

/** The categories that the Marketplace shows; vsce takes any word. */
const CATEGORIES = ['AI', 'Azure', 'Chat', 'Data Science', 'Debuggers', 'Education', 'Extension Packs', 'Formatters']
  .concat(['Keymaps', 'Language Packs', 'Linters', 'Machine Learning', 'Notebooks', 'Other', 'Programming Languages'])
  .concat(['SCM Providers', 'Snippets', 'Testing', 'Themes', 'Visualization']);
const MAX_KEYWORDS = 30;

/** Without these the package does nothing. */
const REQUIRED = [
  'package.json',
  'package.nls.json',
  'dist/extension.js',
  'dist/window.js',
  'dist/cli.js',
  'dist/command.js',
  'dist/changing.js',
  'dist/reading.js',
  'dist/hook.js',
  'dist/package.json',
  'dist/stop.sh',
].concat(['README.md', 'CHANGELOG.md', 'LICENSE', 'l10n/bundle.l10n.json', NOTICES]);

// What an earlier build left under another name would ship too.
rmSync(path.join(PROJECT, 'dist'), { recursive: true, force: true });
await run('npm', ['run', '--silent', 'build', '--', '--metafile'], { cwd: PROJECT, output: 'pipe' });
/** What runs when a window begins: the entry and what it imports at once. And the packages in the window's file. */
function runAtBegin(): { bytes: number; packages: Set<string> } {
  const meta = JSON.parse(readFileSync(path.join(OUT, 'window.meta.json'), 'utf8')) as Metafile;
  const inFile = meta.outputs['dist/window.js']?.inputs ?? {};
  const packages = new Set(
    Object.keys(inFile).flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []),
  );
  const seen = new Set<string>();
  const open = ['src/extension/activate.ts'];
  let bytes = 0;
  for (let input = open.pop(); input !== undefined; input = open.pop()) {
    if (seen.has(input)) continue;
    seen.add(input);
    bytes += inFile[input]?.bytesInOutput ?? 0;
    const imports = meta.inputs[input]?.imports ?? [];
    open.push(...imports.filter(({ kind }) => kind === 'import-statement').map((each) => each.path));
  }
  return { bytes, packages };
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-package-'));
process.on('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});
cpSync(PROJECT, folder, { recursive: true, filter: (file) => !LEFT_OUT.includes(file) });
const files = await listFiles({ cwd: folder, packageManager: PackageManager.None });
const shipped = files.map((file) => file.split(path.sep).join('/'));
const problems = [
  ...shipped.filter((file) => !ALLOWED.some((pattern) => pattern.test(file))).map((file) => `must not ship: ${file}`),
  ...REQUIRED.filter((file) => !shipped.includes(file)).map((file) => `is missing: ${file}`),
];
const { categories, keywords } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as {
  readonly categories: readonly string[];
  readonly keywords: readonly string[];
};
for (const name of categories) if (!CATEGORIES.includes(name)) problems.push(`the Marketplace has no category ${name}`);
if (keywords.length > MAX_KEYWORDS) problems.push(`${keywords.length} keywords, ${MAX_KEYWORDS} allowed`);
const notices = thirdPartyNotices();
problems.push(...notices.problems);
const committed = path.join(PROJECT, NOTICES);
if (!existsSync(committed) || readFileSync(committed, 'utf8') !== notices.text)
  problems.push(`${NOTICES} is out of date; run: npm run notices`);
const { bytes, packages } = runAtBegin();
console.log(`${bytes} bytes of ${BEGIN_BUDGET_BYTES} run when a window begins`);
if (bytes === 0) problems.push('nothing runs when a window begins: the build names its files otherwise');
if (bytes > BEGIN_BUDGET_BYTES) problems.push(`too much runs when a window begins: ${bytes} bytes`);
// One such character has an engine hold the whole file in two bytes a character, and read it at half the speed.
for (const file of shipped.filter((name) => /^dist\/.*\.js$/.test(name))) {
  const at = readFileSync(path.join(PROJECT, file)).findIndex((byte) => byte > 127);
  if (at !== -1) problems.push(`a character beyond ASCII is in ${file} at byte ${at}: write it as an escape`);
}
for (const name of LATE_PACKAGES) if (packages.has(name)) problems.push(`${name} is in the window's file`);
if (problems.length === 0) {
  await createVSIX({
    cwd: folder,
    packagePath: VSIX,
    dependencies: false,
  });
  const { size } = statSync(VSIX);
  console.log(`${size} bytes of ${BUDGET_BYTES}`);
  if (size > BUDGET_BYTES) problems.push(`the package is too big: ${size} bytes, ${BUDGET_BYTES} allowed`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
