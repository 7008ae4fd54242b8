import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../../support/project';

const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].concat(
  readdirSync(path.join(PROJECT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
);

const MAX_LINE = 160;

function textOf(page: string): string {
  return readFileSync(path.join(PROJECT, page), 'utf8');
}

/** The anchors that a page's headings have. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gmu)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(PAGES)('%s', (page) => {
  it('has only links that lead somewhere', () => {
    for (const [link, target = ''] of textOf(page).matchAll(/\]\(([^)\s]+)\)/gu)) {
      if (/^https?:/u.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      expect(existsSync(path.join(PROJECT, found)), link).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(found), link).toContain(anchor);
    }
  });

  it('names only files that are there', () => {
    for (const [, file = ''] of textOf(page).matchAll(/`((?:src|scripts|test|webview|media)\/[\w./-]+)`/gu))
      expect(existsSync(path.join(PROJECT, file)), file).toBe(true);
  });

  it('names only tests that are there', () => {
    for (const [, name = ''] of textOf(page).matchAll(/`((?:unit|integration|crash|host|e2e)\/[\w/]+)`/gu))
      expect(existsSync(path.join(PROJECT, 'test', `${name}.test.ts`)), name).toBe(true);
  });

  it('has no line that has to be scrolled', () => {
    const long = textOf(page)
      .split('\n')
      .flatMap((line, index) => (line.length > MAX_LINE ? [index + 1] : []));
    expect(long).toEqual([]);
  });
});
