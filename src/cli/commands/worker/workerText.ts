import type { RecoveryPlan } from '../../../core/worker/slotSteps';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';

/** Why unfinished work needs a look, in words. */
export const STALE: Readonly<Record<NonNullable<WorkerStatus['stale']>, string>> = {
  deadline: 'its deadline has passed',
  owner_dead: 'the process that worked on it is gone',
};

/** What is out of place about a hook, in words. */
export const ORPHANED: Readonly<Record<WorkerStatus['orphaned'][number], string>> = {
  no_worktree: 'its folder was removed; its branch has all of it',
  no_branch: 'its branch was removed; the folder is left',
  ledger_behind: 'the ledger does not know of its last step yet; the next change of the ledger adds it',
  folder_differs: "the protocol's files in the folder were edited; what the branch says counts",
  claimed_elsewhere:
    'another worker has the same task, and that one counts; atlas worker repair takes it off this hook',
};

const PLANS: Readonly<Record<RecoveryPlan['action'], string>> = {
  run: 'run it',
  resume: 'go on with what is there',
  restart: 'begin it again',
  give_up: 'it fails at the next claim',
  nothing: 'nothing is to be done',
  ask: 'a human says whether its worker is gone',
};

/** A plan in words. */
export function ofPlan({ action, reason }: RecoveryPlan): string {
  return `${PLANS[action]}. ${reason}`;
}

/** The command that mends or goes on; `undefined` where nothing is to be done. */
export function nextStep({ worker, plan, orphaned, state }: WorkerStatus): string | undefined {
  switch (plan?.action) {
    case 'run':
    case 'resume':
    case 'restart':
    case 'give_up':
      return `atlas worker run ${worker} -- <command>`;
    case 'ask':
      return `a human, if it is so: atlas worker run ${worker} --owner-is-gone -- <command>`;
    case 'nothing':
    case undefined:
      if (orphaned.includes('no_worktree')) return `atlas worker recover ${worker}`;
      return state?.status === 'COMPLETE' || state?.status === 'FAILED'
        ? `atlas worker sling <task> ${worker}`
        : undefined;
  }
}
