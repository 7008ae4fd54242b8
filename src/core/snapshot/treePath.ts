/*
 * Paths in snapshots are bytes, as git's are. Here they are texts with one character a byte, `/` between folders, so that
 * no name is changed on its way; only what a person reads is decoded.
 */

/** A path of a snapshot: relative to the worktree, one character (0 to 255) a byte. */
export type TreePath = string;

const ESCAPES: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
};
const UNESCAPES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ESCAPES).map(([code, escape]) => [escape.slice(1), String.fromCharCode(Number(code))]),
);

function bytesOf(path: TreePath): Uint8Array {
  return Uint8Array.from(path, (character) => character.charCodeAt(0));
}

function textOf(path: TreePath): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(path));
  } catch {
    return undefined;
  }
}

/**
 * A path as people and files see it: its text, or in quotes as git writes it (`core.quotePath=false`) where it holds
 * control characters, quotes, backslashes or bytes that are no UTF-8. {@link parsePath} reads it back.
 */
export function quotePath(path: TreePath): string {
  const text = textOf(path);
  // eslint-disable-next-line no-control-regex -- these are what git quotes
  if (text !== undefined && !/[\u0000-\u001f\u007f"\\]/u.test(text)) return text;
  const keeps = text !== undefined;
  const inner = [...bytesOf(path)].map((byte) => quotedByte(byte, keeps)).join('');
  return `"${keeps ? (textOf(inner) ?? inner) : inner}"`;
}

function quotedByte(byte: number, keepsText: boolean): string {
  const escape = ESCAPES[byte];
  if (escape !== undefined) return escape;
  const isPlain = byte >= 0x20 && byte !== 0x7f && (byte < 0x80 || keepsText);
  return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
}

/** The path that {@link quotePath} or git wrote, or a person typed; `undefined` for quotes that don't end or unknown escapes. */
export function parsePath(text: string): TreePath | undefined {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  if (!bytes.startsWith('"')) return bytes;
  if (!/^"(?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*"$/su.test(bytes)) return undefined;
  return bytes
    .slice(1, -1)
    .replace(/\\([0-3][0-7]{2}|.)/gsu, (_escape, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (UNESCAPES[code] ?? code),
    );
}

/** What HFS+ leaves out of a name: see git's `is_hfs_dotgit`. */
const UNSEEN = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Whether a path must not be written anywhere: it leaves the worktree, or some system takes a part of it for `.git`.
 * @param windows whether paths are used on Windows, where a backslash ends a name too
 */
export function isUnsafePath(path: TreePath, windows = false): boolean {
  if (path.includes('\0') || (windows && /[\\:]/u.test(path))) return true;
  return path.split('/').some((part) => {
    if (part === '' || part === '.' || part === '..') return true;
    // Names are rarely anything like it, and folding each of a large tree takes time.
    if (!/^(?:\.|g)/iu.test(part) && part.charCodeAt(0) < 0x80) return false;
    const plain = (textOf(part) ?? part)
      .replace(UNSEEN, '')
      .toLowerCase()
      .replace(/:.*$/su, '')
      .replace(/[ .]+$/u, '');
    return plain === '.git' || plain === 'git~1';
  });
}

/** The folders that a path lies in, outermost first. */
export function parentsOf(path: TreePath): TreePath[] {
  const parents: TreePath[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}

/** Whether a path is one of these, or lies in one of them; every path is, where none are given. */
export function isWithin(path: TreePath, chosen: readonly TreePath[]): boolean {
  return chosen.length === 0 || chosen.some((each) => path === each || path.startsWith(`${each.replace(/\/$/u, '')}/`));
}
