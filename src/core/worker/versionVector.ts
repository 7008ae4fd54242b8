import * as z from 'zod/mini';

const counter = z.int().check(z.gte(0));

/** The fields of a {@link VersionVector}, for schemas. */
export const versionShape = {
  /** How often the task was slung to a worker. */
  claim: counter,
  /** How often somebody began or went on with the work of this claim; 0 until the first did. */
  incarnation: counter,
  /** Grows with every record of the id. */
  sequence: counter,
};

/** What decides between two records of one id, on every machine alike. */
export type VersionVector = { readonly [name in keyof typeof versionShape]: number };

/** Below 0 where the first is older. A later claim beats any incarnation, and that any sequence: what the dead say late changes nothing. */
export function compareVersions(a: VersionVector, b: VersionVector): number {
  return a.claim - b.claim || a.incarnation - b.incarnation || a.sequence - b.sequence;
}

/** The stamp alone, without what carries it. */
export function versionOf({ claim, incarnation, sequence }: VersionVector): VersionVector {
  return { claim, incarnation, sequence };
}
