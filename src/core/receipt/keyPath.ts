/** A path of an HD receipt key, taken apart. */
export interface HdKeyPath {
  /** `m/44'/236'/0'`: the part whose public key is published. */
  readonly account: string;
  readonly taskIndex: number;
  readonly receiptIndex: number;
}

const HARDENED_LIMIT = 0x7fff_ffff;
const PATH = /^(m\/\d{1,10}'\/\d{1,10}'\/\d{1,10}')\/(\d{1,10})\/(\d{1,10})$/u;

/** The settings that make up an account's path. */
export interface KeyDerivation {
  readonly purpose: number;
  readonly coinType: number;
  readonly account: number;
}

/** The same settings, where each repository may have an account of its own. */
export interface KeySettings {
  readonly purpose: number;
  readonly coinType: number;
  /** `undefined`: one for each repository, so that its published key doesn't link its holder to other repositories. */
  readonly account: number | undefined;
}

/** The account where no repository is known. */
const NO_REPOSITORY = 0;

/**
 * The account whose keys sign for a repository.
 * @param roots its commits without parents, sorted; empty where they aren't known
 */
export function derivationFor(
  { purpose, coinType, account }: KeySettings,
  roots: readonly string[] = [],
): KeyDerivation {
  // The beginning of a commit's id is as good as random, and every clone has it.
  const own = Number.parseInt((roots[0] ?? '').slice(0, 8), 16) & HARDENED_LIMIT;
  return { purpose, coinType, account: account ?? (roots.length === 0 ? NO_REPOSITORY : own) };
}

/** The path of an account, as in BIP-44: `m/44'/236'/0'`. */
export function accountPath({ purpose, coinType, account }: KeyDerivation): string {
  return `m/${purpose}'/${coinType}'/${account}'`;
}

/** The path of one receipt's key. */
export function receiptKeyPath(account: string, taskIndex: number, receiptIndex: number): string {
  return `${account}/${taskIndex}/${receiptIndex}`;
}

/** Takes a path of an HD receipt key apart; `undefined` for any other text. */
export function parseKeyPath(path: string): HdKeyPath | undefined {
  const [, account, task, receipt] = PATH.exec(path) ?? [];
  if (account === undefined || task === undefined || receipt === undefined) return undefined;
  const [taskIndex, receiptIndex] = [Number(task), Number(receipt)];
  if (taskIndex > HARDENED_LIMIT || receiptIndex > HARDENED_LIMIT) return undefined;
  // A path in another spelling (leading zeros) is another text: two texts must not name one key.
  if (receiptKeyPath(account, taskIndex, receiptIndex) !== path) return undefined;
  return { account, taskIndex, receiptIndex };
}

/** The most accounts that are derived for receipts whose keys were not published: each takes some milliseconds. */
const MAX_ACCOUNTS = 16;

/** The accounts that receipts' key paths name, each once. */
export function accountsOf(receipts: readonly { readonly key_path?: string | undefined }[]): string[] {
  const accounts = receipts.flatMap(({ key_path: path }) => parseKeyPath(path ?? '')?.account ?? []);
  return [...new Set(accounts)].slice(0, MAX_ACCOUNTS);
}
