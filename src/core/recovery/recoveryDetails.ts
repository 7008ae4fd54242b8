import type { RecoveryContext } from '../task/taskRecord';

/** What a recorded recovery says beside its plan; what isn't of its kind is absent. */
export interface RecoveryDetails {
  readonly cause: string | undefined;
  /** What the agent's host said of its failure. */
  readonly agentFailure: string | undefined;
  /** RFC 3339. */
  readonly lastSignOfLife: string | undefined;
  /** How the files differ from the last checkpoint; paths relative to the worktree. */
  readonly files: readonly { readonly path: string; readonly state: string | undefined }[];
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reads the details of a recovery, which another writer may have written. */
export function recoveryDetails(recovery: RecoveryContext | undefined): RecoveryDetails {
  const raw = recovery?.details ?? {};
  const files = Array.isArray(raw['files']) ? (raw['files'] as readonly unknown[]) : [];
  return {
    cause: text(raw['cause']),
    agentFailure: text(raw['agent_failure']),
    lastSignOfLife: text(raw['last_sign_of_life']),
    files: files.flatMap((file) => {
      if (typeof file !== 'object' || file === null) return [];
      const { path, state } = file as Readonly<Record<string, unknown>>;
      return typeof path === 'string' ? [{ path, state: text(state) }] : [];
    }),
  };
}
