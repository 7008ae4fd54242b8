import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { count, cut, oneLine, sentenceList } from '../../../src/core/shared/text';
import { formatDuration, newestKnown, normalizeTimestamp, parseDuration } from '../../../src/core/shared/time';

describe('durations', { timeout: 60_000 }, () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['720h', 2_592_000_000],
    ['30d', 2_592_000_000],
    ['1.5h', 5_400_000],
    [' 2d12h ', 216_000_000],
  ])('%j is %d ms', (text, ms) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: ms });
  });

  it.each([
    '',
    ' ',
    '5',
    '-5m',
    '+5m',
    '5 m',
    '5M',
    '5min',
    'm',
    '5m,',
    '1h 30m',
    '1e3s',
    '.5h',
    '1..5h',
    'PT5M',
    '∞d',
  ])('%j is none', (text) => {
    const parsed = parseDuration(text);
    expect(parsed.ok).toBe(false);
  });

  it('that no number can hold are refused', () => {
    expect(parseDuration(`${'9'.repeat(400)}d`).ok).toBe(false);
    expect(parseDuration('9007199254740993d').ok).toBe(false);
  });

  it('that are far too long are refused at once, and not repeated whole', () => {
    const began = process.cpuUsage();
    const parsed = parseDuration('9'.repeat(200_000));
    expect(process.cpuUsage(began).user).toBeLessThan(500_000);
    expect(parsed).toMatchObject({ ok: false, error: { code: 'usage' } });
    expect(parsed.ok ? '' : parsed.error.message.length).toBeLessThan(100);
  });

  it('are shown with two units at most, and shorter than a second in ms', () => {
    const shown = [0, 850, 12_345, 59_999, 60_000, 125_000, 3_840_000, 3_601_000, 266_400_000, -5].map(formatDuration);
    expect(shown).toEqual(['0ms', '850ms', '12.3s', '59.9s', '1m', '2m5s', '1h4m', '1h', '3d2h', '0ms']);
  });

  it('read back what is shown, to the precision that is shown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (ms) => {
        const parsed = parseDuration(formatDuration(ms));
        if (!parsed.ok) throw parsed.error;
        expect(parsed.value).toBeLessThanOrEqual(ms);
        expect(parsed.value).toBeGreaterThanOrEqual(ms * 0.95 - 100);
      }),
    );
  });
});

describe('times', { timeout: 60_000 }, () => {
  it.each([
    ['2026-01-17T14:30:22Z', '2026-01-17T14:30:22.000Z'],
    ['2026-01-17t14:30:22z', '2026-01-17T14:30:22.000Z'],
    ['2026-01-17T15:30:22.123456789+01:00', '2026-01-17T14:30:22.123Z'],
    ['2026-01-17 09:00:22.5-05:30', '2026-01-17T14:30:22.500Z'],
  ])('%s is %s', (text, normal) => {
    expect(normalizeTimestamp(text)).toBe(normal);
    expect(normalizeTimestamp(normal)).toBe(normal);
  });

  it.each([
    '',
    'now',
    '2026-01-17',
    '2026-01-17T14:30Z',
    '2026-13-17T14:30:22Z',
    '2026-01-17T25:30:22Z',
    '2026-01-17T14:30:22',
    '1768660222',
  ])('%j is none', (text) => {
    expect(normalizeTimestamp(text)).toBeUndefined();
  });

  it('more than a minute in the future are unknown', () => {
    expect(newestKnown([1000, undefined, 5000, Number.NaN], 5000)).toBe(5000);
    expect(newestKnown([1000, 65_000], 5000)).toBe(65_000);
    expect(newestKnown([1000, 65_001], 5000)).toBe(1000);
    expect(newestKnown([65_001], 5000)).toBeUndefined();
  });
});

describe('texts', { timeout: 60_000 }, () => {
  it('are cut between code points', () => {
    expect(cut('😀😀😀', 2)).toBe('😀😀');
    expect(cut('a😀😀', 2)).toBe('a😀');
    expect(cut('abc', 3)).toBe('abc');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite' }), fc.nat(30), (text, max) => {
        const short = cut(text, max);
        expect(short).not.toMatch(/[\ud800-\udfff]/u);
        expect(text.startsWith(short)).toBe(true);
      }),
    );
  });

  it('are put on one line without what hides or reorders', () => {
    expect(oneLine(' a\r\n\tb\u0000\u2028c\u001b[31m ')).toBe('a b c [31m');
    expect(oneLine('a\u202eb\u200bc\ufeff')).toBe('abc');
    expect(oneLine('abcdef', 4)).toBe('abc…');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = oneLine(text, 20);
        expect(Array.from(line).length).toBeLessThanOrEqual(20);
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e]/u);
      }),
    );
  });

  it('are joined and counted', () => {
    expect(sentenceList(['a', 'b', 'c'], 'or')).toBe('a, b or c');
    expect(sentenceList([])).toBe('');
    expect([count(1, 'file'), count(2, 'file')]).toEqual(['1 file', '2 files']);
  });
});
