import { join } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { oneLine, quoted } from '../../core/shared/text';
import { absolutePathIn } from '../../core/verify/attachedReceipt';
import {
  NOTES_REF,
  type NoteChange,
  type NoteEntry,
  commitNotes,
  moveRef,
  notesOf,
  remoteNotesRef,
} from '../../git/notes/noteTree';
import { namedObjects, readBlobs } from '../../git/notes/objects';
import { gitFailed, runGit, withoutHooks } from '../../git/read/gitCommand';
import { envelopeOfLine } from '../../signing/attachedStatements';
import { parseEnvelope, parseStatement } from '../../signing/envelope';
import { ensureFolder } from '../../system/files/atomicFile';
import type { ServicePorts } from '../ports';
import { linesOf, noteText, withoutCommand } from './attach';
import { defaultRemote, remotesOf } from './base';
import { MAX_NOTE_BYTES } from './notes';

/** How long a remote may take, in ms. */
const TIMEOUT_MS = 120_000;
/** How often a ref that others push to meanwhile is tried again. */
const MAX_TRIES = 20;
/** What a remote says when somebody else was quicker. */
const MOVED =
  /fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|reference already exists|incorrect old value/iu;

/** Commands of receipts that a push would make public. */
export interface Publication {
  readonly receipts: number;
  readonly trees: number;
  /** Each once. */
  readonly commands: readonly string[];
}

/** What a push did. */
export interface Pushed extends Publication {
  readonly remote: string;
  /** Lines of our own notes that are no receipts; they stay here. */
  readonly kept: number;
}

/** The remote that is meant. Fails with `not_found` or `usage`. */
export async function remoteNamed(repository: Repository, name: string | undefined): Promise<Result<string>> {
  const remotes = await remotesOf(repository);
  if (!remotes.ok) return remotes;
  const remote = name ?? defaultRemote(remotes.value);
  if (remote !== undefined && remotes.value.includes(remote)) return ok(remote);
  const hint =
    remotes.value.length === 0
      ? 'Add one with: git remote add'
      : `Remotes: ${remotes.value.map((each) => quoted(each, 60)).join(', ')}`;
  if (remote === undefined) return fail('usage', 'Which remote is meant is not clear.', { hint });
  return fail('not_found', `There is no remote ${quoted(remote, 60)}.`, { hint });
}

/**
 * Fetches the receipts of a remote to a ref of their own, never over what was fetched before. Gives the commit that
 * they are at; `undefined` where the remote has none.
 */
