import { randomBytes } from 'node:crypto';
import type { HookConfig } from '../../src/core/config';
import { ok, unwrap } from '../../src/core/errors';
import type { HookInput } from '../../src/core/events';
import type { Hook, StepContext, ValidationReceipt } from '../../src/core/hook';
import type { ReceiptSigner } from '../../src/core/ports';
import {
  type ChainLink,
  type ReceiptPlace,
  type Statement,
  type TreeRecord,
  makeStatement,
  nextPlace,
  signingText,
} from '../../src/core/receipt';
import type { Atlas } from '../../src/service/atlas';
import type { ReceiptService } from '../../src/service/receiptService';
import { sealStatement, sha256Hex } from '../../src/signing/envelope';
import { FileKeyManager } from '../../src/signing/keyManager';
import { HookStore } from '../../src/storage/hookStore';
import { NodeFileSystem } from '../../src/storage/nodeFileSystem';
import type { TaskRef } from '../../src/storage/paths';
import type { Updated } from '../../src/storage/stored';
import { TaskIndexes } from '../../src/storage/taskIndexes';

/** What a receipt tells of a run that never was. */
export interface PretendedRun {
  readonly command: string;
  readonly exitCode?: number;
  /** What the statement says of the files; without git by default. */
  readonly tree?: TreeRecord;
}

const NO_TREE: TreeRecord = { before: null, after: null, changed: [], changed_count: 0, head: null, branch: null };
const NOTHING_WRITTEN = sha256Hex('');

/**
 * Makes receipts without running their commands: real keys and signatures, and events through the real store, so that
 * hook.json, journal, statements and published keys are what validations would have left there.
 */
export class PretendedRuns {
  private readonly store: HookStore;
  private readonly keys: FileKeyManager;

  private constructor(
    private readonly atlas: Atlas,
    private readonly receipts: ReceiptService,
    private readonly config: HookConfig,
    durable: boolean,
  ) {
    const { ports } = atlas;
    // HOOK.md is made once at the end, and nobody waits for the disk after each of thousands of events.
    const quick = new HookStore({ ...ports, files: new UnsyncedFileSystem(), render: () => '' });
    this.store = durable ? atlas.store : quick;
    const settings = { scheme: config.signing.scheme, derivation: config.keyDerivation };
    this.keys = new FileKeyManager(receipts.keys, settings, ports.log, receipts.curve);
  }

  /** Ready to make some in a store. `durable`: each change is written as the store writes it, which takes its time. */
  static async open(atlas: Atlas, { durable = false } = {}): Promise<PretendedRuns> {
    const { config } = await atlas.configs.forWorktree(undefined);
    return new PretendedRuns(atlas, await atlas.receipts(), config, durable);
  }

  /** Adds a receipt for each of these runs to a task whose step is running or being validated, under a key index of its own. */
  async add(ref: TaskRef, runs: readonly PretendedRun[]): Promise<void> {
    const { hook } = unwrap(this.store.read(ref));
    if (hook.state === 'step_running') await this.send(ref, () => ({ type: 'step_output' }));
    const task = unwrap(await taskIndexesOf(this.atlas).next());
    for (const run of runs) await this.addOne(ref, task, run);
    unwrap(await this.atlas.regenerate(ref));
  }

  private async addOne(ref: TaskRef, task: number, run: PretendedRun): Promise<void> {
    const receiptId = `rcpt-${randomBytes(6).toString('hex')}`;
    const { command } = run;
    let place: ReceiptPlace | undefined;
    const { hook } = await this.send(ref, (now) => {
      place = nextPlace(now);
      return { type: 'validation_command', command, log: `validation/${receiptId}.stdout`, receiptId, ...place };
    });
    const step = hook.current_step;
    if (place === undefined || step === undefined) throw new Error('nothing was reserved');
    const signer = unwrap(await this.keys.newSigner({ task, receipt: place.index }));
    const receipt = signedReceipt({ receiptId, step, at: hook.updated_at }, run, signer);
    const envelope = sealStatement(statementOf(ref, step.step_index, place.link, run, receipt), signer);
    unwrap(this.receipts.files.writeEnvelope(ref, receiptId, envelope));
    await this.send(ref, () => ({ type: 'receipt', receipt, envelopeSha256: sha256Hex(envelope) }));
  }

  private async send(ref: TaskRef, input: (hook: Hook) => HookInput): Promise<Updated> {
    return unwrap(await this.store.update(ref, ({ hook }) => ok(input(hook)), { config: this.config }));
  }
}

const indexes = new WeakMap<Atlas, TaskIndexes>();

/** What numbers tasks in a process: one object, which remembers a lock that it could not release. */
export function taskIndexesOf(atlas: Atlas): TaskIndexes {
  const known = indexes.get(atlas) ?? new TaskIndexes(atlas.ports);
  indexes.set(atlas, known);
  return known;
}

interface Place {
  readonly receiptId: string;
  readonly step: StepContext;
  readonly at: string;
}

function signedReceipt(
  { receiptId, step, at }: Place,
  { command, exitCode = 0 }: PretendedRun,
  signer: ReceiptSigner,
): ValidationReceipt {
  const unsigned: ValidationReceipt = {
    receipt_id: receiptId,
    step_name: step.step_name,
    attempt: step.attempt,
    command,
    exit_code: exitCode,
    started_at: at,
    completed_at: at,
    duration: '850ms',
    stdout_hash: NOTHING_WRITTEN,
    stderr_hash: NOTHING_WRITTEN,
    key_path: signer.keyPath,
    signature: '',
  };
  const signature = signer.sign(Buffer.from(signingText(unsigned), 'utf8'), 'text');
  return { ...unsigned, signature: Buffer.from(signature).toString('hex') };
}

function statementOf(
  { workspace, id }: TaskRef,
  stepIndex: number,
  chain: ChainLink,
  { command, tree = NO_TREE }: PretendedRun,
  receipt: ValidationReceipt,
): Statement {
  return makeStatement({
    receipt,
    task: { workspace_id: workspace, task_id: id, step_index: stepIndex },
    run: {
      argv: ['/bin/sh', '-c', command],
      working_directory: '/sample',
      ended: 'exit',
      stdout_bytes: 0,
      stderr_bytes: 0,
    },
    tree,
    chain,
    commandSha256: sha256Hex(command),
  });
}

/** The file operations of this machine without waiting for the disk. */
export class UnsyncedFileSystem extends NodeFileSystem {
  override write(...[path, data, options]: Parameters<NodeFileSystem['write']>): void {
    super.write(path, data, { ...options, sync: false });
  }

  override append(path: string, data: string | Uint8Array): void {
    super.append(path, data);
  }

  override syncFolder(): void {
    // That is the point.
  }
}
