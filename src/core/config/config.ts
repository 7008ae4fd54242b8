import type * as z from 'zod/mini';
import type { TranscriptHost } from '../session/sessionHost';
import type { TerminalState } from '../task/taskRecord';
import type { KeySettings } from '../receipt/keyPath';
import { GIB, MIB } from '../shared/text';
import type { VerifyPolicy } from '../verify/policy';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Which checkpoints are made without being asked for. */
export interface AutoCheckpointPolicy {
  readonly onCommit: boolean;
  readonly onPush: boolean;
  readonly onPr: boolean;
  readonly onValidation: boolean;
  readonly onStepComplete: boolean;
}

/** The settings under `snapshots`: whether files are captured at all, and what that may take, in bytes. */
export interface SnapshotConfig {
  readonly enabled: boolean;
  /** Larger files are left out. */
  readonly maxFileSize: number;
  /** On disk, in each repository. */
  readonly maxSize: number;
}

/** The settings under `sessions`: what is observed of agents' sessions, and whose transcripts may be read. */
export interface SessionsConfig {
  /** `undefined` while that can't be read: then nothing is read of sessions, and nothing is deleted. */
  readonly track: boolean | undefined;
  /** Whether sessions without a terminal become session tasks too. */
  readonly headless: boolean;
  readonly readTranscripts: readonly TranscriptHost[];
}

/** The settings in config.yaml, with every default filled in. Durations are in ms. */
export interface TaskConfig {
  readonly maxCheckpoints: number;
  readonly checkpointIntervalMs: number;
  readonly staleThresholdMs: number;
  readonly maxStepAttempts: number;
  readonly autoCheckpoint: AutoCheckpointPolicy;
  readonly signing: { readonly scheme: 'hd' | 'ed25519' };
  readonly keyDerivation: KeySettings;
  readonly validation: { readonly commands: readonly string[]; readonly timeoutMs: number };
  readonly retentionMs: Readonly<Record<TerminalState, number>>;
  /** Where agents keep their memory: in the repository unless it is an absolute path. */
  readonly memoryFolder: string;
  readonly snapshots: SnapshotConfig;
  readonly sessions: SessionsConfig;
  /** Whether an agent that stops is kept while the files have no passing receipt. */
  readonly gate: { readonly enabled: boolean };
  /** What the repository's own settings demand of a change; its checks name the runs of their commands. */
  readonly verify: VerifyPolicy | undefined;
}

/** What holds where no setting says otherwise. */
export const DEFAULT_CONFIG: TaskConfig = {
  maxCheckpoints: 50,
  checkpointIntervalMs: 5 * MINUTE,
  staleThresholdMs: 5 * MINUTE,
  maxStepAttempts: 3,
  autoCheckpoint: { onCommit: true, onPush: true, onPr: true, onValidation: true, onStepComplete: true },
  signing: { scheme: 'hd' },
  keyDerivation: { purpose: 44, coinType: 236, account: undefined },
  validation: { commands: [], timeoutMs: 10 * MINUTE },
  retentionMs: { completed: 720 * HOUR, failed: 336 * HOUR, abandoned: 168 * HOUR },
  memoryFolder: '.atlas/memory',
  snapshots: { enabled: true, maxFileSize: 50 * MIB, maxSize: 2 * GIB },
  sessions: { track: false, headless: false, readTranscripts: [] },
  gate: { enabled: true },
  verify: undefined,
};

/** A setting that could not be used: where it stands in the file and why. */
export interface ConfigProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** What the schema says, where it is about a value. */
  readonly issue?: z.core.$ZodIssue;
}
