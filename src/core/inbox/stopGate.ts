/** So many times in a row an agent is kept from stopping while nothing moves on. */
export const MAX_BLOCKS = 3;
/** So many items that a session was told of are remembered. */
const MAX_SEEN = 100;

/** What is left in the inbox when an agent wants to stop. */
export interface Left {
  /** Ids of the items in `processing`. */
  readonly active: readonly string[];
  readonly pending: number;
}

/** What a session was told before. */
export interface GateState {
  /** Blocks in a row without progress. */
  readonly blocks: number;
  /** Items that were left when it was last told. */
  readonly total: number;
  readonly pending: number;
  readonly active: readonly string[];
  /** Every item that it was told of as active. */
  readonly seen: readonly string[];
  /** Whether it was let go last time. */
  readonly released: boolean;
}

/** Whether the agent is kept, and why not. */
export interface GateDecision {
  readonly block: boolean;
  readonly why: 'work_left' | 'stop_hook_active' | 'no_progress';
  readonly next: GateState;
}

/**
 * Decides whether an agent that wants to stop is kept at its inbox. Progress is what an agent brings about: fewer items
 * are left, or one is active that it was not told of before; an item that goes to and fro is none, nor are new ones.
 * @param hostActive whether the host says that a stop hook keeps the agent going already; `undefined` where it doesn't say
 */
export function decideStop(before: GateState | undefined, left: Left, hostActive: boolean | undefined): GateDecision {
  const total = left.active.length + left.pending;
  const moved = before === undefined || total < before.total || left.active.some((id) => !before.seen.includes(id));
  // It stopped in between, so what came since is told of like at first.
  const called = before?.released === true && hostActive !== true && total > before.total;
  const fresh = moved || called;
  const seen = [...new Set([...(before?.seen ?? []), ...left.active])].slice(-MAX_SEEN);
  const state = { total, pending: left.pending, active: [...left.active], seen };
  const release = (why: GateDecision['why']): GateDecision => ({
    block: false,
    why,
    next: { ...state, blocks: before?.blocks ?? 0, released: true },
  });
  if (!fresh && hostActive === true && isSame(before, left)) return release('stop_hook_active');
  if (!fresh && before.blocks >= MAX_BLOCKS) return release('no_progress');
  const blocks = fresh ? 1 : before.blocks + 1;
  return { block: true, why: 'work_left', next: { ...state, blocks, released: false } };
}

function isSame(before: GateState | undefined, { active, pending }: Left): boolean {
  return before?.pending === pending && [...before.active].sort().join('\n') === [...active].sort().join('\n');
}
