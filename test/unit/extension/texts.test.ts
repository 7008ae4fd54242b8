import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { L10N_BUNDLE, l10nBundle } from '../../../scripts/l10nBundle.mts';
import { STRINGS, stringsList } from '../../../scripts/stringsList.mts';
import { PROJECT } from '../../support/project';

describe('l10n/bundle.l10n.json', { timeout: 180_000 }, () => {
  it('is up to date; if not, run: npm run l10n', async () => {
    expect(readFileSync(path.join(PROJECT, L10N_BUNDLE), 'utf8')).toBe(await l10nBundle());
  });

  it('misses no message: each is asked for as l10n.t(), which is what the extraction finds', () => {
    const folder = path.join(PROJECT, 'src', 'extension');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const hidden = files.filter((name) => /(?<![.\w])t\(/u.test(readFileSync(path.join(folder, name), 'utf8')));
    expect(hidden).toEqual([]);
  });

  it('is what the manifest names, in the folder that ships', () => {
    const { l10n } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as { l10n: string };
    expect(path.normalize(l10n)).toBe(path.dirname(L10N_BUNDLE));
  });
});

describe('the list of all texts', { timeout: 60_000 }, () => {
  it('is up to date; if not, run "npm run strings" and read the difference', async () => {
    expect(readFileSync(path.join(PROJECT, STRINGS), 'utf8')).toBe(await stringsList());
  });
});
