import type { SlotPlan } from '../../../core/worker/slotSteps';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';

/** Why unfinished work needs a look, in words. */
export const STALE: Readonly<Record<NonNullable<WorkerStatus['stale']>, string>> = {
  deadline: 'its deadline has passed',
  owner_dead: 'the process working on it has exited',
};

/** What is out of place about a hook, in words. */
export const ORPHANED: Readonly<Record<WorkerStatus['orphaned'][number], string>> = {
  no_worktree: 'its folder was removed; its branch has everything',
  no_branch: 'its branch was removed; its folder is left',
  ledger_behind: 'its last step is not in the ledger yet; the next change to the ledger adds it',
  folder_differs: 'its protocol files were edited; the branch takes precedence',
  claimed_elsewhere:
    'another worker has the same task and takes precedence; to unassign this one, run: atlas worker repair',
};

const PLANS: Readonly<Record<SlotPlan['action'], string>> = {
  run: 'run it',
  resume: 'continue from its files',
  restart: 'start again',
  give_up: 'mark it as failed at the next claim',
  nothing: 'nothing to do',
  ask: 'ask a human whether its worker is gone',
};

/** A plan in words. */
export function ofPlan({ action, reason }: SlotPlan): string {
  return `${PLANS[action]}. ${reason}`;
}

/** The command that fixes or goes on; `undefined` where nothing is to be done. */
export function nextStep({ worker, plan, orphaned, state }: WorkerStatus): string | undefined {
  switch (plan?.action) {
    case 'run':
    case 'resume':
    case 'restart':
    case 'give_up':
      return `atlas worker run ${worker} -- <command>`;
    case 'ask':
      return `if the worker is gone, a human runs: atlas worker run ${worker} --owner-is-gone -- <command>`;
    case 'nothing':
    case undefined:
      if (orphaned.includes('no_worktree')) return `atlas worker recover ${worker}`;
      return state?.status === 'COMPLETE' || state?.status === 'FAILED'
        ? `atlas worker sling <task> ${worker}`
        : undefined;
  }
}
