/** A snapshot as retention sees it. */
export interface KeptSnapshot {
  readonly tree: string;
  /** When its checkpoint was recorded, in ms since the epoch. */
  readonly at: number;
  /** Whether it belongs to a restore point that was recorded without being asked for. */
  readonly automatic: boolean;
  /** The newest of an open task, and safety checkpoint and target of the last restore: never removed for room. */
  readonly held: boolean;
}

/**
 * Snapshots in the order in which they go when room is needed: the oldest restore points, then the oldest others. Those
 * that are held are not among them.
 */
export function removalOrder<T extends KeptSnapshot>(snapshots: readonly T[]): T[] {
  const rank = (each: T): number => (each.automatic ? 0 : 1);
  return snapshots.filter(({ held }) => !held).sort((a, b) => rank(a) - rank(b) || a.at - b.at);
}
