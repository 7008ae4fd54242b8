import { isAbsolute, join, relative, sep } from 'node:path';
import { embedded } from '../../core/shared/agentText';
import { flat } from '../../core/hookMarkdown/escape';
import { namesIn } from '../../core/shared/namesIn';
import type { FileSystem } from '../../core/shared/ports';
import { count } from '../../core/shared/text';
import { type OutsideText, readBelow } from './outsideFile';

/** More than what is ever printed of it. */
const MAX_MEMORY_BYTES = 64 * 1024;
const MAX_JOURNAL_BYTES = 1024 * 1024;
const MAX_HEADING = 120;
const DAYS = 7;
const DAY_MS = 86_400_000;

const JOURNAL = /^(\d{4}-\d{2}-\d{2})\.md$/u;

/** Where an agent's memory lies. */
export interface MemoryPlace {
  readonly folder: string;
  /** No link in it may lead out of this one. */
  readonly root: string;
  /** As agents are told of it: relative to the worktree, with `/`, where it lies there. */
  readonly shown: string;
}

/** Where the memory of a worktree's agents lies, by the setting `memory_folder`. */
export function memoryPlace(worktree: string, setting: string): MemoryPlace {
  const own = isAbsolute(setting);
  const folder = own ? setting : join(worktree, setting);
  const way = relative(worktree, folder);
  const inside = !way.startsWith('..') && !isAbsolute(way);
  return { folder, root: own ? folder : worktree, shown: inside ? way.split(sep).join('/') : folder };
}

/** MEMORY.md, as it was written; `undefined` where there is none. `refused` is told of one that is not read. */
export function readMemory(
  files: FileSystem,
  { folder, root }: MemoryPlace,
  refused?: (why: string) => void,
): OutsideText | undefined {
  return readBelow(files, root, join(folder, 'MEMORY.md'), MAX_MEMORY_BYTES, refused);
}

/** `YYYY-MM-DD` of a time in ms, where the machine is. */
export function localDate(ms: number): string {
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The journals of the last seven days, the newest first: date, lines and first heading, fit to be embedded. */
export function recentJournals(
  files: FileSystem,
  place: MemoryPlace,
  now: number,
  refused?: (why: string) => void,
): string[] {
  const today = Date.parse(`${localDate(now)}T00:00:00Z`);
  const isRecent = (date: string): boolean => {
    const age = (today - Date.parse(`${date}T00:00:00Z`)) / DAY_MS;
    // A day ahead is today somewhere east of here.
    return age < DAYS && age >= -1;
  };
  return namesIn(files, place.folder)
    .flatMap((name) => JOURNAL.exec(name)?.[1] ?? [])
    .filter(isRecent)
    .sort()
    .reverse()
    .flatMap((date) => {
      const read = readBelow(files, place.root, join(place.folder, `${date}.md`), MAX_JOURNAL_BYTES, refused);
      return read === undefined ? [] : [journalLine(date, read)];
    });
}

function journalLine(date: string, { text, more }: OutsideText): string {
  const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const heading = /^ {0,3}#{1,6}[ \t]+(.*\S)/mu.exec(text)?.[1];
  const title = heading === undefined ? '' : embedded(flat(heading, MAX_HEADING));
  const size = more ? `more than ${count(lines, 'line')}` : count(lines, 'line');
  return `  ${date} (${size})${title === '' ? '' : ` — ${title}`}`;
}
