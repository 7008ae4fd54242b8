import type { OutputStream } from '../../core/receipt/receipt';
import { join, sep } from 'node:path';
import { type Result, fail, ok } from '../../core/shared/errors';
import { checkTaskId } from '../../core/shared/ids';
import { createFile, ensureFolder } from '../../system/files/atomicFile';
import { codeOf, fileError } from '../../system/files/fileErrors';
import type { TaskRef } from '../../core/task/taskRef';
import type { StorePorts } from '../task/storePorts';

const MAX_ENVELOPE_BYTES = 1024 * 1024;

/** The files beside a task's receipts: signed statements and the commands' outputs. */
export class ReceiptFiles {
  constructor(private readonly ports: Pick<StorePorts, 'paths' | 'files' | 'ids'>) {}

  /** Reads one envelope of a task; see {@link envelopes}. */
  envelope(ref: TaskRef, receiptId: string): Uint8Array | undefined {
    return this.envelopes(ref)(receiptId);
  }

  /**
   * Reads a task's envelopes by receipt id: their bytes, or `undefined` where there is none. What is there but can't be
   * read as a file is empty, which no envelope is.
   */
  envelopes(ref: TaskRef): (receiptId: string) => Uint8Array | undefined {
    const { files, paths } = this.ports;
    const folder = paths.receipts(ref);
    return (receiptId) => {
      const path = envelopePath(folder, receiptId);
      if (path === undefined) return undefined;
      try {
        return files.read(path, MAX_ENVELOPE_BYTES, 'refuse');
      } catch (error) {
        return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' ? undefined : new Uint8Array();
      }
    };
  }

  /** Writes a receipt's envelope, durably and never over another. */
  writeEnvelope(ref: TaskRef, receiptId: string, text: string): Result<void> {
    const path = envelopePath(this.ports.paths.receipts(ref), receiptId);
    if (path === undefined) return fail('invalid_name', `${JSON.stringify(receiptId)} is not a valid receipt ID.`);
    try {
      ensureFolder(this.ports.files, this.ports.paths.receipts(ref));
      if (createFile(this.ports.files, this.ports.ids, path, text)) return ok(undefined);
      return fail('write_failed', `Receipt ${receiptId} already has a statement.`);
    } catch (error) {
      return {
        ok: false,
        error: fileError('write_failed', `The statement of ${receiptId} could not be written`, error),
      };
    }
  }

  /** Where a command's output is kept, below artifacts/. Makes its folder. */
  outputPath(ref: TaskRef, receiptId: string, stream: OutputStream): Result<string> {
    if (!checkTaskId(receiptId).ok) {
      return fail('invalid_name', `${JSON.stringify(receiptId)} is not a valid receipt ID.`);
    }
    return ok(join(this.ports.paths.artifacts(ref), outputName(receiptId, stream)));
  }

  makeOutputFolder(ref: TaskRef): Result<void> {
    try {
      ensureFolder(this.ports.files, join(this.ports.paths.artifacts(ref), OUTPUT_FOLDER));
      return ok(undefined);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', "The commands' output could not be stored", error) };
    }
  }

  /** Whether an output was kept. */
  isKept(ref: TaskRef, receiptId: string, stream: OutputStream): boolean {
    const path = this.outputPath(ref, receiptId, stream);
    return path.ok && this.ports.files.stat(path.value)?.kind === 'file';
  }
}

function envelopePath(folder: string, receiptId: string): string | undefined {
  return checkTaskId(receiptId).ok ? `${folder}${sep}${receiptId}.dsse.json` : undefined;
}

const OUTPUT_FOLDER = 'validation';

/** An output's name relative to artifacts/, as history events name it. */
export function outputName(receiptId: string, stream: OutputStream): string {
  return `${OUTPUT_FOLDER}/${receiptId}.${stream}`;
}
