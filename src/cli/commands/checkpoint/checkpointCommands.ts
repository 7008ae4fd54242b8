import type { CommandSpec, OptionSpec } from '../../parse/commandLine';
import { BOUND, TASK } from '../../parse/options';

const DRY_RUN: OptionSpec = { flags: '-n, --dry-run', does: 'show every path that would change, without changing any' };
const YES: OptionSpec = { flags: '-y, --yes', does: 'answer yes to the question' };
const RAW_PATHS: OptionSpec = {
  flags: '--pathspec-file-nul <file>',
  does: 'file with more paths, each ended by a NUL byte (- for standard input)',
};
const ID = { usage: '<id>', does: 'ID of a checkpoint or restore point, ckpt-…' } as const;

/** The commands that record checkpoints, and show and restore their files. */
export const CHECKPOINT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'checkpoint',
    does: 'Record a checkpoint.',
    operands: [{ usage: '[description]', does: 'what has been done' }],
    options: [
      { flags: '--next <text>', does: 'what you do next; HOOK.md shows it as current work' },
      {
        flags: '--trigger <trigger>',
        does: 'what caused the checkpoint',
        choices: ['manual', 'git_commit', 'git_push', 'pr_created'],
      },
      { flags: '--auto', does: 'for scripts: follow the settings, and print nothing if there is nothing to do' },
      ...BOUND,
    ],
    example: 'atlas checkpoint "added the nil check" --next "the test for it" --step implement --attempt 1',
    load: async () => (await import('./checkpoint')).checkpoint,
  },
  {
    name: 'checkpoint list',
    does: 'List the checkpoints and restore points of a task, with how many files changed.',
    options: TASK,
    example: 'atlas checkpoint list',
    load: async () => (await import('./files')).list,
  },
  {
    name: 'checkpoint show',
    does: 'Show what a checkpoint holds, or print one of its files as it was.',
    operands: [ID, { usage: '[path]', does: 'file to print, relative to this folder' }],
    options: [
      { flags: '-o, --output <file>', does: 'write the file there instead of printing it' },
      { flags: '--force', does: 'overwrite an existing file' },
      ...TASK,
    ],
    example: 'atlas checkpoint show ckpt-0a1b2c3d src/config.ts',
    load: async () => (await import('./files')).show,
  },
  {
    name: 'checkpoint diff',
    does: 'Show how the files of a checkpoint differ from those of another, or from the current files.',
    operands: [
      { usage: '[what…]', does: 'up to two IDs (default: the last checkpoint), then files or folders to compare' },
    ],
    interleaved: true,
    options: [
      { flags: '--stat', does: 'show only how many lines of each file changed' },
      { flags: '--name-only', does: 'show only the names of the files that differ' },
      RAW_PATHS,
      ...TASK,
    ],
    example: 'atlas checkpoint diff ckpt-0a1b2c3d --stat',
    load: async () => (await import('./files')).diff,
  },
  {
    name: 'checkpoint restore',
    does: 'Restore the files of a checkpoint (human only). Shows what would change, and asks first.',
    operands: [ID, { usage: '[path…]', does: 'files or folders to restore (default: all)' }],
    interleaved: true,
    options: [DRY_RUN, YES, RAW_PATHS, ...TASK],
    example: 'atlas checkpoint restore ckpt-0a1b2c3d src --dry-run',
    load: async () => (await import('./restore')).restore,
  },
  {
    name: 'checkpoint undo-restore',
    does: 'Undo the last restore of files (human only). Shows what would change, and asks first.',
    options: [DRY_RUN, YES, ...TASK],
    example: 'atlas checkpoint undo-restore',
    load: async () => (await import('./restore')).undoRestore,
  },
  {
    name: 'checkpoint capture',
    does: 'Capture the files for checkpoints that were just recorded. Run by atlas itself.',
    operands: [{ usage: '[id…]', does: 'IDs of the checkpoints' }],
    interleaved: true,
    hidden: true,
    options: [
      {
        flags: '--point <event>',
        does: 'also make a restore point for this event',
        choices: ['start_step', 'crash_detected', 'session_started', 'turn_started', 'turn_ended'],
      },
      { flags: '--before <command>', does: 'also make a restore point, named by the command that is about to run' },
      { flags: '--session <id>', does: 'also note the files that this agent session begins with' },
      { flags: '--until <ms>', does: 'when that command runs at the latest, in milliseconds since 1970' },
      ...TASK,
    ],
    example: 'atlas checkpoint capture ckpt-0a1b2c3d',
    load: async () => (await import('./capture')).capture,
  },
];
