import { RECEIPT_CHECKS, type ReceiptCheck, type ReceiptReport, signingText } from '../../../core/receipt/receipt';
import { cut } from '../../../core/shared/text';
import {
  OUTPUT_STREAMS,
  type ReceiptDetails,
  type ReceiptFact,
  type ReceiptGroup,
} from '../../../protocol/receiptsPanel';
import { type ReceiptItem, hasFailed } from './receiptsPanelModel';
import { type ReceiptsPanelTexts, receiptsPanelTexts } from './receiptsPanelTexts';

const LONGEST_TEXT = 20_000;
const LONGEST_STATEMENT = 200_000;
const LONGEST_PATH = 1000;
const MOST_FILES = 200;
const MOST_DIFFERENCES = 50;

/** Makes a receipt's details. What is shown here is evidence, so nothing in it is folded or left out unsaid. */
export function receiptDetails(item: ReceiptItem, key: string): ReceiptDetails {
  const texts = receiptsPanelTexts();
  const { report } = item;
  const looked = new Set(report?.checks.map(({ check }) => check));
  const rest = report === undefined ? [] : RECEIPT_CHECKS.filter((check) => !looked.has(check));
  return {
    key,
    checks: (report?.checks ?? []).map((check) => checkLine(check, texts)),
    ...(rest.length > 0 && { notLookedAt: texts.notLookedAt(rest.map((check) => texts.check(check))) }),
    groups: [runGroup(item, texts), proofGroup(item, texts), filesGroup(item, texts)].filter(
      ({ facts, lists }) => facts.length + lists.length > 0,
    ),
    ...(report?.statement !== undefined && {
      statement: visible(JSON.stringify(report.statement, undefined, 2), texts, LONGEST_STATEMENT),
    }),
    outputs: OUTPUT_STREAMS.map((stream) => ({
      stream,
      label: texts.open(stream),
      ...(!item.kept[stream] && { missing: texts.notKept() }),
    })),
  };
}

/**
 * Outside text with what shows nothing, hides or reorders text written as `\uXXXX`: two texts that differ look
 * different. Tabs and line feeds stay.
 */
