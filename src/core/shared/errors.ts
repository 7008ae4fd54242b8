/** Every way in which Atlas refuses or fails. Callers branch on the code, never on the message. */
export type AtlasErrorCode =
  | 'usage'
  | 'not_found'
  | 'illegal_transition'
  /** A step's result isn't there yet. */
  | 'not_done'
  /** A failed check is accepted only with a reason. */
  | 'reason_needed'
  | 'stale_caller'
  | 'human_only'
  | 'verification_failed'
  /** The base doesn't say what is demanded of a change. */
  | 'no_policy'
  /** A change to a path that only a human may let pass. */
  | 'protected_path'
  | KeyErrorCode
  | 'lock_timeout'
  | 'damaged'
  | 'too_new'
  | 'unreadable'
  | 'write_failed'
  | 'recorded_not_written'
  | 'unsafe_path'
  | 'invalid_name'
  | 'invalid_template'
  | 'invalid_config'
  | 'no_repository'
  | 'git_failed'
  | 'remote_unreachable'
  | 'remote_refused'
  | 'stop_blocked'
  | 'work_failed'
  | 'cancelled';

/** Why a signing key can't be used. */
export type KeyErrorCode =
  'key_missing' | 'key_unreadable' | 'key_format' | 'key_size' | 'key_too_open' | 'key_other_scheme';

/** An expected failure: `message` says what happened, `hint` what to do about it, both fit to be shown to a person. */
export class AtlasError extends Error {
  override readonly name = 'AtlasError';
  readonly code: AtlasErrorCode;
  readonly hint: string | undefined;

  constructor(code: AtlasErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

/** A value or an expected failure; core and service never throw for what a caller can cause. */
export type Result<T, E = AtlasError> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** Wraps a value as a success. */
export function ok<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

/** Makes a failure from a code, a message and what fixes it. */
export function fail(
  code: AtlasErrorCode,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): { readonly ok: false; readonly error: AtlasError } {
  return { ok: false, error: new AtlasError(code, message, options) };
}

/** The value of a success; throws the error of a failure. For the edges, where exceptions are the rule. */
export function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw result.error;
  return result.value;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** An error's text with what fixes it. */
export function explain(error: AtlasError): string {
  return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
}
