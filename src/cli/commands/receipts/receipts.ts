import { defined } from '../../../core/shared/defined';
import { acceptedReceipts } from '../../../core/task/acceptedFailure';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { ValidationReceipt } from '../../../core/task/taskRecord';
import type { Freshness, ReceiptReport } from '../../../core/receipt/receipt';
import { count, oneLine } from '../../../core/shared/text';
import { type BundleReport, exportBundle, isGood, verifyBundle } from '../../../service/receipts/receiptBundle';
import { parsePublicKeys } from '../../../signing/publicKeys';
import type { StoredTask } from '../../../core/task/storedTask';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { MAX_TEXT, bundledData, describeCurrency, describeReceipt, receiptData, summaryOf } from './receiptText';
import { writeOutput } from '../outputFile';
import type { AnswerData } from '../schemas';
import { roughAge, toMs } from '../../../core/shared/time';
import { countVerdicts } from '../task/status';
import { paint } from '../../render/style';
import { table } from '../../render/table';
import { taskData, taskToRead, taskToShow } from '../task/taskAnswer';

const MAX_BUNDLE_BYTES = 256 * 1024 * 1024;
const MAX_KEYS_BYTES = 1024 * 1024;
const SHORT_HINT = 'If that is enough, add --allow-short.';
const NO_RECEIPTS = 'The bundle contains no receipts.';

/** `receipts verify`: checks every receipt of a bundle. */
export const verify: Handler = async (context, call) => {
  const keyFile = call.text('keys');
  if (call.operands[0] === '-' && keyFile === '-') {
    const hint = 'Write one of them to a file, and name that.';
    throw new AtlasError('usage', 'The bundle and its keys cannot both be read from standard input.', { hint });
  }
  const bundle = await context.readText(call.operands[0] ?? '', MAX_BUNDLE_BYTES);
  const trusted =
    keyFile === undefined ? undefined : unwrap(parsePublicKeys(await context.readText(keyFile, MAX_KEYS_BYTES)));
  const verified = await verifyBundle(bundle, trusted, call.flag('allowShort'));
  if (verified.ok) return answerOf(verified.value, keyFile);
  const { code, message, hint } = verified.error;
  // Keys in a bundle that are none are as wrong as any other part of it.
  throw new AtlasError(code.startsWith('key_') ? 'verification_failed' : code, message, {
    cause: verified.error,
    ...defined({ hint }),
  });
};

function answerOf(bundle: BundleReport, keyFile: string | undefined): Answer {
  const judged = bundle.receipts.flatMap((receipt, at) => {
    const report = bundle.reports[at];
    return report === undefined ? [] : [{ receipt, report }];
  });
  const summary = judged.length === 0 ? NO_RECEIPTS : summaryOf(judged);
  const sections = judged.map(({ receipt, report }) => [...describeReceipt(receipt, report), ''].join('\n'));
  const data: AnswerData<'receipts verify'> = {
    task: { workspace_id: bundle.workspaceId, task_id: bundle.taskId, description: bundle.description },
    keys: { source: keyFile === undefined ? 'bundle' : 'file', key_ids: [...bundle.keyIds] },
    summary: countVerdicts(bundle.reports.map(({ verdict }) => verdict)),
    receipts: judged.map(({ receipt, report }) => bundledData(receipt, report)),
  };
  const text = [...sections, summary, ...describeKeys(bundle.keyIds, keyFile), ''].join('\n');
  if (bundle.passed) return { exit: EXIT.done, text, wanted: true, data };
  const isShort = bundle.reports.every(({ verdict }) => isGood(verdict, true)) && judged.length > 0;
  const error = new AtlasError('verification_failed', summary, isShort ? { hint: SHORT_HINT } : {});
  return { exit: EXIT.notVerified, text: isShort ? `${text}${SHORT_HINT}\n` : text, data, error };
}

function describeKeys(keyIds: readonly string[], keyFile: string | undefined): string[] {
  const source =
    keyFile === undefined
      ? "Public keys, from the bundle itself. Compare them with the signer's, or pass the signer's with --keys."
      : `Public keys, from ${oneLine(keyFile, MAX_TEXT)}:`;
  return [source, ...keyIds.map((id) => `  ${oneLine(id)}`)];
}

interface Judged {
  readonly receipt: ValidationReceipt;
  readonly report: ReceiptReport;
  readonly currency: Freshness | undefined;
}

async function judge(context: CliContext, stored: StoredTask, only?: string): Promise<Judged[]> {
  const service = await (await context.atlas()).receipts();
  const reports = unwrap(await service.reports(stored, defined({ signal: context.cancelled })));
  const wanted = [...reports.values()].filter(({ receiptId }) => only === undefined || receiptId === only);
  const currencies = await service.currencies(stored, wanted, () => only !== undefined);
  return stored.hook.receipts.flatMap((receipt) => {
    const report = wanted.find(({ receiptId }) => receiptId === receipt.receipt_id);
    return report === undefined ? [] : [{ receipt, report, currency: currencies.get(receipt.receipt_id) }];
  });
}

