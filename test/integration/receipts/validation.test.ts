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
});
