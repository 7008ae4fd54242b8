import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderDocument } from '../../../src/extension/shared/markdown';
import { type DocumentNode, documentNodeSchema } from '../../../src/protocol/document';
import { isWebLink } from '../../../src/protocol/webLink';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { render } from '../../support/fixtures/renderedHook';

const text = (nodes: readonly DocumentNode[]): string =>
  nodes.map((node) => (typeof node === 'string' ? node : text(node.children))).join('');
const tags = (nodes: readonly DocumentNode[]): string[] =>
  nodes.flatMap((node) => (typeof node === 'string' ? [] : [node.tag, ...tags(node.children)]));

describe('rendering HOOK.md for the panel', () => {
  it('keeps raw HTML and images as the text that they were written as', () => {
    const nodes = renderDocument(
      'a <img src=x onerror=alert(1)> b\n\n<script>alert(1)</script>\n\n![alt](http://x.y/z.png)',
    );
    expect(tags(nodes)).toEqual(['p', 'p', 'p']);
    expect(text(nodes)).toBe('a <img src=x onerror=alert(1)> b<script>alert(1)</script>![alt](http://x.y/z.png)');
  });

  it.each([
    'javascript:alert(1)',
    'command:x',
    'file:///etc/passwd',
    'vscode://x',
    'data:text/html,x',
    '//x.y',
    'http://a:b@x.y',
  ])('makes no link of %s', (href) => {
    expect(isWebLink(href)).toBe(false);
    expect(tags(renderDocument(`[x](${href})`))).toEqual(['p']);
  });

  it('makes links to the web', () => {
    const [paragraph] = renderDocument('[x](https://example.org/a)');
    expect(paragraph).toEqual({ tag: 'p', children: [{ tag: 'a', children: ['x'], href: 'https://example.org/a' }] });
  });

  it('makes times elements, in both of the ways that HOOK.md writes them', () => {
    expect(renderDocument('at 2026-01-17T14:45:33Z and 2026-01-17 14:45:33, not 2026-99-17 14:45:33')).toEqual([
      {
        tag: 'p',
        children: [
          'at ',
          { tag: 'time', children: ['2026-01-17T14:45:33Z'], datetime: '2026-01-17T14:45:33Z' },
          ' and ',
          { tag: 'time', children: ['2026-01-17 14:45:33'], datetime: '2026-01-17T14:45:33Z' },
          ', not ',
          '2026-99-17 14:45:33',
        ],
      },
    ]);
  });

  it('renders a whole HOOK.md into what the protocol allows, with its escapes undone', () => {
    const driven = new DrivenHook([stepOf('work', 'ai')], 'a | b <c> & `d` [e](f) *g*').send({ type: 'start_step' });
    driven.send({ type: 'checkpoint', trigger: 'manual', description: 'x | <y>' });
    const nodes = renderDocument(render(driven));
    expect(() => nodes.map((node) => documentNodeSchema.parse(node))).not.toThrow();
    expect(text(nodes)).toContain('Task: a | b <c> & `d` [e](f) *g*');
    expect(text(nodes)).toContain('x | <y>');
    expect(tags(nodes)).toContain('table');
  });

  it('renders any text into what the protocol allows', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'<>[]()!#*_`|-1. \n&;:/ahttps'.split('')) })),
        (any) => {
          for (const node of renderDocument(any)) documentNodeSchema.parse(node);
        },
      ),
      { numRuns: 500 },
    );
  });
});
