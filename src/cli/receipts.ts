import { AtlasError, type Result, fail, messageOf, ok } from '../core/errors';
import type { ValidationReceipt } from '../core/hook';
import { type ReceiptReport, VERDICTS, type Verdict, failedCheck, provesPass } from '../core/receipt';
import { count, oneLine } from '../core/text';
import { type BundleReport, verifyBundle } from '../service/receiptBundle';
import { type PublicKeyEntry, parsePublicKeys } from '../signing/publicKeys';
import { codeOf } from '../storage/fileErrors';
import { NodeFileSystem } from '../storage/nodeFileSystem';
import type { Call } from './commandLine';
import { type Answer, EXIT } from './output';

const MAX_BUNDLE_BYTES = 256 * 1024 * 1024;
const MAX_KEYS_BYTES = 1024 * 1024;
const MAX_TEXT = 1000;

/** `receipts verify`: checks every receipt of a bundle. */
export async function verify({ operands: [file = ''], options }: Call): Promise<Result<Answer>> {
  const bundle = readText(file, MAX_BUNDLE_BYTES);
  if (!bundle.ok) return bundle;
  const keyFile = options['keys'];
  const trusted = keyFile === undefined ? ok(undefined) : readKeys(keyFile);
  if (!trusted.ok) return trusted;
  const verified = await verifyBundle(bundle.value, trusted.value);
  if (verified.ok) return ok(answerOf(verified.value, keyFile));
  const { code, message, mend } = verified.error;
  // Keys in a bundle that are none are as wrong as any other part of it.
  const error = new AtlasError(code.startsWith('key_') ? 'verification_failed' : code, message, {
    cause: verified.error,
    ...(mend === undefined ? {} : { mend }),
  });
  return { ok: false, error };
}

