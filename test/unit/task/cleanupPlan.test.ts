import { describe, expect, it } from 'vitest';
import { planCleanup } from '../../../src/core/task/cleanup';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { TASK_STATES, isTerminal } from '../../../src/core/task/taskRecord';
import { toTimestamp } from '../../../src/core/shared/time';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 5, 1);
const RETENTION = DEFAULT_CONFIG.retentionMs;

function candidate(state: (typeof TASK_STATES)[number], age: number): Parameters<typeof planCleanup>[0][number] {
  return { workspace: 'ws', id: `task-${state}`, state, updatedAt: toTimestamp(NOW - age) };
}

describe('what cleanup would remove', () => {
  it.each([
    ['completed', 720],
    ['failed', 336],
    ['abandoned', 168],
  ] as const)('%s after more than %d hours', (state, hours) => {
    expect(planCleanup([candidate(state, hours * HOUR)], RETENTION, NOW)).toEqual([]);
    expect(planCleanup([candidate(state, hours * HOUR + 1)], RETENTION, NOW)).toMatchObject([{ state, overdueMs: 1 }]);
    expect(planCleanup([candidate(state, -hours * HOUR)], RETENTION, NOW)).toEqual([]);
  });

  it('never is a task that is not over, whatever its age and the settings', () => {
    const open = TASK_STATES.filter((state) => !isTerminal(state));
    const retention = { completed: 0, failed: 0, abandoned: 0 };
    expect(
      planCleanup(
        open.map((state) => candidate(state, 100_000 * HOUR)),
        retention,
        NOW,
      ),
    ).toEqual([]);
    expect(open).toHaveLength(6);
  });

  it('follows other settings, and leaves out times that are none', () => {
    const retention = { completed: 0, failed: 1, abandoned: 2 };
    const items = (['completed', 'failed', 'abandoned'] as const).map((state) => candidate(state, 2));
    expect(planCleanup(items, retention, NOW).map((item) => item.state)).toEqual(['completed', 'failed']);
    expect(planCleanup([{ ...candidate('failed', 5), updatedAt: 'never' }], retention, NOW)).toEqual([]);
  });
});
