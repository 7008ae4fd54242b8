import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventsOf, hasCheckpoint, historyEvent, lastEventOf } from '../../../src/core/history/historyEvent';
import { TASK_STATES, type RecordedEvent } from '../../../src/core/task/taskRecord';
import { EVENT_TYPES } from '../../../src/core/transition/states';
import { drivenTo } from '../../support/fixtures/stateHooks';

const event = (trigger: string, details?: Record<string, unknown>): RecordedEvent => ({
  ...{ timestamp: '2026-01-17T14:45:33Z', from_state: 'step_running' as const, to_state: 'step_running' as const },
  ...{ trigger, ...(details === undefined ? {} : { details }) },
});

describe('a line of history', () => {
  it('has a type of its own for each event of the state table', () => {
    for (const type of EVENT_TYPES) expect(historyEvent(event(type)).type, type).toBe(type);
    expect(historyEvent(event('adopted_edit')).type).toBe('adopted_edit');
  });

  it.each(['validation_failed', 'other', 'constructor', '__proto__', ''])(
    'of another writer (%j) is "other"',
    (name) => {
      const read = historyEvent(event(name, { kind: 'question', message: 'Which?' }));
      expect(read).toMatchObject({ type: 'other', details: { kind: 'question', message: 'Which?' } });
    },
  );

  it('is read once', () => {
    const one = event('note');
    expect(historyEvent(one)).toBe(historyEvent(one));
  });

  it('never has a detail of another kind, whatever stands there', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EVENT_TYPES),
        fc.dictionary(fc.string(), fc.anything()),
        fc.anything(),
        (type, more, any) => {
          const names = [
            'step_index',
            'attempt',
            'receipt_id',
            'index',
            'at',
            'kind',
            'message',
            'reason',
            'log',
            'dirty_before',
            'failed_receipts',
            ...['target_id', 'safety_id', 'written', 'removed', 'blocked', 'undo'],
          ];
          const raw = { ...more, ...Object.fromEntries(names.map((name) => [name, any])) };
          const { details } = historyEvent(event(type, raw));
          for (const [name, value] of Object.entries(details)) {
            if (value === undefined) continue;
            if (['step_index', 'attempt', 'index', 'chain_count', 'written', 'removed', 'blocked'].includes(name))
              expect(Number.isInteger(value)).toBe(true);
            else if (['dirty_before', 'failed_receipts', 'steps'].includes(name))
              expect(Array.isArray(value)).toBe(true);
            else if (['attempts_spent', 'undo'].includes(name)) expect(typeof value).toBe('boolean');
            else expect(typeof value, name).toBe('string');
          }
        },
      ),
    );
  });

  it('is found by its kind', () => {
    const history = [
      event('checkpoint', { checkpoint_id: 'ckpt-1' }),
      event('receipt', { receipt_id: 'rcpt-1' }),
      event('receipt', { receipt_id: 'rcpt-2' }),
    ];
    expect(eventsOf(history, 'receipt').map(({ details }) => details.receipt_id)).toEqual(['rcpt-1', 'rcpt-2']);
    expect(lastEventOf(history, 'receipt', 'checkpoint')?.details).toMatchObject({ receipt_id: 'rcpt-2' });
    expect(lastEventOf(history, 'note')).toBeUndefined();
    expect(hasCheckpoint(history, ['ckpt-2', 'ckpt-1'])).toBe(true);
    expect(hasCheckpoint(history, ['rcpt-1'])).toBe(false);
  });
});

describe('what Atlas writes into its history', () => {
  it('is read again, in all states', () => {
    for (const history of TASK_STATES.map((state) => drivenTo(state).hook?.history ?? [])) {
      expect(history.length).toBeGreaterThan(0);
      for (const written of history) {
        const { details } = historyEvent(written);
        for (const [name, value] of Object.entries(details))
          if (value !== undefined && Object.hasOwn(written.details ?? {}, name))
            expect(value, name).toEqual(written.details?.[name]);
      }
    }
  });
});
