/** The programs: `forge` has the commands of workers alone. */
export type ProgramName = 'atlas' | 'forge';

/** What a group of commands is for; the commands of workers are called `forge hook …` too. */
const GROUPS = {
  step: 'Work on the current step.',
  checkpoint: 'Record checkpoints, and show and restore their files.',
  hook: 'Inspect task records and manage git hooks.',
  spool: 'Process events queued by git hooks.',
  receipts: 'List, export, share and verify receipts.',
  keys: 'Manage the keys that a repository trusts.',
  inbox: 'Work with the agent queue.',
  worker: 'Assign tasks to workers and run them.',
  'worker task': 'Manage the tasks in the ledger.',
  'worker convoy': 'Manage convoys of tasks.',
  workspace: 'Manage workspaces.',
  sessions: 'Inspect and resume sessions of agents.',
  lifecycle: 'Install and run lifecycle hooks of agents.',
} as const;

/** One line on a program. */
export const PROGRAM_TEXTS = {
  atlas: 'Record the progress of a coding task so that work can continue after a crash.',
  forge: GROUPS.worker,
} as const satisfies Record<ProgramName, string>;

/** One line on a group of commands, by the name that a program knows it by. */
export function groupText(name: string, program: ProgramName = 'atlas'): string {
  const known: Readonly<Record<string, string>> = GROUPS;
  return known[program === 'forge' ? name.replace(/^hook/u, 'worker') : name] ?? '';
}
