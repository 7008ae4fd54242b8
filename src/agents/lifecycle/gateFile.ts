import { join } from 'node:path';
import * as z from 'zod/mini';
import type { GateState } from '../../core/inbox/stopGate';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import type { ServicePorts } from '../../service/ports';
import { sha256 } from '../../store/task/recordFile';
import { jsonOf } from '../../system/files/readJson';

const MAX_GATE_BYTES = 64 * 1024;
/** As many sessions are remembered at most, in files of a workspace. */
const MAX_SESSIONS = 100;

const ids = z.array(z.string().check(z.maxLength(200))).check(z.maxLength(1000));
const gateSchema = z.looseObject({
  blocks: z.int().check(z.gte(0)),
  total: z.int().check(z.gte(0)),
  pending: z.int().check(z.gte(0)),
  active: ids,
  seen: ids,
  released: z.boolean(),
});

/** What a session was told when it wanted to stop: one file a session, in the workspace's `stop-gate`. */
export class GateFile {
  private readonly folder: string;
  private readonly path: string;

  constructor(
    private readonly ports: Pick<ServicePorts, 'files' | 'ids' | 'clock'>,
    workspaceFolder: string,
    sessionId: string | undefined,
  ) {
    this.folder = join(workspaceFolder, 'stop-gate');
    this.path = join(this.folder, `${sha256(sessionId ?? '').slice(0, 16)}.json`);
  }

  /**
   * `undefined` where the session wasn't told anything, `damaged` where it can't be told what it was. Throws where the
   * file can't be read.
   */
  read(): GateState | 'damaged' | undefined {
    const { files } = this.ports;
    if (files.stat(this.path) === undefined) return undefined;
    const text = Buffer.from(files.read(this.path, MAX_GATE_BYTES)).toString('utf8');
    const parsed = gateSchema.safeParse(jsonOf(text));
    return parsed.success ? parsed.data : 'damaged';
  }

  /** Throws where it can't be written. */
  write(state: GateState): void {
    const { files, ids } = this.ports;
    ensureFolder(files, this.folder);
    replaceFile(files, ids, this.path, `${JSON.stringify(state)}\n`, { durable: false });
    this.prune();
  }

  /** Nothing is left, so the next block is a first one. */
  clear(): void {
    const { files } = this.ports;
    if (files.stat(this.path) !== undefined) files.unlink(this.path);
  }

  private prune(): void {
    const { files } = this.ports;
    try {
      const names = files.list(this.folder);
      if (names.length <= MAX_SESSIONS) return;
      const aged = names.map((name) => {
        const path = join(this.folder, name);
        return { path, time: files.stat(path)?.mtimeMs ?? 0 };
      });
      for (const { path } of aged.sort((a, b) => a.time - b.time).slice(0, names.length - MAX_SESSIONS))
        files.unlink(path);
    } catch {
      // Another session prunes at the same time.
    }
  }
}
