import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';

let world: ValidationWorld;

beforeEach(async () => {
  world = await makeValidationWorld();
});
afterEach(() => {
  world.dispose();
});

describe('a validation', () => {
  it('runs the declared commands, signs their receipts and passes the step', async () => {
    const ref = await world.running(['echo one', 'echo two >&2']);
    const ended = unwrap(await world.validate(ref));
    expect(ended.passed).toBe(true);
    expect(ended.task.hook.state).toBe('step_pending');
    expect(ended.task.hook.receipts.map((receipt) => receipt.key_path)).toEqual([
      "m/44'/236'/0'/0/0",
      "m/44'/236'/0'/0/1",
    ]);
    const reports = await world.reports(ref);
    expect(reports.map((report) => report.verdict)).toEqual(['valid', 'valid']);
    expect(reports.flatMap((report) => report.checks).every((check) => check.passed)).toBe(true);
    expect(world.markdown(ref)).toContain('VALID ✓');
  });

  it('signs with an account of the repository, and verifies where its key is no longer published', async () => {
    const ref = await world.running(['true'], 'hooks: {}\n');
    unwrap(await world.validate(ref));
    const root = await world.workspace.git('rev-list', '--max-parents=0', 'HEAD');
    const account = Number.parseInt(root.slice(0, 8), 16) & 0x7fff_ffff;
    const [report] = await world.reports(ref);
    expect(report).toMatchObject({ verdict: 'valid', keyPath: `m/44'/236'/${account}'/0/0` });
    rmSync(path.join(world.atlas.ports.paths.keys, 'receipts.pub.json'));
    expect(await world.reports(ref)).toMatchObject([{ verdict: 'valid' }]);
  });

  it('runs a check of the repository in its folder, and names it in the statement', async () => {
    const { folder } = world.workspace;
    mkdirSync(path.join(folder, '.atlas'), { recursive: true });
    mkdirSync(path.join(folder, 'app'));
    writeFileSync(path.join(folder, 'app', 'only-here'), '');
    const checks = [
      { name: 'here', run: 'test -f only-here', cwd: 'app' },
      { name: 'top', run: 'true' },
    ];
    writeFileSync(path.join(folder, '.atlas', 'config.yaml'), JSON.stringify({ verify: { checks } }));
    const ref = await world.running(['true']);
    expect(await world.validate(ref, { checks: ['elsewhere'] })).toMatchObject({
      ok: false,
      error: { code: 'not_found', hint: 'Its checks: here, top.' },
    });
    expect(unwrap(await world.validate(ref, { checks: ['here', 'top'] })).passed).toBe(true);
    const stated = (await world.reports(ref)).map(({ statement }) => statement?.predicate);
    expect(stated.map((predicate) => [predicate?.check, predicate?.repository?.folder, predicate?.result])).toEqual([
      ['top', '.', 'PASSED'],
      ['here', 'app', 'PASSED'],
    ]);
  });

  it('runs no check of the repository for an agent before a human allowed it', async () => {
    const { folder } = world.workspace;
    mkdirSync(path.join(folder, '.atlas'), { recursive: true });
    const verify = { checks: [{ name: 'unit', run: 'touch ran' }] };
    writeFileSync(path.join(folder, '.atlas', 'config.yaml'), JSON.stringify({ verify }));
    const ref = await world.running([]);
    const refused = await world.validate(ref, { checks: ['unit'], caller: 'agent' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'human_only' } });
    expect(existsSync(path.join(folder, 'ran'))).toBe(false);
  });
});
