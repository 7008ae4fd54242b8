import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { SETTING_NAMES, type SettingNames } from '../../../src/core/config/configKeys';
import { PROJECT } from '../../support/project';

const textOf = (page: string): string => readFileSync(path.join(PROJECT, page), 'utf8');

/** The settings by their whole names, `retention.failed` say. */
function namesOf(names: SettingNames, before = ''): string[] {
  return Object.entries(names).flatMap(([name, inner]) =>
    inner === undefined ? [before + name] : namesOf(inner, `${before}${name}.`),
  );
}

describe('the documented settings', () => {
  const page = textOf('docs/hook-files.md');
  const section = page.slice(page.indexOf('## Settings (`config.yaml`)'));
  const table = section.slice(0, section.indexOf('\n\nA dot'));
  const rows = new Map(
    [...table.matchAll(/^\| `([^`]+)` *\| ([^|]*?) *\|/gmu)].map(([, name = '', value = '']) => [name, value]),
  );

  it('are all of config.yaml, and no others', () => {
    expect([...rows.keys()].sort()).toEqual(namesOf(SETTING_NAMES).sort());
  });

  it('have the defaults of the code where those are numbers or texts', () => {
    const { maxCheckpoints, maxStepAttempts, signing, keyDerivation, memoryFolder } = DEFAULT_CONFIG;
    const { purpose, coinType } = keyDerivation;
    const names = ['max_checkpoints', 'max_step_attempts', 'signing.scheme', 'key_derivation.purpose'];
    names.push('key_derivation.coin_type', 'memory_folder');
    const values = [maxCheckpoints, maxStepAttempts, signing.scheme, purpose, coinType, memoryFolder];
    expect(names.map((name) => rows.get(`hooks.${name}`))).toEqual(values.map(String));
  });

  it("are all of the editor's, and no others", () => {
    const manifest = JSON.parse(textOf('package.json')) as {
      contributes: { configuration: { properties: Record<string, unknown> } };
    };
    const readme = textOf('README.md');
    const list = readme.slice(readme.indexOf('\nSettings:\n'), readme.indexOf('\n## The `atlas` command'));
    const named = [...list.matchAll(/`(atlas\.[\w.]+)`/gu)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(manifest.contributes.configuration.properties).sort());
  });
});
