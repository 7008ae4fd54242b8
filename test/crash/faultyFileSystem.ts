import type { FileData, FileSystem } from '../../src/core/shared/ports';
import { CHANGING, type Operation, bytesOf, nodeError } from '../support/fixtures/store';

/** The process was killed: whatever it does to files from then on doesn't happen. */
export class ProcessKilled extends Error {
  override readonly name = 'ProcessKilled';
}

/** The codes that operations are failed with, in turn. */
export const ERROR_CODES = ['ENOSPC', 'EIO', 'EACCES', 'EROFS', 'EMFILE'] as const;
type ErrorCode = (typeof ERROR_CODES)[number];
/** What reading can fail with. */
const READING_CODES: readonly ErrorCode[] = ['EIO', 'EACCES', 'EMFILE'];

/**
 * What goes wrong at one operation. `during`: part of it was done: so many hundredths of the bytes or entries, 100 being
 * all of a write whose sync did not come. `stays`: all that change something fail from there on. `half`: half of the
 * bytes were written before the failure; `unsynced`: all of them, and waiting for the disk failed.
 */
export type Fault =
  | { readonly kind: 'kill'; readonly when: 'before' | 'after' }
  | { readonly kind: 'kill'; readonly when: 'during'; readonly percent: number }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly how: 'once' | 'stays' | 'half' | 'unsynced' };

/** An operation as it was seen. */
export interface SeenOperation {
  readonly operation: Operation;
  readonly args: readonly unknown[];
}

/** Whether an operation changes what is on disk, or waits for it. */
export function changes(operation: Operation): boolean {
  return CHANGING.has(operation) || operation === 'syncFolder' || operation === 'chmod';
}

/** A fault in words, for tables and for repeating it. */
export function describeFault(fault: Fault): string {
  if (fault.kind === 'error') return `${fault.code} ${fault.how}`;
  return `kill ${fault.when}${fault.when === 'during' ? ` ${fault.percent}%` : ''}`;
}

/** All faults that an operation can have. Reading changes nothing, so a kill there is a kill after what was changed before. */
export function faultsOf({ operation, args }: SeenOperation): Fault[] {
  if (!changes(operation)) return READING_CODES.map((code) => ({ kind: 'error', code, how: 'once' }));
  const faults: Fault[] = [
    { kind: 'kill', when: 'before' },
    { kind: 'kill', when: 'after' },
    ...ERROR_CODES.map((code) => ({ kind: 'error', code, how: 'once' }) as const),
    { kind: 'error', code: 'EROFS', how: 'stays' },
  ];
  if (operation === 'removeFolder') faults.push({ kind: 'kill', when: 'during', percent: 50 });
  if (operation !== 'write' && operation !== 'append') return faults;
  for (const percent of lengthOf(args) === 0 ? [100] : [0, 1, 50, 99, 100]) {
    faults.push({ kind: 'kill', when: 'during', percent });
  }
  if (lengthOf(args) > 1) faults.push({ kind: 'error', code: 'ENOSPC', how: 'half' });
  faults.push({ kind: 'error', code: 'EIO', how: 'unsynced' });
  return faults;
}

function lengthOf(args: readonly unknown[]): number {
  return bytesOf(args[1] as FileData).length;
}

/** A file system that fails at one of its operations, and counts them. */
export class FaultyFileSystem {
  readonly seen: SeenOperation[] = [];
  /** Whether the process that uses it was killed. */
  dead = false;
  private healed = false;
  private spoiled = false;

  /**
   * @param at the number of the operation, from 0
   * @param fault what happens there; nothing without it
   */
  constructor(
    private readonly files: FileSystem,
    private readonly at = -1,
    private readonly fault?: Fault,
  ) {}

  /** Whether the operation came that was to fail. */
  get happened(): boolean {
    return this.seen.length > this.at;
  }

  /** Ends what went wrong: the disk has room again. */
  heal(): void {
    this.healed = true;
  }

  /** The port to give to whoever is to fail. */
  readonly port: FileSystem = new Proxy({} as FileSystem, {
    get:
      (_target, name) =>
      (...args: unknown[]): unknown =>
        this.perform({ operation: name as Operation, args }),
  });

  private perform(seen: SeenOperation): unknown {
    if (this.dead) throw new ProcessKilled();
    const go = (): unknown => {
      const perform: unknown = Reflect.get(this.files, seen.operation);
      if (typeof perform !== 'function') throw new TypeError(`${seen.operation} is no operation`);
      return Reflect.apply(perform, this.files, seen.args);
    };
    if (this.healed) return go();
    this.seen.push(seen);
    if (this.spoiled && changes(seen.operation)) throw nodeError('EROFS');
    if (this.fault === undefined || this.seen.length - 1 !== this.at) return go();
    return this.fail(this.fault, seen, go);
  }

  private fail(fault: Fault, seen: SeenOperation, go: () => unknown): unknown {
    if (fault.kind === 'error') {
      this.spoiled = fault.how === 'stays';
      if (fault.how === 'half') this.part(seen, 50);
      if (fault.how === 'unsynced') this.part(seen, 100);
      throw nodeError(fault.code);
    }
    if (fault.when === 'after') go();
    if (fault.when === 'during') this.part(seen, fault.percent);
    this.dead = true;
    throw new ProcessKilled();
  }

  /** Does part of an operation, without waiting for the disk. */
  private part({ operation, args }: SeenOperation, percent: number): void {
    const path = String(args[0]);
    if (operation === 'removeFolder') {
      const names = this.files.stat(path) === undefined ? [] : this.files.list(path).sort();
      for (const name of names.slice(0, Math.ceil((names.length * percent) / 100))) {
        const inner = `${path}/${name}`;
        if (this.files.stat(inner)?.kind === 'folder') this.files.removeFolder(inner);
        else this.files.unlink(inner);
      }
      return;
    }
    const bytes = bytesOf(args[1] as FileData);
    const cut = Math.min(bytes.length, Math.ceil((bytes.length * percent) / 100));
    const data = bytes.subarray(0, percent === 99 ? Math.max(0, bytes.length - 1) : cut);
    if (operation === 'append') this.files.append(path, data);
    else this.files.write(path, data, { ...(args[2] as object | undefined), sync: false });
  }
}
