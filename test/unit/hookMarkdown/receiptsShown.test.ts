import { expect, it } from 'vitest';
import { receiptsShown } from '../../../src/core/hookMarkdown/history';
import type { ValidationReceipt } from '../../../src/core/task/taskRecord';

const receipt = (step: string, at: number): ValidationReceipt => ({
  receipt_id: `${step}-${at}`,
  step_name: step,
  command: 'true',
  exit_code: 0,
  started_at: '2026-01-01T00:00:00.000Z',
  completed_at: '2026-01-01T00:00:01.000Z',
  duration: '1s',
  stdout_hash: '',
  stderr_hash: '',
  signature: '',
});

const many = (step: string, count: number): ValidationReceipt[] =>
  Array.from({ length: count }, (_each, at) => receipt(step, at));

it('the receipts that HOOK.md may show are the newest, and the newest of each step however old they are', () => {
  const receipts = [...many('analyze', 5), ...many('implement', 60), ...many('review', 20)];
  const ids = [...receiptsShown({ receipts })].map(({ receipt_id: id }) => id);
  expect(new Set(ids)).toEqual(
    new Set([
      ...many('review', 20).map(({ receipt_id: id }) => id),
      ...[2, 3, 4].map((at) => `analyze-${at}`),
      ...[57, 58, 59].map((at) => `implement-${at}`),
    ]),
  );
});
