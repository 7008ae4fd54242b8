import type { SignerKind } from './policy';

/** Why a receipt doesn't show that a check passed. */
export const REFUSALS = [
  'failed',
  'not_ci',
  'rotated',
  'compromised',
  'bad_signature',
  'unknown_key',
  'other_repository',
  'other_folder',
  'other_command',
  'run_again',
  'changed_files',
  'other_tree',
] as const;

/** Why a receipt doesn't show that a check passed. */
export type Refusal = (typeof REFUSALS)[number];

/** Whose key made a statement, as the trusted keys name them. */
export interface Signer {
  readonly name: string;
  readonly kind: SignerKind;
  readonly revoked: 'rotated' | 'compromised' | undefined;
}

/** A receipt that was looked at for a check, and why it isn't enough. */
export interface RefusedReceipt {
  readonly receiptId: string;
  readonly reason: Refusal;
  /** Only where the signature is good: anybody can write any other. */
  readonly signer: string | undefined;
  /** As the statement has it. */
  readonly command: string;
  readonly folder: string | undefined;
  readonly exitCode: number;
}

/** The ancestor that a check passed on, where only ignored paths differ from the commit. */
export interface AncestorUsed {
  readonly commit: string;
  readonly tree: string;
  readonly paths: readonly string[];
}

/** What is known of one check on one commit. */
export interface CheckVerdict {
  readonly name: string;
  /** As the policy has it; as the statement has it for one that only `--require` names. */
  readonly run: string | undefined;
  readonly cwd: string | undefined;
  readonly by: SignerKind;
  /** Who states that it passed; `undefined` where nobody does whose word counts. */
  readonly stated:
    | { readonly signer: string; readonly kind: SignerKind; readonly receiptId: string; readonly completedAt: string }
    | undefined;
  /** How many statements that count say that it failed on the same tree. */
  readonly alsoFailed: number;
  readonly ancestor: AncestorUsed | undefined;
  /** Those that came nearest, at most a few. */
  readonly refused: readonly RefusedReceipt[];
}

/** A tree that isn't the commit's, for which there is a receipt of one of its checks. */
export interface OtherTree {
  readonly tree: string;
  /** A commit that has it, where one is known. */
  readonly commit: string | undefined;
  readonly checks: readonly string[];
}

/** What is known of a commit. */
export interface CommitVerdict {
  readonly commit: string;
  readonly tree: string;
  readonly subject: string;
  readonly passed: boolean;
  readonly checks: readonly CheckVerdict[];
  /** Named where a check lacks a receipt. */
  readonly otherTrees: readonly OtherTree[];
}

/** All that `atlas verify` found. */
export interface VerifyReport {
  /** Where the policy is from. */
  readonly base: { readonly name: string; readonly commit: string };
  readonly commits: readonly CommitVerdict[];
  /** Changed paths that only a human may let pass. */
  readonly protectedPaths: readonly string[];
  readonly outcome: 'passed' | 'not_verified' | 'protected';
  /** What a person should know beside it. */
  readonly notes: readonly string[];
  /** Commands that would help, in their order. */
  readonly fixes: readonly string[];
}
