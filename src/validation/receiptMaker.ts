import { defined } from '../core/shared/defined';
import { type Result, ok } from '../core/shared/errors';
import type { ValidationReceipt } from '../core/task/taskRecord';
import type { Clock, GitReader, Logger, ReceiptSigner, Repository } from '../core/shared/ports';
import {
  type OutputStream,
  type ChainLink,
  MAX_CHANGED_FILES,
  type TreeRecord,
  makeStatement,
  signingText,
} from '../core/receipt/receipt';
import { formatDuration, toTimestamp } from '../core/shared/time';
import { sealStatement, sha256Hex } from '../signing/envelope';
import type { StorePaths } from '../store/paths';
import type { TaskRef } from '../core/task/taskRef';
import type { ReceiptFiles } from '../store/receipts/receiptFiles';
import { type CommandOutcome, CommandRunner } from './commandRunner';

/** Where a receipt is made: the files that it will cover. */
export interface ReceiptGround {
  readonly ref: TaskRef;
  readonly worktree: string;
  readonly repository: Repository | undefined;
}

/** What a receipt is made of, once its place was reserved. */
export interface ReceiptRun extends ReceiptGround {
  readonly receiptId: string;
  readonly command: string;
  readonly stepName: string;
  readonly stepIndex: number;
  readonly attempt: number;
  readonly link: ChainLink;
  /** In ms; 0 for none. */
  readonly timeoutMs: number;
}

/** A signed receipt whose statement is on disk, and how its command ended. */
export interface MadeReceipt {
  readonly receipt: ValidationReceipt;
  readonly outcome: CommandOutcome;
  /** SHA-256 (hex) of the envelope's file. */
  readonly envelopeSha256: string;
}

interface MakerPorts {
  readonly paths: StorePaths;
  readonly clock: Clock;
  readonly git: GitReader;
  readonly log: Logger;
}

/** Runs a command and makes the signed receipt of it. Nobody can hand it a result. */
export class ReceiptMaker {
  private readonly runner: CommandRunner;

  constructor(
    private readonly ports: MakerPorts,
    private readonly files: ReceiptFiles,
  ) {
    this.runner = new CommandRunner(ports.clock);
  }

  /** The tree of the files as they are; `undefined` where there is no git to say. */
  async lookAt({ ref, repository }: ReceiptGround): Promise<string | undefined> {
    if (repository === undefined) return undefined;
    const tree = await this.ports.git.workingTree(repository, this.ports.paths.trees(ref.workspace));
    if (tree.ok) return tree.value;
    this.ports.log.warn('Git could not record the files. The receipt will not cover them.', {
      error: tree.error.message,
    });
    return undefined;
  }

  /**
   * Runs the command to its end, however that comes, and makes its receipt. Takes no lock.
   * @param before the tree before the run
   */
  async make(
    place: ReceiptRun,
    before: string | undefined,
    signer: ReceiptSigner,
    signal: AbortSignal,
    onOutput: ((stream: OutputStream, chunk: Uint8Array) => void) | undefined,
  ): Promise<Result<MadeReceipt>> {
    const stdout = this.files.outputPath(place.ref, place.receiptId, 'stdout');
    if (!stdout.ok) return stdout;
    const stderr = this.files.outputPath(place.ref, place.receiptId, 'stderr');
    if (!stderr.ok) return stderr;
    const ran = await this.runner.run({
      command: place.command,
      cwd: place.worktree,
      env: process.env,
      timeoutMs: place.timeoutMs,
      keepStdout: stdout.value,
      keepStderr: stderr.value,
      marker: place.receiptId,
      signal,
      ...defined({ onOutput }),
    });
    if (!ran.ok) return ran;
    const tree = await this.treeRecord(place, before, await this.lookAt(place));
    const receipt = signedReceipt(place, ran.value, signer);
    const envelope = sealStatement(statementOf(place, receipt, ran.value, tree), signer);
    const written = this.files.writeEnvelope(place.ref, place.receiptId, envelope);
    return written.ok ? ok({ receipt, outcome: ran.value, envelopeSha256: sha256Hex(envelope) }) : written;
  }

  private async treeRecord(
    { ref, repository }: ReceiptGround,
    before: string | undefined,
    after: string | undefined,
  ): Promise<TreeRecord> {
    const head = repository === undefined ? undefined : this.ports.git.head(repository);
    const changed =
      repository === undefined || before === undefined || after === undefined
        ? ok([])
        : await this.ports.git.changedFiles(repository, this.ports.paths.trees(ref.workspace), before, after);
    const files = changed.ok ? changed.value : [];
    return {
      before: before ?? null,
      after: after ?? null,
      changed: files.slice(0, MAX_CHANGED_FILES),
      changed_count: files.length,
      head: head?.commit ?? null,
      branch: head?.branch ?? null,
    };
  }
}

function signedReceipt(place: ReceiptRun, outcome: CommandOutcome, signer: ReceiptSigner): ValidationReceipt {
  const unsigned: ValidationReceipt = {
    receipt_id: place.receiptId,
    step_name: place.stepName,
    attempt: place.attempt,
    command: place.command,
    exit_code: outcome.exitCode,
    started_at: toTimestamp(outcome.startedAt),
    completed_at: toTimestamp(outcome.completedAt),
    duration: formatDuration(outcome.durationMs),
    stdout_hash: outcome.stdout.sha256,
    stderr_hash: outcome.stderr.sha256,
    key_path: signer.keyPath,
    signature: '',
  };
  const signature = signer.sign(Buffer.from(signingText(unsigned), 'utf8'), 'text');
  return { ...unsigned, signature: Buffer.from(signature).toString('hex') };
}

function statementOf(
  place: ReceiptRun,
  receipt: ValidationReceipt,
  outcome: CommandOutcome,
  tree: TreeRecord,
): ReturnType<typeof makeStatement> {
  return makeStatement({
    receipt,
    task: { workspace_id: place.ref.workspace, task_id: place.ref.id, step_index: place.stepIndex },
    run: {
      argv: [...outcome.argv],
      working_directory: place.worktree,
      ended: outcome.ended,
      ...defined({ signal: outcome.signal }),
      stdout_bytes: outcome.stdout.bytes,
      stderr_bytes: outcome.stderr.bytes,
    },
    tree,
    chain: place.link,
    commandSha256: sha256Hex(place.command),
  });
}
