import { count } from '../shared/text';
import type { CheckVerdict, CommitVerdict, OtherTree, Refusal, RefusedReceipt, VerifyReport } from './report';

/** How a surface shows what others wrote. */
export interface Quoting {
  readonly command: (text: string) => string;
  readonly name: (text: string) => string;
}

/** A commit's or tree's id, as long as people compare. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}

/** What no text about a receipt may leave out. */
export const WHAT_IT_SHOWS =
  'A receipt shows what the holder of a key states. Whoever can run programs as that person can state it. It does not cover ignored files, dependencies, or the inside of submodules.';
/** What isn't looked at. */
export const NOT_CHECKED = "The task's chain of receipts is not checked here.";

function where(folder: string | undefined, quote: Quoting): string {
  return folder === undefined || folder === '.' ? '' : ` in ${quote.name(folder)}`;
}

/** Who states what, of a check that passed. */
export function statedText(check: CheckVerdict, quote: Quoting): string {
  const { stated, run = '', cwd, ancestor, alsoFailed } = check;
  if (stated === undefined) return '';
  const on = ancestor === undefined ? 'this tree' : `the tree of ${shortId(ancestor.commit)}, not this tree`;
  const ran = `atlas ran ${quote.command(run)}${where(cwd, quote)} on ${on}; it exited 0.`;
  const also = alsoFailed === 0 ? '' : ` On the same tree it also failed (${count(alsoFailed, 'receipt')}).`;
  const differ =
    ancestor === undefined
      ? ''
      : ` Only paths that the policy ignores differ (${ancestor.paths.length}): ${ancestor.paths.slice(0, 5).map(quote.name).join(', ')}${ancestor.paths.length > 5 ? ', …' : ''}.`;
  return `The holder of ${quote.name(stated.signer)}'s key states: ${ran}${also}${differ}`;
}

const REASONS: Readonly<Record<Exclude<Refusal, 'failed' | 'other_command' | 'other_folder'>, string>> = {
  not_ci: 'was not made by a CI key, which this check demands.',
  rotated: 'is by a key that was rotated. Such a key counts only for what the base already has.',
  compromised: 'is by a key that is marked as compromised.',
  bad_signature: 'has a signature that does not match it.',
  unknown_key: 'is by a key that the base does not trust.',
  other_repository: 'was made in another repository.',
  run_again: 'was made by an older version of Atlas, which did not record repository and folder. Run the check again.',
  changed_files: 'is about a run that changed files, so it covers no one tree.',
  other_tree: 'is for another tree: its note was copied here.',
};

/** Why a receipt isn't enough. */
export function refusedText(refused: RefusedReceipt, quote: Quoting): string {
  const { reason, receiptId, signer, command, folder, exitCode } = refused;
  const whose = signer === undefined ? '' : `, by the holder of ${quote.name(signer)}'s key,`;
  const subject = `Receipt ${quote.name(receiptId)}${whose}`;
  switch (reason) {
    case 'failed':
      return `The holder of ${quote.name(signer ?? '')}'s key states: atlas ran ${quote.command(command)}${where(folder, quote)} on this tree; it exited ${exitCode}.`;
    case 'other_command':
      return `${subject} is about another command: ${quote.command(command)}.`;
    case 'other_folder':
      return `${subject} is about another folder: ${quote.name(folder ?? '.')}.`;
    case 'not_ci':
    case 'rotated':
    case 'compromised':
    case 'bad_signature':
    case 'unknown_key':
    case 'other_repository':
    case 'run_again':
    case 'changed_files':
    case 'other_tree':
      return `${subject} ${REASONS[reason]}`;
  }
}

/** What is demanded, of a check that nobody states to have passed. */
export function missingText(check: CheckVerdict, quote: Quoting): string {
  const what = check.run === undefined ? '' : ` of ${quote.command(check.run)}${where(check.cwd, quote)}`;
  const by = check.by === 'ci' ? ' by a CI key' : '';
  return `No passing receipt${what}${by} for this tree.`;
}

/** For which other tree there are receipts. */
export function otherTreeText({ tree, commit, checks }: OtherTree, quote: Quoting): string {
  const of = commit === undefined ? '' : `, which commit ${shortId(commit)} has`;
  return `There are receipts for tree ${shortId(tree)}${of}: ${checks.map(quote.name).join(', ')}.`;
}

/** One line on all of it. */
export function summaryText({ commits, outcome, protectedPaths }: VerifyReport): string {
  const lacking = commits.filter((each: CommitVerdict) => !each.passed).length;
  const lacks = `${lacking} of ${count(commits.length, 'commit')} ${lacking === 1 ? 'lacks' : 'lack'} required receipts.`;
  switch (outcome) {
    case 'passed':
      return `PASS. All required receipts are present (${count(commits.length, 'commit')}).`;
    case 'not_verified':
      return `NOT VERIFIED. ${lacks}`;
    case 'protected': {
      const changed = `${count(protectedPaths.length, 'protected path')} changed, which no receipt can vouch for.`;
      return `NEEDS A HUMAN. ${changed}${lacking === 0 ? '' : ` Also, ${lacks}`}`;
    }
  }
}
