import { markdownCode } from './foreignText';
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

/** By this line its own comment is found again. */
export const COMMENT_MARKER = '<!-- atlas-verify -->';

const QUOTING: Quoting = {
  command: (text) => markdownCode(text),
  name: (text) => markdownCode(text),
};

/** A comment longer than this is refused by forges; commits beyond it are only counted. */
const MAX_COMMITS = 30;
const MAX_PATHS = 30;

function commitLines(report: CommitVerdict): string[] {
  const { commit, tree, subject, passed, checks, otherTrees } = report;
  const lines = checks.flatMap((check) =>
    check.stated === undefined
      ? [
          `- **missing** ${markdownCode(check.name)}: ${missingText(check, QUOTING)}`,
          ...check.refused.map((refused) => `  - ${refusedText(refused, QUOTING)}`),
        ]
      : [`- **passed** ${markdownCode(check.name)}: ${statedText(check, QUOTING)}`],
  );
  return [
    `#### ${passed ? 'Pass' : 'Fail'}: commit ${shortId(commit)}, tree ${shortId(tree)}`,
    '',
    markdownCode(subject, 80),
    '',
    ...lines,
    ...otherTrees.map((other) => `- ${otherTreeText(other, QUOTING)}`),
    '',
  ];
}

/** A report for a comment on a change. What others wrote is code in it: no markup, no mention, no link. */
export function verifyMarkdown(report: VerifyReport): string {
  const { base, commits, protectedPaths, notes, fixes } = report;
  // Those that lack something are what a reader looks for.
  const ordered = [...commits].sort((a, b) => Number(a.passed) - Number(b.passed));
  const left = commits.length - MAX_COMMITS;
  const paths = protectedPaths.slice(0, MAX_PATHS).map((path) => `- ${markdownCode(path)}`);
  const lines = [
    COMMENT_MARKER,
    '',
    '### Atlas receipts',
    '',
    `**${summaryText(report)}**`,
    '',
    ...(paths.length === 0 ? [] : ['Protected paths:', '', ...paths, '']),
    ...ordered.slice(0, MAX_COMMITS).flatMap(commitLines),
    ...(left > 0 ? [`… and ${left} more commits.`, ''] : []),
    ...(fixes.length === 0 ? [] : ['To fix:', '', ...fixes.map((fix) => `- ${markdownCode(fix, 400)}`), '']),
    `Policy and keys: ${markdownCode(base.name)} at ${shortId(base.commit)}. ${NOT_CHECKED} ${WHAT_IT_SHOWS}`,
    ...notes.flatMap((note) => ['', note.replace(/[<>&`*_[\]@#|\\]/gu, (each) => `&#${String(each.codePointAt(0))};`)]),
  ];
  return `${lines.join('\n')}\n`;
}
