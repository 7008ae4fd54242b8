import * as z from 'zod/mini';
import { REFUSALS } from '../../../core/verify/report';

/* What `--json` prints for the commands about receipts that travel with commits. */

const text = z.string();
const integer = z.int();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);
const kind = z.enum(['developer', 'ci']);

const check = z.strictObject({
  name: text,
  /** Null for a check that only `--require` names and nobody states. */
  run: maybe(text),
  cwd: maybe(text),
  by: kind,
  passed: z.boolean(),
  /** Whose key states that it passed. */
  stated_by: maybe(z.strictObject({ name: text, kind, receipt_id: text, completed_at: text })),
  also_failed: integer,
  /** The ancestor that it passed on, where `--allow-ancestor` accepted one: not this tree. */
  ancestor: maybe(z.strictObject({ commit: text, tree: text, paths: z.array(text) })),
  /** Receipts that are not enough. */
  refused: z.array(
    z.strictObject({
      receipt_id: text,
      reason: z.enum(REFUSALS),
      signer: maybe(text),
      command: text,
      folder: maybe(text),
      exit_code: integer,
    }),
  ),
});

const verifiedCommit = z.strictObject({
  commit: text,
  tree: text,
  subject: text,
  passed: z.boolean(),
  checks: z.array(check),
  other_trees: z.array(z.strictObject({ tree: text, commit: maybe(text), checks: z.array(text) })),
});

const attachedLine = { receipt_id: text, command: text, exit_code: integer };

/** The answers by their commands. */
export const VERIFY_ANSWERS = {
  'receipts attach': z.strictObject({
    commit: text,
    tree: text,
    attached: z.array(z.strictObject(attachedLine)),
    already_attached: integer,
    left_out: z.array(z.strictObject({ ...attachedLine, why: text })),
  }),
  'receipts push': z.strictObject({
    remote: text,
    receipts: integer,
    trees: integer,
    commands: z.array(text),
    kept_lines: integer,
  }),
  'receipts fetch': z.strictObject({ remote: text, ref: text, commit: maybe(text) }),
  'keys trust': z.strictObject({ path: text, name: text, kind, key_id: text, key_path: text, added: z.boolean() }),
  verify: z.strictObject({
    outcome: z.enum(['passed', 'not_verified', 'protected']),
    base: z.strictObject({ name: text, commit: text }),
    commits: z.array(verifiedCommit),
    protected_paths: z.array(text),
    remarks: z.array(text),
    fixes: z.array(text),
    /** What `--rerun` ran. */
    reruns: z.array(z.strictObject({ commit: text, check: text, exit_code: integer, problem: maybe(text) })),
    shows: text,
  }),
} as const;

/** What several answers hold. */
export const VERIFY_SHARED = { 'verified commit data': verifiedCommit };
