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
