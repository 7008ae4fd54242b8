import type { Token, Tokens } from 'marked';
import { marked } from 'marked';
import { renderHookMarkdown } from '../../src/core/hookMarkdown';
import type { HookMarkdownInput, ReceiptVerdict } from '../../src/core/markdown/view';
import type { DrivenHook } from './drivenHook';

/** Where {@link render} says that HOOK.md is. */
export const HOOK_PATH = '/home/dev/.atlas/workspaces/parser/tasks/task-20260117-143022/HOOK.md';

/** HOOK.md of a driven hook. */
export function render(driven: DrivenHook, more: Partial<HookMarkdownInput> = {}): string {
  return renderHookMarkdown({
    hook: driven.now,
    task: driven.task,
    seq: 42,
    location: { root: '/home/dev/.atlas', hookPath: HOOK_PATH },
    verdicts: new Map<string, ReceiptVerdict>(),
    version: '0.1.0',
    ...more,
  });
}

/** The text of one `##` section, without its heading. */
export function section(markdown: string, heading: string): string {
  const start = markdown.indexOf(`\n## ${heading}`);
  if (start === -1) throw new Error(`no section ${heading}`);
  const body = markdown.slice(markdown.indexOf('\n', start + 1) + 1);
  const end = body.search(/^## /mu);
  return end === -1 ? body : body.slice(0, end);
}

/** The numbered steps of What To Do Now. */
export function todo(markdown: string): string[] {
  return section(markdown, 'What To Do Now')
    .split('\n')
    .filter((line) => /^\d+\. /u.test(line))
    .map((line) => line.replace(/^\d+\. /u, ''));
}

/** The one action's heading. */
export function action(markdown: string): string {
  return /^### (.*)$/mu.exec(section(markdown, 'What To Do Now'))?.[1] ?? '';
}

const INLINE_DATA = new Set(['text', 'escape', 'codespan', 'br']);

function children(token: Token): Token[] {
  if (token.type === 'table') {
    const table = token as Tokens.Table;
    return [table.header, ...table.rows].flatMap((row) => row.flatMap((cell) => cell.tokens));
  }
  if (token.type === 'list') return (token as Tokens.List).items;
  return (token as Tokens.Generic).tokens ?? [];
}

function shapeOf(token: Token): string[] {
  if (INLINE_DATA.has(token.type) && children(token).length === 0) return [];
  if (token.type === 'space') return [];
  const inner = children(token).flatMap(shapeOf);
  const table = token as Tokens.Table;
  const size = token.type === 'table' ? `${table.header.length}x${table.rows.length}` : '';
  const depth = token.type === 'heading' ? String((token as Tokens.Heading).depth) : '';
  return token.type === 'text' ? inner : [`${token.type}${depth}${size}(${inner.join(',')})`];
}

/** What a Markdown parser makes of a text, but for the words: headings, lists, tables, blocks, emphasis, links. */
export function shape(markdown: string): string[] {
  return marked.lexer(markdown).flatMap(shapeOf);
}
