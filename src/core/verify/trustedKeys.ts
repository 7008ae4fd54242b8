import * as z from 'zod/mini';
import { schemaProblem } from '../config/schemaProblem';
import { type Result, fail, messageOf, ok } from '../shared/errors';
import { TRUSTED_KEYS_FILE } from './policy';

const MAX_KEYS = 1000;

/** How a key stopped being used: it still counts for what is merged already, or for nothing at all. */
const REVOCATIONS = ['rotated', 'compromised'] as const;

const entrySchema = z.strictObject({
  /** Whose key it is, for people. */
  name: z.string().check(z.minLength(1, 'must not be empty'), z.maxLength(100, 'too long')),
  scheme: z.enum(['hd', 'ed25519']),
  /** As receipts name it: the account's path, or the name of the one Ed25519 key. */
  path: z.string().check(z.maxLength(100, 'too long')),
  /** Public keys: `xpub…`, or an Ed25519 key in hex. */
  keys: z.array(z.string().check(z.maxLength(200, 'too long'))).check(z.minLength(1, 'name at least one key')),
  kind: z.enum(['developer', 'ci']),
  added: z.string().check(z.maxLength(40, 'too long')),
  revoked: z.optional(
    z.strictObject({ at: z.string().check(z.maxLength(40, 'too long')), reason: z.enum(REVOCATIONS) }),
  ),
});

/** A version of the file that can be read: those of a newer one may mean something else. */
export const trustedKeysSchema = z.strictObject({
  schema_version: z.string(),
  trusted: z.array(entrySchema).check(z.maxLength(MAX_KEYS, `at most ${MAX_KEYS}`)),
});

/** Somebody whose keys count, as the file has them. */
export type TrustedEntry = z.infer<typeof entrySchema>;

/** Reads .atlas/trusted-keys.json. Fails with `no_policy`; nothing in it is overlooked. */
export function parseTrustedKeys(text: string): Result<TrustedEntry[]> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    return fail('no_policy', `${TRUSTED_KEYS_FILE} is not JSON: ${messageOf(error)}`);
  }
  const version = typeof data === 'object' && data !== null ? (data as Record<string, unknown>)['schema_version'] : '';
  if (typeof version === 'string' && !/^(?:1(?:\.\d+)*)?$/u.test(version))
    return fail(
      'no_policy',
      `${TRUSTED_KEYS_FILE} is of version ${version.slice(0, 20)}, which this Atlas does not know.`,
    );
  const parsed = trustedKeysSchema.safeParse(data);
  if (parsed.success) return ok(parsed.data.trusted);
  const issue = parsed.error.issues[0];
  const known = (path: readonly PropertyKey[]): string[] =>
    path.length === 0 ? ['schema_version', 'trusted'] : Object.keys(entrySchema.def.shape);
  const { path, message } = issue === undefined ? { path: [], message: 'invalid' } : schemaProblem(issue, known);
  return fail('no_policy', `${TRUSTED_KEYS_FILE} can't be used: ${path.join('.')}: ${message}`);
}

/** The text of .atlas/trusted-keys.json. */
export function serializeTrustedKeys(trusted: readonly TrustedEntry[]): string {
  return `${JSON.stringify({ schema_version: '1.0', trusted }, null, 2)}\n`;
}
