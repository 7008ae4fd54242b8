import type { ValidationReceipt } from '../../../core/task/taskRecord';
import type { Freshness, ReceiptReport, Verdict } from '../../../core/receipt/receipt';
import { failedCheck, provesPass } from '../../../core/receipt/receiptReport';
import { count, oneLine } from '../../../core/shared/text';
import type { BundledReceiptData, ReceiptData } from '../schemas';
import { countVerdicts, describeVerdicts } from '../task/status';

/** The most of a text from outside that is shown, in characters. */
export const MAX_TEXT = 1000;

const WORDS: Readonly<Record<Verdict, string>> = {
  valid: 'VALID ✓',
  valid_short: 'valid, short',
  invalid: 'INVALID',
  unsigned: 'UNSIGNED',
  unknown_key: 'UNKNOWN KEY',
};

/** What a receipt without a statement is worth, wherever it is shown. */
const SHORT_PROVES = [
  'The signature covers the command, its exit code, its output and the time. There is no signed statement.',
  'It does not prove which files the command ran on, which step or task it belongs to, or that no receipt is missing.',
];

/** `2 receipts: 1 passed, 1 failed; 2 valid.` How the commands ended and what their receipts are worth are two things. */
export function summaryOf(
  judged: readonly { readonly receipt: ValidationReceipt; readonly report: ReceiptReport }[],
): string {
  const failed = judged.filter(({ receipt }) => receipt.exit_code !== 0).length;
  const passed = judged.length - failed;
  const results = [passed > 0 ? `${passed} passed` : '', failed > 0 ? `${failed} failed` : ''].filter(
    (part) => part !== '',
  );
  const verdicts = describeVerdicts(countVerdicts(judged.map(({ report }) => report.verdict)));
  return `${count(judged.length, 'receipt')}: ${results.join(', ')}; ${verdicts}.`;
}

/**
 * What is said of a receipt; all of it that others wrote is made plain first.
 * @param signer what is known of who signed a valid one
 */
export function describeReceipt(
  receipt: ValidationReceipt,
  report: ReceiptReport,
  signer: readonly string[] = [],
): string[] {
  const attempt = (receipt.attempt ?? 1) === 1 ? '' : ` (attempt ${receipt.attempt ?? 1})`;
  return [
    line('Receipt', receipt.receipt_id),
    line('Step', `${receipt.step_name}${attempt}`),
    line('Command', receipt.command),
    line('Exit Code', String(receipt.exit_code)),
    line('Key Path', receipt.key_path ?? '(none)'),
    ...describeVerdict(receipt, report, signer),
  ];
}

function describeVerdict(receipt: ValidationReceipt, report: ReceiptReport, signer: readonly string[]): string[] {
  const word = WORDS[report.verdict];
  switch (report.verdict) {
    case 'valid': {
      if (provesPass(report, receipt)) {
        return [line('Signature', word), '', ...signer, 'The validation command ran and completed successfully.'];
      }
      const ended = report.statement?.predicate.run.ended ?? 'exit';
      const how = ended === 'exit' ? `it exited with code ${receipt.exit_code}` : `it was stopped (${ended})`;
      return [
        line('Signature', 'VALID (the command FAILED)'),
        '',
        ...signer,
        `The validation command ran and FAILED: ${how}.`,
      ];
    }
    case 'valid_short': {
      const failed = receipt.exit_code === 0 ? '' : ' (the command FAILED)';
      return [line('Signature', `${word}${failed}`), '', ...SHORT_PROVES];
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

/** What JSON says of a receipt, as far as its own files tell. */
export function bundledData(receipt: ValidationReceipt, report: ReceiptReport): BundledReceiptData {
  const { receipt_id: id, step_name: step, attempt, command, exit_code: exitCode } = receipt;
  return {
    receipt_id: id,
    step_name: step,
    attempt: attempt ?? null,
    command,
    exit_code: exitCode,
    verdict: report.verdict,
    proves_pass: provesPass(report, receipt),
    scheme: report.scheme ?? null,
    key_path: report.keyPath ?? null,
    public_key: report.publicKey ?? null,
    failed_check: failedCheck(report)?.check ?? null,
    checks: report.checks.map(({ differences, ...check }) => ({
      ...check,
      ...(differences === undefined ? {} : { differences: [...differences] }),
    })),
  };
}

/** What JSON says of a receipt of this store. */
export function receiptData(
  receipt: ValidationReceipt,
  report: ReceiptReport,
  currency: Freshness | undefined,
  accepted: string | undefined,
): ReceiptData {
  return {
    ...bundledData(receipt, report),
    duration: receipt.duration,
    completed_at: receipt.completed_at,
    current: currency === undefined || currency.kind === 'unknown' ? null : currency.kind === 'current',
    changed_files: currency?.kind === 'outdated' ? [...currency.files] : [],
    accepted_despite: accepted ?? null,
  };
}

/** Whether the files are still those that a receipt was made on, in words. */
export function describeCurrency(currency: Freshness | undefined): string {
  switch (currency?.kind) {
    case undefined:
      return 'unknown';
    case 'current':
      return 'current';
    case 'unknown':
      return `unknown: ${oneLine(currency.why, 300)}`;
    case 'outdated': {
      const files = currency.files.map((file) => oneLine(file, 200)).join(', ');
      const more = currency.more === 0 ? '' : ` and ${currency.more} more`;
      return `OUTDATED: files changed since the run${files === '' ? '' : `: ${files}${more}`}`;
    }
  }
}
