import { describe, expect, it } from 'vitest';
import { defined } from '../../../src/core/shared/defined.ts';

describe('what is undefined is left out', () => {
  it('keeps every other value and the order of the keys', () => {
    const values = defined({ b: 0, a: '', gone: undefined, no: null, off: false });
    expect(Object.entries(values)).toEqual([
      ['b', 0],
      ['a', ''],
      ['no', null],
      ['off', false],
    ]);
  });

  it('gives what exactOptionalPropertyTypes accepts: required keys stay required, the others become optional', () => {
    const maybe = (name?: string): { id: number; name?: string } => defined({ id: 1, name });
    expect('name' in maybe()).toBe(false);
    expect(maybe('x')).toEqual({ id: 1, name: 'x' });
    // @ts-expect-error -- a key that may be undefined may be missing
    const required: { name: string } = defined({ name: maybe().name });
    expect(required).toEqual({});
  });

  it('leaves what it was given as it was, and makes no prototype of a key', () => {
    const given = { a: undefined, ['__proto__']: 1 };
    const values = defined(given);
    expect(Object.keys(given)).toEqual(['a', '__proto__']);
    expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
    expect(Object.keys(values)).toEqual(['__proto__']);
  });
});
