/* The parts of the bench that need a process of their own. Usage: node receipts.mjs verify|sign|heap <store>; prints JSON. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HD, PrivateKey, Signature } from '@bsv/sdk';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { derivationFor } from '../../../src/core/receipt/keyPath';
import { unwrap } from '../../../src/core/shared/errors';
import { preAuthEncoding, signingText } from '../../../src/core/receipt/receipt';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import type { ReceiptService } from '../../../src/service/receipts/receiptService';
import {
  deriveLeafKey,
  derivePrivateChild,
  makeMasterKey,
  parseExtendedKey,
  privateNode,
} from '../../../src/signing/bsv';
import { FileKeyManager } from '../../../src/signing/keyManager';
import { instantiateSecp256k1 } from '../../../src/signing/libsecp256k1';
import { hdEntry, openPublicKeys } from '../../../src/signing/publicKeys';
import { chooseSecp256k1 } from '../../../src/signing/secp256k1';
import { SignatureVerifier } from '../../../src/signing/signatureVerifier';
import type { StoredTask } from '../../../src/core/task/storedTask';
import { medianOf } from '../rows';

/** What `verify` measured: ms, those of signatures for each one. */
export interface Verified {
  readonly signatures: number;
  readonly first: number;
  readonly again: number;
  /** In a process that finds on disk what an earlier one found good. */
  readonly kept: number;
  readonly design: number;
  readonly designSignatures: number;
  readonly load: number;
}

/** What `sign` measured: ms for each signature, and for the derivation that is in `ours`. */
export interface Signed {
  readonly signatures: number;
  readonly ours: number;
  readonly library: number;
  readonly derivation: number;
}

/** What `heap` measured: MB by which the heap grew over 10,000 keys, early and once the memory of signatures is full. */
export interface Grown {
  readonly early: number;
  readonly full: number;
}

const ACCOUNT = "m/44'/236'/0'";
const SIGNATURES_OF_A_RECEIPT = 2;

/** The design's way: from the master key down five levels for each receipt, then the library's own verification. */
function verifyAsDesigned(xprv: string, { hook }: StoredTask, at: number): void {
  const receipt = hook.receipts[at];
  if (receipt === undefined) throw new Error('too few receipts');
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- what the design names
  const key = HD.fromString(xprv).derive(receipt.key_path ?? '');
  const message = [...Buffer.from(signingText(receipt), 'utf8')];
  const signature = Signature.fromDER([...Buffer.from(receipt.signature, 'hex')]);
  if (!key.pubKey.verify(message, signature)) throw new Error('not valid');
}

async function verify(root: string): Promise<Verified> {
  const atlas = new Atlas(systemPorts(root, 'bench', silentLog));
  const tasks = atlas.catalog.open().map((ref) => unwrap(atlas.catalog.read(ref)));
  const xprv = readFileSync(path.join(atlas.ports.paths.keys, 'master.key'), 'utf8').trim();
  const design: number[] = [];
  const someAsDesigned = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) {
      const task = tasks[at % tasks.length];
      if (task === undefined) throw new Error('too few tasks');
      const start = performance.now();
      verifyAsDesigned(xprv, task, Math.floor(at / tasks.length));
      design.push(performance.now() - start);
    }
  };
  const pass = async (service: ReceiptService): Promise<number> => {
    const start = performance.now();
    for (const task of tasks) {
      const reports = unwrap(await service.reports(task));
      if ([...reports.values()].some(({ verdict }) => verdict !== 'valid')) throw new Error('not valid');
    }
    return performance.now() - start;
  };
  someAsDesigned(0, 10);
  design.length = 0;
  // Half of it before and half after, so that a machine that gets slower or faster does so for both.
  someAsDesigned(10, 60);
  const kept = await pass(await atlas.receipts());
  const verified = tasks.map(({ ref }) => atlas.ports.paths.verified(ref));
  const remembered = verified.map((file) => readFileSync(file));
  for (const file of verified) rmSync(file);
  const service = await new Atlas(atlas.ports).receipts();
  const beforeLoad = performance.now();
  unwrap(await service.prepare());
  await service.curve();
  const load = performance.now() - beforeLoad;
  const first = await pass(service);
  const again = await pass(service);
  someAsDesigned(60, 110);
  for (const [at, file] of verified.entries()) writeFileSync(file, remembered[at] ?? '');
  const signatures = tasks.reduce((sum, { hook }) => sum + hook.receipts.length, 0) * SIGNATURES_OF_A_RECEIPT;
  return {
    signatures,
    first: first / signatures,
    again: again / signatures,
    kept: kept / signatures,
    design: design.reduce((a, b) => a + b, 0) / design.length,
    designSignatures: design.length,
    load,
  };
}

