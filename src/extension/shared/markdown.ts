import { type MarkedToken, type Token, type Tokens, lexer } from 'marked';
import type { DocumentElement, DocumentNode } from '../../protocol/document';
import { isWebLink } from '../../protocol/webLink';

/**
 * Renders Markdown as a tree of known elements. Raw HTML and images come out as the text that they were written as,
 * links only to the web. Built as a bundle of its own, so that the parser loads with the first panel.
 */
export function renderDocument(markdown: string): DocumentNode[] {
  return blocks(lexer(markdown));
}

type Tag = DocumentElement['tag'];

function element(tag: Tag, children: readonly DocumentNode[], more: Partial<DocumentElement> = {}): DocumentElement {
  return { tag, children, ...more };
}

const HEADINGS: readonly Tag[] = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

function blocks(tokens: readonly Token[] | undefined): DocumentNode[] {
  return (tokens ?? []).flatMap((token) => render(token as MarkedToken));
}

function render(token: MarkedToken): DocumentNode[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'heading':
      return [element(HEADINGS[token.depth - 1] ?? 'h6', blocks(token.tokens))];
    case 'paragraph':
      return [element('p', blocks(token.tokens))];
    case 'blockquote':
      return [element('blockquote', blocks(token.tokens))];
    case 'list':
      return [list(token)];
    case 'list_item':
      return [element('li', blocks(token.tokens))];
    case 'code':
      return [element('pre', [element('code', [token.text])])];
    case 'table':
      return [table(token)];
    case 'hr':
      return [element('hr', [])];
    case 'br':
      return [element('br', [])];
    case 'strong':
      return [element('strong', blocks(token.tokens))];
    case 'em':
      return [element('em', blocks(token.tokens))];
    case 'del':
      return [element('del', blocks(token.tokens))];
    case 'codespan':
      return [element('code', [token.text])];
    case 'link':
      return isWebLink(token.href) ? [element('a', blocks(token.tokens), { href: token.href })] : blocks(token.tokens);
    case 'text':
      return token.tokens === undefined ? times(decode(token.text)) : blocks(token.tokens);
    case 'escape':
      return [token.text];
    case 'html':
      return token.block ? [element('p', [token.raw.trim()])] : [token.raw];
    case 'image':
    case 'checkbox':
      return [token.raw];
  }
}

function list(token: Tokens.List): DocumentElement {
  const start = token.ordered && token.start !== '' && token.start !== 1 ? { start: token.start } : {};
  return element(token.ordered ? 'ol' : 'ul', blocks(token.items), start);
}

function table(token: Tokens.Table): DocumentElement {
  const row = (tag: Tag, cells: readonly Tokens.TableCell[]): DocumentElement =>
    element(
      'tr',
      cells.map((cell) => element(tag, blocks(cell.tokens))),
    );
  return element('table', [
    element('thead', [row('th', token.header)]),
    element(
      'tbody',
      token.rows.map((cells) => row('td', cells)),
    ),
  ]);
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** Only what our own generator writes; any other reference stays the text that it is. */
function decode(text: string): string {
  return text.replace(/&(amp|lt|gt|quot);/gu, (reference, name: string) => NAMED[name] ?? reference);
}

const TIME = /\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(Z?)(?![\d:.])/u;

/** Makes times of HOOK.md, which are all UTC, elements to which the view adds an age that ticks. */
function times(text: string): DocumentNode[] {
  const found = TIME.exec(text);
  if (found === null) return text === '' ? [] : [text];
  const before = text.slice(0, found.index);
  const datetime = `${found[1] ?? ''}T${found[2] ?? ''}Z`;
  const time = Number.isNaN(Date.parse(datetime)) ? found[0] : element('time', [found[0]], { datetime });
  return [...(before === '' ? [] : [before]), time, ...times(text.slice(found.index + found[0].length))];
}
