import * as z from 'zod/mini';
import { type Result, fail, ok } from '../shared/errors';
import { schemaProblem } from '../config/schemaProblem';

/** Where a repository says what is demanded of a change, and whose keys count. */
export const POLICY_FILE = '.atlas/config.yaml';
/** Whose keys count. */
export const TRUSTED_KEYS_FILE = '.atlas/trusted-keys.json';

/** Whose receipts a check takes. */
const SIGNER_KINDS = ['developer', 'ci'] as const;

/** Whose receipts a check takes: a developer's (or a CI system's), or a CI system's alone. */
export type SignerKind = (typeof SIGNER_KINDS)[number];

const MAX_GLOB = 300;
const MAX_LIST = 500;
const MAX_CHECKS = 100;
const MAX_COMMAND = 4000;

/** Line breaks and tabs may stand in a command; what a terminal acts on may not. */
// eslint-disable-next-line no-control-regex -- control characters are what is refused here
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u;

const globs = z
  .array(z.string().check(z.minLength(1, 'must not be empty'), z.maxLength(MAX_GLOB, 'too long')))
  .check(z.maxLength(MAX_LIST, `at most ${MAX_LIST}`));

const checkSchema = z.strictObject({
  name: z
    .string()
    .check(z.regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u, 'use letters, digits, spaces, ".", "_" and "-"')),
  run: z.string().check(
    z.refine((text) => text.trim() !== '', 'must not be empty'),
    z.maxLength(MAX_COMMAND, 'too long'),
    z.refine((text) => !UNPRINTABLE.test(text), 'must not contain control characters'),
  ),
  cwd: z.optional(
    z.string().check(z.refine((text) => isFolder(text), 'write a folder of the repository, such as packages/app')),
  ),
  by: z.optional(z.enum(SIGNER_KINDS)),
});

/** The shape of `verify` in a repository's config.yaml. A misspelt key must not turn a demand off, so none is overlooked. */
export const verifySettingsSchema = z.strictObject({
  checks: z.optional(
    z.array(checkSchema).check(
      z.maxLength(MAX_CHECKS, `at most ${MAX_CHECKS}`),
      z.refine((checks) => new Set(checks.map(({ name }) => name)).size === checks.length, 'two have the same name'),
    ),
  ),
  protect: z.optional(globs),
  ignore: z.optional(globs),
});

/** A check that a change has to pass. */
export interface PolicyCheck {
  readonly name: string;
  readonly run: string;
  /** Relative to the repository, with `/`; `.` for its top. */
  readonly cwd: string;
  readonly by: SignerKind;
}

/** What is demanded of a change. */
export interface VerifyPolicy {
  readonly checks: readonly PolicyCheck[];
  /** A change to one of these paths needs a human. */
  readonly protect: readonly string[];
  /** Paths that `--allow-ancestor` may overlook. */
  readonly ignore: readonly string[];
}

/** Whether a text names a folder in the repository in its one spelling. */
function isFolder(text: string): boolean {
  if (text === '.') return true;
  if (UNPRINTABLE.test(text) || /[\\\n\t:]/u.test(text)) return false;
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** The policy that settings stand for. */
export function policyOf({
  checks = [],
  protect = [],
  ignore = [],
}: z.infer<typeof verifySettingsSchema>): VerifyPolicy {
  return {
    checks: checks.map(({ name, run, cwd = '.', by = 'developer' }) => ({ name, run, cwd, by })),
    protect,
    ignore,
  };
}

/**
 * Reads the policy from the data of a repository's config.yaml. Fails with `no_policy` where it has none, or one that
 * can't be used as it is written.
 */
export function parsePolicy(data: unknown): Result<VerifyPolicy> {
  const verify = typeof data === 'object' && data !== null ? (data as Record<string, unknown>)['verify'] : undefined;
  if (verify === undefined || verify === null) return fail('no_policy', `${POLICY_FILE} has no "verify:".`);
  const parsed = verifySettingsSchema.safeParse(verify);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const known = (path: readonly PropertyKey[]): string[] =>
      path.length === 0 ? ['checks', 'protect', 'ignore'] : ['name', 'run', 'cwd', 'by'];
    const { path, message } = issue === undefined ? { path: [], message: 'invalid' } : schemaProblem(issue, known);
    return fail('no_policy', `${POLICY_FILE} can't be used: ${['verify', ...path].join('.')}: ${message}`);
  }
  const policy = policyOf(parsed.data);
  return policy.checks.length === 0
    ? fail('no_policy', `${POLICY_FILE} declares no checks below "verify:".`)
    : ok(policy);
}

/** The check that a command is run as in a folder; `undefined` for any other command. */
export function checkOf(policy: VerifyPolicy | undefined, command: string, folder: string): PolicyCheck | undefined {
  return policy?.checks.find(({ run, cwd }) => run === command && cwd === folder);
}
