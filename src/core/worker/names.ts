import { type Result, fail, ok } from '../shared/errors';
import { checkTaskId } from '../shared/ids';

/** The branch that the ledger is kept on. */
export const LEDGER_BRANCH = 'refs/heads/forge/ledger';
/** What the branches of hooks begin with. */
export const SLOT_BRANCHES = 'refs/heads/forge/hooks/';

const PART = /^[a-z0-9][a-z0-9._-]{0,63}$/u;

/**
 * Checks the name of a worker, `<worker>` or `<pool>/<worker>`, before a path or a branch is built from it. Only lower
 * case: on some systems two names that differ in case are one folder and one branch.
 */
export function checkWorker(name: string): Result<string> {
  const parts = name.split('/');
  // What is safe as a task's id is safe as a folder on every system; git keeps one more ending for itself.
  const isSafe = (part: string): boolean => PART.test(part) && checkTaskId(part).ok && !part.endsWith('.lock');
  if (parts.length <= 2 && parts.every(isSafe)) return ok(name);
  return fail('invalid_name', `${JSON.stringify(name.slice(0, 200))} is not a valid worker name.`, {
    hint: 'Use <worker> or <pool>/<worker>: at most 64 lowercase letters, digits, ".", "-" and "_" each, starting with a letter or digit.',
  });
}

/** The worker whose name stands in the way of a new one: a pool and a worker can't be called the same. */
export function clashingWorker(name: string, others: Iterable<string>): string | undefined {
  for (const other of others) {
    if (other.startsWith(`${name}/`) || name.startsWith(`${other}/`)) return other;
  }
  return undefined;
}

/** The full name of the branch of a worker's hook; the name was checked. */
export function slotBranchName(worker: string): string {
  return `${SLOT_BRANCHES}${worker}`;
}

/** The worker that a branch belongs to; `undefined` for any other branch. */
export function workerOfBranch(ref: string): string | undefined {
  if (!ref.startsWith(SLOT_BRANCHES)) return undefined;
  const worker = ref.slice(SLOT_BRANCHES.length);
  return checkWorker(worker).ok ? worker : undefined;
}
