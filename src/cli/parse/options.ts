import type { OptionSpec } from './commandLine';

/** By which a command's task is named. */
export const TASK: readonly OptionSpec[] = [
  {
    flags: '--task <id>',
    does: "the task, as <id> or <workspace>/<id> (default: $ATLAS_TASK, then this folder's task)",
  },
  { flags: '--workspace <name>', does: "the workspace (default: this folder's)" },
];

/** By which a caller says where it believes the task to be; a mismatch is refused. */
const ATTEMPT: OptionSpec = { flags: '--attempt <n>', does: 'fail unless the step is at this attempt' };
/** As `ATTEMPT`, for the step. */
const STEP: OptionSpec = { flags: '--step <name>', does: 'fail unless this is the current step' };
/** Everything by which a task, its step and its attempt are named. */
export const BOUND: readonly OptionSpec[] = [STEP, ATTEMPT, ...TASK];
