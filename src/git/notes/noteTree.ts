import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem, Ids, Repository } from '../../core/shared/ports';
import { discardFile, ensureFolder } from '../../system/files/atomicFile';
import { runGit } from '../read/gitCommand';
import { gitOn, isObjectId } from './objects';

/** Where our notes are: one ref for what was attached here, and one for each remote that they were fetched from. */
export const NOTES_REF = 'refs/notes/atlas';
const REMOTE_NOTES = 'refs/notes/atlas-remote/';

/** Where the notes of a remote are kept. */
export function remoteNotesRef(remote: string): string {
  return `${REMOTE_NOTES}${remote}`;
}

/** The remote whose notes a ref keeps; `undefined` for our own. */
export function remoteOfNotesRef(ref: string): string | undefined {
  return ref.startsWith(REMOTE_NOTES) ? ref.slice(REMOTE_NOTES.length) : undefined;
}

/** A note: the object that it is on, and where it lies in the ref's tree. */
export interface NoteEntry {
  readonly path: string;
  readonly blob: string;
}

/** A ref with notes, and the commit that it names. */
export interface NotesRef {
  readonly ref: string;
  readonly commit: string;
}

/** All refs with notes of ours: our own first. */
export async function notesRefs(repository: Repository): Promise<Result<NotesRef[]>> {
  const format = '--format=%(objectname) %(objecttype) %(refname)';
  const run = await gitOn(repository, ['for-each-ref', format, NOTES_REF, REMOTE_NOTES]);
  if (!run.ok) return run;
  const refs = run.value.split('\n').flatMap((line): NotesRef[] => {
    const [commit = '', type = '', ref = ''] = line.split(' ');
    const isOurs = ref === NOTES_REF || ref.startsWith(REMOTE_NOTES);
    return isOurs && type === 'commit' ? [{ ref, commit }] : [];
  });
  return ok(refs.sort((a, b) => Number(b.ref === NOTES_REF) - Number(a.ref === NOTES_REF)));
}

/**
 * The notes of a ref by the object that they are on; an object can have several, where other programs spread them
 * over folders differently. What is no note is left out.
 */
export async function notesOf(repository: Repository, commit: string): Promise<Result<Map<string, NoteEntry[]>>> {
  const run = await gitOn(repository, ['ls-tree', '-r', '-z', commit], { bytes: true });
  if (!run.ok) return run;
  const notes = new Map<string, NoteEntry[]>();
  for (const record of run.value.split('\0')) {
    const [, mode = '', blob = '', path = ''] = /^(\d+) blob ([0-9a-f]+)\t([0-9a-f/]+)$/u.exec(record) ?? [];
    const on = path.replaceAll('/', '');
    if (!mode.startsWith('100') || !isObjectId(on)) continue;
    const known = notes.get(on);
    if (known === undefined) notes.set(on, [{ path, blob }]);
    else known.push({ path, blob });
  }
  return ok(notes);
}

/** A note to be written: its whole text, or a blob that is there already. */
export interface NoteChange {
  readonly on: string;
  readonly content: { readonly text: string } | { readonly blob: string };
  /** Where notes on the object lie now: the first is replaced, the others are taken out. */
  readonly known: readonly NoteEntry[];
}

interface WritePorts {
  readonly files: FileSystem;
  readonly ids: Ids;
}

/** Who is named as the author of notes: nobody's name or address is made public by them. */
const NOBODY = { NAME: 'Atlas', EMAIL: 'atlas@localhost' };
const AUTHOR = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap((role) =>
    Object.entries(NOBODY).map(([what, text]) => [`GIT_${role}_${what}`, text]),
  ),
);

/**
 * Makes a commit with changed notes, on another one; no ref is moved.
 * @param parent the commit with the notes that there are; `undefined` for the first
 */
export async function commitNotes(
  { files, ids }: WritePorts,
  repository: Repository,
  parent: string | undefined,
  changes: readonly NoteChange[],
  message: string,
): Promise<Result<string>> {
  const folder = join(repository.commonDir, 'atlas');
  ensureFolder(files, folder);
  const index = join(folder, `notes-index-${ids.hex(8)}`);
  const env = { GIT_INDEX_FILE: index, ...AUTHOR };
  const git = async (args: readonly string[], input?: string): Promise<Result<string>> => {
    const run = await gitOn(repository, args, {
      env,
      input,
      settings: ['commit.gpgSign=false', 'core.splitIndex=false'],
    });
    return run.ok ? ok(run.value.trim()) : run;
  };
  try {
    const begun = await git(parent === undefined ? ['read-tree', '--empty'] : ['read-tree', parent]);
    if (!begun.ok) return begun;
    const lines: string[] = [];
    for (const { on, content, known } of changes) {
      const blob = 'blob' in content ? ok(content.blob) : await git(['hash-object', '-w', '--stdin'], content.text);
      if (!blob.ok) return blob;
      const [first, ...others] = known;
      for (const { path } of others) lines.push(`0 ${'0'.repeat(on.length)}\t${path}`);
      lines.push(`100644 ${blob.value}\t${first?.path ?? `${on.slice(0, 2)}/${on.slice(2)}`}`);
    }
    const put = await git(['update-index', '--add', '--index-info'], `${lines.join('\n')}\n`);
    if (!put.ok) return put;
    const tree = await git(['write-tree']);
    if (!tree.ok) return tree;
    const parents = parent === undefined ? [] : ['-p', parent];
    return await git(['commit-tree', tree.value, ...parents, '-m', message]);
  } finally {
    discardFile(files, index);
    discardFile(files, `${index}.lock`);
  }
}

/** Moves a ref from one commit to another; false where somebody else moved it first. */
export async function moveRef(
  repository: Repository,
  ref: string,
  from: string | undefined,
  to: string,
): Promise<Result<boolean>> {
  const old = from ?? '0'.repeat(to.length);
  const args = ['update-ref', '-m', 'atlas: receipts', ref, to, old];
  const run = await runGit(repository.worktree, args);
  if (!run.ok) return run;
  if (run.value.code === 0) return ok(true);
  // Two messages of git's, both about what stands in the ref's file or its lock.
  if (/cannot lock ref|unable to (?:create|resolve)|but expected|already exists/u.test(run.value.stderr))
    return ok(false);
  return fail('git_failed', `${ref} could not be changed: ${run.value.stderr.slice(0, 300).trim()}`);
}
