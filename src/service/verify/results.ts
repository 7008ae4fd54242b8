import * as z from 'zod/mini';
import { type Result, fail, ok } from '../../core/shared/errors';
import { COMMAND_ENDS, type TreeRecord } from '../../core/receipt/receipt';
import type { CommitVerdict } from '../../core/verify/report';
import { jsonOf } from '../../system/files/readJson';
import type { RunOutcome } from '../../validation/receiptMaker';

const FORMAT = 'atlas-results';

/** A check that was run, without a signature. */
export interface UnsignedRun {
  readonly commit: string;
  readonly tree: string;
  readonly check: string;
  readonly command: string;
  readonly folder: string;
  readonly outcome: RunOutcome;
  readonly record: TreeRecord;
}

const hash = z.string().check(z.regex(/^[0-9a-f]{64}$/u));
const stream = z.object({ sha256: hash, bytes: z.int() });
const id = z.string().check(z.regex(/^[0-9a-f]{40,64}$/u));

const fileSchema = z.object({
  format: z.literal(FORMAT),
  schema_version: z.string().check(z.regex(/^1\./u, 'a version that this Atlas does not know')),
  results: z.array(
    z.object({
      commit: id,
      check: z.string(),
      exit_code: z.int(),
      ended: z.enum(COMMAND_ENDS),
      started_at_ms: z.number(),
      completed_at_ms: z.number(),
      duration_ms: z.number(),
      stdout: stream,
      stderr: stream,
      tree_before: id,
      tree_after: id,
    }),
  ),
});

/** The text of a file with runs that another job signs. It says what happened, not what was demanded. */
export function serializeResults(runs: readonly UnsignedRun[]): string {
  const results = runs.map(({ commit, check, outcome, record }) => ({
    commit,
    check,
    exit_code: outcome.exitCode,
    ended: outcome.ended,
    started_at_ms: outcome.startedAt,
    completed_at_ms: outcome.completedAt,
    duration_ms: outcome.durationMs,
    stdout: { sha256: outcome.stdout.sha256, bytes: outcome.stdout.bytes },
    stderr: { sha256: outcome.stderr.sha256, bytes: outcome.stderr.bytes },
    tree_before: record.before,
    tree_after: record.after,
  }));
  return `${JSON.stringify({ format: FORMAT, schema_version: '1.0', results }, null, 2)}\n`;
}

/**
 * Reads such a file for commits that are verified: of each result what it says of the run, and from the base's policy
 * which command and folder that was. What nobody asked for is left out.
 */
export function parseResults(text: string, commits: readonly CommitVerdict[]): Result<UnsignedRun[]> {
  const parsed = fileSchema.safeParse(jsonOf(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return fail('verification_failed', `These are no results of a rerun: invalid at "${issue?.path.join('.') ?? ''}".`);
  }
  return ok(
    parsed.data.results.flatMap((result): UnsignedRun[] => {
      const verdict = commits.find(({ commit }) => commit === result.commit);
      const check = verdict?.checks.find(({ name, stated }) => name === result.check && stated === undefined);
      if (verdict === undefined || check?.run === undefined) return [];
      const { commit, tree } = verdict;
      const { tree_before: before, tree_after: after, stdout, stderr } = result;
      return [
        {
          ...{ commit, tree, check: check.name, command: check.run, folder: check.cwd ?? '.' },
          outcome: {
            ...{ argv: ['sh', '-c', check.run], exitCode: result.exit_code, ended: result.ended, stdout, stderr },
            ...{ startedAt: result.started_at_ms, completedAt: result.completed_at_ms, durationMs: result.duration_ms },
          },
          record: { before, after, changed: [], changed_count: before === after ? 0 : 1, head: commit, branch: null },
        },
      ];
    }),
  );
}
