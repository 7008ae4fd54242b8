import { verify as nodeVerify } from 'node:crypto';
import { PrivateKey } from '@bsv/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { signBytes } from '../../../src/signing/bsv';
import { isLowSDer } from '../../../src/signing/der';
import {
  type Secp256k1,
  answersRight,
  chooseSecp256k1,
  loadBsv,
  loadOpenssl,
  loadWasm,
} from '../../../src/signing/secp256k1';
import * as ecdsa from '../../support/fixtures/receipts/ecdsa';
import { RFC6979_VECTORS } from './secp256k1Vectors';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const HALF = ecdsa.ORDER / 2n;

let curves: Secp256k1[] = [];
beforeAll(async () => {
  curves = await Promise.all([loadWasm(), loadOpenssl(), loadBsv()]);
});

/** What every implementation says; they have to agree. */
function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const answers = curves.map((curve) => curve.verify(publicKey, message, signature));
  expect(answers).toHaveLength(3);
  expect(new Set(answers).size, `${hex(publicKey)} ${hex(message)} ${hex(signature)}: ${answers.join()}`).toBe(1);
  return answers[0] === true;
}

describe('RFC 6979 on secp256k1', () => {
  it.each(RFC6979_VECTORS)('signs "$message" as published', ({ privateKey, message, signature }) => {
    const key = new PrivateKey([...bytes(privateKey)]);
    expect(hex(signBytes(key, utf8(message)))).toBe(signature);
    expect(verify(ecdsa.publicKeyOf(privateKey), utf8(message), bytes(signature))).toBe(true);
    expect(verify(ecdsa.publicKeyOf(privateKey), utf8(`${message} `), bytes(signature))).toBe(false);
  });
});

describe('our signatures', () => {
  it('are good for another implementation, low in S, and the same for the same input', () => {
    for (let turn = 0; turn < 12; turn += 1) {
      const secret = ecdsa.freshKey();
      const message = utf8(`message ${turn}`);
      const signature = signBytes(new PrivateKey([...bytes(secret)]), message);
      const publicKey = ecdsa.publicKeyOf(secret);
      expect(nodeVerify('sha256', message, ecdsa.nodePublicKey(publicKey), signature)).toBe(true);
      expect(ecdsa.fromDer(signature).s <= HALF).toBe(true);
      expect(verify(publicKey, message, signature)).toBe(true);
      expect(hex(signBytes(new PrivateKey([...bytes(secret)]), message))).toBe(hex(signature));
    }
  });

  it('have a twin with a high S, which others take and ours do not', () => {
    const secret = ecdsa.freshKey();
    const high = ecdsa.twin(signBytes(new PrivateKey([...bytes(secret)]), utf8('x')));
    const publicKey = ecdsa.publicKeyOf(secret);
    expect(nodeVerify('sha256', utf8('x'), ecdsa.nodePublicKey(publicKey), high)).toBe(true);
    expect(verify(publicKey, utf8('x'), high)).toBe(false);
  });
});

describe("another implementation's signatures", () => {
  it('are good for ours once S is low', () => {
    for (let turn = 0; turn < 12; turn += 1) {
      const signer = ecdsa.nodeSigner();
      const message = utf8(`message ${turn}`);
      const signature = ecdsa.lowS(signer.sign(message));
      expect(verify(signer.publicKey, message, signature)).toBe(true);
      expect(verify(signer.publicKey, message, ecdsa.twin(signature))).toBe(false);
    }
  });
});

