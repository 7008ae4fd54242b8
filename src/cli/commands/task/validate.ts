import { AtlasError, unwrap } from '../../../core/shared/errors';
import { commandsOf } from '../../../core/task/task';
import { currentCommands } from '../../../core/task/taskAlignment';
import type { Expected } from '../../../core/transition/events';
import { checkExpected } from '../../../core/transition/transition';
import { count, oneLine } from '../../../core/shared/text';
import type { ValidationWatch } from '../../../service/receipts/validationService';
import type { OutputStream } from '../../../core/receipt/receipt';
import type { StoredTask } from '../../../core/task/storedTask';
import { cancellable } from '../../cancellation';
import type { Handler } from '../../parse/commandLine';
import { announceRun } from './consent';
import type { CliContext } from '../../context';
import { EXIT, passOn } from '../../render/output';
import type { AnswerData } from '../schemas';
import { checksOf, offeredLines } from './offeredChecks';
import { afterStep, summaryOf } from './step';
import { type Driven, changed, expectedOf, taken, taskToDrive } from './taskAnswer';

/** `validate`: runs the step's checks, signs receipts, and moves the task on by what they prove. */
export const validate: Handler = async (context, call) => {
  const expect = expectedOf(call);
  const summary = await summaryOf(context, call);
  const driven = await taskToDrive(context, call, expect);
  const { atlas, stored } = driven;
  const [commands, checks] = [call.list('command'), call.list('check')];
  // Another step's checks are not this caller's.
  const stale = checkExpected(stored.hook, { type: 'validation_command', expect });
  if (stale !== undefined) taken(context, driven, stale);
  await requireChecks(driven, [...commands, ...checks]);
  const { config } = await atlas.configs.forTask(stored.task);
  const named = (config.verify?.checks ?? []).filter(({ name }) => checks.includes(name)).map(({ run }) => run);
  const ofRepository = [...currentCommands(stored), ...named];
  if (context.caller === 'human') announceRun(context, await atlas.unallowed(stored, ofRepository));
  const validated = await cancellable(context.cancelled, async (signal) =>
    atlas.validate(stored.ref, {
      // What runs is what was shown, also where the task moves on meanwhile.
      expect: { ...seenStep(stored), ...expect },
      commands,
      checks,
      ...summary,
      keepGoing: call.flag('keepGoing'),
      signal,
      caller: context.caller,
      watch: watchOf(context),
    }),
  );
  const { passed, reason, receipts, task } = taken(context, driven, validated);
  const { files } = await atlas.receipts();
  const pathOf = (id: string, stream: OutputStream): string => unwrap(files.outputPath(stored.ref, id, stream));
  const data = {
    passed,
    reason: reason ?? null,
    receipts: receipts.map(({ receipt_id: id, command, exit_code: exitCode, duration }) => ({
      receipt_id: id,
      command,
      exit_code: exitCode,
      duration,
      stdout_path: pathOf(id, 'stdout'),
      stderr_path: pathOf(id, 'stderr'),
    })),
  } satisfies Partial<AnswerData<'validate'>>;
  const what = passed
    ? `Passed: ${count(receipts.length, 'receipt')} signed.`
    : `Failed: ${oneLine(reason ?? 'a command failed', 500)}`;
  if (passed) return afterStep(context, call, driven, task, what, data);
  const answer = await changed(context, driven, task, what, data);
  const error = new AtlasError('verification_failed', reason ?? 'Validation failed.');
  return { ...answer, exit: EXIT.failed, error };
};

/** The step and attempt that a task was seen at. */
function seenStep({ hook }: StoredTask): Expected {
  const step = hook.current_step;
  return step === undefined ? {} : { step: step.step_name, attempt: step.attempt };
}

/** Where the step declares no check and none is named, those that the repository has are offered. */
async function requireChecks({ atlas, stored }: Driven, asked: readonly string[]): Promise<void> {
  const planned = stored.task.steps[stored.hook.current_step?.step_index ?? -1];
  if (asked.length > 0 || planned === undefined || commandsOf(planned).length > 0) return;
  const message = `Step "${oneLine(planned.name, 64)}" declares no checks, and no command was given.`;
  const offered = offeredLines(await checksOf(atlas, stored));
  throw new AtlasError('usage', [message, ...offered].join('\n'), {
    hint: 'Name the command that checks the work: atlas validate --command "<command>"',
  });
}

/** Shows what runs and what it prints, as it comes. */
function watchOf({ json, quiet, streams }: CliContext): ValidationWatch {
  if (json || quiet) return {};
  return {
    onCommand: (command, index, total) => {
      streams.err(`[${index + 1}/${total}] ${oneLine(command, 300)}\n`);
    },
    onOutput: passOn(streams.out, streams.err),
    onReceipt: ({ receipt_id: id, exit_code: exitCode, duration }) => {
      streams.err(`    exited with code ${exitCode} after ${duration}; receipt ${id}\n`);
    },
  };
}
