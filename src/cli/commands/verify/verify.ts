import { resolve } from 'node:path';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { foreignName } from '../../../core/verify/foreignText';
import type { CheckVerdict, VerifyReport } from '../../../core/verify/report';
import { NOT_CHECKED, WHAT_IT_SHOWS, shortId, summaryText } from '../../../core/verify/words';
import type { UnsignedRun } from '../../../service/verify/results';
import type { Rerun } from '../../../service/verify/rerun';
import {
  Reruns,
  parseResults,
  serializeResults,
  verifyCommits,
  verifyMarkdown,
  verifySarif,
  verifyText,
} from '../../../service/verify/verifyParts';
import type { Verified, VerifyRequest } from '../../../service/verify/verifyService';
import { cancellable } from '../../cancellation';
import type { CliContext } from '../../context';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import { type Answer, EXIT, answerJson, errorJson, exitOf, passOn, toJson } from '../../render/output';
import { VERSION } from '../../version';
import type { AnswerData } from '../schemas';
import { writeOutput } from '../outputFile';
import { repositoryHere } from './repositoryHere';

const MAX_RESULTS_BYTES = 8 * 1024 * 1024;

/** `verify`: whether commits have the receipts that their base demands. */
export const verify: Handler = async (context, call) => {
  const format = call.text('format') ?? 'text';
  if (context.json && format !== 'text' && format !== 'json')
    throw new AtlasError('usage', `--json and --format ${format} can't be combined.`);
  try {
    return await verified(context, call, format);
  } catch (error) {
    if (format !== 'json' || context.json || !(error instanceof AtlasError)) throw error;
    // The document is asked for by another option, and an error is one too.
    return { exit: exitOf(error.code), text: errorJson('verify', error), wanted: true, data: {} };
  }
};

async function verified(context: CliContext, call: Call, format: string): Promise<Answer> {
  const repository = repositoryHere(context);
  const request: VerifyRequest = {
    revision: call.operands[0] ?? '',
    base: call.text('base'),
    require: call.list('require'),
    allowAncestor: call.flag('allowAncestor'),
    env: context.env,
  };
  const { curve } = await (await context.atlas()).receipts();
  let found = unwrap(await verifyCommits(repository, curve, request));
  const [isRun, unsigned, signing] = [call.flag('rerun'), call.text('unsigned'), call.text('sign')];
  if (unsigned !== undefined && !isRun) throw new AtlasError('usage', '--unsigned is for --rerun.');
  if (signing !== undefined && isRun) throw new AtlasError('usage', '--rerun and --sign are two jobs.');
  if (found.report.commits.every(({ passed }) => passed) || (!isRun && signing === undefined))
    return answerOf(found.report, [], format);
  context.humanOnly('have the checks of a repository signed as CI', 'Use "atlas validate".');
  const atlas = await context.atlas();
  const { config } = await atlas.configs.forWorktree(undefined);
  const reruns = new Reruns(atlas, repository, found.roots, config.validation.timeoutMs);
  const runs =
    signing === undefined
      ? await rerun(context, reruns, found, unsigned === undefined)
      : unwrap(
          parseResults(
            await context.readText(signing === '-' ? '-' : resolve(context.folder, signing), MAX_RESULTS_BYTES),
            found.report.commits,
          ),
        );
  if (unsigned !== undefined) return handOver(context, call, found.report, runs, unsigned, format);
  const done = unwrap(await reruns.sign(runs));
  found = unwrap(await verifyCommits(repository, curve, request));
  return answerOf(found.report, done, format);
}

async function rerun(context: CliContext, reruns: Reruns, found: Verified, signs: boolean): Promise<UnsignedRun[]> {
  if (signs) unwrap(await reruns.prepare());
  const { err } = context.streams;
  return cancellable(context.cancelled, async (signal) =>
    unwrap(
      await reruns.run(found.report.commits, signal, {
        onCheck: (name, commit) => {
          if (!context.json) err(`atlas: running ${foreignName(name, 64)} on commit ${shortId(commit)}\n`);
        },
        // What a check prints is the change's: it goes beside the answer, and nothing is added to it.
        ...(context.quiet || context.json ? {} : { onOutput: passOn(err, err) }),
      }),
    ),
  );
}

