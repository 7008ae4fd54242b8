import type { AttachedReceipt } from './attachedReceipt';
import type { SignerKind } from './policy';
import { type CheckVerdict, REFUSALS, type RefusedReceipt, type Refusal, type Signer } from './report';

/** The most receipts that are named as not being enough. */
const MAX_REFUSED = 5;
/** The most signatures that are checked to say why a check has none that counts. */
const MAX_EXAMINED = 50;

/** What is demanded; without `run` and `cwd`, whatever a statement names as that check. */
export interface Demand {
  readonly name: string;
  readonly run: string | undefined;
  readonly cwd: string | undefined;
  readonly by: SignerKind;
}

/** The commit that receipts are held against. */
export interface JudgedPlace {
  readonly tree: string;
  /** The commits without parents that the change goes back to. */
  readonly roots: ReadonlySet<string>;
  /** Whether the base has the commit already: there a rotated key still counts. */
  readonly isInBase: boolean;
}

/** What is known of keys and signatures. */
export interface Signatures {
  signer(receipt: AttachedReceipt): Signer | undefined;
  /** Whether the signature is good; asked last, since it takes longest. */
  isGood(receipt: AttachedReceipt): boolean;
}

function isAbout({ name, run }: Demand, receipt: AttachedReceipt): boolean {
  return receipt.check === name || (run !== undefined && receipt.command === run);
}

/** Why a receipt isn't enough, as far as that can be seen without its signature. */
function cheapRefusal(
  demand: Demand,
  place: JudgedPlace,
  receipt: AttachedReceipt,
  signer: Signer | undefined,
): Exclude<Refusal, 'bad_signature' | 'failed'> | undefined {
  const { repository } = receipt;
  if (receipt.before !== receipt.after) return 'changed_files';
  if (receipt.after !== place.tree) return 'other_tree';
  if (repository === undefined) return 'run_again';
  if (demand.run !== undefined && receipt.command !== demand.run) return 'other_command';
  if (demand.cwd !== undefined && repository.folder !== demand.cwd) return 'other_folder';
  if (!repository.roots.some((root) => place.roots.has(root))) return 'other_repository';
  if (signer === undefined) return 'unknown_key';
  if (signer.revoked === 'compromised') return 'compromised';
  if (signer.revoked === 'rotated' && !place.isInBase) return 'rotated';
  if (demand.by === 'ci' && !(signer.kind === 'ci' && receipt.isByCi)) return 'not_ci';
  return undefined;
}

/**
 * Looks for a receipt that shows that a check passed: on exactly that tree, by its command in its folder, in this
 * repository, stated by a key that counts.
 */
export function judgeCheck(
  demand: Demand,
  place: JudgedPlace,
  receipts: readonly AttachedReceipt[],
  signatures: Signatures,
): CheckVerdict {
  const refused: RefusedReceipt[] = [];
  const candidates: { receipt: AttachedReceipt; signer: Signer }[] = [];
  let examined = 0;
  const refuse = (receipt: AttachedReceipt, reason: Refusal, signer: Signer | undefined): void => {
    const { receiptId, command, repository, exitCode } = receipt;
    refused.push({ receiptId, reason, signer: signer?.name, command, folder: repository?.folder, exitCode });
  };
  for (const receipt of receipts) {
    if (!isAbout(demand, receipt)) continue;
    const signer = signatures.signer(receipt);
    const reason = cheapRefusal(demand, place, receipt, signer);
    if (reason === undefined && signer !== undefined) candidates.push({ receipt, signer });
    else if (reason !== undefined && examined < MAX_EXAMINED) {
      examined += 1;
      const isStated = signer !== undefined && signatures.isGood(receipt);
      refuse(receipt, signer !== undefined && !isStated ? 'bad_signature' : reason, isStated ? signer : undefined);
    }
  }
  let stated: CheckVerdict['stated'];
  let alsoFailed = 0;
  // Those that say that it passed first: one that is good is enough, and the others need no look.
  for (const { receipt, signer } of candidates.sort((a, b) => Number(b.receipt.passed) - Number(a.receipt.passed))) {
    if (receipt.passed && stated !== undefined) continue;
    if (!receipt.passed && alsoFailed >= MAX_REFUSED) continue;
    if (!signatures.isGood(receipt)) {
      if (refused.length < MAX_EXAMINED) refuse(receipt, 'bad_signature', undefined);
    } else if (receipt.passed) {
      const { receiptId, completedAt } = receipt;
      stated = { signer: signer.name, kind: signer.kind, receiptId, completedAt };
    } else {
      alsoFailed += 1;
      refuse(receipt, 'failed', signer);
    }
  }
  const nearest = refused.sort((a, b) => REFUSALS.indexOf(a.reason) - REFUSALS.indexOf(b.reason));
  return {
    ...demand,
    stated,
    alsoFailed,
    ancestor: undefined,
    refused: stated === undefined ? nearest.slice(0, MAX_REFUSED) : [],
  };
}