describe('every implementation', () => {
  const secret = ecdsa.freshKey();
  const publicKey = ecdsa.publicKeyOf(secret);
  const message = utf8('the same for all');
  const good = signBytes(new PrivateKey([...bytes(secret)]), message);
  const { r, s } = ecdsa.fromDer(good);

  it('refuses a signature with any one bit altered', () => {
    for (let bit = 0; bit < good.length * 8; bit += 3) {
      const altered = Uint8Array.from(good);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verify(publicKey, message, altered), `bit ${bit}`).toBe(false);
    }
  });

  it('refuses an altered message', () => {
    for (let at = 0; at < message.length; at += 1) {
      const altered = Uint8Array.from(message);
      altered[at] = (altered[at] ?? 0) ^ 0x20;
      expect(verify(publicKey, altered, good)).toBe(false);
    }
  });

  const long = (value: bigint): Uint8Array => {
    const short = ecdsa.integer(value);
    return Uint8Array.from([0x02, 0x81, short[1] ?? 0, ...short.subarray(2)]);
  };
  const padded = (value: bigint, zeros: number): Uint8Array => {
    const short = ecdsa.integer(value);
    return Uint8Array.from([0x02, (short[1] ?? 0) + zeros, ...Array<number>(zeros).fill(0), ...short.subarray(2)]);
  };
  const raw = (value: bigint): Uint8Array =>
    Uint8Array.from([0x02, 32, ...bytes(value.toString(16).padStart(64, '0'))]);
  const tagged = (tag: number, value: bigint): Uint8Array => Uint8Array.from([tag, ...ecdsa.integer(value).slice(1)]);
  const [R, S] = [ecdsa.integer(r), ecdsa.integer(s)];
  const CASES: readonly (readonly [string, Uint8Array])[] = [
    ['nothing', new Uint8Array()],
    ['one byte', Uint8Array.of(0x30)],
    ['an empty sequence', Uint8Array.of(0x30, 0)],
    ['r alone', ecdsa.sequence(R)],
    ['three numbers', ecdsa.sequence(R, S, S)],
    ['r with a needless zero', ecdsa.sequence(padded(r, 1), S)],
    ['s with a needless zero', ecdsa.sequence(R, padded(s, 1))],
    ['s with many zeros', ecdsa.sequence(R, padded(s, 20))],
    ['a negative r', ecdsa.sequence(raw(r | (1n << 255n)), S)],
    ['a long length of r', ecdsa.sequence(long(r), S)],
    ['a long length of s', ecdsa.sequence(R, long(s))],
    ['a long length of the sequence', Uint8Array.from([0x30, 0x81, R.length + S.length, ...R, ...S])],
    ['an indefinite length', Uint8Array.from([0x30, 0x80, ...R, ...S, 0, 0])],
    ['a trailing byte', Uint8Array.from([...good, 0])],
    ['a trailing byte that is counted', ecdsa.sequence(R, S, Uint8Array.of(0))],
    ['a length that is too short', Uint8Array.from([0x30, R.length + S.length - 1, ...R, ...S])],
    ['a length that is too long', Uint8Array.from([0x30, R.length + S.length + 1, ...R, ...S])],
    ['a cut end', good.slice(0, -1)],
    ['another outer tag', Uint8Array.from([0x31, ...good.slice(1)])],
    ['another tag of r', ecdsa.sequence(tagged(0x03, r), S)],
    ['another tag of s', ecdsa.sequence(R, tagged(0x03, s))],
    ['an empty number', ecdsa.sequence(R, Uint8Array.of(0x02, 0))],
    ['r that is zero', ecdsa.toDer(0n, s)],
    ['s that is zero', ecdsa.toDer(r, 0n)],
    ['r that is the order', ecdsa.toDer(ecdsa.ORDER, s)],
    ['r beyond the order', ecdsa.toDer(r + ecdsa.ORDER, s)],
    ['s that is the order', ecdsa.toDer(r, ecdsa.ORDER)],
    ['s beyond the order', ecdsa.toDer(r, s + ecdsa.ORDER)],
    ['s one above the half', ecdsa.toDer(r, HALF + 1n)],
    ['the half itself, which is another signature', ecdsa.toDer(r, HALF)],
    ['r and s swapped', ecdsa.toDer(s, r)],
    ['r and s in 64 bytes', Uint8Array.from([...raw(r).slice(2), ...raw(s).slice(2)])],
    ['200 bytes', new Uint8Array(200).fill(0x30)],
  ];

  it.each(CASES)('refuses %s', (_name, signature) => {
    expect(verify(publicKey, message, signature)).toBe(false);
  });

  // Each implementation refuses most of these by itself, but not all of them alike: none gets to see one.
  it.each(CASES)('is not even asked about %s', (name, signature) => {
    const sound = ['the half itself, which is another signature', 'r and s swapped'].includes(name);
    expect(isLowSDer(signature)).toBe(sound && (!name.startsWith('r and s') || r <= HALF));
  });

  it('takes the one that these were made from', () => {
    expect(verify(publicKey, message, good)).toBe(true);
    expect(isLowSDer(good)).toBe(true);
    expect(hex(ecdsa.toDer(r, s))).toBe(hex(good));
  });

  it('refuses what is no compressed public key, and derives nothing from it', () => {
    const uncompressed = ecdsa.uncompressedKeyOf(secret);
    expect(nodeVerify('sha256', message, ecdsa.nodePublicKey(publicKey), good)).toBe(true);
    const notOnCurve = bytes(`02${'0'.repeat(63)}7`);
    const beyondField = bytes(`02${'f'.repeat(64)}`);
    const wrongPrefix = Uint8Array.from([5, ...publicKey.slice(1)]);
    const cut = publicKey.slice(0, 32);
    for (const key of [uncompressed, notOnCurve, beyondField, wrongPrefix, cut, new Uint8Array(33), new Uint8Array()]) {
      expect(verify(key, message, good)).toBe(false);
      for (const curve of curves) {
        expect(curve.addTweak(key, new Uint8Array(32).fill(1)), `${curve.name} ${hex(key)}`).toBeUndefined();
      }
    }
  });

  it('adds the same points, and has none for a scalar beyond the order or a sum at infinity', () => {
    const add = (key: Uint8Array, tweak: Uint8Array): string => {
      const sums = curves.map((curve) => hex(curve.addTweak(key, tweak) ?? new Uint8Array()));
      expect(new Set(sums).size, `${hex(tweak)}: ${sums.join()}`).toBe(1);
      return sums[0] ?? '';
    };
    const scalar = (value: bigint): Uint8Array => bytes(value.toString(16).padStart(64, '0'));
    for (const value of [1n, 2n, HALF, ecdsa.ORDER - 1n]) expect(add(publicKey, scalar(value))).toHaveLength(66);
    expect(add(publicKey, scalar(0n))).toBe(hex(publicKey));
    expect(add(publicKey, scalar(ecdsa.ORDER))).toBe('');
    for (const length of [0, 31, 33]) expect(add(publicKey, new Uint8Array(length).fill(1))).toBe('');
    expect(add(publicKey, scalar(ecdsa.ORDER + 1n))).toBe('');
    expect(add(publicKey, scalar(ecdsa.ORDER - BigInt(`0x${secret}`)))).toBe('');
  });
});

