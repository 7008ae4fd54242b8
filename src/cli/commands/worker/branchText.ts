import { count, oneLine, quoted } from '../../../core/shared/text';
import type { BranchProblem, RefusedFiles } from '../../../workers/operations/branchProblems';
import type { WorkerAnswer } from './workerSchemas';

/** What is listed of branches that can't be used, and of files that are left out. */
const MAX_LINES = 20;

/** The files of a branch that are left out, on a line each. */
export function refusedLines({ branch, count: of, files }: RefusedFiles): string[] {
  const named = files.map(({ path, why }) => `Left out of ${oneLine(branch, 200)}: ${quoted(path)}: ${oneLine(why)}.`);
  const more = of - files.length;
  return more === 0 ? named : [...named, `Left out of ${oneLine(branch, 200)}: ${count(more, 'more file')}.`];
}

/** What is wrong with branches, and what to do about it, on a line each. */
export function unusableLines(problems: readonly BranchProblem[]): string[] {
  const lines = problems
    .slice(0, MAX_LINES)
    .map(({ error }) => `${oneLine(error.message, 400)} ${oneLine(error.hint ?? '', 400)}`.trim());
  const more = problems.length - lines.length;
  return more === 0 ? lines : [...lines, `${count(more, 'more branch', 'more branches')} can't be used either.`];
}

/** What JSON says of a branch that can't be used. */
export function problemData({ branch, error }: BranchProblem): WorkerAnswer<'worker list'>['unusable'][number] {
  return { branch, code: error.code, message: error.message };
}
