import { join } from 'node:path';
import * as z from 'zod/mini';
import { defined } from '../../core/shared/defined';
import { messageOf } from '../../core/shared/errors';
import type { FileSystem, Ids, Logger, Processes } from '../../core/shared/ports';
import { oneLine } from '../../core/shared/text';
import { toMs, toTimestamp } from '../../core/shared/time';
import { ensureFolder, replaceFile, removeFile } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';
import { readJson } from '../../system/files/readJson';

/**
 * Where a git hook says that there is something to see; commits, branches and pushed refs are read from the reflogs.
 * Everything in it comes from outside.
 */
export interface SpoolEvent {
  readonly name: string;
  readonly trigger: 'post-commit' | 'post-merge' | 'pre-push';
  readonly folder: string;
  /** The process that git ran as; 0 where nobody knows. Remote reflogs have a push once it has ended, so that is waited for. */
  readonly parent: number;
  /** When the hook ran, ms. */
  readonly at: number;
}

/** A file in the spool: an event, one that is still being written (or never was to its end), or nothing of use. */
export type SpoolFile =
  | { readonly kind: 'event'; readonly event: SpoolEvent }
  | { readonly kind: 'half' }
  | { readonly kind: 'bad'; readonly reason: string }
  | { readonly kind: 'gone' };

/** An event that could not be turned into checkpoints, and why. */
export interface KeptEvent {
  readonly name: string;
  readonly reason: string;
  /** When the hook ran, ms. */
  readonly at: number;
  readonly trigger?: string;
  readonly folder?: string;
}

/** What the spool needs from outside. */
export interface SpoolPorts {
  readonly paths: { readonly spool: string };
  readonly files: FileSystem;
  readonly ids: Ids;
  readonly processes: Processes;
  readonly log: Logger;
}

const EVENT = /^event\.\d{1,10}\.\d{1,10}$/u;
const WINDOW = /^window\.(\d{1,10})$/u;
const MAX_EVENT_BYTES = 16 * 1024;
const MAX_KEPT = 200;
const MAX_FOLDER = 4096;
const CONTENT =
  /^atlas-event 1\ntrigger (post-commit|post-merge|pre-push)\nfolder ([^\n\0]+)\nparent (\d{1,10})\nend\n$/u;
const WHOLE = /\nend\n$/u;

const keptSchema = z.object({
  name: z.string(),
  reason: z.string(),
  at: z.string(),
  trigger: z.optional(z.string()),
  folder: z.optional(z.string()),
});

/** Who lives, as a claim says it: process id, start time, machine and namespace. */
const CLAIM = /^(\d{1,10}) (\S+)(?: (\S+) (\S+))?\n$/u;

/** spool/: what git hooks wrote, who is about to read it, and what could not be used. */
export class Spool {
  constructor(private readonly ports: SpoolPorts) {}

  /** Whether any hook was ever installed for this store. */
  get exists(): boolean {
    return this.ports.files.stat(this.ports.paths.spool) !== undefined;
  }

  get locks(): string {
    return join(this.ports.paths.spool, 'locks');
  }

  private get keptFolder(): string {
    return join(this.ports.paths.spool, 'kept');
  }

  private get claimPath(): string {
    return join(this.ports.paths.spool, 'claim');
  }

  private get windowPath(): string {
    return join(this.ports.paths.spool, `window.${this.ports.processes.self().pid}`);
  }