/** `hook verify-receipt`: one receipt, wherever in the workspace its task is. */
export const verifyReceipt: Handler = async (context, call) => {
  const id = call.operands[0] ?? '';
  const has = ({ hook }: StoredTask): boolean => hook.receipts.some((receipt) => receipt.receipt_id === id);
  const wanted = { what: `receipt ${oneLine(id, 60)}`, of: has };
  const { stored, notes } = await taskToRead(context, call, call.text('task') === undefined ? wanted : undefined);
  if (!has(stored))
    throw new AtlasError('not_found', `Task ${stored.ref.id} has no receipt ${oneLine(id, 60)}.`, {
      hint: 'List the receipts with: atlas receipts list',
    });
  const [first] = await judge(context, stored, id);
  if (first === undefined) throw new AtlasError('not_found', `There is no receipt ${oneLine(id, 60)}.`);
  const { receipt, report, currency } = first;
  const good = isGood(report.verdict, call.flag('allowShort'));
  const own = report.verdict === 'valid' ? ['This receipt was signed by your ATLAS installation.'] : [];
  const lines = describeReceipt(receipt, report, own);
  const accepted = acceptedReceipts(stored.hook).get(id);
  const despite =
    accepted === undefined ? [] : [`A human accepted the step despite the failure: ${oneLine(accepted, MAX_TEXT)}`];
  const text = `${[...lines, ...despite, ...(good ? [`Files: ${describeCurrency(currency)}.`] : [])].join('\n')}\n`;
  const atlas = await context.atlas();
  const data: AnswerData<'hook verify-receipt'> = {
    task: taskData(atlas, stored),
    receipt: receiptData(receipt, report, currency, accepted),
  };
  if (good) return { exit: EXIT.done, text, wanted: true, data, notes };
  const error = new AtlasError(
    'verification_failed',
    report.verdict === 'valid_short'
      ? `Receipt ${oneLine(id, 60)} has no statement: its signature covers only its command, exit code and output.`
      : `Receipt ${oneLine(id, 60)} is ${report.verdict.replace('_', ' ')}.`,
    report.verdict === 'valid_short' ? { hint: SHORT_HINT } : {},
  );
  return { exit: EXIT.notVerified, text, data, notes, error };
};

/** `receipts list`: all receipts of a task with their verdicts. */
export const list: Handler = async (context, call) => {
  const { stored, notes } = await taskToShow(context, call);
  const judged = await judge(context, stored);
  const atlas = await context.atlas();
  const reports = judged.map(({ report }) => report);
  const accepted = acceptedReceipts(stored.hook);
  const data: AnswerData<'receipts list'> = {
    task: taskData(atlas, stored),
    summary: countVerdicts(reports.map(({ verdict }) => verdict)),
    receipts: judged.map(({ receipt, report, currency }) =>
      receiptData(receipt, report, currency, accepted.get(receipt.receipt_id)),
    ),
  };
  const now = atlas.ports.clock.now();
  const rows = judged.map(({ receipt, report, currency }) => [
    receipt.receipt_id,
    receipt.exit_code === 0 ? 'passed' : `failed (${receipt.exit_code})`,
    report.verdict.replace('_', ' '),
    currency?.kind ?? 'unknown',
    roughAge(toMs(receipt.completed_at), now),
    receipt.step_name,
    receipt.command,
  ]);
  const head = ['ID', 'RESULT', 'RECEIPT', 'FILES', 'TIME', { flexible: 'STEP' }, { flexible: 'COMMAND' }];
  const text =
    rows.length === 0
      ? 'No receipts yet.\n'
      : `${table(head, rows, context.streams.columns)}${painted(context, judged)}\n`;
  return { exit: EXIT.done, text, wanted: true, data, notes };
};

/** In the colour of the worst of them: a failed run is never green. */
function painted({ streams }: CliContext, judged: readonly Judged[]): string {
  const unproven = judged.find(({ report: { verdict } }) => verdict !== 'valid')?.report.verdict;
  const failed = judged.some(({ receipt }) => receipt.exit_code !== 0);
  return paint(streams, failed ? 'failed' : (unproven ?? 'valid'), summaryOf(judged));
}

/** `receipts export`: a bundle that others can check without the store. */
export const exportReceipts: Handler = async (context, call) => {
  const { stored, notes } = await taskToRead(context, call);
  const number = stored.hook.receipts.length;
  if (number === 0)
    throw new AtlasError('not_found', `Task ${stored.ref.id} has no receipts to export.`, {
      hint: 'Make one with: atlas validate',
    });
  const atlas = await context.atlas();
  const bundle = unwrap(await exportBundle(await atlas.receipts(), atlas.ports.clock, stored));
  const file = call.text('output');
  const common = { task: taskData(atlas, stored), receipts: number };
  if (file === undefined || file === '-') {
    const parsed = JSON.parse(bundle) as Record<string, unknown>;
    const data: AnswerData<'receipts export'> = { ...common, path: null, bundle: parsed };
    return { exit: EXIT.done, text: bundle, wanted: true, data, notes };
  }
  const path = writeOutput(atlas.ports.files, context, call, file, bundle);
  const data: AnswerData<'receipts export'> = { ...common, path, bundle: null };
  const shown = oneLine(path, MAX_TEXT);
  const text = `${count(number, 'receipt')} exported to ${shown}\nTo verify them, run: atlas receipts verify ${oneLine(file, MAX_TEXT)}\n`;
  return { exit: EXIT.done, text, data, notes };
};
