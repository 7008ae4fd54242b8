import { type Result, fail, ok } from './errors';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/u;
const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/u;
/** Names that Windows gives to devices, whatever follows the first dot. Tested in lower case: `i` and `u` together take half a millisecond. */
const RESERVED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(\..*)?$/u;
const isReserved = (name: string): boolean => RESERVED.test(name.toLowerCase());

/** Checks the name of a workspace before a path is built from it. */
export function checkWorkspaceName(name: string): Result<string> {
  if (NAME.test(name) && !isReserved(name)) return ok(name);
  return fail('invalid_name', `${JSON.stringify(name)} is not a valid workspace name.`, {
    hint: 'Use at most 255 letters, digits, "-" and "_", starting with a letter or digit. Names reserved by Windows are not allowed.',
  });
}

/** Checks the id of a task before a path is built from it. A trailing dot is refused: Windows drops it. */
export function checkTaskId(id: string): Result<string> {
  if (TASK_ID.test(id) && !isReserved(id) && !id.includes('..') && !id.endsWith('.')) return ok(id);
  return fail('invalid_name', `${JSON.stringify(id)} is not a valid task ID.`, {
    hint: 'Use at most 255 letters, digits, ".", "-" and "_", starting with a letter or digit. Names reserved by Windows are not allowed.',
  });
}

/** A workspace name made from any folder name: what isn't allowed becomes `-`. */
export function workspaceNameFrom(folder: string): string {
  const cleaned = folder
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/gu, '')
    .slice(0, 200);
  const name = cleaned === '' ? 'workspace' : cleaned;
  return isReserved(name) ? `${name}-workspace` : name;
}

/** `task-YYYYMMDD-HHMMSS` in UTC for a time in ms; `collision` above 1 appends `-2`, `-3` … */
export function taskIdAt(ms: number, collision = 1): string {
  const stamp = new Date(ms).toISOString().replace(/[-:]/gu, '');
  const id = `task-${stamp.slice(0, 8)}-${stamp.slice(9, 15)}`;
  return collision > 1 ? `${id}-${collision}` : id;
}
