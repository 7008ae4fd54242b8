import { AtlasError, type Result, fail, ok, unwrap } from '../../../core/shared/errors';
import { commandsOf, worktreeOf } from '../../../core/task/task';
import { currentCommands } from '../../../core/task/taskAlignment';
import type { Expected } from '../../../core/transition/events';
import { count, oneLine } from '../../../core/shared/text';
import type { ValidationWatch } from '../../../service/receipts/validationService';
import type { OutputStream } from '../../../core/receipt/receipt';
import type { StoredTask } from '../../../core/task/storedTask';
import { Cancellation } from '../../cancellation';
import type { Call } from '../../parse/call';
import { announceRun } from './consent';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { type Driven, changed, expectedOf, refusal, taskToDrive } from './taskAnswer';

/** `validate`: runs the step's checks, signs receipts, and moves the task on by what they prove. */
export async function validate(context: CliContext, call: Call): Promise<Result<Answer>> {
  const expect = expectedOf(call);
  if (!expect.ok) return expect;
  const driven = await taskToDrive(context, call, expect.value);
  if (!driven.ok) return driven;
  const { atlas, stored } = driven.value;
  const commands = call.list('command');
  const checks = await hasChecks(driven.value, commands);
  if (!checks.ok) return checks;
  if (context.caller === 'human') announceRun(context, await atlas.unallowed(stored, currentCommands(stored)));
  const cancel = new Cancellation(context.cancelled);
  const validated = await atlas
    .validate(stored.ref, {
      // What runs is what was shown, also where the task moves on meanwhile.
      expect: { ...seenStep(stored), ...expect.value },
      commands,
      keepGoing: call.flag('keepGoing'),
      signal: cancel.signal,
      caller: context.caller,
      watch: watchOf(context),
    })
    .finally(() => {
      cancel.dispose();
    });
  if (!validated.ok) return { ok: false, error: refusal(context, driven.value, validated.error) };
  const { passed, reason, receipts, task } = validated.value;
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
  const answer = changed(context, driven.value, task, what, data);
  if (passed) return ok(answer);
  const error = new AtlasError('verification_failed', reason ?? 'Validation failed.');
  return ok({ ...answer, exit: EXIT.failed, error });
}

/** The step and attempt that a task was seen at. */
function seenStep({ hook }: StoredTask): Expected {
  const step = hook.current_step;
  return step === undefined ? {} : { step: step.step_name, attempt: step.attempt };
}

/** Where the step declares no check and none is named, those that the repository has are offered. */
async function hasChecks({ atlas, stored }: Driven, commands: readonly string[]): Promise<Result<void>> {
  const planned = stored.task.steps[stored.hook.current_step?.step_index ?? -1];
  if (commands.length > 0 || planned === undefined || commandsOf(planned).length > 0) return ok(undefined);
  const worktree = worktreeOf(stored.task);
  const { declaredChecks } = await import('../../../validation/declaredChecks');
  const found = worktree === undefined ? [] : declaredChecks(atlas.ports.files, worktree);
  const lines = found.map(
    ({ command, source }) => `  atlas validate --command ${quoted(command)}   (${oneLine(source, 100)})`,
  );
  const message = `Step "${oneLine(planned.name, 64)}" declares no checks, and no command was given.`;
  return fail(
    'usage',
    [message, ...(lines.length === 0 ? [] : ['Checks found in this repository:', ...lines])].join('\n'),
    {
      hint: 'Name the command that checks the work: atlas validate --command "<command>"',
    },
  );
}

function quoted(text: string): string {
  return /^[\w./:=@-]+$/u.test(text) ? text : `'${oneLine(text, 200).replaceAll("'", "'\\''")}'`;
}

/** Shows what runs and what it prints, as it comes. */
function watchOf({ json, quiet, streams }: CliContext): ValidationWatch {
  if (json || quiet) return {};
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  return {
    onCommand: (command, index, total) => {
      streams.err(`[${index + 1}/${total}] ${oneLine(command, 300)}\n`);
    },
    onOutput: (stream, chunk) => {
      const text = decoders[stream].decode(chunk, { stream: true });
      if (stream === 'stdout') streams.out(text);
      else streams.err(text);
    },
    onReceipt: ({ receipt_id: id, exit_code: exitCode, duration }) => {
      streams.err(`    exited with code ${exitCode} after ${duration}; receipt ${id}\n`);
    },
  };
}
