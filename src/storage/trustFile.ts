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
    const known = this.read();
    return commands.filter((command) => !Object.hasOwn(known, digestOf(workspace, command)));
  }

  /**
   * Remembers that a human allowed these. A damaged file is set aside, not overwritten: what it allowed can be looked up
   * there. Throws where the file can't be read or written.
   */
  allow(workspace: string, commands: readonly string[]): void {
    if (this.unknown(workspace, commands).length === 0) return;
    const { files, ids, paths, clock } = this.ports;
    const known = { ...this.read() };
    if (this.problem() !== undefined) this.setAside();
    for (const command of commands) {
      known[digestOf(workspace, command)] ??= { allowed_at: toTimestamp(clock.now()) };
    }
    ensureFolder(files, paths.root);
    replaceFile(files, ids, paths.trust, `${JSON.stringify({ commands: known }, null, 2)}\n`, { durable: true });
  }

  private setAside(): void {
    const { files, paths, clock } = this.ports;
    files.read(paths.trust, MAX_TRUST_BYTES);
    const stamp = toTimestamp(clock.now()).replace(/[-:.]/gu, '');
    renameWithRetry(files, paths.trust, `${paths.trust}.corrupt-${stamp}`);
  }

  /** Why the file can't be used, if it can't; one that isn't there yet can. */
  problem(): string | undefined {
    const { files, paths } = this.ports;
    try {
      if (files.stat(paths.trust) === undefined) return undefined;
      const text = Buffer.from(files.read(paths.trust, MAX_TRUST_BYTES)).toString('utf8');
      const parsed = trustSchema.safeParse(JSON.parse(text));
      return parsed.success ? undefined : 'It is not what Atlas writes, so no command counts as allowed.';
    } catch (error) {
      return `It can't be read, so no command counts as allowed: ${messageOf(error)}`;
    }
  }

  private read(): Readonly<Record<string, { allowed_at: string }>> {
    try {
      const text = Buffer.from(this.ports.files.read(this.ports.paths.trust, MAX_TRUST_BYTES)).toString('utf8');
      const parsed = trustSchema.safeParse(JSON.parse(text));
      return parsed.success ? parsed.data.commands : {};
    } catch {
      return {};
    }
  }
}
