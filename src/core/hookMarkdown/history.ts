import { acceptedFailures, acceptedReceipts } from '../task/acceptedFailure';
import { eventsOf } from '../history/historyEvent';
import type { TaskRecord, ValidationReceipt } from '../task/taskRecord';
import type { TaskStep } from '../task/task';
import { formatDuration, toMs } from '../shared/time';
import { block, code, codeCell, flat, prose, table } from './escape';
import { type HookView, type ReceiptVerdict } from './view';
import { utc } from './utc';

const MAX_CHECKPOINTS = 20;
const MAX_RECEIPTS = 20;
const MAX_RECEIPTS_IN_CELL = 3;

/** `## Completed Steps (DO NOT REPEAT)`. */
export function completedSteps(view: HookView): string {
  const rows = view.task.steps.flatMap((step, index) =>
    step.status === 'completed' || step.status === 'skipped' ? [completedRow(view, step, index)] : [],
  );
  return [
    '## Completed Steps (DO NOT REPEAT)',
    rows.length === 0 ? 'None yet.' : table(['Step', 'Status', 'Attempts', 'Duration', 'Receipts'], rows),
    ...summaries(view),
  ].join('\n\n');
}

/** What each step that is over came to, in full. */
function summaries({ hook, task }: HookView): string[] {
  const newest = new Map<number, string>();
  for (const { details } of eventsOf(hook.history, 'step_output', 'step_complete', 'validate_pass')) {
    if (details.step_index !== undefined && details.summary !== undefined)
      newest.set(details.step_index, details.summary);
  }
  return task.steps.flatMap((step, index) => {
    const summary = newest.get(index);
    const isOver = step.status === 'completed' || step.status === 'skipped';
    if (!isOver || summary === undefined) return [];
    return [`### Result of Step ${index + 1}, ${code(step.name, 64)}`, block(summary)];
  });
}

/** The receipts whose verdicts HOOK.md may show: the newest, and the newest of each step. */
export function receiptsShown({ receipts }: Pick<TaskRecord, 'receipts'>): ReadonlySet<ValidationReceipt> {
  const shown = new Set(receipts.slice(-MAX_RECEIPTS));
  for (const step of new Set(receipts.map(({ step_name: name }) => name)))
    for (const each of receiptsOf(receipts, step).slice(-MAX_RECEIPTS_IN_CELL)) shown.add(each);
  return shown;
}

function receiptsOf(receipts: readonly ValidationReceipt[], step: string): readonly ValidationReceipt[] {
  return receipts.filter((receipt) => receipt.step_name === step);
}

function completedRow(view: HookView, step: TaskStep, index: number): string[] {
  const took = view.task.step_results.findLast((result) => result.step_index === index)?.duration_ms;
  const own = receiptsOf(view.hook.receipts, step.name);
  const shown = own.slice(-MAX_RECEIPTS_IN_CELL).map((receipt) => receiptMark(view, receipt));
  const more = own.length - shown.length;
  return [
    `${index + 1}. ${prose(step.name, 64)}`,
    statusOf(view, step, index),
    step.attempts === 0 ? '–' : String(step.attempts),
    took === undefined || took === 0 ? '–' : formatDuration(took),
    own.length === 0 ? '–' : `${shown.join(', ')}${more > 0 ? ` and ${more} earlier` : ''}`,
  ];
}

function statusOf({ hook }: HookView, step: TaskStep, index: number): string {
  if (step.status === 'skipped') return '⏭️ Done before an interruption';
  const accepted = acceptedFailures(hook).get(index);
  if (accepted !== undefined)
    return `⚠️ Accepted with a failed check${accepted.reason === '' ? '' : `: ${prose(accepted.reason)}`}`;
  const ended = eventsOf(hook.history, 'step_complete').findLast(({ details }) => details.step_index === index);
  const why = ended?.details.nothing_to_do;
  return why === undefined ? '✅ Completed' : `➖ Nothing to do: ${prose(why)}`;
}

/** A receipt with its verdict; a tick only for one that was verified and passed. */
function receiptMark({ verdicts }: HookView, receipt: ValidationReceipt): string {
  const known = verdicts.get(receipt.receipt_id);
  const id = codeCell(receipt.receipt_id, 64);
  const failed = receipt.exit_code === 0 ? '' : `, exit code ${receipt.exit_code}`;
  if (known?.verdict === 'valid' && failed === '') return `${id} ✓`;
  return `${id} (${shortVerdict(known)}${failed})`;
}

const SHORT_VERDICTS: Readonly<Record<ReceiptVerdict['verdict'], string>> = {
  valid: 'valid',
  valid_short: 'valid, short',
  invalid: 'INVALID',
  unsigned: 'unsigned',
  unknown_key: 'unknown key',
};

