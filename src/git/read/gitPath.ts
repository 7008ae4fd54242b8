/*
 * Git's paths are bytes. In this room they are texts with one character a byte (`latin1`), so that what git said can be
 * given back to it as it was; only what is shown is decoded.
 */

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

/** A path as it is shown and recorded: its text, or where its bytes are none, as git quotes it: `"tracked\377.txt"`. */
export function shownPath(path: string): string {
  const bytes = Buffer.from(path, 'latin1');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return `"${[...bytes].map((byte) => quoted(byte)).join('')}"`;
  }
}

function quoted(byte: number): string {
  const escape = ESCAPES[byte];
  if (escape !== undefined) return escape;
  return byte < 0x20 || byte >= 0x7f ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte);
}

/** Where a path of git's lies, for Node's file operations. */
export function bytesBelow(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')]);
}

/** The records of an output that was asked for with `-z`, each once. */
export function recordsOf(output: string): string[] {
  return [...new Set(output.split('\0').filter((record) => record !== ''))];
}
