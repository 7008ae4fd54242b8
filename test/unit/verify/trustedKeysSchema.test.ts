import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { schemaFiles } from '../../../scripts/schemaFiles.mts';
import { parseTrustedKeys, serializeTrustedKeys } from '../../../src/core/verify/trustedKeys';
import { PROJECT } from '../../support/project';

/* What an editor underlines in .atlas/trusted-keys.json is what "atlas verify" refuses. */

const isValid = new Ajv().compile(schemaFiles().get('trusted-keys.schema.json') ?? false);

const ENTRY = {
  name: 'Ana',
  scheme: 'hd',
  path: "m/44'/236'/7'",
  keys: ['xpub1'],
  kind: 'developer',
  added: '2026-11-25',
};
const REVOKED = { at: '2026-11-25', reason: 'rotated' };
const file = (...trusted: readonly unknown[]): object => ({ schema_version: '1.0', trusted });

const SOUND: Readonly<Record<string, object>> = {
  'nobody yet': file(),
  'a developer': file(ENTRY),
  'several, one of them revoked': file(ENTRY, { ...ENTRY, scheme: 'ed25519', kind: 'ci', revoked: REVOKED }),
};
const WRONG: Readonly<Record<string, object>> = {
  'no version': { trusted: [] },
  'no list': { schema_version: '1.0' },
  'another key': { ...file(), trusts: [] },
  'an entry without keys': file({ ...ENTRY, keys: [] }),
  'an entry without a name': file({ ...ENTRY, name: '' }),
  'a kind that there is not': file({ ...ENTRY, kind: 'robot' }),
  'a misspelled key': file({ ...ENTRY, revokd: REVOKED }),
  'a reason that there is not': file({ ...ENTRY, revoked: { ...REVOKED, reason: 'lost' } }),
};

describe('the schema of trusted-keys.json', () => {
  it.each(Object.entries(SOUND))('takes what verify takes: %s', (_name, document) => {
    expect(isValid(document), JSON.stringify(isValid.errors)).toBe(true);
    expect(parseTrustedKeys(JSON.stringify(document))).toMatchObject({ ok: true });
  });

  it.each(Object.entries(WRONG))('refuses what verify refuses: %s', (_name, document) => {
    expect(isValid(document)).toBe(false);
    expect(parseTrustedKeys(JSON.stringify(document))).toMatchObject({ ok: false });
  });

  it('takes what "atlas keys trust" writes', () => {
    const parsed = parseTrustedKeys(JSON.stringify(file(ENTRY)));
    expect(parsed.ok && isValid(JSON.parse(serializeTrustedKeys(parsed.value)))).toBe(true);
  });

  it('is contributed for that file', () => {
    const manifest = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as {
      contributes: { jsonValidation: object[] };
    };
    expect(manifest.contributes.jsonValidation).toContainEqual({
      fileMatch: '**/.atlas/trusted-keys.json',
      url: './dist/schemas/trusted-keys.schema.json',
    });
  });
});
