import { join } from 'node:path';
import type { FileSystem, Ids } from '../../core/shared/ports';
import { bounded } from '../../core/session/bounds';
import {
  MAX_RECORD_BYTES,
  type SessionRecord,
  type SessionRef,
  sessionRecordSchema,
} from '../../core/session/sessionRecord';
import type { StorePaths } from '../paths';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { readJson } from '../../system/files/readJson';
import { sha256 } from '../task/recordFile';

const FOLDER = /^(?:claude|codex|opencode|gemini|cursor|vscode)-[0-9a-f]{16}$/u;

/** `sessions/<host>-<digest>/`: what is known of each session, and HOOK.md of those that are session tasks. */
export class SessionRecords {
  private readonly root: string;
  private readonly known = new Map<string, { readonly stamp: string; readonly record: SessionRecord }>();

  constructor(private readonly ports: { readonly files: FileSystem; readonly ids: Ids; readonly paths: StorePaths }) {
    this.root = join(ports.paths.root, 'sessions');
  }

  folderOf({ host, sessionId }: SessionRef): string {
    return join(this.root, `${host}-${sha256(sessionId).slice(0, 16)}`);
  }

  hookPath(ref: SessionRef): string {
    return join(this.folderOf(ref), 'HOOK.md');
  }

  /** The record of a session; `undefined` where there is none, or none that can be read. */
  read(ref: SessionRef): SessionRecord | undefined {
    return this.at(this.folderOf(ref));
  }

  private at(folder: string): SessionRecord | undefined {
    const { files } = this.ports;
    const path = join(folder, 'session.json');
    const stat = files.stat(path);
    if (stat?.kind !== 'file') return undefined;
    const stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    const known = this.known.get(folder);
    if (known?.stamp === stamp) return known.record;
    const record = readJson(files, path, 2 * MAX_RECORD_BYTES, sessionRecordSchema);
    if (record !== undefined) this.known.set(folder, { stamp, record });
    return record;
  }

  /** All of them. A record that can't be read is left alone. */
  all(): SessionRecord[] {
    const { files } = this.ports;
    if (files.stat(this.root)?.kind !== 'folder') return [];
    const names = files.list(this.root).filter((name) => FOLDER.test(name));
    const folders = new Set(names.map((name) => join(this.root, name)));
    // What another process forgot is forgotten here too.
    for (const known of this.known.keys()) if (!folders.has(known)) this.known.delete(known);
    return [...folders].flatMap((folder) => this.at(folder) ?? []);
  }

  /** Throws where it can't be written. */
  write(record: SessionRecord): void {
    const { files, ids } = this.ports;
    const folder = this.folderOf({ host: record.host, sessionId: record.session_id });
    ensureFolder(files, folder, 0o700);
    const text = `${JSON.stringify(bounded(record))}\n`;
    replaceFile(files, ids, join(folder, 'session.json'), text, { durable: false, mode: 0o600 });
  }

  /** Throws where it can't be written. */
  writeHook(ref: SessionRef, text: string): void {
    const { files, ids } = this.ports;
    replaceFile(files, ids, this.hookPath(ref), text, { durable: false, mode: 0o600 });
  }

  /** All that is kept of a session is gone. */
  remove(ref: SessionRef): void {
    this.known.delete(this.folderOf(ref));
    this.ports.files.removeFolder(this.folderOf(ref));
  }
}
