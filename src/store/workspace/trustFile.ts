import * as z from 'zod/mini';
import { messageOf } from '../../core/shared/errors';
import { toTimestamp } from '../../core/shared/time';
import { ensureFolder, renameWithRetry, replaceFile } from '../../system/files/atomicFile';
import type { StorePorts } from '../task/storePorts';
import { sha256 } from '../task/recordFile';
import { jsonOf } from '../../system/files/readJson';

const MAX_TRUST_BYTES = 4 * 1024 * 1024;

const repositorySchema = z.looseObject({
  /** A root commit of the repository; left out where it had none yet. */
  first_commit: z.optional(z.string()),
  /** By the command's digest; the value says when a human allowed it. */
  commands: z.record(z.string(), z.looseObject({ allowed_at: z.string() })),
});

/** Older versions kept `commands` by the workspace's name, which another repository can get: that is not read any more. */
const trustSchema = z.looseObject({
  repositories: z._default(z.record(z.string(), repositorySchema), {}),
});

type Repositories = z.infer<typeof trustSchema>['repositories'];

/** The repository, or the folder without one, whose commands are trusted. */
export interface TrustedPlace {
  /** Real path of the main worktree, or of the folder. */
  readonly path: string;
  /** One of its root commits; `undefined` where it has none. */
  readonly firstCommit: string | undefined;
}

/**
 * trust.json: which of a repository's commands a human has allowed to be run for an agent, by their digest: a changed
 * command is a new one. A file that can't be read allows nothing.
 */
export class TrustFile {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'ids' | 'clock'>) {}

  /** The root commit by which the repository at a path was known when its commands were allowed. */
  firstCommit(path: string): string | undefined {
    try {
      return repositoryAt(this.load().known, path)?.first_commit;
    } catch {
      return undefined;
    }
  }

  /** Those of some commands that no human has allowed yet at a path. */
  unknown(path: string, commands: readonly string[]): string[] {
    try {
      return missingIn(this.load().known, path, commands);
    } catch {
      return [...commands];
    }
  }

  /**
   * Remembers that a human allowed these. What was allowed for another repository at that path ends. A damaged file is set
   * aside, not overwritten: what it allowed can be looked up there. Throws where the file can't be read or written.
   * @param isSame whether the place is still the repository that is known by its path
   */
  allow({ path, firstCommit }: TrustedPlace, commands: readonly string[], isSame = true): void {
    // Read once: a file that could be read only the second time would be written over.
    const { known, damaged } = this.load();
    const before = isSame ? repositoryAt(known, path) : undefined;
    const missing = isSame ? missingIn(known, path, commands) : [...commands];
    if (missing.length === 0) return;
    if (damaged) this.setAside();
    const now = { allowed_at: toTimestamp(this.ports.clock.now()) };
    const added = Object.fromEntries(missing.map((command) => [sha256(command), now]));
    const first = before?.first_commit ?? firstCommit;
    const repository = {
      ...before,
      ...(first === undefined ? {} : { first_commit: first }),
      commands: { ...before?.commands, ...added },
    };
    this.write({ ...known, [path]: repository });
  }

  /** Forgets what was allowed at a path. Throws where the file can't be read or written. */
  forget(path: string): void {
    const { known, damaged } = this.load();
    if (damaged || repositoryAt(known, path) === undefined) return;
    this.write(Object.fromEntries(Object.entries(known).filter(([other]) => other !== path)));
  }

  private write(repositories: Repositories): void {
    const { files, ids, paths } = this.ports;
    ensureFolder(files, paths.root);
    replaceFile(files, ids, paths.trust, `${JSON.stringify({ repositories }, null, 2)}\n`, { durable: true });
  }

  private setAside(): void {
    const { files, paths, clock } = this.ports;
    const stamp = toTimestamp(clock.now()).replace(/[-:.]/gu, '');
    renameWithRetry(files, paths.trust, `${paths.trust}.corrupt-${stamp}`);
  }

  /** Why the file can't be used, if it can't; one that isn't there yet can. */
  problem(): string | undefined {
    try {
      return this.load().damaged ? 'The file is not valid, so no command is allowed.' : undefined;
    } catch (error) {
      return `The file could not be read, so no command is allowed: ${messageOf(error)}`;
    }
  }

  /** What is allowed by now; nothing where the file is damaged. Throws where it is there and can't be read. */
  private load(): { readonly known: Repositories; readonly damaged: boolean } {
    const { files, paths } = this.ports;
    if (files.stat(paths.trust) === undefined) return { known: {}, damaged: false };
    const text = Buffer.from(files.read(paths.trust, MAX_TRUST_BYTES)).toString('utf8');
    const parsed = trustSchema.safeParse(jsonOf(text));
    return parsed.success ? { known: parsed.data.repositories, damaged: false } : { known: {}, damaged: true };
  }
}

function repositoryAt(known: Repositories, path: string): Repositories[string] | undefined {
  return Object.hasOwn(known, path) ? known[path] : undefined;
}

function missingIn(known: Repositories, path: string, commands: readonly string[]): string[] {
  const allowed = repositoryAt(known, path)?.commands ?? {};
  return commands.filter((command) => !Object.hasOwn(allowed, sha256(command)));
}