function readText(file: string, maxBytes: number): Result<string> {
  try {
    return ok(Buffer.from(new NodeFileSystem().read(file, maxBytes)).toString('utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return fail('not_found', `There is no file ${file}.`);
    return fail('unreadable', `${file} can't be read: ${messageOf(error)}`, { cause: error });
  }
}

function readKeys(file: string): Result<PublicKeyEntry[]> {
  const text = readText(file, MAX_KEYS_BYTES);
  return text.ok ? parsePublicKeys(text.value) : text;
}

function answerOf(bundle: BundleReport, keyFile: string | undefined): Answer {
  const judged = bundle.receipts.flatMap((receipt, at) => {
    const report = bundle.reports[at];
    return report === undefined ? [] : [{ receipt, report }];
  });
  const summary = summaryOf(bundle.reports);
  const sections = judged.map(({ receipt, report }) => [...describe(receipt, report), ''].join('\n'));
  const data = {
    task: { workspace_id: bundle.workspaceId, task_id: bundle.taskId, description: bundle.description },
    keys: { source: keyFile === undefined ? 'bundle' : 'file', key_ids: bundle.keyIds },
    summary: Object.fromEntries(VERDICTS.map((verdict) => [verdict, countOf(bundle.reports, verdict)])),
    receipts: judged.map(({ receipt, report }) => receiptData(receipt, report)),
  };
  const text = [...sections, summary, ...describeKeys(bundle.keyIds, keyFile), ''].join('\n');
  if (bundle.passed) return { exit: EXIT.done, text, data };
  return { exit: EXIT.notVerified, text, data, error: new AtlasError('verification_failed', summary) };
}

const WORDS: Readonly<Record<Verdict, string>> = {
  valid: 'VALID ✓',
  valid_short: 'valid, short',
  invalid: 'INVALID',
  unsigned: 'UNSIGNED',
  unknown_key: 'UNKNOWN KEY',
};

function countOf(reports: readonly ReceiptReport[], verdict: Verdict): number {
  return reports.filter((report) => report.verdict === verdict).length;
}

function summaryOf(reports: readonly ReceiptReport[]): string {
  if (reports.length === 0) return 'The bundle holds no receipts, so it proves nothing.';
  const parts = VERDICTS.flatMap((verdict) => {
    const number = countOf(reports, verdict);
    return number === 0 ? [] : [`${number} ${verdict === 'valid_short' ? 'valid (short)' : verdict.replace('_', ' ')}`];
  });
  return `${count(reports.length, 'receipt')}: ${parts.join(', ')}.`;
}

/** What is said of a receipt; all of it that the bundle says is made plain first. */
function describe(receipt: ValidationReceipt, report: ReceiptReport): string[] {
  const attempt = (receipt.attempt ?? 1) === 1 ? '' : ` (attempt ${receipt.attempt ?? 1})`;
  return [
    line('Receipt', receipt.receipt_id),
    line('Step', `${receipt.step_name}${attempt}`),
    line('Command', receipt.command),
    line('Exit Code', String(receipt.exit_code)),
    line('Key Path', receipt.key_path ?? '(none)'),
    ...describeVerdict(receipt, report),
  ];
}

function describeVerdict(receipt: ValidationReceipt, report: ReceiptReport): string[] {
  const word = WORDS[report.verdict];
  switch (report.verdict) {
    case 'valid': {
      if (provesPass(report, receipt)) {
        return [line('Signature', word), '', 'The validation command ran and completed successfully.'];
      }
      const ended = report.statement?.predicate.run.ended ?? 'exit';
      const how = ended === 'exit' ? `it ended with exit code ${receipt.exit_code}` : `how it ended: ${ended}`;
      return [line('Signature', `${word} (the command FAILED)`), '', `The validation command ran and FAILED: ${how}.`];
    }
    case 'valid_short': {
      const failed = receipt.exit_code === 0 ? '' : ' (the command FAILED)';
      return [line('Signature', `${word}${failed}`), '', 'Its text is signed; nothing says what the files were.'];
    }
    case 'invalid':
    case 'unsigned':
    case 'unknown_key':
      return [line('Signature', word), ...describeFailure(report)];
  }
}

function describeFailure(report: ReceiptReport): string[] {
  const failed = failedCheck(report);
  if (failed === undefined) return [];
  const { check, message, expected, found, differences } = failed;
  const each = differences ?? [{ field: '', expected, found }];
  return [
    line('Failed Check', check),
    `  ${oneLine(message, MAX_TEXT)}`,
    ...each.flatMap((difference) => {
      const field = difference.field === '' ? '' : ` ${difference.field}`;
      return [
        ...(difference.expected === undefined ? [] : [`  ${line(`Expected${field}`, difference.expected)}`]),
        ...(difference.found === undefined ? [] : [`  ${line(`Found${field}`, difference.found)}`]),
      ];
    }),
  ];
}

function line(name: string, value: string): string {
  return `${oneLine(name)}: ${oneLine(value, MAX_TEXT)}`;
}

function describeKeys(keyIds: readonly string[], keyFile: string | undefined): string[] {
  const source =
    keyFile === undefined
      ? "Public keys, from the bundle itself: compare them with the signer's, or give those with --keys."
      : `Public keys, from ${oneLine(keyFile, MAX_TEXT)}:`;
  return [source, ...keyIds.map((id) => `  ${oneLine(id)}`)];
}

function receiptData(receipt: ValidationReceipt, report: ReceiptReport): Record<string, unknown> {
  const { receipt_id: id, step_name: step, attempt, command, exit_code: exitCode } = receipt;
  return {
    receipt_id: id,
    step_name: step,
    attempt: attempt ?? null,
    command,
    exit_code: exitCode,
    verdict: report.verdict,
    /** Whether it proves that its command passed. */
    proves_pass: provesPass(report, receipt),
    scheme: report.scheme ?? null,
    key_path: report.keyPath ?? null,
    public_key: report.publicKey ?? null,
    failed_check: failedCheck(report)?.check ?? null,
    checks: report.checks,
  };
}
