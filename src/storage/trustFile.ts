import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { messageOf } from '../core/errors';
import type { Clock, FileSystem, Ids } from '../core/ports';
import { toTimestamp } from '../core/time';
import { ensureFolder, renameWithRetry, replaceFile } from './atomicFile';
import type { StorePaths } from './paths';

const MAX_TRUST_BYTES = 4 * 1024 * 1024;

const trustSchema = z.looseObject({
  /** By the digest of workspace and command; the value says when a human allowed it. */
  commands: z.record(z.string(), z.looseObject({ allowed_at: z.string() })),
});

type Known = Readonly<Record<string, { readonly allowed_at: string }>>;

interface TrustPorts {
  readonly paths: StorePaths;
  readonly files: FileSystem;
  readonly ids: Ids;
  readonly clock: Clock;
}

function digestOf(workspace: string, command: string): string {
  return createHash('sha256')
    .update(JSON.stringify([workspace, command]))
    .digest('hex');
}

/**
 * trust.json: which of a repository's commands a human has allowed to be run for an agent, by their digest: a changed
 * command is a new one. A file that can't be read allows nothing.
 */
export class TrustFile {
  constructor(private readonly ports: TrustPorts) {}

  /** Those of some commands that no human has allowed yet. */
  unknown(workspace: string, commands: readonly string[]): string[] {
    try {
      return missingIn(this.load().known, workspace, commands);
    } catch {
      return [...commands];
    }
  }

  /**
   * Remembers that a human allowed these. A damaged file is set aside, not overwritten: what it allowed can be looked up
   * there. Throws where the file can't be read or written.
   */
  allow(workspace: string, commands: readonly string[]): void {
    const { files, ids, paths, clock } = this.ports;
    // Read once: a file that could be read only the second time would be written over.
    const { known, damaged } = this.load();
    const missing = missingIn(known, workspace, commands);
    if (missing.length === 0) return;
    if (damaged) this.setAside();
    const now = { allowed_at: toTimestamp(clock.now()) };
    const added = Object.fromEntries(missing.map((command) => [digestOf(workspace, command), now]));
    ensureFolder(files, paths.root);
    const text = JSON.stringify({ commands: { ...known, ...added } }, null, 2);
    replaceFile(files, ids, paths.trust, `${text}\n`, { durable: true });
  }

  private setAside(): void {
    const { files, paths, clock } = this.ports;
    const stamp = toTimestamp(clock.now()).replace(/[-:.]/gu, '');
    renameWithRetry(files, paths.trust, `${paths.trust}.corrupt-${stamp}`);
  }

  /** Why the file can't be used, if it can't; one that isn't there yet can. */
  problem(): string | undefined {
    try {
      return this.load().damaged ? 'It is not what Atlas writes, so no command counts as allowed.' : undefined;
    } catch (error) {
      return `It can't be read, so no command counts as allowed: ${messageOf(error)}`;
    }
  }

  /** What is allowed by now; nothing where the file is damaged. Throws where it is there and can't be read. */
  private load(): { readonly known: Known; readonly damaged: boolean } {
    const { files, paths } = this.ports;
    if (files.stat(paths.trust) === undefined) return { known: {}, damaged: false };
    const text = Buffer.from(files.read(paths.trust, MAX_TRUST_BYTES)).toString('utf8');
    const parsed = trustSchema.safeParse(jsonOf(text));
    return parsed.success ? { known: parsed.data.commands, damaged: false } : { known: {}, damaged: true };
  }
}

function missingIn(known: Known, workspace: string, commands: readonly string[]): string[] {
  return commands.filter((command) => !Object.hasOwn(known, digestOf(workspace, command)));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
