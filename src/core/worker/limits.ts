import { KIB, MIB, sizeText } from '../shared/text';

/**
 * How much is read from a branch below `forge/`. Anybody who can push to the remote can put anything there, so that each size is checked
 * before the content is read. What is over a limit is reported, and the other branches are used as before.
 */
export const LIMITS = {
  /** Branches of workers in one repository. */
  branches: 5000,
  /** Files on one branch. A worker's folder holds at most {@link LIMITS.folderFiles}. */
  files: 4000,
  /** Files in a worker's folder that are committed. */
  folderFiles: 2000,
  /** Folders inside one another. */
  depth: 16,
  /** Bytes of one name; no file system takes more. */
  nameBytes: 255,
  /** Bytes of a path, from the top of the branch. */
  pathBytes: 1024,
  /** Bytes of a commit. */
  commitBytes: MIB,
  /** Bytes of the list of one folder. */
  treeBytes: MIB,
  /** Bytes of the lists of all folders that are read at once. */
  allTreesBytes: 16 * MIB,
  /** Bytes of all files on one branch. One file may take all of them. */
  branchBytes: 64 * MIB,
  /** Bytes of `status.json`. */
  statusBytes: 256 * KIB,
  /** Bytes of `task.json`. */
  taskBytes: 512 * KIB,
  /** Bytes of `context.json`, which repeats the task. */
  contextBytes: 4 * MIB,
  /** Bytes of `result.json`. */
  resultBytes: 4 * MIB,
  /** Bytes of these four of all workers together. The smallest are used first. */
  allHooksBytes: 32 * MIB,
  /** Bytes of each of the ledger's files, and of all of them together. */
  ledgerBytes: 64 * MIB,
  /** From how many bytes on a ledger is offered to be made smaller. */
  ledgerFullBytes: 48 * MIB,
  /** Lines of each of the ledger's files. */
  ledgerLines: 200_000,
  /** Brackets, commas and colons in all of the ledger's files: what takes few bytes there takes many once it is read. */
  ledgerMarks: 8_000_000,
  /** Bytes of one line of the ledger. */
  lineBytes: MIB,
  /** Values and keys in one JSON document or line. */
  jsonValues: 100_000,
  /** Values and keys in the documents of all workers. */
  allJsonValues: 1_000_000,
  /** Arrays and objects inside one another. */
  jsonDepth: 100,
  /** Names of refused files that are listed for one branch. */
  listed: 20,
} as const;

/** The files at the top of a worker's branch, and the ledger's, whose content is read whole. */
const BY_NAME: ReadonlyMap<string, number> = new Map([
  ['status.json', LIMITS.statusBytes],
  ['task.json', LIMITS.taskBytes],
  ['context.json', LIMITS.contextBytes],
  ['result.json', LIMITS.resultBytes],
  ['tasks.jsonl', LIMITS.ledgerBytes],
  ['convoys.jsonl', LIMITS.ledgerBytes],
  ['evidence.jsonl', LIMITS.ledgerBytes],
]);

/** How many bytes a file of a branch may have. */
export function bytesAllowed(path: string): number {
  return BY_NAME.get(path) ?? LIMITS.branchBytes;
}

const MARKS = { '[': 0x5b, '{': 0x7b, ',': 0x2c, ':': 0x3a } as const;

/** How many brackets, commas and colons a JSON text has: at least as many as it has values, without reading it. */
export function countMarks(text: string): number {
  let marks = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === MARKS[','] || code === MARKS[':'] || code === MARKS['['] || code === MARKS['{']) marks += 1;
  }
  return marks;
}

/** What to say of a file that is over its limit. */
export function tooLarge(path: string, size: number): string {
  return `${path} has ${sizeText(size)}, at most ${sizeText(bytesAllowed(path))} are read`;
}

/** What is wrong with a JSON value, and how many values and keys it has. */
export interface JsonMeasure {
  readonly values: number;
  readonly problem: string | undefined;
}

/** Measures a parsed JSON value without recursion: one that is too deep would overflow the stack of whoever writes it again. */
export function measureJson(value: unknown): JsonMeasure {
  let level: object[] = isContainer(value) ? [value] : [];
  let values = 1;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > LIMITS.jsonDepth) return { values, problem: `it is nested more than ${LIMITS.jsonDepth} levels deep` };
    const deeper: object[] = [];
    for (const each of level) {
      const inside: readonly unknown[] = Array.isArray(each) ? each : Object.values(each);
      values += Array.isArray(each) ? inside.length : 2 * inside.length;
      if (values > LIMITS.jsonValues)
        return { values, problem: `it contains more than ${LIMITS.jsonValues.toLocaleString('en')} values` };
      for (const one of inside) if (isContainer(one)) deeper.push(one);
    }
    level = deeper;
  }
  return { values, problem: undefined };
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
