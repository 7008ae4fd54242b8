import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { type GitCall, gitFailed, runGit, withoutHooks } from '../read/gitCommand';

/** Long enough for objects that a partial clone has to fetch first. */
const TIMEOUT_MS = 120_000;
/** All that is read at once, in bytes. */
const MAX_READ = 192 * 1024 * 1024;

/** An object's id, as git writes it. */
const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/u;

/** Whether a text is an object's id. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/** Runs git on a repository's objects, with replacements off: what is verified is what would be pushed. */
export async function gitOn(
  repository: Repository,
  args: readonly string[],
  call: GitCall = {},
): Promise<Result<string>> {
  const run = await runGit(repository.worktree, args, {
    timeoutMs: TIMEOUT_MS,
    ...call,
    settings: [withoutHooks(repository), ...(call.settings ?? [])],
    env: { GIT_NO_REPLACE_OBJECTS: '1', ...call.env },
  });
  if (!run.ok) return run;
  return run.value.code === 0 ? ok(run.value.stdout) : { ok: false, error: gitFailed(args, run.value) };
}

/** What a name stands for. */
export interface Named {
  readonly id: string;
  readonly type: string;
  readonly size: number;
}

/** The objects that revisions name; `undefined` for each that names none, or one that git can't tell. */
export async function namedObjects(
  repository: Repository,
  names: readonly string[],
): Promise<Result<(Named | undefined)[]>> {
  // A name with a line break would be two.
  const asked = names.map((name) => (/[\n\0]/u.test(name) || name === '' ? 'no name' : name));
  if (asked.length === 0) return ok([]);
  const run = await gitOn(repository, ['cat-file', '--batch-check'], { input: `${asked.join('\n')}\n` });
  if (!run.ok) return run;
  return ok(
    run.value
      .split('\n')
      .slice(0, names.length)
      .map((line) => {
        const [id = '', type = '', size = ''] = line.split(' ');
        return isObjectId(id) && /^\d+$/u.test(size) ? { id, type, size: Number(size) } : undefined;
      }),
  );
}

/** The contents of blobs by their ids. Those larger than `maxBytes`, and what is no blob, are left out. */
export async function readBlobs(
  repository: Repository,
  ids: readonly string[],
  maxBytes: number,
): Promise<Result<Map<string, Buffer>>> {
  const distinct = [...new Set(ids)];
  const named = await namedObjects(repository, distinct);
  if (!named.ok) return named;
  const small = named.value.filter((each): each is Named => each?.type === 'blob' && each.size <= maxBytes);
  const contents = new Map<string, Buffer>();
  let from = 0;
  while (from < small.length) {
    let [to, bytes] = [from, 0];
    // At least one, and as many more as there is room for.
    do bytes += (small[to++]?.size ?? 0) + 128;
    while (to < small.length && bytes + (small[to]?.size ?? 0) < MAX_READ);
    const input = small
      .slice(from, to)
      .map(({ id }) => `${id}\n`)
      .join('');
    const run = await gitOn(repository, ['cat-file', '--batch', '--buffer'], { input, bytes: true });
    if (!run.ok) return run;
    const read = takeBatch(Buffer.from(run.value, 'latin1'), contents);
    if (!read) return fail('git_failed', 'git cat-file answered something else than objects.');
    from = to;
  }
  return ok(contents);
}

/** Takes apart what `git cat-file --batch` printed; false where it isn't that. */
function takeBatch(output: Buffer, contents: Map<string, Buffer>): boolean {
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(10, at);
    if (end === -1) return false;
    const [id = '', type = '', size = ''] = output.toString('latin1', at, end).split(' ');
    at = end + 1;
    // One that vanished meanwhile has no content.
    if (type !== 'blob') continue;
    contents.set(id, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return true;
}
