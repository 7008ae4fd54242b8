import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { STRINGS, stringsList } from '../../../scripts/stringsList.mts';
import { PROJECT } from '../../support/project';

describe('the list of all texts', { timeout: 60_000 }, () => {
  it('is up to date; if not, run "npm run strings" and read the difference', async () => {
    expect(readFileSync(path.join(PROJECT, STRINGS), 'utf8')).toBe(await stringsList());
  });
});
