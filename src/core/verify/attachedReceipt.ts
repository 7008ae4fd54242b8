import type { Statement } from '../receipt/receipt';
import { validationReceiptSchema } from '../task/taskRecord';

/** What a statement that travelled with a commit says, once it could be read. Nothing of it is believed yet. */
export interface AttachedReceipt {
  /** SHA-256 of the envelope, by which statements are told apart. */
  readonly digest: string;
  readonly receiptId: string;
  readonly keyId: string | undefined;
  readonly keyPath: string | undefined;
  readonly command: string;
  /** The trees before and after the run; `null` where git could not say. */
  readonly before: string | null;
  readonly after: string | null;
  /** Absent in statements of older versions. */
  readonly repository: { readonly roots: readonly string[]; readonly folder: string } | undefined;
  readonly check: string | undefined;
  readonly isByCi: boolean;
  readonly passed: boolean;
  readonly exitCode: number;
  readonly ended: string;
  readonly completedAt: string;
  readonly branch: string | null;
}

/** What a statement says of its run; `undefined` where its parts contradict each other. */
export function attachedReceipt(
  statement: Statement,
  digest: string,
  keyId: string | undefined,
): AttachedReceipt | undefined {
  const { predicate, subject } = statement;
  const receipt = validationReceiptSchema.safeParse(predicate.receipt);
  if (!receipt.success) return undefined;
  const { command, exit_code: exitCode, key_path: keyPath, completed_at: completedAt } = receipt.data;
  const { tree, run, repository, check, by, result } = predicate;
  const named = subject.flatMap(({ digest: of }) => of['gitTree'] ?? []);
  const stated = [tree.before, tree.after].filter((id) => id !== null);
  if (named.join() !== stated.join()) return undefined;
  const passed = exitCode === 0 && run.ended === 'exit';
  if (passed !== (result === 'PASSED')) return undefined;
  return {
    digest,
    receiptId: receipt.data.receipt_id,
    keyId,
    keyPath,
    command,
    before: tree.before,
    after: tree.after,
    repository,
    check,
    isByCi: by === 'ci',
    passed,
    exitCode,
    ended: run.ended,
    completedAt,
    branch: tree.branch,
  };
}

/** An absolute path, as a program or a person may write one: `/home/ana`, `C:\Users`, `\\server`, `~/x`, `file:///x`. */
const ABSOLUTE = /(?:^|[\s"'`=(;,|&<>@[{]|:(?!\/\/))(?:\/{1,3}[\w.~$%+-]|~\/|[A-Za-z]:[\\/](?!\/)|\\\\\w)|file:\/\//iu;

/** The first text in a value, however deep, that holds an absolute path. */
export function absolutePathIn(value: unknown): string | undefined {
  if (typeof value === 'string') return ABSOLUTE.test(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = absolutePathIn(key) ?? absolutePathIn(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
