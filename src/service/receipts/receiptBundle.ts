import * as z from 'zod/mini';
import { type Result, fail, messageOf, ok } from '../../core/shared/errors';
import {
  type TaskRecord,
  type ValidationReceipt,
  recordedEventSchema,
  validationReceiptSchema,
} from '../../core/task/taskRecord';
import { accountsOf } from '../../core/receipt/keyPath';
import { listOf } from '../../core/task/fields';
import type { Clock } from '../../core/shared/ports';
import { type ReceiptReport, type Verdict, recordedReceipts } from '../../core/receipt/receipt';
import { toTimestamp } from '../../core/shared/time';
import { type PublicKeyEntry, openPublicKeys, parsePublicKeys } from '../../signing/publicKeys';
import { chooseSecp256k1 } from '../../signing/secp256k1';
import { SignatureVerifier } from '../../signing/signatureVerifier';
import { ReceiptVerifier } from '../../signing/verdict';
import type { StoredTask } from '../../core/task/storedTask';
import type { ReceiptService } from './receiptService';

const FORMAT = 'atlas-receipts';
const VERSION = '1.0';

/** A bundle: all that a verdict is made from, and nothing secret. */
const bundleSchema = z.looseObject({
  format: z.literal(FORMAT),
  schema_version: z.string(),
  exported_at: z.string(),
  task: z.looseObject({ workspace_id: z.string(), task_id: z.string(), description: z._default(z.string(), '') }),
  keys: z.array(z.unknown()),
  receipts: listOf(validationReceiptSchema),
  history: listOf(recordedEventSchema),
  /** What the journal recorded of the receipts, in order. */
  chain: z.array(z.object({ receiptId: z.string(), envelopeSha256: z.string(), sequence: z.int() })),
  /** Whether the journal could not be followed any more; the history says then what was recorded. */
  chain_broken: z._default(z.boolean(), false),
  /** The envelopes' files as they are, by receipt id. */
  envelopes: z.record(z.string(), z.string()),
});

/** What checking a bundle found. */
export interface BundleReport {
  readonly workspaceId: string;
  readonly taskId: string;
  readonly description: string;
  readonly receipts: readonly ValidationReceipt[];
  /** One for each of the receipts, in their order. */
  readonly reports: readonly ReceiptReport[];
  /** The public keys that were used, by their ids: whoever trusts the bundle trusts that these are the signer's. */
  readonly keyIds: readonly string[];
  /** Whether every receipt is valid; with `allowShort`, one that is valid and short counts too. */
  readonly passed: boolean;
}

/** Makes a bundle of a task's receipts: statements, public keys, hook history. */
export async function exportBundle(service: ReceiptService, clock: Clock, task: StoredTask): Promise<Result<string>> {
  const { ref, hook } = task;
  const keys = await service.publicKeys(accountsOf(hook.receipts));
  if (!keys.ok) return keys;
  const { chain, journalBroken } = service.recorded(task);
  const envelopes: Record<string, string> = {};
  for (const { receipt_id: id } of hook.receipts) {
    const bytes = service.files.envelope(ref, id);
    if (bytes !== undefined) envelopes[id] = Buffer.from(bytes).toString('utf8');
  }
  const bundle = {
    format: FORMAT,
    schema_version: VERSION,
    exported_at: toTimestamp(clock.now()),
    task: { workspace_id: ref.workspace, task_id: ref.id, description: task.task.description },
    keys: keys.value,
    receipts: hook.receipts,
    history: hook.history,
    chain,
    ...(journalBroken ? { chain_broken: true } : {}),
    envelopes,
  };
  return ok(`${JSON.stringify(bundle, null, 2)}\n`);
}

/**
 * Checks a bundle. Needs neither a store nor a private key; works on a machine that has never seen the task.
 * @param trusted the keys to check with, where the bundle's own are not to be taken on trust
 * @param allowShort whether a receipt without a statement, which no key of ours makes, is enough
 */
export async function verifyBundle(
  text: string,
  trusted?: readonly PublicKeyEntry[],
  allowShort = false,
): Promise<Result<BundleReport>> {
  const bundle = parseBundle(text);
  if (!bundle.ok) return bundle;
  const stated = parsePublicKeys(JSON.stringify({ schema_version: VERSION, keys: bundle.value.keys }));
  if (!stated.ok) return stated;
  const keys = await openPublicKeys(trusted ?? stated.value);
  if (!keys.ok) return keys;
  const { task, receipts, history, chain, chain_broken: journalBroken, envelopes } = bundle.value;
  const curve = await chooseSecp256k1();
  const judge = new ReceiptVerifier(new SignatureVerifier(keys.value, () => curve));
  const hook: Pick<TaskRecord, 'receipts' | 'history'> = { receipts, history };
  const facts = {
    workspaceId: task.workspace_id,
    taskId: task.task_id,
    hook,
    // A chain that was cut to fit is shorter than what the history tells.
    recorded: chain.length >= recordedReceipts(history).length ? chain : recordedReceipts(history),
    journalBroken,
    envelope: (id: string) => (Object.hasOwn(envelopes, id) ? Buffer.from(envelopes[id] ?? '', 'utf8') : undefined),
  };
  const recordedChain = judge.chain(facts);
  const reports = receipts.map((receipt) => judge.judge(facts, receipt, recordedChain));
  return ok({
    workspaceId: task.workspace_id,
    taskId: task.task_id,
    description: task.description,
    receipts,
    reports,
    keyIds: keys.value.map(({ keyId }) => keyId),
    passed: reports.length > 0 && reports.every(({ verdict }) => isGood(verdict, allowShort)),
  });
}

/** Whether a verdict is enough for success; a short one only where that was asked for. */
export function isGood(verdict: Verdict, allowShort: boolean): boolean {
  return verdict === 'valid' || (allowShort && verdict === 'valid_short');
}

function parseBundle(text: string): Result<z.infer<typeof bundleSchema>> {
  const hint = 'Export the receipts again and use the file unchanged.';
  try {
    const parsed = bundleSchema.safeParse(JSON.parse(text));
    if (parsed.success) return ok(parsed.data);
    const issue = parsed.error.issues[0];
    return fail(
      'verification_failed',
      `This is not a bundle of receipts: invalid at "${issue?.path.join('.') ?? ''}".`,
      {
        hint,
      },
    );
  } catch (error) {
    return fail('verification_failed', `This is not a bundle of receipts: ${messageOf(error)}`, { hint });
  }
}