async function sign(root: string): Promise<Signed> {
  const atlas = new Atlas(systemPorts(root, 'bench', silentLog));
  const service = await atlas.receipts();
  const settings = { scheme: 'hd', derivation: derivationFor(DEFAULT_CONFIG.keyDerivation) } as const;
  const keys = new FileKeyManager(service.keys, settings, silentLog, service.curve);
  const text = randomBytes(250);
  const statement = preAuthEncoding('application/vnd.in-toto+json', randomBytes(2000));
  const plain = new PrivateKey([...randomBytes(32)]);
  const [ours, library, derivation]: [number[], number[], number[]] = [[], [], []];
  const count = 200;
  for (let at = 0; at < count + 20; at += 1) {
    const start = performance.now();
    const signer = unwrap(await keys.newSigner({ task: 0, receipt: at }));
    const derived = performance.now();
    signer.sign(text, 'text');
    signer.sign(statement, 'envelope');
    const signed = performance.now();
    plain.sign([...text]).toDER();
    plain.sign([...statement]).toDER();
    const end = performance.now();
    if (at < 20) continue;
    ours.push((signed - start) / 2);
    library.push((end - signed) / 2);
    derivation.push(derived - start);
  }
  const signatures = count * SIGNATURES_OF_A_RECEIPT;
  return { signatures, ours: medianOf(ours), library: medianOf(library), derivation: medianOf(derivation) };
}

async function heap(): Promise<Grown> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('needs --expose-gc');
  const key = unwrap(parseExtendedKey(makeMasterKey(randomBytes(64)))).derive(ACCOUNT);
  const account = privateNode(key);
  const opened = unwrap(await openPublicKeys([hdEntry(ACCOUNT, key.toPublic().toString())]));
  const chosen = await chooseSecp256k1();
  const verifier = new SignatureVerifier(opened, () => chosen);
  // Signs as @bsv/sdk does, byte for byte, fifty times faster.
  const curve = await instantiateSecp256k1();
  let task = 0;
  const verifyKeys = (count: number): void => {
    for (let done = 0; done < count; task += 1) {
      const node = derivePrivateChild(account, task);
      for (let receipt = 0; receipt < 20; receipt += 1, done += 1) {
        const secret = Uint8Array.from(deriveLeafKey(node, receipt).toArray('be', 32));
        const message = randomBytes(250);
        const signature = curve.signMessageHashDER(secret, createHash('sha256').update(message).digest());
        if (typeof signature === 'string') throw new Error(signature);
        const answer = verifier.check(`${ACCOUNT}/${task}/${receipt}`, undefined, message, 'text', signature);
        if (answer.kind !== 'good') throw new Error('not good');
      }
    }
  };
  const used = (): number => {
    gc();
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1e6;
  };
  const grownBy = (count: number): number => {
    const before = used();
    verifyKeys(count);
    return used() - before;
  };
  verifyKeys(2000);
  const early = grownBy(10_000);
  verifyKeys(10_000);
  return { early, full: grownBy(10_000) };
}

const [what = '', root = ''] = process.argv.slice(2);
const measured = what === 'verify' ? verify(root) : what === 'sign' ? sign(root) : heap();
console.log(JSON.stringify(await measured));
