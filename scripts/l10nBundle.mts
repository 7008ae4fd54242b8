import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { getL10nJson } from '@vscode/l10n-dev';
import { ACTION_LABELS, STATE_LABELS } from '../src/core/task/labels.ts';
import { PROJECT } from '../test/support/project.ts';

/** Where the bundle lies, from the project's root. */
export const L10N_BUNDLE = path.join('l10n', 'bundle.l10n.json');

const SOURCES = path.join(PROJECT, 'src', 'extension');

let found: Promise<ReadonlyMap<string, readonly string[]>> | undefined;

/** The messages that a source file of the extension shows, sorted, by the file's path from the project's root. Looked for once. */
export async function messagesByFile(): Promise<ReadonlyMap<string, readonly string[]>> {
  found ??= findMessages();
  return found;
}

async function findMessages(): Promise<ReadonlyMap<string, readonly string[]>> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(SOURCES, name))
    .sort();
  const byFile = new Map<string, readonly string[]>();
  for (const file of files) {
    const contents = readFileSync(file, 'utf8');
    // The extraction takes a tenth of a second for each file.
    if (!contents.includes('l10n')) continue;
    const messages = Object.keys(await getL10nJson([{ extension: '.ts', contents }]));
    const name = path.relative(PROJECT, file).split(path.sep).join('/');
    if (messages.length > 0) byFile.set(name, messages.sort());
  }
  // What the core calls things, on every surface; the window translates it by these tables.
  const labels = [...Object.values(STATE_LABELS), ...Object.values(ACTION_LABELS)];
  byFile.set('src/core/task/labels.ts', [...new Set<string>(labels)].sort());
  return byFile;
}

/** The bundle that a translation starts from: each message by itself, as VS Code looks it up. */
export async function l10nBundle(): Promise<string> {
  const messages = [...(await messagesByFile()).values()].flat();
  const bundle = Object.fromEntries([...new Set(messages)].sort().map((message) => [message, message]));
  return `${JSON.stringify(bundle, null, 2)}\n`;
}
