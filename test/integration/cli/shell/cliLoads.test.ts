import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHANGING } from '../../../../src/cli/changing';
import { ASKING } from '../../../../src/cli/reading';
import { BuiltCli } from '../../../support/drivers/cli';

/** Says at the end which modules of Node, and which files, were loaded; zod leaves a mark of its own. */
const PROBE = `process.on('exit', () => {
  const nodes = process.moduleLoadList.map((name) => name.replace('NativeModule ', ''));
  const files = Object.keys(require.cache).map((file) => require('node:path').basename(file));
  const zod = '__zod_globalConfig' in globalThis ? ['zod'] : [];
  require('node:fs').writeFileSync(process.env.PROBE_FILE, JSON.stringify([...nodes, ...files, ...zod]));
});`;

let cli: BuiltCli;
let folder: string;
let probe: string;

async function loadedBy(...args: readonly string[]): Promise<string[]> {
  const file = path.join(cli.home, 'loaded.json');
  const env = { NODE_OPTIONS: `--require ${probe}`, PROBE_FILE: file };
  expect(await cli.runIn({ folder, env }, ...args)).toMatchObject({ code: 0 });
  return JSON.parse(readFileSync(file, 'utf8')) as string[];
}

beforeAll(async () => {
  cli = await BuiltCli.open();
  folder = cli.repository('repo');
  probe = path.join(cli.home, 'probe.cjs');
  writeFileSync(probe, PROBE);
}, 60_000);

afterAll(() => {
  cli.dispose();
});

const RARE = ['zod', 'crypto', 'yaml.js', 'bsvSdk.js', 'libsecp256k1.js'];

describe('what a command loads', () => {
  it('is next to nothing where it answers without the store', async () => {
    for (const args of [['--version'], ['--help'], ['completion', 'bash']]) {
      const loaded = await loadedBy(...args);
      expect(RARE.filter((name) => loaded.includes(name))).toEqual([]);
    }
  });

  it('is what reads tasks for status, and nothing that signs or parses settings', async () => {
    await loadedBy('start', 'Look', '--template', 'patch');
    const loaded = await loadedBy('status');
    expect(RARE.filter((name) => loaded.includes(name))).toEqual(['zod', 'crypto']);
  });

  it('is what verifies once there is a receipt, but not what signs; and the curve only for what was never verified', async () => {
    await loadedBy('step', 'start');
    await loadedBy('validate', '--command', 'true');
    const loaded = await loadedBy('status');
    expect(RARE.filter((name) => loaded.includes(name))).toEqual(['zod', 'crypto']);
    const kept = readdirSync(cli.root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('verified'),
    );
    for (const file of kept) rmSync(path.join(cli.root, file));
    const again = await loadedBy('status');
    expect(RARE.filter((name) => again.includes(name))).toEqual(['zod', 'crypto', 'libsecp256k1.js']);
  });

  it('is a part of the program for what is called all day, which has all that it needs', async () => {
    const isPart = (file: string): boolean => ['reading.js', 'changing.js', 'command.js'].includes(file);
    expect((await loadedBy('status', '--json')).filter(isPart)).toEqual(['reading.js']);
    expect((await loadedBy('hook', 'synopsis')).filter(isPart)).toEqual(['reading.js']);
    expect((await loadedBy('hook', 'show')).filter(isPart)).toEqual(['changing.js']);
    expect((await loadedBy('checkpoint', 'By hand')).filter(isPart)).toEqual(['changing.js']);
    expect((await loadedBy('checkpoint', 'list')).filter(isPart)).toEqual(['command.js']);
    for (const name of [...ASKING, ...CHANGING]) {
      // Whatever it says without arguments: its handler is there.
      expect((await cli.runIn({ folder }, ...name.split(' '))).err, name).not.toContain('called all day');
    }
  });
});