  private entries(folder: string): string[] {
    try {
      return this.ports.files.list(folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
      throw error;
    }
  }

  /** Names of the events that wait. */
  list(): string[] {
    return this.entries(this.ports.paths.spool)
      .filter((name) => EVENT.test(name))
      .sort();
  }

  /** Reads an event. A hook writes its last line last, so a file without it isn't whole yet. */
  read(name: string): SpoolFile {
    const { files, paths } = this.ports;
    const path = join(paths.spool, name);
    try {
      const stat = files.stat(path);
      if (stat === undefined) return { kind: 'gone' };
      if (stat.kind !== 'file') return { kind: 'bad', reason: `It is a ${stat.kind}, not a file.` };
      const text = Buffer.from(files.read(path, MAX_EVENT_BYTES)).toString('utf8');
      if (!WHOLE.test(text)) return { kind: 'half' };
      const [, trigger, folder = '', parent] = CONTENT.exec(text) ?? [];
      if (trigger === undefined || folder.length > MAX_FOLDER) {
        return { kind: 'bad', reason: 'It was not written by a git hook of this version.' };
      }
      const event = {
        name,
        trigger: trigger as SpoolEvent['trigger'],
        folder,
        parent: Number(parent),
        at: stat.mtimeMs,
      };
      return { kind: 'event', event };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return { kind: 'gone' };
      return { kind: 'bad', reason: `It could not be read: ${messageOf(error)}` };
    }
  }

  remove(name: string): void {
    const path = join(this.ports.paths.spool, name);
    const kind = this.ports.files.stat(path)?.kind;
    if (kind === 'folder') this.ports.files.removeFolder(path);
    else this.discard(path);
  }

  private discard(path: string): void {
    removeFile(this.ports.files, path);
  }

  /** Puts an event aside with its reason. The name is the same if a crash makes it happen twice. */
  keep(name: string, reason: string, event?: SpoolEvent): KeptEvent {
    const { files, ids, paths } = this.ports;
    const at = event?.at ?? files.stat(join(paths.spool, name))?.mtimeMs ?? 0;
    const kept: KeptEvent = {
      name,
      reason: oneLine(reason, 500),
      at,
      ...(event === undefined ? {} : { trigger: event.trigger, folder: event.folder }),
    };
    ensureFolder(files, this.keptFolder, 0o700);
    const path = join(this.keptFolder, `${Math.floor(at)}-${name}.json`);
    const text = `${JSON.stringify({ ...kept, at: toTimestamp(at) }, null, 2)}\n`;
    replaceFile(files, ids, path, text, { durable: false, mode: 0o600 });
    this.remove(name);
    this.dropOldest();
    return kept;
  }

  private keptNames(): string[] {
    const age = (name: string): number => Number.parseInt(name, 10);
    return this.entries(this.keptFolder)
      .filter((name) => name.endsWith('.json'))
      .sort((a, b) => age(a) - age(b));
  }

  private dropOldest(): void {
    const names = this.keptNames();
    const old = names.slice(0, Math.max(0, names.length - MAX_KEPT));
    for (const name of old) this.discard(join(this.keptFolder, name));
    if (old.length > 0) {
      this.ports.log.warn('Git hook events that could not be processed were dropped, oldest first.', {
        dropped: old.length,
        kept: MAX_KEPT,
      });
    }
  }

  /** The events that were put aside, the oldest first. */
  kept(): KeptEvent[] {
    return this.keptNames().map((file) => this.readKept(file));
  }

  private readKept(file: string): KeptEvent {
    const kept = readJson(this.ports.files, join(this.keptFolder, file), MAX_EVENT_BYTES * 2, keptSchema);
    if (kept === undefined) return { name: file, reason: 'Its saved copy is damaged.', at: 0 };
    const { name, reason, at, trigger, folder } = kept;
    const time = toMs(at);
    return { name, reason, at: Number.isNaN(time) ? 0 : time, ...defined({ trigger, folder }) };
  }

  /** Forgets the events that were put aside; returns how many. */
  discardKept(): number {
    const names = this.keptNames();
    for (const name of names) this.discard(join(this.keptFolder, name));
    return names.length;
  }

  /** Says that this process is draining, if that isn't said already. */
  claim(): void {
    this.declare(this.claimPath);
  }

  /** Takes back what {@link claim} said; another's claim stays, unless it is dead. */
  unclaim(): void {
    const text = this.textOf(this.claimPath);
    if (text === this.declaration() || this.isOfDead(text)) this.discard(this.claimPath);
  }

  /** Takes back a claim that a hook made in the name of this process. */
  disown(): void {
    if (CLAIM.exec(this.textOf(this.claimPath))?.[1] === String(this.ports.processes.self().pid)) {
      this.discard(this.claimPath);
    }
  }

  /** Says that this process is a window that drains by itself. */
  announce(): void {
    const { files, paths } = this.ports;
    ensureFolder(files, paths.spool, 0o700);
    this.declare(this.windowPath);
  }

  /** Takes back what {@link announce} said. */
  withdraw(): void {
    this.discard(this.windowPath);
  }

  /** Whether a window is open, as far as can be seen from here. */
  hasWindow(): boolean {
    const { spool } = this.ports.paths;
    return this.entries(spool).some((name) => WINDOW.test(name) && !this.isOfDead(this.textOf(join(spool, name))));
  }

  /** Removes what processes left behind that are dead. */
  sweep(): void {
    for (const name of this.entries(this.ports.paths.spool)) {
      const path = join(this.ports.paths.spool, name);
      if (WINDOW.test(name) && this.isOfDead(this.textOf(path))) this.discard(path);
    }
  }

  private declaration(): string {
    const { pid, start_time, machine_id, pid_namespace } = this.ports.processes.self();
    const word = (text: string): string => (/^\S+$/u.test(text) ? text : '-');
    return `${pid} ${word(start_time)} ${word(machine_id)} ${word(pid_namespace)}\n`;
  }

  private declare(path: string): void {
    const text = this.declaration();
    if (this.textOf(path) === text) return;
    replaceFile(this.ports.files, this.ports.ids, path, text, { durable: false });
  }

  private textOf(path: string): string {
    try {
      return Buffer.from(this.ports.files.read(path, MAX_EVENT_BYTES)).toString('utf8');
    } catch {
      return '';
    }
  }

  /** A hook can't say which machine it runs on; what it wrote is taken for this one's. */
  private isOfDead(text: string): boolean {
    const [whole, pid, start, machine = '-', namespace = '-'] = CLAIM.exec(text) ?? [];
    if (whole === undefined) return text !== '';
    const self = this.ports.processes.self();
    const told = (value: string, own: string): string => (value === '-' ? own : value);
    const other = {
      ...self,
      pid: Number(pid),
      start_time: start === '-' ? '' : (start ?? ''),
      machine_id: told(machine, self.machine_id),
      pid_namespace: told(namespace, self.pid_namespace),
      incarnation: '',
    };
    return this.ports.processes.vitality(other) === 'dead';
  }

  /** Whether a process of this machine lives, by its number alone. */
  lives(pid: number): boolean {
    const other = { ...this.ports.processes.self(), pid, start_time: '', incarnation: '' };
    return pid > 0 && this.ports.processes.vitality(other) !== 'dead';
  }
}
