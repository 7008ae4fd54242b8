import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUnsafePath, isWithin, parentsOf, parsePath, quotePath } from '../../../src/core/snapshot/treePath';

const bytes = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((list) => String.fromCharCode(...list));
const text = fc.string({ unit: 'grapheme', minLength: 1 }).map((s) => Buffer.from(s).toString('latin1'));

describe('a path as people see it', () => {
  it('is read back as the bytes that it was', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, text), (path) => {
        expect(parsePath(quotePath(path))).toBe(path);
      }),
    );
  });

  it.each([
    ['plain file', 'plain file'],
    [Buffer.from('grün.txt').toString('latin1'), 'grün.txt'],
    ['a\nb', '"a\\nb"'],
    ['say "x"', '"say \\"x\\""'],
    ['tracked\xff.txt', '"tracked\\377.txt"'],
    [Buffer.from('grün\t').toString('latin1'), '"grün\\t"'],
  ])('%j is written as %s', (path, shown) => {
    expect(quotePath(path)).toBe(shown);
  });

  it.each(['"open', '"bad \\x escape"', '"\\400"', '"a"b"'])('%s is no path', (shown) => {
    expect(parsePath(shown)).toBeUndefined();
  });
});

describe('a path that must not be written', () => {
  it.each([
    '.git',
    'a/.GIT/hooks',
    '.git /x',
    '.git./x',
    'git~1',
    'GIT~1/x',
    '.git::$INDEX_ALLOCATION',
    '.g\xe2\x80\x8cit',
  ])('%j is taken for .git somewhere', (path) => {
    expect(isUnsafePath(path)).toBe(true);
  });

  it.each(['../x', 'a/../b', '/x', 'a//b', './a', '', 'a/.'])('%j leaves the worktree', (path) => {
    expect(isUnsafePath(path)).toBe(true);
  });

  it.each(['.gitignore', '.gitmodules', 'git', '.github/x', 'a.git/x', 'git~2', '\xff.git', 'g\xff'])(
    '%j is a name like others',
    (path) => {
      expect(isUnsafePath(path)).toBe(false);
    },
  );

  it('is one with a backslash or a stream on Windows alone', () => {
    expect(['a\\b', 'a:b'].map((path) => [isUnsafePath(path), isUnsafePath(path, true)])).toEqual([
      [false, true],
      [false, true],
    ]);
  });
});

describe('folders of paths', () => {
  it('are listed outermost first, and hold what lies in them', () => {
    expect(parentsOf('a/b/c')).toEqual(['a', 'a/b']);
    expect(['a/b', 'a', 'ab', 'b/a'].filter((path) => isWithin(path, ['a/']))).toEqual(['a/b']);
    expect(['a/b', 'a', 'ab', 'b/a'].filter((path) => isWithin(path, ['a']))).toEqual(['a/b', 'a']);
    expect(isWithin('x', [])).toBe(true);
  });
});
