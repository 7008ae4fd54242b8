import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { PROJECT } from '../../support/project';
import { GOLDEN } from './goldenFiles';

const EXTENSION = path.join(PROJECT, 'src', 'extension');
const SHOWS = /^show(?<kind>Information|Warning|Error)Message$/u;

/** A function of the extension with what it says. */
interface Speaker {
  readonly name: string;
  /** How it shows what it says: `Warning`, `Warning (modal)`. */
  readonly kinds: ReadonlySet<string>;
  /** Its texts in their order; labels of buttons are among them. */
  readonly texts: readonly string[];
  readonly calls: ReadonlySet<string>;
  readonly exported: boolean;
}

type Declared = ts.FunctionDeclaration | ts.MethodDeclaration | ts.VariableDeclaration;

function isNamedFunction(node: ts.Node): node is Declared {
  if (ts.isVariableDeclaration(node)) {
    const { initializer } = node;
    if (initializer === undefined) return false;
    // A command is made of a function, too: `command('approve', async (task) => …)`.
    return (
      ts.isArrowFunction(initializer) ||
      (ts.isCallExpression(initializer) && initializer.arguments.some(ts.isArrowFunction))
    );
  }
  return ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node);
}

/** The name of what is called or taken: the last of `vscode.window.showErrorMessage`. */
function lastName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return ts.isIdentifier(node) ? node.text : '';
}

function isModal(call: ts.CallExpression): boolean {
  return call.arguments.some((each) => ts.isObjectLiteralExpression(each) && each.getText().includes('modal: true'));
}

function speaker(declared: Declared): Speaker {
  const [kinds, texts, calls] = [new Set<string>(), [] as string[], new Set<string>()];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node)) {
      const kind = SHOWS.exec(node.name.text)?.groups?.['kind'];
      const modal = ts.isCallExpression(node.parent) && isModal(node.parent);
      if (kind !== undefined) kinds.add(modal ? `${kind} (modal)` : kind);
    }
    if (ts.isCallExpression(node)) {
      const [text] = node.arguments;
      calls.add(lastName(node.expression));
      if (node.expression.getText().endsWith('l10n.t') && text !== undefined && ts.isStringLiteralLike(text))
        texts.push(text.text.replaceAll('\n', '\\n'));
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(declared, visit);
  const exported = /^export /u.test((ts.isVariableDeclaration(declared) ? declared.parent.parent : declared).getText());
  return { name: declared.name?.getText() ?? '', kinds, texts, calls, exported };
}

function functionsOf(file: string): Speaker[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const all: Speaker[] = [];
  const visit = (node: ts.Node): void => {
    if (isNamedFunction(node)) all.push(speaker(node));
    else ts.forEachChild(node, visit);
  };
  visit(source);
  return all;
}

function isShowing({ kinds }: Speaker): boolean {
  return kinds.size > 0;
}

function section(file: string, all: readonly Speaker[], showing: ReadonlySet<string>): string | undefined {
  // What a function of the same file, or one that others may call, has shown for them.
  const names = new Set([...showing, ...all.filter(isShowing).map(({ name }) => name)]);
  const told = all.filter(
    (each) => each.texts.length > 0 && (isShowing(each) || [...each.calls].some((name) => names.has(name))),
  );
  if (told.length === 0) return undefined;
  const parts = told.map(({ name, kinds, texts }) => {
    const how = kinds.size === 0 ? '' : `: ${[...kinds].sort().join(', ')}`;
    return `${name}${how}\n${texts.map((text) => `  ${text}\n`).join('')}`;
  });
  return `## ${file.split(path.sep).join('/')}\n\n${parts.join('\n')}`;
}

it('notifies as reviewed: each function that shows a notification, with all that it can say', async () => {
  const files = readdirSync(EXTENSION, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const all = new Map(files.sort().map((file) => [file, functionsOf(path.join(EXTENSION, file))]));
  const shared = [...all.values()].flat().filter((each) => each.exported && isShowing(each));
  const showing = new Set(shared.map(({ name }) => name));
  const sections = [...all].flatMap(([file, functions]) => section(file, functions, showing) ?? []);
  await expect(sections.join('\n')).toMatchFileSnapshot(`${GOLDEN}/notifications.txt`);
});
