import { describe, expect, it } from 'vitest';
import { taskRecordSchema, serializeRecord } from '../../../src/core/task/taskRecord';
import { diagnose } from '../../../src/core/recovery/liveness';
import { recordDamage } from '../../../src/core/task/task';
import { waitKind } from '../../../src/core/task/waiting';
import { parseRecord, parseTask } from '../../../src/store/task/recordFile';

/** hook.json as the Go ATLAS writes it: a path for an id, null lists, local times with nanoseconds, HTML escapes. */
const GO_HOOK = `{
  "version": "1.0",
  "task_id": "workspaces/parser/tasks/task-20260117-143022",
  "workspace_id": "parser",
  "created_at": "2026-01-17T15:30:22.123456789+01:00",
  "updated_at": "2026-01-17T15:40:00.5+01:00",
  "state": "step_running",
  "current_step": {
    "step_name": "implement", "step_index": 2, "started_at": "2026-01-17T15:39:00.000000001+01:00",
    "attempt": 1, "max_attempts": 3, "working_on": "a \\u003c b \\u0026\\u0026 c \\u003e d", "files_touched": null
  },
  "history": [
    {"timestamp": "2026-01-17T15:30:22.123456789+01:00", "from_state": "", "to_state": "initializing", "trigger": "init"},
    {"timestamp": "2026-01-17T15:39:00.000000001+01:00", "from_state": "step_pending", "to_state": "step_running",
     "trigger": "start_step", "step_name": "implement", "details": null}
  ],
  "recovery": null,
  "checkpoints": null,
  "receipts": null,
  "schema_version": "1.0"
}
`;

const GO_TASK = `{
  "id": "task-20260117-143022", "workspace_id": "parser", "template_id": "bugfix", "description": "x",
  "status": "running", "current_step": 2,
  "steps": [
    {"name": "analyze", "type": "ai", "status": "completed", "started_at": "2026-01-17T15:31:00Z", "completed_at": "2026-01-17T15:35:00Z", "attempts": 1},
    {"name": "plan", "type": "ai", "status": "completed", "started_at": "2026-01-17T15:35:00Z", "completed_at": "2026-01-17T15:39:00Z", "attempts": 1},
    {"name": "implement", "type": "ai", "status": "running", "started_at": "2026-01-17T15:39:00Z", "completed_at": "0001-01-01T00:00:00Z", "attempts": 1, "validation": null}
  ],
  "step_results": null, "transitions": null,
  "created_at": "2026-01-17T15:30:22.123456789+01:00", "updated_at": "2026-01-17T15:39:00Z",
  "completed_at": "0001-01-01T00:00:00Z", "config": null, "metadata": null, "schema_version": 1
}`;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('files of the Go ATLAS', () => {
  it('load, with times in UTC and lists for null', () => {
    const hook = parseRecord('hook.json', bytes(GO_HOOK));
    if (!hook.ok) throw hook.error;
    expect(hook.value).toMatchObject({
      task_id: 'task-20260117-143022',
      created_at: '2026-01-17T14:30:22.123Z',
      updated_at: '2026-01-17T14:40:00.500Z',
      current_step: { started_at: '2026-01-17T14:39:00.000Z', working_on: 'a < b && c > d', files_touched: [] },
      checkpoints: [],
      receipts: [],
    });
    expect(hook.value.recovery).toBeUndefined();
    const task = parseTask('task.json', bytes(GO_TASK));
    if (!task.ok) throw task.error;
    expect(task.value.completed_at).toBeUndefined();
    expect(task.value.steps[2]?.completed_at).toBeUndefined();
    expect(task.value).toMatchObject({ step_results: [], transitions: [], config: {}, metadata: {} });
    expect(recordDamage(hook.value, task.value, 'task-20260117-143022')).toEqual([]);
    expect(
      diagnose(hook.value, { now: Date.UTC(2026, 0, 17, 14, 41), owners: [], staleThresholdMs: 300_000 }).kind,
    ).toBe('recent');
  });

  it('are written as ours: the same on the next reading', () => {
    const hook = taskRecordSchema.parse(JSON.parse(GO_HOOK));
    const text = serializeRecord(hook);
    expect(text).not.toContain('workspaces/');
    expect(serializeRecord(taskRecordSchema.parse(JSON.parse(text)))).toBe(text);
  });

  it.each([
    ['\\\\ as separator', '"workspaces\\\\parser\\\\tasks\\\\task-1"', 'task-1'],
    ['a way out', '"../../etc/passwd"', 'passwd'],
    ['a plain id', '"task-1"', 'task-1'],
  ])('name their task by the last part: %s', (_name, id, read) => {
    const file = GO_HOOK.replace('"workspaces/parser/tasks/task-20260117-143022"', id);
    expect(taskRecordSchema.parse(JSON.parse(file)).task_id).toBe(read);
  });

  it('tell by their event why they wait, where they say nothing else', () => {
    const waiting = (trigger: string): ReturnType<typeof waitKind> => {
      const hook = taskRecordSchema.parse(JSON.parse(GO_HOOK));
      const event = {
        timestamp: hook.updated_at,
        from_state: hook.state,
        to_state: 'awaiting_human' as const,
        trigger,
      };
      return waitKind({ ...hook, state: 'awaiting_human', history: [...hook.history, event] });
    };
    expect(['validation_failed', 'human_required', 'other'].map(waiting)).toEqual([
      'validation_failed',
      'review',
      'interrupted',
    ]);
  });

  it.each([
    ['empty', '', 'damaged'],
    ['zeros', '\0\0\0\0', 'damaged'],
    ['half', GO_HOOK.slice(0, 400), 'damaged'],
    ['a list', '[]', 'damaged'],
    ['null', 'null', 'damaged'],
    ['another schema', '{"name":"package","version":"0.1.0"}', 'damaged'],
    ['an unknown state', GO_HOOK.replace('"step_running"', '"step_flying"'), 'damaged'],
    ['a time that is none', GO_HOOK.replace('2026-01-17T15:40:00.5+01:00', 'soon'), 'damaged'],
    ['half a step', GO_HOOK.replace('"step_index": 2', '"step_index": 2.5'), 'damaged'],
    ['a newer version', GO_HOOK.replace('"version": "1.0"', '"version": "2.0"'), 'too_new'],
    ['a newer schema', GO_HOOK.replace('"schema_version": "1.0"', '"schema_version": "10.1"'), 'too_new'],
    ['a newer schema of another shape', '{"schema_version":"2.0","state":"dancing"}', 'too_new'],
  ])('that are %s are not taken for something else', (_name, text, code) => {
    const read = parseRecord('hook.json', bytes(text));
    if (read.ok) throw new Error('it was read');
    expect(read.error.code).toBe(code);
    expect(read.error.message).toContain('hook.json');
  });

  it('of a newer minor version are read', () => {
    expect(parseRecord('hook.json', bytes(GO_HOOK.replaceAll('"1.0"', '"1.9"'))).ok).toBe(true);
  });

  it('that are not UTF-8 are damaged', () => {
    const broken = bytes(GO_HOOK);
    broken[200] = 0xff;
    const read = parseRecord('hook.json', broken);
    expect(read.ok ? '' : read.error.code).toBe('damaged');
  });
});
