import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { COMMANDS } from '../src/cli/parse/commands.ts';
import { TOOLS, prefixed } from '../src/cli/mcp/tools.ts';
import { parseCommandLine } from '../src/cli/parse/commandLine.ts';
import { unwrap } from '../src/core/shared/errors.ts';
import { PROJECT } from '../test/support/project.ts';
import { messagesByFile } from './l10nBundle.mts';

/** Where the list lies, from the project's root. */
export const STRINGS = path.join('test', 'golden', 'strings.txt');

const HEAD = `Every text that a person reads, by where it appears. Written by: npm run strings
Read its diff like prose.
`;

type Section = readonly [title: string, lines: readonly string[]];

/** A text on one line. */
function shown(text: string): string {
  return text.replaceAll('\n', '\\n');
}

/** What the editor shows of the manifest, one section a kind of contribution. */
function manifestSections(): Section[] {
  const texts = JSON.parse(readFileSync(path.join(PROJECT, 'package.nls.json'), 'utf8')) as Record<string, string>;
  const kinds = new Map<string, string[]>();
  for (const [key, text] of Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [kind = ''] = key.split('.');
    const lines = kinds.get(kind) ?? [];
    lines.push(`${key}: ${shown(text)}`);
    kinds.set(kind, lines);
  }
  return [...kinds].map(([kind, lines]): Section => [`Manifest, ${kind}`, lines]);
}

async function extensionSections(): Promise<Section[]> {
  return [...(await messagesByFile())].map(([file, messages]): Section => [`Extension, ${file}`, messages.map(shown)]);
}

/** The texts that a page says itself: string literals of more than one word that begin like a sentence. */
function webviewSections(): Section[] {
  const folder = path.join(PROJECT, 'webview');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return names.sort().flatMap((name): Section[] => {
    const source = ts.createSourceFile(name, readFileSync(path.join(folder, name), 'utf8'), ts.ScriptTarget.Latest);
    const found = new Set<string>();
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node) && /^\p{Lu}\p{Ll}+ /u.test(node.text)) found.add(shown(node.text));
      ts.forEachChild(node, visit);
    };
    visit(source);
    const file = path.posix.join('webview', name.split(path.sep).join('/'));
    return found.size === 0 ? [] : [[`Page, ${file}`, [...found].sort()]];
  });
}

function helpOf(...words: readonly string[]): string[] {
  const texts = { version: '0', program: 'atlas', columns: 120 } as const;
  const parsed = unwrap(parseCommandLine([...words, '--help'], COMMANDS, texts));
  return parsed.kind === 'text' ? parsed.text.trimEnd().split('\n') : [];
}

/** The help of the program and of each command, without the options that all of them share. */
function commandSections(): Section[] {
  const shared = /^ +(-h, --help|--json|-q, --quiet) /u;
  const names = COMMANDS.map(({ name }) => name).sort();
  return [
    ['Command, atlas', helpOf()],
    ...names.map((name): Section => [
      `Command, atlas ${name}`,
      helpOf(...name.split(' ')).filter((line) => !shared.test(line)),
    ]),
  ];
}

function toolSections(): Section[] {
  return TOOLS.map(({ name, title, description }): Section => [
    `Tool, ${prefixed(name)}`,
    [`title: ${title}`, `description: ${description}`],
  ]);
}

/** Every text that a person reads, as one document whose diff can be reviewed. */
export async function stringsList(): Promise<string> {
  const sections = [
    ...manifestSections(),
    ...(await extensionSections()),
    ...webviewSections(),
    ...commandSections(),
    ...toolSections(),
  ].map(([title, lines]) => `## ${title}\n\n${lines.join('\n')}\n`);
  return [HEAD, ...sections].join('\n');
}