export function visible(text: string, texts: Pick<ReceiptsPanelTexts, 'moreCharacters'>, max = LONGEST_TEXT): string {
  const short = cut(text, max);
  const rest = text.length - short.length;
  const shown = short.replace(/(?![\t\n])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, (hidden) =>
    [...Array(hidden.length).keys()].map((at) => `\\u${hidden.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
  return rest === 0 ? shown : shown + texts.moreCharacters(rest);
}

function checkLine(check: ReceiptCheck, texts: ReceiptsPanelTexts): ReceiptDetails['checks'][number] {
  const { expected, found, differences = [] } = check;
  return {
    label: texts.check(check.check),
    passed: check.passed,
    message: visible(check.message, texts),
    ...(expected !== undefined && { expected: visible(expected, texts) }),
    ...(found !== undefined && { found: visible(found, texts) }),
    differences: differences.slice(0, MOST_DIFFERENCES).map((each) => ({
      field: visible(each.field, texts),
      expected: visible(each.expected, texts),
      found: visible(each.found, texts),
    })),
  };
}

type Look = ReceiptFact['look'];

/** Lines of details; those without a text are left out. */
function lines(
  texts: ReceiptsPanelTexts,
  given: readonly (readonly [label: string, text: string | undefined, look: Look])[],
): ReceiptFact[] {
  return given.flatMap(([label, text, look]) =>
    text === undefined || text === '' ? [] : [{ label, text: look === 'time' ? text : visible(text, texts), look }],
  );
}

function runGroup(item: ReceiptItem, texts: ReceiptsPanelTexts): ReceiptGroup {
  const { receipt } = item;
  const { labels } = texts;
  const run = item.report?.statement?.predicate.run;
  const code = String(receipt.exit_code);
  const facts = lines(texts, [
    [labels.command, receipt.command, 'block'],
    [labels.exit, hasFailed(item) ? texts.failedExit(code) : code, 'text'],
    [labels.ended, run === undefined ? undefined : texts.ended(run.ended, run.signal), 'text'],
    [labels.step, receipt.step_name, 'text'],
    [labels.attempt, receipt.attempt?.toString(), 'text'],
    [labels.started, receipt.started_at, 'time'],
    [labels.completed, receipt.completed_at, 'time'],
    [labels.duration, receipt.duration, 'text'],
    [labels.folder, run?.working_directory, 'mono'],
    [labels.id, receipt.receipt_id, 'mono'],
    [labels.stdoutHash, receipt.stdout_hash, 'mono'],
    [labels.stderrHash, receipt.stderr_hash, 'mono'],
  ]);
  return { id: 'run', heading: labels.run, facts, lists: [] };
}

function proofGroup({ receipt, report }: ReceiptItem, texts: ReceiptsPanelTexts): ReceiptGroup {
  const { labels } = texts;
  const facts = lines(texts, [
    [labels.message, report?.text ?? signingText(receipt), 'block'],
    [labels.digest, report?.digest, 'mono'],
    [labels.scheme, report?.scheme, 'text'],
    [labels.keyPath, report?.keyPath ?? receipt.key_path, 'mono'],
    [labels.publicKey, report?.publicKey, 'mono'],
    [labels.signature, receipt.signature || texts.absent(), 'mono'],
  ]);
  return { id: 'proof', heading: labels.proof, facts, lists: [] };
}

function filesGroup({ report, currency }: ReceiptItem, texts: ReceiptsPanelTexts): ReceiptGroup {
  const { labels } = texts;
  const now =
    currency?.kind === 'unknown'
      ? currency.why
      : currency?.kind === 'outdated'
        ? texts.outdated(currency.files.length + currency.more)
        : currency && texts.current();
  const lists = currency?.kind === 'outdated' ? [files(labels.differs, currency.files, currency.more, texts)] : [];
  return {
    id: 'files',
    heading: labels.files,
    facts: [...treeFacts(report, texts), ...lines(texts, [[labels.nowFiles, now, 'text']])],
    lists: [...changedFiles(report, texts), ...lists],
  };
}

function treeFacts(report: ReceiptReport | undefined, texts: ReceiptsPanelTexts): ReceiptFact[] {
  const tree = report?.statement?.predicate.tree;
  if (tree === undefined) return [];
  const { labels } = texts;
  const after = tree.after ?? texts.notKnown();
  return lines(texts, [
    [labels.before, tree.before ?? texts.notKnown(), 'mono'],
    [labels.after, tree.after !== null && tree.after === tree.before ? texts.sameTree(after) : after, 'mono'],
    [labels.head, tree.head ?? undefined, 'mono'],
    [labels.branch, tree.branch ?? undefined, 'mono'],
    ...(tree.changed_count === 0 ? [[labels.changed, texts.nothing(), 'text'] as const] : []),
  ]);
}

function changedFiles(report: ReceiptReport | undefined, texts: ReceiptsPanelTexts): ReceiptGroup['lists'] {
  const tree = report?.statement?.predicate.tree;
  if (tree === undefined || tree.changed_count === 0) return [];
  return [files(texts.labels.changed, tree.changed, tree.changed_count - tree.changed.length, texts)];
}

function files(
  label: string,
  paths: readonly string[],
  more: number,
  texts: ReceiptsPanelTexts,
): ReceiptGroup['lists'][number] {
  const shown = paths.slice(0, MOST_FILES);
  const rest = Math.max(0, more) + paths.length - shown.length;
  return {
    label,
    paths: shown.map((path) => visible(path, texts, LONGEST_PATH)),
    ...(rest > 0 && { more: texts.moreFiles(rest) }),
  };
}
