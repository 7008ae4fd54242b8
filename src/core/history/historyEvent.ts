import {
  CHECKPOINT_TRIGGERS,
  type CheckpointTrigger,
  type RecordedEvent,
  type RecoveryContext,
  recoveryContextSchema,
} from '../task/taskRecord';

/** The raw details of an event; other writers put in them what they like. */
type Raw = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const whole = (value: unknown): number | undefined => (Number.isInteger(value) ? (value as number) : undefined);
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

/** Why and by whose words a task waits or ended; the kinds of waiting are in task/waiting. */
const said = ({ kind, message, reason }: Raw) => ({ kind: text(kind), message: text(message), reason: text(reason) });

/** What a step came to, in the words of whoever did it. */
const summarized = ({ summary }: Raw) => ({ summary: text(summary) });

/** What a recovery was for; it moved here when the task left `recovering`. */
const recovered = ({ recovery }: Raw) => ({ recovery: recoveryContextSchema.safeParse(recovery).data });

const nothing = (): object => ({});

/** How the details of each kind of event are read: what isn't of its kind is absent. */
const READERS = {
  init: ({ steps, worktree }: Raw) => ({
    steps: Array.isArray(steps) ? (steps as readonly unknown[]) : undefined,
    worktree: text(worktree),
  }),
  setup_complete: nothing,
  start_step: (raw: Raw) => ({
    ...said(raw),
    dirty_before: texts(raw['dirty_before']),
    attempts_spent: raw['attempts_spent'] === true,
  }),
  note: nothing,
  checkpoint: (raw: Raw) => ({
    checkpoint_id: text(raw['checkpoint_id']),
    trigger: CHECKPOINT_TRIGGERS.find((each) => each === raw['trigger']),
    commit: text(raw['commit']),
    repository: text(raw['repository']),
    ref: text(raw['ref']),
    /** When it happened, where that was noticed later, RFC 3339. */
    at: text(raw['at']),
  }),
  step_output: summarized,
  step_complete: (raw: Raw) => ({ ...summarized(raw), nothing_to_do: text(raw['nothing_to_do']) }),
  validation_command: (raw: Raw) => ({
    command: text(raw['command']),
    log: text(raw['log']),
    receipt_id: text(raw['receipt_id']),
    /** Which of the task's keys signs the receipt. */
    index: whole(raw['index']),
  }),
  receipt: (raw: Raw) => ({
    receipt_id: text(raw['receipt_id']),
    envelope_sha256: text(raw['envelope_sha256']),
    chain_count: whole(raw['chain_count']),
  }),
  validate_pass: summarized,
  validate_fail: (raw: Raw) => ({ ...said(raw), receipt_id: text(raw['receipt_id']) }),
  human_required: said,
  /** The receipts of the failed checks that the approval passed over. */
  human_approve: (raw: Raw) => ({ ...said(raw), failed_receipts: texts(raw['failed_receipts']) }),
  human_reject: said,
  human_resume: ({ answer, answered_by: by }: Raw) => ({ answer: text(answer), answered_by: text(by) }),
  crash_detected: nothing,
  retry_step: recovered,
  retry_from_checkpoint: recovered,
  retry_validation: recovered,
  skip_step: nothing,
  manual_required: (raw: Raw) => ({ ...said(raw), ...recovered(raw) }),
  finish: nothing,
  observe: (raw: Raw) => ({ session: text(raw['session']), took_over_from: text(raw['took_over_from']) }),
  acknowledge: nothing,
  /** `target_id`: the checkpoint whose files were restored; `safety_id`: the restore point that undoes it. */
  restore: (raw: Raw) => ({
    target_id: text(raw['target_id']),
    safety_id: text(raw['safety_id']),
    written: whole(raw['written']) ?? 0,
    removed: whole(raw['removed']) ?? 0,
    blocked: whole(raw['blocked']) ?? 0,
    undo: raw['undo'] === true,
  }),
  adopted_edit: said,
  fail: said,
  abandon: said,
  /** Events that only other writers know. */
  other: said,
} as const satisfies Readonly<Record<string, (raw: Raw) => object>>;

/** The kinds of events in a history. */
export type HistoryEventType = keyof typeof READERS;

type Details = {
  readonly [T in HistoryEventType]: ReturnType<(typeof READERS)[T]> & {
    readonly step_index: number | undefined;
    readonly attempt: number | undefined;
  };
};

/** A line of history as it is read: `type` tells what its details are. */
export type HistoryEvent = {
  readonly [T in HistoryEventType]: { readonly type: T; readonly details: Details[T] } & Pick<
    RecordedEvent,
    'timestamp' | 'from_state' | 'to_state' | 'step_name'
  >;
}[HistoryEventType];

/** An event of some kinds. */
export type EventOf<T extends HistoryEventType> = Extract<HistoryEvent, { readonly type: T }>;

/** What is written into an event beside step and attempt; what a reader is to find again has a type here. */
export interface WrittenDetails {
  readonly step_index?: number;
  readonly attempt?: number;
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly recovery?: RecoveryContext;
  readonly receipt_id?: string;
  readonly trigger?: CheckpointTrigger;
  readonly [more: string]: unknown;
}

const parsed = new WeakMap<RecordedEvent, HistoryEvent>();

function isKnown(trigger: string): trigger is HistoryEventType {
  return trigger !== 'other' && Object.hasOwn(READERS, trigger);
}

/** An event of a task record, read once: a record's events are never changed. */
export function historyEvent(event: RecordedEvent): HistoryEvent {
  const known = parsed.get(event);
  if (known !== undefined) return known;
  const type = isKnown(event.trigger) ? event.trigger : 'other';
  const raw = event.details ?? {};
  const { timestamp, from_state, to_state, step_name } = event;
  const details = { step_index: whole(raw['step_index']), attempt: whole(raw['attempt']), ...READERS[type](raw) };
  const read = { type, timestamp, from_state, to_state, step_name, details } as HistoryEvent;
  parsed.set(event, read);
  return read;
}

/** The events of some kinds in a history, oldest first. */
export function eventsOf<T extends HistoryEventType>(
  history: readonly RecordedEvent[],
  ...types: readonly T[]
): EventOf<T>[] {
  return history
    .filter(({ trigger }) => (types as readonly string[]).includes(trigger))
    .map(historyEvent) as EventOf<T>[];
}

/** Whether a history has a checkpoint with one of these ids, also one that was dropped; asked at each change, so that nothing is made for it. */
export function hasCheckpoint(history: readonly RecordedEvent[], ids: readonly string[]): boolean {
  return history.some(
    ({ trigger, details }) => trigger === 'checkpoint' && ids.some((id) => id === details?.['checkpoint_id']),
  );
}

/** The newest event of some kinds in a history. */
export function lastEventOf<T extends HistoryEventType>(
  history: readonly RecordedEvent[],
  ...types: readonly T[]
): EventOf<T> | undefined {
  const found = history.findLast(({ trigger }) => (types as readonly string[]).includes(trigger));
  return found === undefined ? undefined : (historyEvent(found) as EventOf<T>);
}
