import { isAbsolute, relative, resolve, sep } from 'node:path';
import { AtlasError } from '../../../core/shared/errors';
import { quoted } from '../../../core/shared/text';
import { type TreePath, parsePath } from '../../../core/snapshot/treePath';
import { worktreeOf } from '../../../core/task/task';
import type { StoredTask } from '../../../core/task/storedTask';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';

/** The most bytes of a file with paths. */
const MAX_BYTES = 16 * 1024 * 1024;

/** One character a byte, as snapshots have their paths. */
function bytesText(text: string): TreePath {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/**
 * A path that somebody typed, from the top of the task's worktree: as git quotes it, or plain; relative to the folder
 * they are in, if that is in the worktree. Throws `unsafe_path` for one that leads out of it.
 */
export function typedPath({ folder }: Pick<CliContext, 'folder'>, stored: StoredTask, typed: string): TreePath {
  const path = parsePath(typed);
  if (path === undefined)
    throw new AtlasError('usage', `${quoted(typed)} is not a path as git quotes it.`, {
      hint: 'Write it without quotes, or close them and escape bytes as \\ooo.',
    });
  if (path === '.' || path === '') return '';
  const worktree = worktreeOf(stored.task) ?? folder;
  const inside = relative(worktree, folder);
  const base = inside.startsWith('..') || isAbsolute(inside) ? worktree : folder;
  const byteBase = bytesText(base);
  const full = resolve(byteBase, path);
  const found = relative(bytesText(worktree), full).split(sep).join('/');
  if (found !== '..' && !found.startsWith('../') && !isAbsolute(found)) return found;
  throw new AtlasError('unsafe_path', `${quoted(typed)} is outside the task's folder.`, {
    hint: `Name files in ${worktree}.`,
  });
}

/** The paths that a command line names, typed and in a file; none for all. */
export async function pathsOf(
  context: CliContext,
  call: Call,
  stored: StoredTask,
  typed: readonly string[],
): Promise<TreePath[]> {
  const named = typed.map((each) => typedPath(context, stored, each));
  const file = call.text('pathspecFileNul');
  const raw = file === undefined ? '' : (await context.readBytes(file, MAX_BYTES)).toString('latin1');
  const all = [...named, ...raw.split('\0').filter((path) => path !== '')];
  return all.includes('') ? [] : all;
}
