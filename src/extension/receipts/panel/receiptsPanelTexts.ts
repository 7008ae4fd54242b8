import { l10n } from 'vscode';
import type { COMMAND_ENDS, RECEIPT_CHECKS } from '../../../core/receipt/receipt';
import type { ReceiptStanding, ReceiptsPanelStrings } from '../../../protocol/receiptsPanel';
import { resultLabel, verdictLabel } from '../standingText';

const checks = (): Readonly<Record<(typeof RECEIPT_CHECKS)[number], string>> => ({
  signed: l10n.t('Signed'),
  form: l10n.t('Well formed'),
  envelope: l10n.t('Statement present'),
  key: l10n.t('Key known'),
  signature: l10n.t("Message's signature"),
  statement_signature: l10n.t("Statement's signature"),
  fields: l10n.t('Fields agree'),
  place: l10n.t('Task and step'),
  chain: l10n.t('Chain of receipts'),
});

const ends = (): Readonly<Record<(typeof COMMAND_ENDS)[number], string>> => ({
  exit: l10n.t('exited'),
  signal: l10n.t('killed by a signal'),
  timeout: l10n.t('stopped: timed out'),
  cancelled: l10n.t('cancelled'),
  not_started: l10n.t("couldn't be started"),
});

const strings = (): ReceiptsPanelStrings => ({
  receipts: l10n.t('Receipts'),
  verifyAll: l10n.t('Verify All'),
  checking: l10n.t('Verifying…'),
  export: l10n.t('Export…'),
  openHookMd: l10n.t('Open HOOK.md'),
  actions: l10n.t('Actions'),
  promise: l10n.t(
    "A receipt exposes results that were changed or made up, by accident or by a hallucination. It doesn't protect against a hostile process that runs as you and can use the same key.",
  ),
  keys: l10n.t('Public keys:'),
  dismiss: l10n.t('Dismiss'),
  working: l10n.t('Working…'),
  timedOut: l10n.t("The extension doesn't answer. If this continues, reload the window."),
  filter: l10n.t('Filter'),
  filterText: l10n.t('Filter by command, step or id'),
  filterHint: l10n.t('Command, step or id'),
  allResults: l10n.t('All results'),
  allStandings: l10n.t('All receipts'),
  allFiles: l10n.t('All files'),
  currentFiles: l10n.t('Current'),
  outdatedFiles: l10n.t('Outdated'),
  clearFilter: l10n.t('Clear Filter'),
  shown: l10n.t('{0} of {1} receipts'),
  none: l10n.t('No receipt yet. Run Validation to make one.'),
  noMatch: l10n.t('No receipt matches the filter.'),
  more: l10n.t('Show {0} More'),
  columns: {
    details: l10n.t('Details'),
    result: l10n.t('Result'),
    standing: l10n.t('Receipt'),
    currency: l10n.t('Files'),
    step: l10n.t('Step'),
    command: l10n.t('Command'),
    duration: l10n.t('Duration'),
    completed: l10n.t('Completed'),
  },
  detailsOf: l10n.t('Details of {0}: {1}'),
  checks: l10n.t('Checks'),
  notChecked: l10n.t('Not verified yet.'),
  passed: l10n.t('Passed'),
  notPassed: l10n.t('Failed'),
  expected: l10n.t('Expected'),
  found: l10n.t('Found'),
  differences: l10n.t('Which field differs'),
  field: l10n.t('Field'),
  statement: l10n.t('Statement'),
  verify: l10n.t('Verify Receipt'),
  loading: l10n.t('Loading…'),
});

const labels = () => ({
  run: l10n.t('Run'),
  proof: l10n.t('Proof'),
  files: l10n.t('Files'),
  id: l10n.t('Receipt'),
  command: l10n.t('Command'),
  folder: l10n.t('Working directory'),
  step: l10n.t('Step'),
  attempt: l10n.t('Attempt'),
  exit: l10n.t('Exit code'),
  ended: l10n.t('Ended'),
  started: l10n.t('Started'),
  completed: l10n.t('Completed'),
  duration: l10n.t('Duration'),
  stdoutHash: l10n.t('SHA-256 of stdout'),
  stderrHash: l10n.t('SHA-256 of stderr'),
  message: l10n.t('Message'),
  digest: l10n.t('SHA-256 of the message'),
  scheme: l10n.t('Scheme'),
  keyPath: l10n.t('Key path'),
  publicKey: l10n.t('Public key'),
  signature: l10n.t("Message's signature"),
  before: l10n.t('Tree before'),
  after: l10n.t('Tree after'),
  head: l10n.t('HEAD'),
  branch: l10n.t('Branch'),
  nowFiles: l10n.t('Files now'),
  changed: l10n.t('Changed by the command'),
  differs: l10n.t('Different now'),
});

/** Every text that the panel's model is made of, in the editor's language. */
export type ReceiptsPanelTexts = ReturnType<typeof receiptsPanelTexts>;

/** The panel's texts in the editor's language. */
export function receiptsPanelTexts() {
  return {
    strings: strings(),
    labels: labels(),
    standing: (standing: ReceiptStanding) => verdictLabel(standing),
    passed: () => resultLabel(0),
    failed: () => l10n.t('Failed'),
    failedWith: (exitCode: number) => l10n.t('Failed (exit code {0})', exitCode),
    outdatedCount: () => l10n.t('Outdated'),
    check: (check: (typeof RECEIPT_CHECKS)[number]) => checks()[check],
    ended: (end: (typeof COMMAND_ENDS)[number], signal: string | undefined) =>
      signal === undefined ? ends()[end] : l10n.t('{0} ({1})', ends()[end], signal),
    current: () => l10n.t('Current'),
    outdated: (files: number) => (files === 1 ? l10n.t('Outdated (1 file)') : l10n.t('Outdated ({0} files)', files)),
    unknown: () => l10n.t('Unknown'),
    unchecked: () => l10n.t('Not compared'),
    place: (workspace: string, id: string) => l10n.t('{0}, task {1}', workspace, id),
    announcement: (total: number, counts: readonly string[]) =>
      total === 1 ? l10n.t('1 receipt: {0}', counts.join('; ')) : l10n.t('{0} receipts: {1}', total, counts.join('; ')),
    count: (label: string, count: number) => l10n.t('{0}: {1}', label, count),
    attempt: (attempt: number) => l10n.t('attempt {0}', attempt),
    failedExit: (code: string) => l10n.t('{0} (failed)', code),
    absent: () => l10n.t('none'),
    notKnown: () => l10n.t('unknown'),
    nothing: () => l10n.t('no file'),
    sameTree: (id: string) => l10n.t('{0} (unchanged)', id),
    moreFiles: (count: number) => (count === 1 ? l10n.t('and 1 more file') : l10n.t('and {0} more files', count)),
    moreCharacters: (count: number) => l10n.t('… ({0} more characters)', count),
    notLookedAt: (names: readonly string[]) => l10n.t('Not checked: {0}', names.join(', ')),
    open: (stream: string) => l10n.t('Open {0}', stream),
    notKept: () => l10n.t("The output wasn't kept."),
  };
}
