import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import type { StoredTask } from '../../core/task/storedTask';
import { absolutePathIn } from '../../core/verify/attachedReceipt';
import { POLICY_FILE } from '../../core/verify/policy';
import { parseKeyPath } from '../../core/receipt/keyPath';
import type { Statement } from '../../core/receipt/receipt';
import { filesAt } from '../../git/notes/history';
import { NOTES_REF, type NoteChange, type NoteEntry, commitNotes, moveRef, notesOf } from '../../git/notes/noteTree';
import { namedObjects, readBlobs } from '../../git/notes/objects';
import { noteLine } from '../../signing/attachedStatements';
import { parseEnvelope, parseStatement } from '../../signing/envelope';
import type { AtlasReader } from '../atlasReader';
import type { ServicePorts } from '../ports';
import { policyFrom } from './base';
import { MAX_NOTE_BYTES } from './notes';

/** How often a ref that others move meanwhile is tried again. */
const MAX_TRIES = 10;

/** A receipt that was attached, or why not. */
export interface AttachedLine {
  readonly receiptId: string;
  readonly command: string;
  readonly exitCode: number;
}

/** What `attachReceipts` did. */
export interface Attached {
  readonly commit: string;
  readonly tree: string;
  readonly attached: readonly AttachedLine[];
  /** How many were there already. */
  readonly known: number;
  readonly leftOut: readonly (AttachedLine & { readonly why: string })[];
}

interface Candidate extends AttachedLine {
  readonly envelope: Uint8Array;
  readonly statement: Statement;
  readonly stored: StoredTask;
}

/**
 * Attaches the statements of this store's receipts that cover exactly a commit's tree, before and after their run, to
 * a note on that tree. Nothing leaves the machine by that. Fails with `not_found` where none covers it.
 */
export async function attachReceipts(
  atlas: AtlasReader,
  repository: Repository,
  revision: string,
): Promise<Result<Attached>> {
  const place = await placeOf(repository, revision);
  if (!place.ok) return place;
  const { tree } = place.value;
  const covering = candidatesFor(atlas, repository, tree, (await atlas.receipts()).files);
  const { good, leftOut } = await sorted(atlas, repository, place.value, covering);
  if (good.length === 0) {
    const [first] = leftOut;
    if (first !== undefined)
      return fail('verification_failed', `Receipt ${first.receiptId} can't be attached: ${first.why}`);
    return fail(
      'not_found',
      `No receipt of this machine covers the files of commit ${place.value.commit.slice(0, 12)}.`,
      {
        hint: 'Check out exactly that commit, run "atlas validate", and attach again. Or run: atlas verify <commit> --rerun',
      },
    );
  }
  const added = await addToNote(
    atlas.ports,
    repository,
    tree,
    good.map(({ envelope }) => noteLine(envelope)),
  );
  if (!added.ok) return added;
  const attached = good
    .filter(({ envelope }) => added.value.has(noteLine(envelope)))
    .map(({ receiptId, command, exitCode }) => ({ receiptId, command, exitCode }));
  return ok({ ...place.value, attached, known: good.length - attached.length, leftOut });
}

/** The commit and tree that a revision names. Fails with `not_found`. */
async function placeOf(repository: Repository, revision: string): Promise<Result<{ commit: string; tree: string }>> {
  const named = await namedObjects(repository, [`${revision}^{commit}`, `${revision}^{tree}`]);
  if (!named.ok) return named;
  const [commit, tree] = named.value;
  if (commit !== undefined && tree !== undefined) return ok({ commit: commit.id, tree: tree.id });
  return fail('not_found', `There is no commit ${JSON.stringify(revision).slice(0, 120)} here.`);
}

function candidatesFor(
  { catalog, workspaces }: AtlasReader,
  { main }: Repository,
  tree: string,
  files: { envelope(ref: StoredTask['ref'], id: string): Uint8Array | undefined },
): Candidate[] {
  const workspace = workspaces.find(main);
  if (workspace === undefined) return [];
  return [...catalog.open(workspace), ...catalog.finished(workspace)].flatMap((ref) => {
    const stored = catalog.read(ref);
    if (!stored.ok) return [];
    return stored.value.hook.receipts.flatMap(({ receipt_id: receiptId, command, exit_code: exitCode }) => {
      const envelope = files.envelope(ref, receiptId);
      const parsed = envelope === undefined ? undefined : parseEnvelope(envelope);
      const statement = parsed?.ok === true ? parseStatement(parsed.value.payload) : undefined;
      if (envelope === undefined || statement?.ok !== true) return [];
      const { before, after } = statement.value.predicate.tree;
      if (before !== tree || after !== tree) return [];
      return [{ receiptId, command, exitCode, envelope, statement: statement.value, stored: stored.value }];
    });
  });
}