function shortVerdict(known: ReceiptVerdict | undefined): string {
  return known === undefined ? 'not checked' : SHORT_VERDICTS[known.verdict];
}

/** `## Checkpoints Timeline`: the newest, oldest of them first. */
export function checkpointsTimeline({ hook }: HookView): string {
  // A commit that was noticed late has its own time, so the list's order is not that of the times.
  const byTime = [...hook.checkpoints].sort((a, b) => toMs(a.created_at) - toMs(b.created_at));
  const shown = byTime.slice(-MAX_CHECKPOINTS);
  const left = hook.checkpoints.length - shown.length;
  if (shown.length === 0) return '## Checkpoints Timeline\n\nNone yet.';
  const rows = shown.map((checkpoint) => [
    utc(checkpoint.created_at).replace('T', ' ').replace('Z', ''),
    `\`${checkpoint.trigger}\``,
    codeCell(checkpoint.step_name, 64),
    checkpoint.git_commit === undefined ? '–' : codeCell(checkpoint.git_commit.slice(0, 12)),
    prose(checkpoint.description, 200),
  ]);
  return [
    '## Checkpoints Timeline',
    ...leftOut(shown.length, left),
    table(['Time (UTC)', 'Trigger', 'Step', 'Commit', 'Description'], rows),
  ].join('\n\n');
}

function leftOut(shown: number, left: number): string[] {
  return left === 0 ? [] : [`The newest ${shown}; ${left} earlier ${left === 1 ? 'one is' : 'ones are'} left out.`];
}

/** `## Validation Receipts`: what ran, how it ended and what verification says. */
export function validationReceipts(view: HookView): string {
  const { receipts } = view.hook;
  const shown = receipts.slice(-MAX_RECEIPTS);
  const left = receipts.length - shown.length;
  if (shown.length === 0) return '## Validation Receipts\n\nNone yet: nothing has been validated.';
  const accepted = acceptedReceipts(view.hook);
  return [
    '## Validation Receipts',
    'A receipt marked VALID is signed and proves that the validation ran, on the files as they were then; any other ' +
      'proves nothing. Whether files have changed since: `atlas hook verify-receipt <id>`.',
    ...leftOut(shown.length, left),
    ...shown.flatMap((receipt) => [
      receiptHeading(receipt),
      receiptBlock(receipt, view.verdicts.get(receipt.receipt_id), accepted.get(receipt.receipt_id)),
    ]),
  ].join('\n\n');
}

function receiptHeading(receipt: ValidationReceipt): string {
  const attempt = receipt.attempt === undefined ? '' : `, attempt ${receipt.attempt}`;
  return `### Receipt ${code(receipt.receipt_id, 64)} (${prose(receipt.step_name, 64)} step${attempt})`;
}

function receiptBlock(
  receipt: ValidationReceipt,
  known: ReceiptVerdict | undefined,
  accepted: string | undefined,
): string {
  return block(
    [
      `Command: ${flat(receipt.command, 500)}`,
      `Exit Code: ${receipt.exit_code}${receipt.exit_code === 0 ? '' : ' (FAILED)'}`,
      `Duration: ${flat(receipt.duration, 40)}`,
      `Output Hash: ${hashOf(receipt.stdout_hash)}`,
      `Signature: ${longVerdict(known, receipt.exit_code === 0)}`,
      ...(accepted === undefined ? [] : [`Accepted Despite the Failure: ${flat(accepted, 500)}`]),
    ].join('\n'),
  );
}

function hashOf(hash: string): string {
  return hash === '' ? '(none)' : `sha256:${flat(hash, 80)}`;
}

function longVerdict(known: ReceiptVerdict | undefined, passed: boolean): string {
  if (known === undefined) return 'not checked (run atlas hook verify-receipt with its id)';
  switch (known.verdict) {
    case 'valid':
      // A tick is for what passed.
      return `VALID${passed ? ' ✓' : ', the command failed'}${verifiedWith(known)}`;
    case 'valid_short':
      return `valid, short: the text's signature is good, but nothing says what the files were${verifiedWith(known)}`;
    case 'invalid':
      return 'INVALID: do not rely on it, and tell the human';
    case 'unsigned':
      return 'unsigned: it proves nothing';
    case 'unknown_key':
      return 'unknown key: it was signed with a key that is not in this store';
  }
}

function verifiedWith({ keyPath }: ReceiptVerdict): string {
  if (keyPath === undefined || keyPath === '') return '';
  const kind = keyPath.startsWith('m/') ? 'HD key' : 'key';
  return ` (verified with ${kind} ${flat(keyPath, 80)})`;
}
