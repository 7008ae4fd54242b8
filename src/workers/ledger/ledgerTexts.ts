import { AtlasError } from '../../core/shared/errors';
import {
  LEDGER_FILES,
  type LedgerKind,
  type LedgerTexts,
  convoyRecordSchema,
  evidenceRecordSchema,
  ledgerTaskSchema,
} from '../../core/worker/ledger';
import { mergeLedgers, newestLines } from '../../core/worker/ledgerLines';
import { LIMITS, countMarks } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import { type Change, type ForgeBranches, textFile } from '../git/forgeBranches';

/** What the ledger holds, a file each. */
export const LEDGER_KINDS = ['tasks', 'convoys', 'evidence'] as const;
/** A ledger with nothing in it. */
export const NO_TEXTS: LedgerTexts = { tasks: '', convoys: '', evidence: '' };

/** The texts of the ledger's files as a commit has them. Fails with `damaged` where they can't be read, or are over a limit. */
export async function readLedgerTexts(branches: ForgeBranches, commit: string | undefined): Promise<LedgerTexts> {
  if (commit === undefined) return NO_TEXTS;
  const paths = LEDGER_KINDS.map((kind) => LEDGER_FILES[kind]);
  const [files = []] = await branches.read([commit], paths, LIMITS.ledgerBytes);
  const texts: { -readonly [kind in LedgerKind]: string } = { ...NO_TEXTS };
  for (const [index, kind] of LEDGER_KINDS.entries()) {
    const file = files[index];
    if (file !== undefined && !('bytes' in file)) throw unusableLedger(file.problem);
    const text = Buffer.from(file?.bytes ?? []).toString('utf8');
    if (countLines(text) > LIMITS.ledgerLines)
      throw unusableLedger(`${LEDGER_FILES[kind]} has more than ${LIMITS.ledgerLines.toLocaleString('en')} lines`);
    texts[kind] = text;
  }
  if (marksOf(texts) > LIMITS.ledgerMarks) throw unusableLedger('its lines contain too many values');
  return texts;
}

function unusableLedger(problem: string): AtlasError {
  return new AtlasError('damaged', `The ledger can't be used: ${problem}.`, {
    hint: 'Restore its last usable state with: atlas worker repair --yes',
  });
}

function marksOf(texts: LedgerTexts): number {
  return LEDGER_KINDS.reduce((sum, kind) => sum + countMarks(texts[kind]), 0);
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** Refuses a ledger that must not be written: one over a limit. Throws `damaged`. */
export function checkExcess(texts: LedgerTexts): void {
  const excess = excessOf(texts);
  if (excess !== undefined) throw excess;
}

function excessOf(texts: LedgerTexts): AtlasError | undefined {
  const bytes = ledgerBytes(texts);
  const lines = Math.max(...LEDGER_KINDS.map((kind) => countLines(texts[kind])));
  const isWithin = bytes <= LIMITS.ledgerBytes && lines <= LIMITS.ledgerLines && marksOf(texts) <= LIMITS.ledgerMarks;
  if (isWithin) return undefined;
  const most = `${sizeText(LIMITS.ledgerBytes)} and ${LIMITS.ledgerLines.toLocaleString('en')} lines a file`;
  return new AtlasError(
    'damaged',
    `The ledger is full: it would have ${sizeText(bytes)}, but at most ${most} are read.`,
    { hint: 'Remove replaced records with: atlas worker repair --yes. They stay in its history.' },
  );
}

/** Bytes of all files of a ledger. */
export function ledgerBytes(texts: LedgerTexts): number {
  return LEDGER_KINDS.reduce((sum, kind) => sum + Buffer.byteLength(texts[kind]), 0);
}

/** The lines of both. Where they are too many together, those that newer records replace stay in the history. */
export function unionOf(ours: LedgerTexts, theirs: LedgerTexts, merge = mergeLedgers): LedgerTexts {
  const whole = {
    tasks: merge(ours.tasks, theirs.tasks),
    convoys: merge(ours.convoys, theirs.convoys),
    evidence: merge(ours.evidence, theirs.evidence),
  };
  const texts = excessOf(whole) === undefined ? whole : compacted(whole);
  checkExcess(texts);
  return texts;
}

/** The ledger's files, or those of some kinds. */
export function ledgerFiles(texts: LedgerTexts, kinds: readonly LedgerKind[] = LEDGER_KINDS): Change['changes'] {
  return new Map(kinds.map((kind) => [LEDGER_FILES[kind], textFile(texts[kind])]));
}

/** A ledger without the records that newer ones replace. Both sides of a conflict stay, and lines that are no records. */
export function compacted(texts: LedgerTexts): LedgerTexts {
  return {
    tasks: newestLines(ledgerTaskSchema, texts.tasks),
    convoys: newestLines(convoyRecordSchema, texts.convoys),
    evidence: newestLines(evidenceRecordSchema, texts.evidence),
  };
}