describe('the choice of an implementation', () => {
  const lying = (more: Partial<Secp256k1>): (() => Promise<Secp256k1>) => {
    return async () => ({ ...(await loadWasm()), ...more });
  };
  const throwing = async (): Promise<Secp256k1> => Promise.reject(new Error('no WebAssembly here'));
  const BAD: Readonly<Record<string, () => Promise<Secp256k1>>> = {
    'is missing': throwing,
    'accepts all': lying({ verify: () => true }),
    'rejects all': lying({ verify: () => false }),
    'does not look at the message': async () => {
      const curve = await loadWasm();
      const message = utf8('Satoshi Nakamoto');
      return { ...curve, verify: (key, _message, signature) => curve.verify(key, message, signature) };
    },
    'derives nothing': lying({ addTweak: () => undefined }),
    'derives another key': lying({ addTweak: (key) => key }),
    'throws when asked': lying({
      verify: () => {
        throw new Error('broken');
      },
    }),
    'takes a high S': lying({
      verify: (key, message, signature) =>
        nodeVerify('sha256', message, ecdsa.nodePublicKey(key), Uint8Array.from(signature)),
    }),
  };

  it.each(Object.keys(BAD))('passes by one that %s', async (name) => {
    const bad = BAD[name] ?? throwing;
    expect((await chooseSecp256k1([bad, loadOpenssl])).name).toBe('openssl');
    expect((await chooseSecp256k1([throwing, bad, loadBsv])).name).toBe('bsv');
    await expect(chooseSecp256k1([bad])).rejects.toThrow('no implementation of secp256k1 gives the known answers here');
  });

  it('takes the first that answers right, by default the fastest', async () => {
    expect((await chooseSecp256k1()).name).toBe('wasm');
    for (const curve of curves) expect(answersRight(curve)).toBe(true);
    await expect(chooseSecp256k1([])).rejects.toThrow('no implementation');
  });
});
