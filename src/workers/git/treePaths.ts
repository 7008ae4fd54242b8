import { LIMITS } from '../../core/worker/limits';

/** Why a file of a branch is left out, for a person. */
export type Refusal = string;

/** What no system takes for part of a name, and what could be more than a name somewhere: separators, drives, streams, wildcards. */
// eslint-disable-next-line no-control-regex -- control characters are what is refused here
const FORBIDDEN = /[\u0000-\u001f\u007f\\/:*?"<>|]/u;
/** What HFS+ drops from a name. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
/** Names of devices, whatever follows the first dot. */
const RESERVED =
  /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(?:\.|$)/iu;
/** Names of eight characters and three, by which Windows knows files with longer names: `GIT~1` is `.git`, `GI7D29~1` is `.gitattributes`. */
const SHORT = /^(?=[^.]{1,8}(?:\.|$))[^.]*~[0-9]+(?:\.[^.]{0,3})?$/u;
/** Files that git itself reads wherever they lie. Under any other spelling they would take the place of the real ones. */
const READ_BY_GIT: ReadonlySet<string> = new Set(['.gitmodules', '.gitattributes', '.gitignore', '.mailmap']);

/** A name as the most lenient file system compares it: no letter case, no ignored characters, no end that Windows drops. */
function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replace(IGNORED, '')
    .toLowerCase()
    .replace(/[. ]+$/u, '');
}

/** Why a name of a file or folder is refused; `undefined` for one that every system has and that git takes for nothing special. */
export function refusedName(name: string): Refusal | undefined {
  if (name === '') return 'its name is empty';
  if (name === '.' || name === '..') return 'it leads out of its folder';
  if (name.includes('\ufffd')) return 'its name is not valid UTF-8';
  if (FORBIDDEN.test(name)) return 'its name contains a character that some systems do not allow';
  const plain = folded(name);
  if (plain === '.git' || plain === '') return "git takes it for a repository's own folder";
  if (SHORT.test(name.replace(IGNORED, ''))) return 'Windows takes it for the short name of another file';
  if (READ_BY_GIT.has(plain) && name !== plain) return `some systems take it for ${plain}`;
  if (/[. ]$/u.test(name)) return 'its name ends with a dot or a space';
  if (RESERVED.test(name)) return 'Windows reserves its name';
  if (Buffer.byteLength(name) > LIMITS.nameBytes) return `its name is longer than ${LIMITS.nameBytes} bytes`;
  return undefined;
}

/** Why a path, with `/`, is refused below the top of a branch. */
export function refusedPath(path: string): Refusal | undefined {
  if (path === '.gitmodules') return 'branches of workers have no submodules';
  if (path.endsWith('/.gitattributes')) return 'it would have git change or filter the files beside it';
  if (Buffer.byteLength(path) > LIMITS.pathBytes) return `its path is longer than ${LIMITS.pathBytes} bytes`;
  const parts = path.split('/');
  if (parts.length > LIMITS.depth) return `it is more than ${LIMITS.depth} folders deep`;
  for (const part of parts) {
    const why = refusedName(part);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Whether a path, with `/`, can be written below a folder on every system and stays there. */
export function isSafePath(path: string): boolean {
  return refusedPath(path) === undefined;
}

/**
 * Of paths that are safe each by itself, those that make git take a folder for a bare repository, whose settings name programs: `HEAD`
 * beside `objects` and `refs`, or beside `commondir`.
 */
export function repositoryHeads(paths: Iterable<string>): string[] {
  const heads: string[] = [];
  const marks = new Map<string, Set<string>>();
  for (const path of paths) {
    const parts = path.split('/');
    for (const [index, part] of parts.entries()) {
      const name = part.toLowerCase();
      if (name === 'head' && index === parts.length - 1) heads.push(path);
      if (name !== 'objects' && name !== 'refs' && name !== 'commondir') continue;
      const folder = parts.slice(0, index).join('/').toLowerCase();
      marks.set(folder, (marks.get(folder) ?? new Set()).add(name));
    }
  }
  return heads.filter((path) => {
    const beside = marks.get(path.split('/').slice(0, -1).join('/').toLowerCase());
    return beside !== undefined && (beside.has('commondir') || (beside.has('objects') && beside.has('refs')));
  });
}
