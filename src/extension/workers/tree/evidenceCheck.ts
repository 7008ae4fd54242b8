import type { LedgerEvidence } from '../../../core/worker/ledger';
import { sha256 } from '../../../store/task/recordFile';
import { outputsOf } from '../../../workers/slot/evidence';
import { SLOT_FILES, type FolderFile } from '../../../workers/slot/slotTree';

/**
 * What a file of a hook is against what the ledger recorded. `verified`: its hash is recorded, or listed in what is. `changed`: another
 * hash is. `missing`: it is listed, and gone. `unproven`: no recorded hash speaks of it. `open`: nothing is recorded yet.
 */
export type EvidenceVerdict = 'verified' | 'changed' | 'missing' | 'unproven' | 'open';

/** A file with its verdict. */
export interface CheckedFile {
  /** With `/`, below the hook's folder. */
  readonly path: string;
  readonly verdict: EvidenceVerdict;
}

const LINE = /^([0-9a-f]{64}) {2}(.+)$/u;

/** What a list of hashes names, as `sha256sum` prints it. */
function parseList(file: FolderFile | undefined): Map<string, string> {
  const lines = Buffer.from(file?.bytes ?? [])
    .toString('utf8')
    .split('\n');
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const [, hash, path] = LINE.exec(line) ?? [];
      return hash === undefined || path === undefined ? [] : [[path, hash]];
    }),
  );
}

/**
 * Says of the files in a hook's folder whether they are those that the ledger recorded. Each file is hashed anew: a tick comes from
 * nothing else.
 */
export function checkFiles(
  files: ReadonlyMap<string, FolderFile>,
  recorded: Pick<LedgerEvidence, 'inputHash' | 'outputHash'> | undefined,
): CheckedFile[] {
  const outputs = outputsOf(files);
  if (recorded === undefined) return outputs.map(([path]) => ({ path, verdict: 'open' }));
  const { inputHash, outputHash } = recorded;
  const list = files.get(SLOT_FILES.outputHash);
  const listed = parseList(list);
  const isList = list !== undefined && sha256(list.bytes) === outputHash;
  const isNamed = [...listed.values()].includes(outputHash);
  const hashes = new Map(outputs.map(([path, { bytes }]) => [path, sha256(bytes)]));
  const judge = (path: string): EvidenceVerdict => {
    const [hash, expected] = [hashes.get(path), listed.get(path)];
    if (hash === outputHash) return 'verified';
    if (hash === undefined) return 'missing';
    if (expected === undefined) return 'unproven';
    if (expected !== hash) return 'changed';
    // Where the recorded hash is that of one file, the list is only the word of whoever could write it.
    return isList ? 'verified' : 'unproven';
  };
  const own = (path: string, isSo: (bytes: Uint8Array) => boolean): CheckedFile => {
    const file = files.get(path);
    if (file === undefined) return { path, verdict: 'missing' };
    return { path, verdict: isSo(file.bytes) ? 'verified' : 'changed' };
  };
  return [
    own(SLOT_FILES.context, (bytes) => sha256(bytes) === inputHash),
    own(SLOT_FILES.inputHash, (bytes) => Buffer.from(bytes).toString('utf8').startsWith(`${inputHash} `)),
    own(SLOT_FILES.outputHash, () => isList || isNamed),
    ...[...new Set([...hashes.keys(), ...listed.keys()])].sort().map((path) => ({ path, verdict: judge(path) })),
  ];
}
