import type { DocumentElement, DocumentNode } from '../../src/protocol/document';
import { age } from './ages';
import { h, type Child, type Part } from './dom';

/** The document's headings come below the page's own. */
const SHIFTED: Readonly<Record<string, string>> = { h1: 'h2', h2: 'h3', h3: 'h4', h4: 'h5', h5: 'h6' };

/** A rendered document as elements; `link` gives what a link is known by when it is clicked. */
export function documentView(nodes: readonly DocumentNode[], link: (href: string) => string): Child[] {
  return nodes.map((node) => (typeof node === 'string' ? node : elementView(node, link)));
}

function elementView(element: DocumentElement, link: (href: string) => string): Child {
  const children: Part = documentView(element.children, link);
  switch (element.tag) {
    case 'table':
      // Wide tables scroll by themselves, with the keyboard too.
      return h('div', { class: 'wide', tabindex: '0', role: 'group' }, h('table', {}, children));
    case 'a':
      return h('a', { href: element.href ?? '', 'data-do': link(element.href ?? '') }, children);
    case 'time':
      return h(
        'time',
        { datetime: element.datetime ?? '' },
        children,
        ' ',
        element.datetime === undefined ? undefined : age(element.datetime),
      );
    case 'ol':
      return h('ol', { start: element.start?.toString() }, children);
    default:
      return h(SHIFTED[element.tag] ?? element.tag, {}, children);
  }
}
