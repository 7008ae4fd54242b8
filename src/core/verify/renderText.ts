import { foreignCommand, foreignName } from './foreignText';
import type { CommitVerdict, VerifyReport } from './report';
import {
  NOT_CHECKED,
  type Quoting,
  WHAT_IT_SHOWS,
  missingText,
  otherTreeText,
  refusedText,
  shortId,
  statedText,
  summaryText,
} from './words';

/** How a log shows what others wrote: on one line, never at its beginning, and nothing that a CI system acts on. */
export const LOG_QUOTING: Quoting = {
  command: (text) => foreignCommand(text),
  name: (text) => foreignName(text),
};

const MAX_PATHS = 50;

function commitLines(report: CommitVerdict): string[] {
  const { commit, tree, subject, passed, checks, otherTrees } = report;
  const head = `${passed ? 'PASS' : 'FAIL'}  commit ${shortId(commit)}  tree ${shortId(tree)}  ${foreignName(subject, 80)}`;
  const lines = checks.flatMap((check) => {
    const label = `  ${check.stated === undefined ? 'missing' : 'passed '}  ${foreignName(check.name, 64)}: `;
    if (check.stated !== undefined) return [`${label}${statedText(check, LOG_QUOTING)}`];
    return [
      `${label}${missingText(check, LOG_QUOTING)}`,
      ...check.refused.map((refused) => `             ${refusedText(refused, LOG_QUOTING)}`),
    ];
  });
  return [head, ...lines, ...otherTrees.map((other) => `  other    ${otherTreeText(other, LOG_QUOTING)}`)];
}

/** A report for a terminal or a CI system's log. */
export function verifyText(report: VerifyReport): string {
  const { base, commits, protectedPaths, notes, fixes } = report;
  const paths = protectedPaths.slice(0, MAX_PATHS).map((path) => `  protected  ${foreignName(path)}`);
  const more = protectedPaths.length > MAX_PATHS ? [`  and ${protectedPaths.length - MAX_PATHS} more`] : [];
  const lines = [
    ...commits.flatMap(commitLines),
    ...paths,
    ...more,
    '',
    summaryText(report),
    `Policy and keys: ${foreignName(base.name, 100)} at ${shortId(base.commit)}. ${NOT_CHECKED}`,
    WHAT_IT_SHOWS,
    ...notes.map((note) => `Note: ${note}`),
    ...(fixes.length === 0 ? [] : ['To fix:', ...fixes.map((fix) => `  ${fix}`)]),
  ];
  return `${lines.join('\n')}\n`;
}
