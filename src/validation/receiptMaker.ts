import { basename, join } from 'node:path';
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
import type { StreamRecord } from './outputCapture';

/** Where a receipt is made: the files that it will cover. */
export interface ReceiptGround {
  readonly ref: TaskRef;
  readonly worktree: string;
  readonly repository: Repository | undefined;
}

/** What a receipt says of its run before that is over. */
export interface ReceiptPlan {
  readonly receiptId: string;
  readonly command: string;
  /** Where it runs: relative to the worktree, with `/`; `.` for its top. */
  readonly folder: string;
  /** The check of the repository's policy that it is. */
  readonly check: string | undefined;
  /** By which clones of the repository know each other; empty where that isn't known. */
  readonly roots: readonly string[];
  readonly stepName: string;
  readonly stepIndex: number;
  readonly attempt: number;
  readonly link: ChainLink;
}

/** What a receipt is made of, once its place was reserved. */
export interface ReceiptRun extends ReceiptGround, ReceiptPlan {
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
      cwd: join(place.worktree, place.folder),
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
    const { workspace, id } = place.ref;
    const { receipt, envelope } = signRun(place, { workspace, id, worktree: place.worktree }, ran.value, tree, signer);
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

/** Where a run was made, as its statement names it. */
export interface RunPlace {
  readonly workspace: string;
  readonly id: string;
  /** Named only where no repository is: a statement may travel, and then nobody's folders are others' business. */
  readonly worktree: string;
  readonly by?: 'ci';
}

/** What a receipt says of how a run ended. */
export interface RunOutcome extends Omit<CommandOutcome, 'stdout' | 'stderr'> {
  readonly stdout: Pick<StreamRecord, 'sha256' | 'bytes'>;
  readonly stderr: Pick<StreamRecord, 'sha256' | 'bytes'>;
}

/** Makes the receipt of a run that is over, and its signed statement: the bytes of the envelope's file. */
export function signRun(
  plan: ReceiptPlan,
  place: RunPlace,
  outcome: RunOutcome,
  tree: TreeRecord,
  signer: ReceiptSigner,
): { readonly receipt: ValidationReceipt; readonly envelope: string } {
  const receipt = signedReceipt(plan, outcome, signer);
  return { receipt, envelope: sealStatement(statementOf(plan, place, receipt, outcome, tree), signer) };
}

function signedReceipt(place: ReceiptPlan, outcome: RunOutcome, signer: ReceiptSigner): ValidationReceipt {
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
  plan: ReceiptPlan,
  { workspace, id, worktree, by }: RunPlace,
  receipt: ValidationReceipt,
  outcome: RunOutcome,
  tree: TreeRecord,
): ReturnType<typeof makeStatement> {
  return makeStatement({
    receipt,
    task: { workspace_id: workspace, task_id: id, step_index: plan.stepIndex },
    run: {
      argv: outcome.argv.map((word, at) => (at === 0 ? basename(word) : word)),
      working_directory: tree.after === null ? join(worktree, plan.folder) : plan.folder,
      ended: outcome.ended,
      ...defined({ signal: outcome.signal }),
      stdout_bytes: outcome.stdout.bytes,
      stderr_bytes: outcome.stderr.bytes,
    },
    tree,
    chain: plan.link,
    ...(plan.roots.length === 0 ? {} : { repository: { roots: [...plan.roots], folder: plan.folder } }),
    check: plan.check,
    by,
    commandSha256: sha256Hex(plan.command),
  });
}
