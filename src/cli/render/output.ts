import type { AtlasError, AtlasErrorCode } from '../../core/shared/errors';
import { withoutOrders } from '../../core/verify/foreignText';

/** What `atlas` exits with; the same for every command. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  notVerified: 5,
  lockTimeout: 6,
  damaged: 7,
  /** Of `verify` alone: the base demands nothing that could be verified. */
  noPolicy: 6,
  /** Of `verify` alone: only a human may let the change pass. */
  needsHuman: 7,
} as const;

/** One of them. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const EXIT_OF: Partial<Readonly<Record<AtlasErrorCode, ExitCode>>> = {
  usage: EXIT.usage,
  invalid_name: EXIT.usage,
  not_found: EXIT.notFound,
  illegal_transition: EXIT.refused,
  not_done: EXIT.refused,
  reason_needed: EXIT.refused,
  stale_caller: EXIT.refused,
  human_only: EXIT.refused,
  verification_failed: EXIT.notVerified,
  lock_timeout: EXIT.lockTimeout,
  damaged: EXIT.damaged,
  no_policy: EXIT.noPolicy,
  protected_path: EXIT.needsHuman,
  too_new: EXIT.damaged,
};

/** What an error exits with. */
export function exitOf(code: AtlasErrorCode): ExitCode {
  return EXIT_OF[code] ?? EXIT.failed;
}

/** What a command has to say: as text for people, and as one JSON value with keys in snake_case. */
export interface Answer {
  /** One of ours, but for `run`, which exits as its agent did. */
  readonly exit: number;
  /** For people; whoever makes it has made plain what others wrote. */
  readonly text: string;
  /** What was asked for, and is said even with `--quiet`; without it, `text` is news. */
  readonly wanted?: true;
  readonly data: object;
  /** What the caller should know beside the answer. */
  readonly notes?: readonly string[];
  /** Where the command came to its end, and what it found is a failure. */
  readonly error?: AtlasError;
}

/** Where a command writes. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Characters in a line of the terminal that `out` is; `undefined` where it is none. */
  readonly columns: number | undefined;
  /** The same of `err`. */
  readonly errColumns: number | undefined;
  /** Whether colours may be used on `out`. */
  readonly colors: boolean;
}

/** Passes on what a program prints, as it comes. */
export function passOn(
  out: (text: string) => void,
  err: (text: string) => void,
): (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  return (stream, chunk) => {
    const write = stream === 'stdout' ? out : err;
    write(decoders[stream].decode(chunk, { stream: true }));
  };
}

const INVISIBLE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** One JSON document; what a terminal or a CI system would act on, or a terminal would not show, is escaped. */
export function toJson(value: unknown): string {
  const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${withoutOrders(JSON.stringify(value, null, 2).replace(INVISIBLE, escape))}\n`;
}

/** An answer as JSON. */
export function answerJson(command: string, { data, error, notes = [] }: Answer): string {
  if (error === undefined) return toJson({ success: true, command, ...data, notes });
  return toJson({ success: false, command, error: errorData(error), ...data, notes });
}

/** What is told of an error; `unexpected` is what nobody foresaw. */
export interface ErrorData {
  readonly code: AtlasErrorCode | 'unexpected';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** An error as JSON. */
export function errorJson(command: string, error: ErrorData): string {
  return toJson({ success: false, command, error: errorData(error) });
}

function errorData({ code, message, hint }: ErrorData): Record<string, string> {
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}
