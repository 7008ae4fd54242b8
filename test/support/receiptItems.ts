import type { ValidationReceipt } from '../../src/core/hook';
import {
  type Currency,
  type ReceiptCheck,
  type ReceiptReport,
  type Verdict,
  makeStatement,
  signingText,
} from '../../src/core/receipt';
import { toTimestamp } from '../../src/core/time';
import type { ReceiptItem, ReceiptsPanelData } from '../../src/extension/panels/receiptsPanelSource';

const START = Date.UTC(2026, 0, 17, 14, 30, 22);
const MINUTE = 60_000;

/** How a receipt of {@link receiptItem} differs from a valid one of a command that passed. */
export interface ReceiptLook {
  readonly receipt?: Partial<ValidationReceipt>;
  /** `unchecked`: there is no report. */
  readonly verdict?: Verdict | 'unchecked';
  readonly checks?: readonly ReceiptCheck[];
  readonly currency?: Currency | undefined;
  readonly kept?: Partial<ReceiptItem['kept']>;
  readonly changed?: readonly string[];
}

const passed = (check: ReceiptCheck['check'], message: string): ReceiptCheck => ({ check, passed: true, message });

const SIGNED = passed('signed', 'The receipt carries a signature.');
const FORM = passed('form', 'Its fields are well formed.');
const ENVELOPE = passed('envelope', 'Its statement is there and is the one that was recorded.');
const KEY = passed('key', 'The key is one of yours.');
const SIGNATURE = passed('signature', 'The signature is good.');

/** What verification looked at for each verdict. */
const CHECKS: Readonly<Record<Verdict, readonly ReceiptCheck[]>> = {
  valid: [
    ...[SIGNED, FORM, ENVELOPE, KEY, SIGNATURE],
    passed('statement_signature', "The statement's signature is good."),
    passed('fields', 'All fields agree with the statement.'),
    passed('place', 'It belongs to this task and step.'),
    passed('chain', 'It follows the receipt before it.'),
  ],
  valid_short: [SIGNED, FORM, KEY, SIGNATURE],
  invalid: [
    ...[SIGNED, FORM, ENVELOPE, KEY],
    {
      check: 'signature',
      passed: false,
      message: 'The signature does not fit the receipt.',
      expected: 'npm test',
      found: 'npm test -- --bail',
    },
  ],
  unsigned: [{ check: 'signed', passed: false, message: 'The receipt has no signature.' }],
  unknown_key: [SIGNED, FORM, { check: 'key', passed: false, message: 'The key is not one of yours.' }],
};

/** Receipt number `index` of a task, with what a panel is told about it. */
export function receiptItem(index: number, look: ReceiptLook = {}): ReceiptItem {
  const verdict = look.verdict ?? 'valid';
  const hex = (index + 1).toString(16).padStart(8, '0');
  const receipt: ValidationReceipt = {
    receipt_id: `rcpt-${hex}`,
    step_name: 'implement',
    attempt: 1,
    command: 'npm test',
    exit_code: 0,
    started_at: toTimestamp(START + index * MINUTE),
    completed_at: toTimestamp(START + index * MINUTE + 12_300),
    duration: '12.3s',
    stdout_hash: 'a1b2c3d4'.repeat(8),
    stderr_hash: 'e3b0c442'.repeat(8),
    key_path: `m/44'/236'/0'/0/${index}`,
    signature: verdict === 'unsigned' ? '' : `3044${hex.repeat(17)}`,
    ...look.receipt,
  };
  return {
    receipt,
    report: verdict === 'unchecked' ? undefined : reportOf(receipt, verdict, index, look),
    currency: 'currency' in look ? look.currency : { kind: 'current' },
    kept: { stdout: true, stderr: true, ...look.kept },
  };
}

function reportOf(receipt: ValidationReceipt, verdict: Verdict, index: number, look: ReceiptLook): ReceiptReport {
  const changed = look.changed ?? [];
  const statement = makeStatement({
    receipt,
    task: { workspace_id: 'parser', task_id: 'task-20260117-143022', step_index: 1 },
    run: {
      argv: ['npm', 'test'],
      working_directory: '/home/dev/parser',
      ended: receipt.exit_code > 128 ? 'timeout' : 'exit',
      stdout_bytes: 1234,
      stderr_bytes: 0,
    },
    tree: {
      before: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
      after:
        changed.length === 0 ? '4b825dc642cb6eb9a060e54bf8d69288fbee4904' : '9daeafb9864cf43055ae93beb0afd6c7d144bfa4',
      changed: [...changed],
      changed_count: changed.length,
      head: '0123456789abcdef0123456789abcdef01234567',
      branch: 'fix/null-pointer',
    },
    chain: { sequence: index + 1, previous: null },
    commandSha256: '5e884898'.repeat(8),
  });
  const known = verdict === 'valid' || verdict === 'valid_short' || verdict === 'invalid';
  return {
    receiptId: receipt.receipt_id,
    verdict,
    checks: look.checks ?? CHECKS[verdict],
    scheme: 'hd',
    keyPath: receipt.key_path,
    publicKey: known ? `02${'79be667e'.repeat(8)}` : undefined,
    text: signingText(receipt),
    digest: 'f1d2d2f9'.repeat(8),
    statement: verdict === 'valid' || (verdict === 'invalid' && look.checks !== undefined) ? statement : undefined,
  };
}

/** What a receipts panel is made from. */
export function receiptsData(items: readonly ReceiptItem[], more: Partial<ReceiptsPanelData> = {}): ReceiptsPanelData {
  return {
    task: { title: 'Fix the null pointer in the config parser', workspace: 'parser', id: 'task-20260117-143022' },
    items,
    keys: '/home/dev/.atlas/keys/receipts.pub.json',
    checking: false,
    ...more,
  };
}

/** One receipt of each kind that there is. */
export function assortedReceipts(): ReceiptItem[] {
  return [
    receiptItem(0, { receipt: { step_name: 'analyze', command: 'npm run lint' }, verdict: 'valid_short' }),
    receiptItem(1, { verdict: 'unsigned', currency: { kind: 'unknown', why: 'The folder is not a git repository.' } }),
    receiptItem(2, { verdict: 'unknown_key', receipt: { command: 'go test ./...' } }),
    receiptItem(3, {
      verdict: 'invalid',
      receipt: { exit_code: 0, command: 'npm test -- --bail', attempt: 2 },
      checks: [
        ...[SIGNED, FORM, ENVELOPE, KEY, SIGNATURE],
        {
          check: 'fields',
          passed: false,
          message: '2 fields differ from the signed statement.',
          differences: [
            { field: 'exit_code', expected: '1', found: '0' },
            { field: 'command', expected: 'npm test', found: 'npm test -- --bail' },
          ],
        },
      ],
    }),
    receiptItem(4, { receipt: { exit_code: 1, attempt: 2 }, changed: ['coverage/index.html', 'package-lock.json'] }),
    receiptItem(5, { verdict: 'unchecked', currency: undefined, kept: { stdout: false, stderr: false } }),
    receiptItem(6, {
      receipt: {
        attempt: 3,
        command:
          'npx vitest run --project unit --reporter verbose test/unit/configParser.test.ts test/unit/server.test.ts',
      },
      currency: { kind: 'outdated', files: ['config/parser.go', 'config/parser_test.go'], more: 1 },
    }),
    receiptItem(7, { receipt: { attempt: 3, duration: '2m5s' }, kept: { stderr: false } }),
  ];
}
