import type { OptionSpec } from './commandLine';

/** By which a command's task is named. */
export const TASK: readonly OptionSpec[] = [
  { flags: '--task <id>', does: 'the task, as <id> or <workspace>/<id> (else ATLAS_TASK, else that of this folder)' },
  { flags: '--workspace <name>', does: "the workspace, where it isn't that of this folder" },
];

/** By which a caller says where it believes the task to be; a mismatch is refused. */
export const ATTEMPT: OptionSpec = { flags: '--attempt <n>', does: 'refuse unless the step is at this attempt' };
/** As `ATTEMPT`, for the step. */
const STEP: OptionSpec = { flags: '--step <name>', does: 'refuse unless this is the current step' };
/** Everything by which a task, its step and its attempt are named. */
export const BOUND: readonly OptionSpec[] = [STEP, ATTEMPT, ...TASK];