/** Those that may be made public, and why the others may not. */
async function sorted(
  atlas: AtlasReader,
  repository: Repository,
  { commit }: { readonly commit: string },
  candidates: readonly Candidate[],
): Promise<{ good: Candidate[]; leftOut: Attached['leftOut'] }> {
  const service = await atlas.receipts();
  const declared = await declaredCommands(repository, commit);
  const good: Candidate[] = [];
  const leftOut: Attached['leftOut'][number][] = [];
  for (const stored of new Set(candidates.map((each) => each.stored))) {
    const reports = await service.reports(stored);
    for (const candidate of candidates.filter((each) => each.stored === stored)) {
      const { receiptId, command, exitCode, statement } = candidate;
      const verdict = reports.ok ? reports.value.get(receiptId)?.verdict : undefined;
      const why = verdict === 'valid' ? whyNotPublic(statement, declared) : 'It is not a valid receipt.';
      if (why === undefined) good.push(candidate);
      else leftOut.push({ receiptId, command, exitCode, why });
    }
  }
  return { good, leftOut };
}

/** The commands that are public with a commit, since its own policy states them. */
async function declaredCommands(repository: Repository, commit: string): Promise<ReadonlySet<string>> {
  const files = await filesAt(repository, commit, [POLICY_FILE]);
  const blob = files.ok ? files.value.get(POLICY_FILE)?.blob : undefined;
  const blobs = blob === undefined ? undefined : await readBlobs(repository, [blob], 64 * 1024);
  const text = blob !== undefined && blobs?.ok === true ? blobs.value.get(blob) : undefined;
  const policy = text === undefined ? undefined : await policyFrom(text);
  return new Set(policy?.ok === true ? policy.value.checks.map(({ run }) => run) : []);
}

/** Why a statement may not be made public; `undefined` for one that may. */
function whyNotPublic(statement: Statement, declared: ReadonlySet<string>): string | undefined {
  if (statement.predicate.repository === undefined)
    return 'It does not record the repository: it is by an older version, or the clone was shallow. Run the check again.';
  if (absolutePathIn(withoutCommand(statement)) !== undefined)
    return 'It holds an absolute path, which would become public. Run the check again.';
  const command = String(statement.predicate.receipt['command']);
  if (absolutePathIn(command) === undefined || declared.has(command)) return undefined;
  return `Its command names an absolute path, which would become public. Declare the check in ${POLICY_FILE}, and it is public already.`;
}

/** A statement without its key's path, and without the texts that are its command, which a policy may have published. */
export function withoutCommand(statement: Statement): unknown {
  const { receipt, run, passedTests: _passed, failedTests: _failed, ...predicate } = statement.predicate;
  const { command: _command, key_path: keyPath, ...rest } = receipt;
  const { argv, ...ended } = run;
  const isKeyPath = typeof keyPath === 'string' && parseKeyPath(keyPath) !== undefined;
  const more = isKeyPath ? {} : { keyPath };
  return { ...predicate, receipt: { ...rest, ...more }, run: { ...ended, argv: argv.slice(0, -1) } };
}

/** The lines of notes on one object, each once, in their order. */
export function linesOf(entries: readonly NoteEntry[], blobs: ReadonlyMap<string, Uint8Array>): Set<string> {
  const texts = entries.map(({ blob }) => Buffer.from(blobs.get(blob) ?? []).toString('latin1'));
  return new Set(texts.flatMap((text) => text.split('\n')).filter((line) => line.trim() !== ''));
}

/** A note's text from its lines. */
export function noteText(lines: Iterable<string>): string {
  return [...lines].map((line) => `${line}\n`).join('');
}

/** Adds lines to our own note on a tree, and gives those that weren't there. Others may write notes meanwhile. */
export async function addToNote(
  ports: Pick<ServicePorts, 'files' | 'ids'>,
  repository: Repository,
  tree: string,
  lines: readonly string[],
): Promise<Result<Set<string>>> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const [own] = unwrapList(await namedObjects(repository, [NOTES_REF]));
    const notes = own === undefined ? ok(new Map<string, NoteEntry[]>()) : await notesOf(repository, own.id);
    if (!notes.ok) return notes;
    const known = notes.value.get(tree) ?? [];
    const ids = known.map(({ blob }) => blob);
    const blobs = await readBlobs(repository, ids, MAX_NOTE_BYTES);
    if (!blobs.ok) return blobs;
    if (ids.some((id) => !blobs.value.has(id))) return fail('unreadable', `The note on tree ${tree} can't be read.`);
    const there = linesOf(known, blobs.value);
    const added = new Set(lines.filter((line) => !there.has(line)));
    if (added.size === 0) return ok(added);
    const change: NoteChange = { on: tree, content: { text: noteText([...there, ...added]) }, known };
    const commit = await commitNotes(ports, repository, own?.id, [change], 'Attach receipts');
    if (!commit.ok) return commit;
    const moved = await moveRef(repository, NOTES_REF, own?.id, commit.value);
    if (!moved.ok) return moved;
    if (moved.value) return ok(added);
  }
  return fail('lock_timeout', `${NOTES_REF} changed each time it was to be written.`, { hint: 'Try again.' });
}

function unwrapList<T>(result: Result<T[]>): T[] {
  return result.ok ? result.value : [];
}
