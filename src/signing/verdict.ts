import { LruCache } from '../core/shared/lru';
import { eventsOf } from '../core/history/historyEvent';
import type { TaskRecord, ValidationReceipt } from '../core/task/taskRecord';
import {
  type ReceiptCheck,
  type ReceiptReport,
  type RecordedReceipt,
  type Statement,
  type Verdict,
  compareWithStatement,
  preAuthEncoding,
  schemeOf,
  signingText,
} from '../core/receipt/receipt';
import { malformedField } from '../core/receipt/receiptForm';
import { count } from '../core/shared/text';
import { type ChainRecord, chainOf, checkChain } from './chain';
import { type Envelope, parseEnvelope, parseStatement, sha256Hex } from './envelope';
import type { GoodSignatures } from './goodSignatures';
import { CurveMissing, type SignatureAnswer, type SignatureVerifier } from './signatureVerifier';

/** A task's receipts with all that a verdict on them is made from. */
export interface TaskReceipts {
  readonly workspaceId: string;
  readonly taskId: string;
  readonly hook: Pick<TaskRecord, 'receipts' | 'history'>;
  /** What the journal recorded when each was added, in order. */
  readonly recorded: readonly RecordedReceipt[];
  /** Whether the journal can no longer be followed; `recorded` is then what the history says. */
  readonly journalBroken?: boolean;
  /** The bytes of a receipt's envelope; `undefined` where there is none. */
  envelope(receiptId: string): Uint8Array | undefined;
  /** Its signatures that were found good before. */
  readonly good?: GoodSignatures;
}

/** How many reports are remembered, in memory only. */
const KEPT_REPORTS = 2048;

/** What a check found, without its name. */
type Found = Omit<ReceiptCheck, 'check'>;

/** Gives the verdicts: the one place that every tick comes from. Synchronous. */
export class ReceiptVerifier {
  /** By task and receipt, with all that the report was made from: whatever of it changes, it is made again. */
  private readonly reports = new LruCache<{ readonly basis: string; readonly report: ReceiptReport }>(KEPT_REPORTS);

  constructor(private readonly signatures: SignatureVerifier) {}

  /** The chain of a task's receipts as it was recorded, against the receipts that are there. */
  chain(task: TaskReceipts): ChainRecord {
    return chainOf(task.hook.receipts, task.recorded, task.journalBroken);
  }

  /** As {@link judge}; loads the curve where a signature has to be checked that never was. */
  async judgeWith(
    load: () => Promise<unknown>,
    ...asked: Parameters<ReceiptVerifier['judge']>
  ): Promise<ReceiptReport> {
    try {
      return this.judge(...asked);
    } catch (error) {
      if (!(error instanceof CurveMissing)) throw error;
      await load();
      return this.judge(...asked);
    }
  }

  /**
   * The verdict on one receipt. The same input gives a remembered answer. Throws {@link CurveMissing} where it has to be
   * made by a verifier without a curve.
   */
  judge(task: TaskReceipts, receipt: ValidationReceipt, chain = this.chain(task)): ReceiptReport {
    const bytes = task.envelope(receipt.receipt_id);
    const own = isOwn(task, receipt, chain);
    const digest = bytes === undefined ? '' : sha256Hex(bytes);
    const basis = JSON.stringify([
      task.workspaceId,
      task.taskId,
      receipt,
      digest,
      own,
      chain.broken,
      chain.records.get(receipt.receipt_id),
      chain.previous.get(receipt.receipt_id),
    ]);
    // A short name: a map hashes all of its key each time, and the basis has a thousand characters.
    const name = `${task.taskId}/${receipt.receipt_id}`;
    const known = this.reports.get(name);
    if (known?.basis === basis) return known.report;
    const report = new Examination(this.signatures, task, receipt, chain).run(bytes, digest, own);
    this.reports.set(name, { basis, report });
    return report;
  }
}

/** The hex digits of a whole SHA-256, as ours have them; the Go ATLAS cuts its hashes. Both are in the signed text. */
const WHOLE_HASH = 64;

/** Whether a receipt is one of ours, which never is without its statement. */
function isOwn(task: TaskReceipts, receipt: ValidationReceipt, chain: ChainRecord): boolean {
  if (receipt.attempt !== undefined || schemeOf(receipt.key_path) === 'hd') return true;
  if (receipt.stdout_hash.length === WHOLE_HASH || receipt.stderr_hash.length === WHOLE_HASH) return true;
  if (chain.records.has(receipt.receipt_id)) return true;
  const started = eventsOf(task.hook.history, 'receipt', 'validation_command');
  return started.some(({ details }) => details.receipt_id === receipt.receipt_id);
}

/** One receipt being looked at: collects its checks. */
class Examination {
  private readonly checks: ReceiptCheck[] = [];
  private publicKey: string | undefined;
  private statement: Statement | undefined;
  private keyMissing = false;
  /** Whether its key signs nothing without a statement; asked where there is none. */
  private isStripped = false;
  private readonly text: string;

  constructor(
    private readonly signatures: SignatureVerifier,
    private readonly task: TaskReceipts,
    private readonly receipt: ValidationReceipt,
    private readonly chain: ChainRecord,
  ) {
    this.text = signingText(receipt);
  }

  run(bytes: Uint8Array | undefined, digest: string, own: boolean): ReceiptReport {
    if (this.receipt.signature === '') {
      this.add('signed', { passed: false, message: 'The receipt is not signed, so it proves nothing.' });
      return this.report('unsigned');
    }
    this.add('signed', { passed: true, message: 'The receipt is signed.' });
    if (!this.checkForm()) return this.report('invalid');
    if (bytes === undefined && !own) {
      this.checkText(undefined);
      if (this.isStripped) this.addMissingStatement();
      return this.report(this.failed() ? this.failure() : 'valid_short');
    }
    const envelope = this.checkEnvelope(bytes);
    this.checkText(envelope?.keyId);
    if (envelope !== undefined) this.checkStatement(envelope, digest);
    return this.report(this.failed() ? this.failure() : 'valid');
  }

