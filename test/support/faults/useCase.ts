import type { Result } from '../../../src/core/shared/errors';
import type { Atlas } from '../../../src/service/atlas';
import type { CrashWorld } from './crashWorld';

/**
 * How an interrupted use case ended, as its caller knows it: it returned; it returned that it was recorded but hook.json
 * could not be written; it was refused; nobody was told.
 */
export type Outcome = 'done' | 'recorded' | 'refused' | 'killed';

/** A use case on a store that was prepared for it. */
export interface Arranged {
  /** Does it. `acknowledge` is called after each change of a task that was returned as made, but for the last. */
  act(atlas: Atlas, acknowledge: () => void): Promise<Result<unknown>> | Result<unknown>;
  /** Says what is wrong beside tasks, after fixing, by throwing. `told`: what it returned, if it was done. */
  check?(atlas: Atlas, outcome: Outcome, told: unknown): Promise<void> | void;
  /** Whether it can be done again after it was done; it always can where it wasn't. */
  readonly repeatable?: boolean;
  /** Tasks go: they aren't compared with what they should be. */
  readonly removes?: boolean;
  /** What made it one change for its caller is several for the journal: an error can come after some of them. */
  readonly several?: boolean;
}

/** One thing that people do, through the real services. */
export interface UseCase {
  readonly name: string;
  arrange(world: CrashWorld): Promise<Arranged> | Arranged;
}

/** What a store never may be; thrown by a use case itself when what it returns is wrong. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}
