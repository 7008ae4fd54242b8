import { LOG_QUOTING } from './renderText';
import { POLICY_FILE } from './policy';
import type { VerifyReport } from './report';
import { missingText, refusedText, shortId } from './words';

interface Finding {
  readonly rule: 'missing-receipt' | 'protected-path';
  readonly message: string;
  readonly path: string;
}

const RULES = [
  { id: 'missing-receipt', shortDescription: { text: 'A check of the policy has no passing receipt for a commit.' } },
  { id: 'protected-path', shortDescription: { text: 'A path changed that only a human may let pass.' } },
];

function findingsOf({ commits, protectedPaths }: VerifyReport): Finding[] {
  const missing = commits.flatMap(({ commit, checks }) =>
    checks
      .filter(({ stated }) => stated === undefined)
      .map((check): Finding => {
        const why = check.refused.map((refused) => refusedText(refused, LOG_QUOTING));
        const message = [
          `Commit ${shortId(commit)}, check ${LOG_QUOTING.name(check.name)}:`,
          missingText(check, LOG_QUOTING),
        ];
        return { rule: 'missing-receipt', message: [...message, ...why].join(' '), path: POLICY_FILE };
      }),
  );
  const paths = protectedPaths.map((path): Finding => {
    const message = `${LOG_QUOTING.name(path)} is protected: a human has to let its change pass.`;
    return { rule: 'protected-path', message, path };
  });
  return [...paths, ...missing];
}

/** A report in SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), for code scanning. */
export function verifySarif(report: VerifyReport, version: string): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Atlas', version, rules: RULES } },
        results: findingsOf(report).map(({ rule, message, path }) => ({
          ruleId: rule,
          level: 'error',
          message: { text: message },
          locations: [{ physicalLocation: { artifactLocation: { uri: encodeURI(path) }, region: { startLine: 1 } } }],
        })),
      },
    ],
  };
}
