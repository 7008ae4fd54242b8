import { join } from 'node:path';

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

/**
 * Where a path of git's lies, for Node's file operations. On Windows it is a text: names are none of bytes there, and for
 * texts alone Node gets past 260 characters and past names of devices.
 */
export function pathBelow(folder: string, path: string): Buffer | string {
  const bytes = Buffer.from(path, 'latin1');
  if (process.platform === 'win32') return join(folder, bytes.toString('utf8'));
  return Buffer.concat([Buffer.from(`${folder}/`), bytes]);
}

/** The records of an output that was asked for with `-z`, each once. */
export function recordsOf(output: string): string[] {
  return [...new Set(output.split('\0').filter((record) => record !== ''))];
}