  /** A signature over a text that can be read in two ways says nothing about either. */
  private checkForm(): boolean {
    const malformed = malformedField(this.receipt);
    if (malformed === undefined) {
      this.add('form', { passed: true, message: 'Its fields are well formed.' });
      return true;
    }
    const { field, found } = malformed;
    const message = `The field ${field} is not valid in a receipt, so the signed text could describe another run.`;
    this.add('form', { passed: false, message, found });
    return false;
  }

  private addMissingStatement(): void {
    const message = 'The signed statement of this receipt is missing: its file was removed or never written.';
    this.add('envelope', { passed: false, message, expected: `receipts/${this.receipt.receipt_id}.dsse.json` });
  }

  private checkEnvelope(bytes: Uint8Array | undefined): Envelope | undefined {
    if (bytes === undefined) {
      this.addMissingStatement();
      return undefined;
    }
    const parsed = parseEnvelope(bytes);
    if (parsed.ok) this.add('envelope', { passed: true, message: 'Its statement exists.' });
    else this.add('envelope', { passed: false, message: parsed.error.message });
    return parsed.ok ? parsed.value : undefined;
  }

  /** The receipt's own signature, and with it the key. */
  private checkText(keyId: string | undefined): void {
    const { signature, key_path: path } = this.receipt;
    const bytes = /^(?:[0-9a-f]{2})+$/u.test(signature) ? Uint8Array.from(Buffer.from(signature, 'hex')) : undefined;
    const message = Buffer.from(this.text, 'utf8');
    const answer = this.signatures.check(path, keyId, message, 'text', bytes ?? new Uint8Array(), this.task.good);
    if (!this.checkKey(answer)) return;
    this.isStripped = answer.kind === 'good' && answer.alwaysStated;
    this.add(
      'signature',
      answer.kind === 'good'
        ? { passed: true, message: "The signature over the receipt's text is valid." }
        : {
            passed: false,
            message:
              bytes === undefined
                ? 'The signature is not hexadecimal.'
                : 'The signature does not match the receipt: a field it covers was changed, or another key made it.',
          },
    );
  }

  private checkKey(answer: SignatureAnswer): answer is SignatureAnswer & { kind: 'good' | 'bad' } {
    const path = this.receipt.key_path ?? '(none)';
    switch (answer.kind) {
      case 'no_path':
        this.add('key', { passed: false, message: 'The key path is not valid for a receipt key.', found: path });
        return false;
      case 'unknown_key':
        this.keyMissing = true;
        this.add('key', { passed: false, message: 'The public key that it names is not known here.', found: path });
        return false;
      case 'good':
      case 'bad':
        this.publicKey = answer.publicKey;
        this.add('key', { passed: true, message: `The public key of ${path} is known.` });
        return true;
    }
  }

  private checkStatement(envelope: Envelope, digest: string): void {
    const encoded = preAuthEncoding(envelope.payloadType, envelope.payload);
    const { key_path: path } = this.receipt;
    const answer = this.signatures.check(path, envelope.keyId, encoded, 'envelope', envelope.signature, this.task.good);
    if (answer.kind !== 'good') {
      const message = "The statement's signature is not valid: the statement was altered, or another key made it.";
      this.add('statement_signature', { passed: false, message });
      return;
    }
    this.add('statement_signature', { passed: true, message: "The statement's signature is valid." });
    const parsed = parseStatement(envelope.payload);
    if (!parsed.ok) {
      this.add('fields', { passed: false, message: parsed.error.message });
      return;
    }
    this.statement = parsed.value;
    this.add('fields', this.fields(parsed.value));
    this.add('place', this.place(parsed.value));
    this.add('chain', checkChain(this.receipt.receipt_id, parsed.value.predicate.chain, digest, this.chain));
  }

  private fields(statement: Statement): Found {
    const differences = compareWithStatement(this.receipt, statement);
    const [first] = differences;
    if (first === undefined) return { passed: true, message: 'Every field matches the statement.' };
    const names = differences.map(({ field }) => field).join(', ');
    const message = `${count(differences.length, 'field differs', 'fields differ')} from the statement: ${names}.`;
    return { passed: false, message, expected: first.expected, found: first.found, differences };
  }

  private place({ predicate }: Statement): Found {
    const { workspace_id: workspace, task_id: task } = predicate.task;
    const expected = `${workspace}/${task}`;
    const found = `${this.task.workspaceId}/${this.task.taskId}`;
    if (expected === found) return { passed: true, message: 'The receipt belongs to this task.' };
    return { passed: false, message: 'The receipt belongs to another task.', expected, found };
  }

  private add(check: ReceiptCheck['check'], found: Found): void {
    this.checks.push({ check, ...found });
  }

  private failed(): boolean {
    return this.checks.some((check) => !check.passed);
  }

  /** A key that isn't known is the answer only where nothing else is wrong. */
  private failure(): Verdict {
    const others = this.checks.some(
      ({ check, passed }) => !passed && check !== 'key' && check !== 'statement_signature',
    );
    return this.keyMissing && !others ? 'unknown_key' : 'invalid';
  }

  private report(verdict: Verdict): ReceiptReport {
    const { receipt, checks, publicKey, text, statement } = this;
    return {
      receiptId: receipt.receipt_id,
      verdict,
      checks,
      scheme: schemeOf(receipt.key_path),
      keyPath: receipt.key_path,
      publicKey,
      text,
      digest: sha256Hex(Buffer.from(text, 'utf8')),
      statement,
    };
  }
}
