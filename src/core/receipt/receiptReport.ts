import type { ValidationReceipt } from '../task/taskRecord';
import type { ReceiptCheck, ReceiptReport } from './receipt';

/** The first check that failed, in words; `undefined` for a receipt that has none. */
export function failedCheck(report: ReceiptReport): ReceiptCheck | undefined {
  return report.checks.find((check) => !check.passed);
}

/** Whether a receipt proves that its command passed: verified with its statement, and the command ended with 0. */
export function provesPass(report: ReceiptReport | undefined, receipt: ValidationReceipt): boolean {
  return report?.verdict === 'valid' && receipt.exit_code === 0 && report.statement?.predicate.result === 'PASSED';
}
