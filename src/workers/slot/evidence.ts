import { type Result, fail, ok } from '../../core/shared/errors';
import { sha256 } from '../../store/task/recordFile';
import { textFile } from '../git/forgeBranches';
import { type FolderFile, OWN_FILES, SLOT_FILES } from './slotTree';

/** What proves which input became which output. */
export interface Evidence {
  /** SHA-256 of context.json. */
  readonly inputHash: string;
  /** SHA-256 of the one file that the worker left; where that is not one file, of evidence/output-hash.txt. */
  readonly outputHash: string;
  /** The files in evidence/: hashes as `sha256sum` prints and checks them. */
  readonly files: ReadonlyMap<string, FolderFile>;
}

/** Whether a file of a hook was left there by its worker, and is none of the protocol's own. */
export function isOutput(path: string): boolean {
  return !OWN_FILES.has(path);
}

/** What a worker left in its folder beside the protocol's own files. */
export function outputsOf(files: ReadonlyMap<string, FolderFile>): [path: string, file: FolderFile][] {
  return [...files].filter(([path]) => isOutput(path)).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The evidence of what lies in a folder. */
export function evidenceOf(context: Uint8Array, files: ReadonlyMap<string, FolderFile>): Evidence {
  const inputHash = sha256(context);
  const outputs = outputsOf(files).map(([path, { bytes }]) => ({ path, hash: sha256(bytes) }));
  const list = outputs.map(({ path, hash }) => `${hash}  ${path}\n`).join('');
  const [only, ...more] = outputs;
  return {
    inputHash,
    outputHash: only !== undefined && more.length === 0 ? only.hash : sha256(list),
    files: new Map([
      [SLOT_FILES.inputHash, textFile(`${inputHash}  ${SLOT_FILES.context}\n`)],
      [SLOT_FILES.outputHash, textFile(list)],
    ]),
  };
}

/**
 * Says whether hashes that a worker names are those of what lies there: the input's, and of the output that of any file it left or of the
 * list of all. Fails with `verification_failed`.
 */
export function checkEvidence(
  claimed: { readonly inputHash: string; readonly outputHash: string },
  evidence: Evidence,
  files: ReadonlyMap<string, FolderFile>,
): Result<Evidence> {
  if (claimed.inputHash !== evidence.inputHash)
    return fail('verification_failed', `The result's inputHash is not the SHA-256 of ${SLOT_FILES.context}.`, {
      hint: 'Hash the file as it was given, or omit the hashes to have them computed.',
    });
  const list = evidence.files.get(SLOT_FILES.outputHash)?.bytes ?? new Uint8Array();
  const hashes = [sha256(list), ...outputsOf(files).map(([, { bytes }]) => sha256(bytes))];
  if (hashes.includes(claimed.outputHash)) return ok({ ...evidence, outputHash: claimed.outputHash });
  return fail('verification_failed', "The result's outputHash is not the SHA-256 of any file in the folder.", {
    hint: "Put the output into the worker's folder and hash it, or omit the hashes to have them computed.",
  });
}
