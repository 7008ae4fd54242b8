import { defined } from '../shared/defined';
import { eventsOf } from '../history/historyEvent';
import * as z from 'zod/mini';
import { type TaskRecord, type ValidationReceipt, validationReceiptSchema } from '../task/taskRecord';
import { toMs } from '../shared/time';

/** How receipts are signed: BIP-32 keys on secp256k1, or one Ed25519 key as the Go ATLAS has it. */
export const SIGNING_SCHEMES = ['hd', 'ed25519'] as const;

/** How receipts are signed. */
export type SigningScheme = (typeof SIGNING_SCHEMES)[number];

/** The key path of the `ed25519` scheme; the Go ATLAS writes the same. */
export const ED25519_KEY_PATH = 'native-ed25519-v1';

/** Media type of the payload in a receipt's DSSE envelope. */
export const STATEMENT_MEDIA_TYPE = 'application/vnd.in-toto+json';
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const PREDICATE_TYPE = 'https://in-toto.io/attestation/test-result/v0.1';

/** The two outputs of a command. */
export type OutputStream = 'stdout' | 'stderr';

/** How a command came to its end; anything but `exit` is never a pass. */
export const COMMAND_ENDS = ['exit', 'signal', 'timeout', 'cancelled', 'not_started'] as const;

/** The text that a receipt's own signature is over; see docs/receipts.md. */
export function signingText(receipt: ValidationReceipt): string {
  const { receipt_id: id, command, exit_code: code, stdout_hash: stdout, stderr_hash: stderr } = receipt;
  return [id, command, code, stdout, stderr, Math.floor(toMs(receipt.completed_at) / 1000)].join('|');
}

/** The scheme that a key path belongs to; `undefined` for one that neither has. */
export function schemeOf(keyPath: string | undefined): SigningScheme | undefined {
  if (keyPath === ED25519_KEY_PATH) return 'ed25519';
  return keyPath?.startsWith('m/') === true ? 'hd' : undefined;
}

const treeId = z.nullable(z.string());

/** What links a receipt's statement to the one before it in the task; `sequence` counts from 1. */
const chainSchema = z.object({
  sequence: z.int().check(z.gte(1)),
  previous: z.nullable(z.object({ receipt_id: z.string(), sha256: z.string() })),
});

/** The predicate of a receipt's statement: in-toto's test-result v0.1 with what a receipt adds. */
const predicateSchema = z.looseObject({
  result: z.enum(['PASSED', 'FAILED']),
  configuration: z.array(z.looseObject({ name: z.string() })),
  /** Which repository it is, and where in it the command ran; absent in older statements and outside a repository. */
  repository: z.optional(z.looseObject({ roots: z.array(z.string()), folder: z.string() })),
  /** The check of the repository's policy that the command was run as. */
  check: z.optional(z.string()),
  /** Who ran it, where it wasn't a developer. */
  by: z.optional(z.literal('ci')),
  passedTests: z.optional(z.array(z.string())),
  failedTests: z.optional(z.array(z.string())),
  receipt: z.record(z.string(), z.unknown()),
  task: z.looseObject({ workspace_id: z.string(), task_id: z.string(), step_index: z.int() }),
  run: z.looseObject({
    argv: z.array(z.string()),
    working_directory: z.string(),
    ended: z.enum(COMMAND_ENDS),
    signal: z.optional(z.string()),
    stdout_bytes: z.int(),
    stderr_bytes: z.int(),
  }),
  tree: z.looseObject({
    /** Git tree ids of the working tree; null where git could not give one. */
    before: treeId,
    after: treeId,
    /** Files that the command changed, at most {@link MAX_CHANGED_FILES}. */
    changed: z.array(z.string()),
    changed_count: z.int(),
    head: z.nullable(z.string()),
    branch: z.nullable(z.string()),
  }),
  chain: chainSchema,
});

/** The most changed files that a statement names. */
export const MAX_CHANGED_FILES = 200;

