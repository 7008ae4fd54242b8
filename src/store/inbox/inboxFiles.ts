import { join } from 'node:path';
import { AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import type { InboxFinding, ReadItems } from '../../core/inbox/inboxAnswers';
import { type InboxItem, MAX_ITEM_ID, inboxItemSchema } from '../../core/inbox/inbox';
import { createFile, ensureFolder, replaceFile, removeFile } from '../../system/files/atomicFile';
import { codeOf, failureOf } from '../../system/files/fileErrors';
import { type Pieces, atOnce } from '../../system/slices';
import { parseState, readStateFile } from '../task/recordFile';
import type { StorePorts } from '../task/storePorts';

/** Far above any item that Atlas writes, in bytes. */
const MAX_ITEM_BYTES = 1024 * 1024;
const NAME = /^([1-9]\d{0,8})\.json$/u;
const FINISHED = 'finished';
/** What else lies in the folder; a writer that died leaves the last one. */
const OURS = /^(?:finished|locks|[1-9]\d{0,8}\.json\.[0-9a-f]{8}\.tmp)$/u;

/** The numbers of an inbox's items, by where their files lie. */
export interface InboxNumbers {
  /** Sorted; what is finished already is left out. */
  readonly open: readonly number[];
  readonly finished: ReadonlySet<number>;
  /** Open files of items that are finished: a writer died before it removed them. */
  readonly leftOver: readonly number[];
  readonly findings: readonly InboxFinding[];
}

/**
 * inbox/: one file an item. `<id>.json` is open and is replaced when it is claimed; `finished/<id>.json` is made once and
 * ends the item, whatever an open file still says. So no writer that comes late can bring an item back.
 */
export class InboxFiles {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'ids'>) {}

  private finishedFolder(workspace: string): string {
    return join(this.ports.paths.inbox(workspace), FINISHED);
  }

  openPath(workspace: string, id: number): string {
    return join(this.ports.paths.inbox(workspace), `${id}.json`);
  }

  finishedPath(workspace: string, id: number): string {
    return join(this.finishedFolder(workspace), `${id}.json`);
  }

  locks(workspace: string): string {
    return join(this.ports.paths.inbox(workspace), 'locks');
  }

  /** The folders that an inbox is made of, as far as they are there. */
  folders(workspace: string): string[] {
    return [this.ports.paths.inbox(workspace), this.finishedFolder(workspace), this.locks(workspace)];
  }

  /** Whether the folders are ones of the store's own; fails with `not_found` (the workspace), `unsafe_path` or `unreadable`. */
  check(workspace: string): Result<void> {
    const { paths, files } = this.ports;
    try {
      if (files.stat(paths.workspace(workspace)) === undefined)
        return fail('not_found', `There is no workspace "${workspace}".`, {
          hint: 'List the workspaces with: atlas workspace list',
        });
      for (const folder of [paths.workspace(workspace), ...this.folders(workspace)]) {
        const kind = files.stat(folder)?.kind;
        if (kind === undefined || kind === 'folder') continue;
        const what = kind === 'link' ? 'a symbolic link, which is not followed' : 'not a folder';
        return fail('unsafe_path', `${folder} is ${what}.`, { hint: 'Replace it with the folder itself.' });
      }
      return ok(undefined);
    } catch (error) {
      return failureOf('unreadable', `The agent queue of ${workspace} could not be read`, error);
    }
  }

  /** Which items there are, by the names of their files. Open ones are listed first: one that moves meanwhile is seen. */
  numbers(workspace: string): InboxNumbers {
    const folder = this.ports.paths.inbox(workspace);
    const names = this.namesIn(folder);
    const finished = this.finishedNumbers(workspace);
    const [open, leftOver, findings]: [number[], number[], InboxFinding[]] = [[], [], []];
    for (const name of names) {
      const id = numberOf(name);
      if (id !== undefined) (finished.has(id) ? leftOver : open).push(id);
      else if (!OURS.test(name)) findings.push({ path: join(folder, name), error: notOurs() });
    }
    return { open: open.sort((a, b) => a - b), finished, leftOver: leftOver.sort((a, b) => a - b), findings };
  }

  /** Which items are finished, by the names of their files. */
  finishedNumbers(workspace: string): ReadonlySet<number> {
    const numbers = new Set<number>();
    for (const name of this.namesIn(this.finishedFolder(workspace))) {
      const id = numberOf(name);
      if (id !== undefined) numbers.add(id);
    }
    return numbers;
  }

  private namesIn(folder: string): string[] {
    try {
      return this.ports.files.list(folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /** Reads some items, file by file; one that went meanwhile is left out. */
  *readEach(ids: Iterable<number>, pathOf: (id: number) => string): Pieces<ReadItems> {
    const items: InboxItem[] = [];
    const findings: InboxFinding[] = [];
    for (const id of ids) {
      const path = pathOf(id);
      const read = this.read(path, id);
      if (read.ok) items.push(read.value);
      else if (read.error.code !== 'not_found') findings.push({ path, error: read.error });
      yield;
    }
    return { items, findings };
  }

  /** As {@link readEach}, at once. */
  readAll(ids: Iterable<number>, pathOf: (id: number) => string): ReadItems {
    return atOnce(this.readEach(ids, pathOf));
  }

  /** Reads an item's file. Nothing of it is used unless all of it is sound. */
  read(path: string, id: number): Result<InboxItem> {
    const bytes = readStateFile(this.ports.files, path, MAX_ITEM_BYTES);
    if (!bytes.ok) return bytes;
    const item = parseItem(path, bytes.value);
    if (!item.ok || item.value.id === id) return item;
    return fail('damaged', `${path} claims to be item ${item.value.id}.`, { hint: MOVE_AWAY });
  }

  /** The lowest number that no item ever had. Fails with `damaged` where the numbers are used up. */
  freeNumber({ open, finished, leftOver }: InboxNumbers): Result<number> {
    let highest = 0;
    for (const id of [...open, ...leftOver, ...finished]) highest = Math.max(highest, id);
    if (highest < MAX_ITEM_ID) return ok(highest + 1);
    return fail('damaged', `No item number is left: item ${MAX_ITEM_ID} exists.`, { hint: MOVE_AWAY });
  }

  /** Makes a new item's file. Throws a file error; `true` where it is there all the same. */
  create(workspace: string, item: InboxItem): boolean {
    const { files, ids, paths } = this.ports;
    ensureFolder(files, paths.inbox(workspace));
    return createFile(files, ids, this.openPath(workspace, item.id), serializeItem(item));
  }

  replace(workspace: string, item: InboxItem): void {
    const { files, ids } = this.ports;
    replaceFile(files, ids, this.openPath(workspace, item.id), serializeItem(item), { durable: true });
  }

  /** Ends an item: from then on it is done or cancelled. False if it was ended already. */
  finish(workspace: string, item: InboxItem): boolean {
    const { files, ids } = this.ports;
    ensureFolder(files, this.finishedFolder(workspace));
    return createFile(files, ids, this.finishedPath(workspace, item.id), serializeItem(item));
  }

  removeOpen(workspace: string, id: number): void {
    removeFile(this.ports.files, this.openPath(workspace, id));
  }
}

const MOVE_AWAY = 'Move that file away. The other items are not affected.';

function numberOf(name: string): number | undefined {
  const id = NAME.exec(name)?.[1];
  return id === undefined ? undefined : Number(id);
}

function notOurs(): AtlasError {
  return new AtlasError('invalid_name', 'This file does not belong to the agent queue and is ignored.', {
    hint: 'Move it away.',
  });
}

/** An item from the bytes of its file; `damaged` or `too_new` when it can't be had. */
export function parseItem(path: string, bytes: Uint8Array): Result<InboxItem> {
  const parsed = parseState(path, bytes, inboxItemSchema);
  if (parsed.ok || parsed.error.code !== 'damaged') return parsed;
  return fail('damaged', parsed.error.message, { hint: MOVE_AWAY });
}

/** The text of an item's file. */
export function serializeItem(item: InboxItem): string {
  return `${JSON.stringify(item, null, 2)}\n`;
}
