import { type Result, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { count } from '../../core/shared/text';
import type { AttachedReceipt } from '../../core/verify/attachedReceipt';
import { type NoteEntry, notesOf, notesRefs, remoteOfNotesRef } from '../../git/notes/noteTree';
import { readBlobs } from '../../git/notes/objects';
import type { TrustedKeys } from '../../signing/attachedStatements';

/** A larger note isn't read, in bytes: it has room for ten thousand statements. */
export const MAX_NOTE_BYTES = 64 * 1024 * 1024;

/** Which notes there are. */
interface ListedNotes {
  readonly byTree: ReadonlyMap<string, readonly NoteEntry[]>;
  /** The remotes whose notes were fetched. */
  readonly remotes: readonly string[];
}

/** What is known of all notes, of which those that are asked for are read. */
export class AttachedNotes {
  /** Lines by note, those that are statements. */
  private readonly read = new Map<string, readonly AttachedReceipt[]>();
  private foreign = 0;
  private readonly tooNew = new Set<string>();
  private tooLarge = 0;

  constructor(
    private readonly repository: Repository,
    private readonly keys: TrustedKeys,
    private readonly listed: ListedNotes,
  ) {}

  /** Lists the notes of every ref of ours. */
  static async list(repository: Repository): Promise<Result<ListedNotes>> {
    const refs = await notesRefs(repository);
    if (!refs.ok) return refs;
    const listed = await Promise.all(refs.value.map(async ({ commit }) => notesOf(repository, commit)));
    const byTree = new Map<string, NoteEntry[]>();
    for (const notes of listed) {
      if (!notes.ok) return notes;
      for (const [tree, entries] of notes.value) byTree.set(tree, [...(byTree.get(tree) ?? []), ...entries]);
    }
    const remotes = refs.value.flatMap(({ ref }) => remoteOfNotesRef(ref) ?? []);
    return ok({ byTree, remotes });
  }

  /** The remotes whose notes were fetched. */
  get remotes(): readonly string[] {
    return this.listed.remotes;
  }

  /** The trees that have notes. */
  get trees(): ReadonlySet<string> {
    return new Set(this.listed.byTree.keys());
  }

  /** Reads the notes on some trees at once. */
  async load(trees: Iterable<string>): Promise<Result<void>> {
    const wanted = [...new Set(trees)].flatMap((tree) => this.listed.byTree.get(tree) ?? []).map(({ blob }) => blob);
    const missing = [...new Set(wanted)].filter((blob) => !this.read.has(blob));
    if (missing.length === 0) return ok(undefined);
    const blobs = await readBlobs(this.repository, missing, MAX_NOTE_BYTES);
    if (!blobs.ok) return blobs;
    for (const blob of missing) {
      const bytes = blobs.value.get(blob);
      if (bytes === undefined) this.tooLarge += 1;
      this.read.set(blob, bytes === undefined ? [] : this.parse(bytes));
    }
    return ok(undefined);
  }

  private parse(bytes: Buffer): AttachedReceipt[] {
    const receipts: AttachedReceipt[] = [];
    for (const line of bytes.toString('latin1').split('\n')) {
      if (line.trim() === '') continue;
      const read = this.keys.read(line);
      if (typeof read === 'object') receipts.push(read);
      else if (read === 'too_new') this.tooNew.add(line);
      else this.foreign += 1;
    }
    return receipts;
  }

  /** The statements on a tree, each once. They have to be loaded. */
  on(tree: string): readonly AttachedReceipt[] {
    const all = (this.listed.byTree.get(tree) ?? []).flatMap(({ blob }) => this.read.get(blob) ?? []);
    return [...new Map(all.map((receipt) => [receipt.digest, receipt])).values()];
  }

  /** What was found in notes and not used. */
  problems(): string[] {
    const { foreign, tooNew, tooLarge } = this;
    const lines = (n: number): string => count(n, 'line');
    return [
      ...(foreign === 0
        ? []
        : [
            `${lines(foreign)} in the notes ${foreign === 1 ? 'is' : 'are'} not a receipt of Atlas. They were ignored.`,
          ]),
      ...(tooNew.size === 0
        ? []
        : [
            `${count(tooNew.size, 'receipt')} in the notes could not be read. A newer version of Atlas may have made them: update Atlas.`,
          ]),
      ...(tooLarge === 0 ? [] : [`${count(tooLarge, 'note')} could not be read: too large, or missing here.`]),
    ];
  }
}