/** An in-toto Statement v1 about one run of a validation command. */
export const statementSchema = z.looseObject({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(z.looseObject({ name: z.string(), digest: z.record(z.string(), z.string()) })),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: predicateSchema,
});

/** A statement about one run of a validation command. */
export type Statement = z.infer<typeof statementSchema>;
/** What a statement says of the run, beside the receipt. */
export type RunRecord = z.infer<typeof predicateSchema>['run'];
/** What a statement says of the files. */
export type TreeRecord = z.infer<typeof predicateSchema>['tree'];
/** Which repository a statement is about. `roots`: its commits without parents, sorted, by which clones know each other. */
export type RepositoryRecord = Readonly<NonNullable<z.infer<typeof predicateSchema>['repository']>>;
/** The link to the receipt before. */
export type ChainLink = z.infer<typeof chainSchema>;

/** A DSSE envelope as JSON; `payload` and `sig` are base64. */
export const envelopeSchema = z.looseObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.looseObject({ keyid: z.optional(z.string()), sig: z.string() })).check(z.minLength(1)),
});

/** What a statement is made from. */
export interface StatementInput {
  /** With its signature: the statement covers every field. */
  readonly receipt: ValidationReceipt;
  readonly task: { readonly workspace_id: string; readonly task_id: string; readonly step_index: number };
  readonly run: RunRecord;
  readonly tree: TreeRecord;
  readonly chain: ChainLink;
  readonly repository?: RepositoryRecord | undefined;
  readonly check?: string | undefined;
  readonly by?: 'ci' | undefined;
  /** SHA-256 (hex) of the command's UTF-8 bytes. */
  readonly commandSha256: string;
}

/**
 * Makes the statement of a receipt: in-toto Statement v1 with predicate test-result v0.1 (both from
 * https://github.com/in-toto/attestation/tree/main/spec), whose subjects are the trees before and after the run.
 */
export function makeStatement(input: StatementInput): Statement {
  const { receipt, tree, repository, check, by } = input;
  const passed = receipt.exit_code === 0 && input.run.ended === 'exit';
  const subject = (name: string, id: string | null): Statement['subject'] =>
    id === null ? [] : [{ name, digest: { gitTree: id } }];
  const subjects = [...subject('worktree before', tree.before), ...subject('worktree after', tree.after)];
  return {
    _type: STATEMENT_TYPE,
    // Without git there is no tree; the output is then what the statement is about.
    subject: subjects.length > 0 ? subjects : [{ name: 'stdout', digest: { sha256: receipt.stdout_hash } }],
    predicateType: PREDICATE_TYPE,
    predicate: {
      result: passed ? 'PASSED' : 'FAILED',
      configuration: [{ name: 'command', digest: { sha256: input.commandSha256 } }],
      [passed ? 'passedTests' : 'failedTests']: [receipt.command],
      ...defined({ repository, check, by }),
      receipt: { ...receipt },
      task: input.task,
      run: input.run,
      tree,
      chain: input.chain,
    },
  };
}