export async function fetchReceipts(repository: Repository, remote: string): Promise<Result<string | undefined>> {
  const ref = remoteNotesRef(remote);
  const args = ['fetch', '--no-progress', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance']
    // In a clone without all contents, these are wanted all the same.
    .concat(['--no-recurse-submodules', '--no-filter', '--refmap=', remote, `${NOTES_REF}:${ref}`]);
  for (let tries = 1; ; tries += 1) {
    const run = await runGit(repository.worktree, args, {
      timeoutMs: TIMEOUT_MS,
      settings: [withoutHooks(repository)],
      outlives: true,
    });
    if (!run.ok) return unreachable(remote, run.error.message);
    const { code, stderr } = run.value;
    if (code === 0) break;
    if (/couldn't find remote ref/u.test(stderr)) return ok(undefined);
    if (/non-fast-forward|\[rejected\]/u.test(stderr)) {
      return fail(
        'remote_refused',
        `Somebody rewrote the receipts on ${quoted(remote, 60)}: what was fetched before is no longer part of them.`,
        {
          hint: 'What was fetched before is kept and still counts. See docs/verify.md on receipts that were rewritten.',
        },
      );
    }
    // Another fetch was writing the same ref.
    if (tries >= MAX_TRIES || !stderr.includes('cannot lock ref'))
      return unreachable(remote, gitFailed(['fetch'], run.value).message);
  }
  const [found] = listOf(await namedObjects(repository, [ref]));
  return ok(found?.id);
}

function unreachable(remote: string, why: string): ReturnType<typeof fail> {
  return fail('remote_unreachable', `The remote ${quoted(remote, 60)} could not be reached: ${oneLine(why, 400)}`, {
    hint: 'Check the network and your access to it, and try again.',
  });
}

function listOf<T>(result: Result<T[]>): T[] {
  return result.ok ? result.value : [];
}

/** Publishes the receipts that were attached here. */
export class ReceiptSharing {
  constructor(
    private readonly ports: Pick<ServicePorts, 'files' | 'ids'>,
    private readonly repository: Repository,
  ) {}

  /**
   * Adds our own receipts to those on a remote: a union, each statement once, tried again where others push meanwhile.
   * Nothing that the remote has is taken away.
   * @param allow is asked before receipts are made public there for the first time
   */
  async push(remote: string, allow: (publication: Publication) => Promise<boolean>): Promise<Result<Pushed>> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const there = await fetchReceipts(this.repository, remote);
      if (!there.ok) return there;
      const union = await this.union(there.value);
      if (!union.ok) return union;
      const { changes, ...published } = union.value;
      if (changes.length === 0) return ok({ remote, ...published });
      if (!this.isKnown(remote) && !(await allow(published))) return fail('cancelled', 'Nothing was pushed.');
      const commit = await commitNotes(this.ports, this.repository, there.value, changes, 'Add receipts');
      if (!commit.ok) return commit;
      const pushed = await this.pushCommit(remote, commit.value);
      if (!pushed.ok) return pushed;
      if (!pushed.value) continue;
      this.remember(remote);
      const moved = await moveRef(this.repository, remoteNotesRef(remote), there.value, commit.value);
      // A fetch that was quicker brought the same, or more.
      return moved.ok ? ok({ remote, ...published }) : moved;
    }
    return fail('lock_timeout', `Others pushed receipts to ${quoted(remote, 60)} each time.`, { hint: 'Try again.' });
  }

  private async pushCommit(remote: string, commit: string): Promise<Result<boolean>> {
    const args = [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-signed',
      '--recurse-submodules=no',
      remote,
      `${commit}:${NOTES_REF}`,
    ];
    const settings = [withoutHooks(this.repository), 'push.followTags=false', `remote.${remote}.mirror=false`];
    const run = await runGit(this.repository.worktree, args, { timeoutMs: TIMEOUT_MS, settings, outlives: true });
    if (!run.ok) return unreachable(remote, run.error.message);
    const { code, stdout, stderr } = run.value;
    if (code === 0) return ok(true);
    const refusal = stdout.split('\n').find((line) => line.startsWith('!'));
    if (MOVED.test(refusal ?? stderr)) return ok(false);
    if (refusal === undefined) return unreachable(remote, gitFailed(args, run.value).message);
    return fail(
      'remote_refused',
      `${quoted(remote, 60)} refused the receipts: ${oneLine(refusal.split('\t').slice(1).join(' '), 300)}`,
      {
        hint: 'Ask who maintains it whether refs/notes/atlas may be pushed to.',
      },
    );
  }

  /** What has to change there for all of our own receipts to be there. */
  private async union(
    there: string | undefined,
  ): Promise<Result<Publication & { changes: NoteChange[]; kept: number }>> {
    const [own] = listOf(await namedObjects(this.repository, [NOTES_REF]));
    if (own === undefined) {
      return fail('not_found', 'No receipts were attached here yet.', {
        hint: 'Attach them with: atlas receipts attach',
      });
    }
    const ours = await notesOf(this.repository, own.id);
    if (!ours.ok) return ours;
    const theirs = there === undefined ? ok(new Map<string, NoteEntry[]>()) : await notesOf(this.repository, there);
    if (!theirs.ok) return theirs;
    const differing = [...ours.value].filter(([on, entries]) => {
      const known = new Set((theirs.value.get(on) ?? []).map(({ blob }) => blob));
      return entries.some(({ blob }) => !known.has(blob));
    });
    const ids = differing.flatMap(([on, entries]) =>
      [...entries, ...(theirs.value.get(on) ?? [])].map(({ blob }) => blob),
    );
    const blobs = await readBlobs(this.repository, ids, MAX_NOTE_BYTES);
    if (!blobs.ok) return blobs;
    const changes: NoteChange[] = [];
    const commands = new Set<string>();
    let [receipts, kept] = [0, 0];
    for (const [on, entries] of differing) {
      const known = theirs.value.get(on) ?? [];
      if (known.some(({ blob }) => !blobs.value.has(blob)))
        return fail('unreadable', `The note of the remote on tree ${on} can't be read.`);
      const there = linesOf(known, blobs.value);
      const missing: string[] = [];
      for (const line of linesOf(entries, blobs.value)) {
        if (there.has(line)) continue;
        const command = publishable(line);
        if (command === undefined) kept += 1;
        else {
          missing.push(line);
          commands.add(command);
        }
      }
      receipts += missing.length;
      if (missing.length > 0) changes.push({ on, content: { text: noteText([...there, ...missing]) }, known });
    }
    return ok({ changes, kept, receipts, trees: changes.length, commands: [...commands] });
  }

  private marker(remote: string): string {
    return join(this.repository.commonDir, 'atlas', 'published', encodeURIComponent(remote));
  }

  private isKnown(remote: string): boolean {
    return this.ports.files.stat(this.marker(remote)) !== undefined;
  }

  /** Whoever pushed there once knows what becomes public. */
  private remember(remote: string): void {
    if (this.isKnown(remote)) return;
    ensureFolder(this.ports.files, join(this.repository.commonDir, 'atlas', 'published'));
    this.ports.files.write(this.marker(remote), '');
  }
}

/** The command of a line that may be made public; `undefined` for what is no statement of ours, or holds a path. */
function publishable(line: string): string | undefined {
  const bytes = envelopeOfLine(line);
  const envelope = bytes === undefined ? undefined : parseEnvelope(bytes);
  const statement = envelope?.ok === true ? parseStatement(envelope.value.payload) : undefined;
  if (statement?.ok !== true || statement.value.predicate.repository === undefined) return undefined;
  const command = statement.value.predicate.receipt['command'];
  return typeof command === 'string' && absolutePathIn(withoutCommand(statement.value)) === undefined
    ? command
    : undefined;
}
