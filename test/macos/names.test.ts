import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/* That the stand-in is one: names that differ only in case or normal form are one name, which is kept as it was given. */

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-names-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it.each([
  ['Readme', 'README'],
  ['B\u00E4r', 'Ba\u0308r'],
  ['STRASSE', 'Stra\u00DFe'],
])('%s is also %s', (given, also) => {
  const file = path.join(folder, given);
  writeFileSync(file, 'one');
  writeFileSync(path.join(folder, also), 'two');
  expect(readdirSync(folder)).toEqual([given]);
  expect(readFileSync(file, 'utf8')).toBe('two');
  renameSync(file, path.join(folder, also));
  expect(readdirSync(folder)).toEqual([also]);
});

it('has no /proc, and says how a file is spelled', () => {
  expect([process.platform, existsSync('/proc/self/stat')]).toEqual(['darwin', false]);
  const given = path.join(realpathSync.native(folder), 'Readme');
  writeFileSync(given, '');
  expect(realpathSync.native(path.join(folder, 'README'))).toBe(given);
});