/**
 * DSSE's pre-authentication encoding, which is what an envelope's signature is over (from
 * https://github.com/secure-systems-lab/dsse/blob/master/protocol.md).
 */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const encoder = new TextEncoder();
  const type = encoder.encode(payloadType);
  const head = encoder.encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `);
  const encoded = new Uint8Array(head.length + payload.length);
  encoded.set(head);
  encoded.set(payload, head.length);
  return encoded;
}

/** A field in which a receipt and its signed statement differ. */
export interface FieldDifference {
  readonly field: string;
  /** As the statement has it. */
  readonly expected: string;
  /** As the receipt in hook.json has it. */
  readonly found: string;
}

/** The fields in which a receipt differs from the one that its statement was signed with. */
export function compareWithStatement(receipt: ValidationReceipt, statement: Statement): FieldDifference[] {
  const parsed = validationReceiptSchema.safeParse(statement.predicate.receipt);
  const signed: Readonly<Record<string, unknown>> = parsed.success ? parsed.data : statement.predicate.receipt;
  const found: Readonly<Record<string, unknown>> = receipt;
  const fields = new Set([...Object.keys(signed), ...Object.keys(found)]);
  return [...fields].flatMap((field) => {
    const [a, b] = [shown(signed, field), shown(found, field)];
    return a === b ? [] : [{ field, expected: a, found: b }];
  });
}

function shown(record: Readonly<Record<string, unknown>>, field: string): string {
  const value = Object.hasOwn(record, field) ? record[field] : undefined;
  if (value === undefined) return '(absent)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What verification says of a receipt as a whole. */
export const VERDICTS = ['valid', 'valid_short', 'invalid', 'unsigned', 'unknown_key'] as const;

/**
 * What verification says of a receipt as a whole. `valid_short`: only the text's signature is good and there never was
 * a statement, as with receipts of other programs.
 */
export type Verdict = (typeof VERDICTS)[number];

/** What is looked at, in this order. */
export const RECEIPT_CHECKS = [
  'signed',
  'form',
  'envelope',
  'key',
  'signature',
  'statement_signature',
  'fields',
  'place',
  'chain',
] as const;

/** One thing that was looked at; `expected` and `found` where they differ. */
export interface ReceiptCheck {
  readonly check: (typeof RECEIPT_CHECKS)[number];
  readonly passed: boolean;
  /** A sentence for people. */
  readonly message: string;
  readonly expected?: string;
  readonly found?: string;
  /** For `fields`: each that differs. */
  readonly differences?: readonly FieldDifference[];
}

/** Everything that verification found out about a receipt. */
export interface ReceiptReport {
  readonly receiptId: string;
  readonly verdict: Verdict;
  /** In order; after a failed one the rest may be missing, since it would say nothing. */
  readonly checks: readonly ReceiptCheck[];
  readonly scheme: SigningScheme | undefined;
  readonly keyPath: string | undefined;
  /** Hex of the key that the signatures were checked with. */
  readonly publicKey: string | undefined;
  /** The text that the receipt's own signature is over, and its SHA-256 in hex. */
  readonly text: string;
  readonly digest: string;
  /** The statement, once its signature was found to be good. */
  readonly statement: Statement | undefined;
}

/** Whether a receipt's proof covers the present files. */
export type Freshness =
  | { readonly kind: 'current' }
  | { readonly kind: 'outdated'; readonly files: readonly string[]; readonly more: number }
  /** It isn't known: no git, no tree recorded, or the folder is gone. */
  | { readonly kind: 'unknown'; readonly why: string };

/** What was recorded when a receipt was added: its envelope's digest, and how many receipts the task then had. */
export interface RecordedReceipt {
  readonly receiptId: string;
  readonly envelopeSha256: string;
  readonly sequence: number;
}

/** The receipts whose statements were recorded in a history, in order. */
export function recordedReceipts(history: TaskRecord['history']): RecordedReceipt[] {
  return eventsOf(history, 'receipt').flatMap(({ details }) => {
    const { receipt_id: id, envelope_sha256: sha, chain_count: count } = details;
    if (id === undefined || sha === undefined || count === undefined) return [];
    return [{ receiptId: id, envelopeSha256: sha, sequence: count }];
  });
}

/** What the next receipt of a task is made with. */
export interface ReceiptPlace {
  /** Which of the task's keys signs it; no two runs get the same. */
  readonly index: number;
  readonly link: ChainLink;
}

/** The key and the place in the chain that the next receipt of a task gets. */
export function nextPlace(hook: TaskRecord): ReceiptPlace {
  const used = eventsOf(hook.history, 'validation_command').flatMap(({ details }) => details.index ?? []);
  const recorded = recordedReceipts(hook.history);
  const last = recorded.at(-1);
  const previous = last === undefined ? null : { receipt_id: last.receiptId, sha256: last.envelopeSha256 };
  return { index: used.reduce((a, b) => Math.max(a, b), -1) + 1, link: { sequence: recorded.length + 1, previous } };
}
