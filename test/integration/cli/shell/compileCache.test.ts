import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../../support/drivers/cli';

let cli: BuiltCli;
const dist = (...names: string[]): string => path.join(path.dirname(cli.entry), ...names);
const cache = (): string => dist('cache', `command.js.${process.versions.v8}-${process.arch}`);
const ANSWER = 'has no task yet';
const says = async (text = ANSWER): Promise<void> => {
  const { err, out } = await cli.run('hook', 'checkpoints');
  expect(out + err).toContain(text);
  expect(out + err).not.toContain('cache');
};

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});
beforeEach(() => {
  rmSync(dist('cache'), { recursive: true, force: true });
});

// From 22.1 on Node keeps it, in a form of its own.
describe.skipIf(process.versions.node.split('.')[0] !== '20')('what was compiled', () => {
  it('is kept by the first processes, each with what it needed, and used by the next', async () => {
    await cli.run('--version');
    expect(readdirSync(dist('cache'))).toEqual([path.basename(cache())]);
    const first = readFileSync(cache()).length;
    for (let run = 2; run <= 8; run += 1) await says();
    const before = statSync(cache());
    expect(before.size).toBeGreaterThan(first);
    await says();
    // One that did not fit would have been written anew.
    expect(statSync(cache())).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  it('is not used for other sources of the same length', async () => {
    await says();
    const source = readFileSync(dist('command.js'), 'utf8');
    writeFileSync(dist('command.js'), source.replaceAll(ANSWER, ANSWER.toUpperCase()));
    await says(ANSWER.toUpperCase());
    writeFileSync(dist('command.js'), source);
    await says();
  });

  it.each([
    ['empty', () => Buffer.alloc(0)],
    ['half there', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['not what V8 wrote', (bytes: Buffer) => bytes.map((byte, at) => (at < bytes.indexOf('\n') + 1 ? byte : at % 251))],
  ])('is made anew where it is %s', async (_what, damage) => {
    await says();
    const whole = readFileSync(cache()).length;
    writeFileSync(cache(), damage(readFileSync(cache())));
    await says();
    expect(Math.abs(readFileSync(cache()).length - whole)).toBeLessThan(whole / 4);
  });

  it('is not needed: where it cannot be written, all works', async () => {
    writeFileSync(dist('cache'), '');
    await says();
    rmSync(dist('cache'));
    mkdirSync(cache(), { recursive: true });
    await says();
  });

  it('is not kept where the environment says so', async () => {
    const { err } = await cli.runIn({ env: { NODE_DISABLE_COMPILE_CACHE: '1' } }, 'hook', 'checkpoints');
    expect(err).toContain(ANSWER);
    expect(existsSync(dist('cache'))).toBe(false);
  });
});