/** Writes what was run for a job that signs. Whether that passed is what counts here. */
async function handOver(
  context: CliContext,
  call: Call,
  report: VerifyReport,
  runs: readonly UnsignedRun[],
  file: string,
  format: string,
): Promise<Answer> {
  const { ports } = await context.atlas();
  const path = writeOutput(ports.files, context, call, file, serializeResults(runs));
  const isGood = runs.every(({ outcome }) => outcome.exitCode === 0) && report.outcome !== 'protected';
  const done = runs.map(({ commit, check, outcome }) => ({
    commit,
    check,
    exitCode: outcome.exitCode,
    problem: undefined,
  }));
  const fixes = [
    `atlas verify ${report.commits.map(({ commit }) => shortId(commit))[0] ?? ''} --sign ${JSON.stringify(path)}`,
  ];
  const notes = [...report.notes, 'Nothing is signed yet.'];
  const { error: _error, ...answer } = answerOf({ ...report, notes, fixes }, done, format);
  return isGood ? { ...answer, exit: EXIT.done } : answerOf({ ...report, notes }, done, format);
}

function answerOf(report: VerifyReport, reruns: readonly Rerun[], format: string): Answer {
  const problems = reruns.flatMap(({ check, commit, problem }) =>
    problem === undefined ? [] : [`Check ${foreignName(check, 64)} ran on commit ${shortId(commit)}, but: ${problem}`],
  );
  const told = { ...report, notes: [...report.notes, ...problems] };
  const data = dataOf(told, reruns);
  const error = errorOf(told);
  const answer = { data, exit: error === undefined ? EXIT.done : exitOf(error.code), wanted: true } as const;
  const whole = error === undefined ? answer : { ...answer, error };
  switch (format) {
    case 'json':
      return { ...whole, text: answerJson('verify', { ...whole, text: '' }) };
    case 'markdown':
      return { ...whole, text: verifyMarkdown(told) };
    case 'sarif':
      return { ...whole, text: toJson(verifySarif(told, VERSION)) };
    default:
      return { ...whole, text: verifyText(told) };
  }
}

function errorOf(report: VerifyReport): AtlasError | undefined {
  switch (report.outcome) {
    case 'passed':
      return undefined;
    case 'not_verified': {
      const [first] = report.fixes;
      const hint = first === undefined ? {} : { hint: `Run: ${first.replace(/\s*#.*$/u, '')}` };
      return new AtlasError('verification_failed', summaryText(report), hint);
    }
    case 'protected':
      return new AtlasError('protected_path', summaryText(report), {
        hint: 'A human who maintains the base reviews the change and lets it pass.',
      });
  }
}

function checkData(check: CheckVerdict): AnswerData<'verify'>['commits'][number]['checks'][number] {
  const { name, run, cwd, by, stated, alsoFailed, ancestor, refused } = check;
  return {
    name,
    run: run ?? null,
    cwd: cwd ?? null,
    by,
    passed: stated !== undefined,
    stated_by:
      stated === undefined
        ? null
        : { name: stated.signer, kind: stated.kind, receipt_id: stated.receiptId, completed_at: stated.completedAt },
    also_failed: alsoFailed,
    ancestor: ancestor === undefined ? null : { ...ancestor, paths: [...ancestor.paths] },
    refused: refused.map(({ receiptId, reason, signer, command, folder, exitCode }) => ({
      receipt_id: receiptId,
      reason,
      signer: signer ?? null,
      command,
      folder: folder ?? null,
      exit_code: exitCode,
    })),
  };
}

function dataOf(report: VerifyReport, reruns: readonly Rerun[]): AnswerData<'verify'> {
  return {
    outcome: report.outcome,
    base: { ...report.base },
    commits: report.commits.map(({ commit, tree, subject, passed, checks, otherTrees }) => ({
      commit,
      tree,
      subject,
      passed,
      checks: checks.map(checkData),
      other_trees: otherTrees.map((other) => ({
        tree: other.tree,
        commit: other.commit ?? null,
        checks: [...other.checks],
      })),
    })),
    protected_paths: [...report.protectedPaths],
    remarks: [...report.notes],
    fixes: [...report.fixes],
    reruns: reruns.map(({ commit, check, exitCode, problem }) => ({
      commit,
      check,
      exit_code: exitCode,
      problem: problem ?? null,
    })),
    shows: `${WHAT_IT_SHOWS} ${NOT_CHECKED}`,
  };
}
