import { Utils } from '@bsv/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { derivePrivateChild, isPrivateKey, makeMasterKey, parseExtendedKey } from '../../../src/signing/bsv';
import { deriveLeafKey, privateNode, publicNode } from '../../../src/signing/bsv';
import { readExtendedPublicKey } from '../../../src/signing/extendedPublicKey';
import { type HdNode, HARDENED, deriveChild } from '../../../src/signing/hdNode';
import { type Secp256k1, loadBsv, loadOpenssl, loadWasm } from '../../../src/signing/secp256k1';
import { BIP32_INVALID, BIP32_VECTORS, type Bip32Step } from './bip32Vectors';

/** The steps of all vectors that are reached from the one before by an index that isn't hardened. */
const PUBLIC_STEPS = BIP32_VECTORS.flatMap(({ name, steps }) =>
  steps.flatMap((step, at): { name: string; parent: Bip32Step; child: Bip32Step; index: number }[] => {
    const parent = steps[at - 1];
    const last = step.path.split('/').pop() ?? '';
    if (parent === undefined || last.endsWith("'")) return [];
    return [{ name: `${name}, ${step.path}`, parent, child: step, index: Number(last) }];
  }),
);

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function node(key: string): { publicKey: string; chainCode: string } {
  return shown(publicNode(unwrap(parseExtendedKey(key))));
}

function shown({ publicKey, chainCode }: HdNode): { publicKey: string; chainCode: string } {
  return { publicKey: hex(publicKey), chainCode: hex(chainCode) };
}

describe.each(BIP32_VECTORS)("BIP-32's $name", ({ seed, steps }) => {
  const master = makeMasterKey(Buffer.from(seed, 'hex'));

  it('has our master key for its seed', () => {
    expect(master).toBe(steps[0]?.xprv);
  });

  it.each(steps)('has our keys at $path', ({ path, xpub, xprv }) => {
    const key = unwrap(parseExtendedKey(master)).derive(path);
    expect(isPrivateKey(key)).toBe(true);
    expect(key.toString()).toBe(xprv);
    expect(key.toPublic().toString()).toBe(xpub);
    expect(isPrivateKey(unwrap(parseExtendedKey(xpub)))).toBe(false);
    expect(node(xprv)).toEqual(node(xpub));
  });
});

describe('public derivation', () => {
  let curves: Secp256k1[] = [];
  beforeAll(async () => {
    curves = await Promise.all([loadWasm(), loadOpenssl(), loadBsv()]);
  });

  it('is looked at in every vector that has it', () => {
    expect(PUBLIC_STEPS.map(({ name }) => name)).toHaveLength(6);
  });

  it.each(PUBLIC_STEPS)('of $name is the same in every implementation', ({ parent, child, index }) => {
    const from = publicNode(unwrap(parseExtendedKey(parent.xpub)));
    expect(curves.map(({ name }) => name)).toEqual(['wasm', 'openssl', 'bsv']);
    for (const curve of curves) {
      const derived = deriveChild(curve, from, index);
      expect(derived && shown(derived)).toEqual(node(child.xpub));
    }
  });

  it.each(PUBLIC_STEPS)('of $name agrees with private derivation', ({ parent, child, index }) => {
    const from = privateNode(unwrap(parseExtendedKey(parent.xprv)));
    const expected = privateNode(unwrap(parseExtendedKey(child.xprv)));
    const derived = derivePrivateChild(from, index);
    expect(shown(derived)).toEqual(node(child.xpub));
    expect(hex(derived.privateKey)).toBe(hex(expected.privateKey));
    expect(deriveLeafKey(from, index).toHex()).toBe(hex(expected.privateKey));
  });

  it('keeps the leading zeros of a private key', () => {
    // The child at 121 is the first whose private key begins with a zero byte.
    const from = privateNode(unwrap(parseExtendedKey(BIP32_VECTORS[0]?.steps[0]?.xprv ?? '')));
    const child = derivePrivateChild(from, 121);
    expect(child.privateKey).toHaveLength(32);
    expect([...child.privateKey.slice(0, 2)]).toEqual([0, 0xea]);
    const [curve] = curves;
    expect(curve && deriveChild(curve, from, 121)?.publicKey).toEqual(child.publicKey);
    const grandchild = unwrap(parseExtendedKey(BIP32_VECTORS[0]?.steps[0]?.xprv ?? '')).derive('m/121/7');
    expect(hex(derivePrivateChild(child, 7).privateKey)).toBe(hex(privateNode(grandchild).privateKey));
    expect(privateNode(unwrap(parseExtendedKey(grandchild.toString()))).privateKey).toHaveLength(32);
  });

  it('has nothing for an index that is hardened, negative or no integer', () => {
    const from = publicNode(unwrap(parseExtendedKey(BIP32_VECTORS[0]?.steps[0]?.xpub ?? '')));
    for (const curve of curves) {
      for (const index of [HARDENED, HARDENED + 5, -1, 0.5, Number.NaN]) {
        expect(deriveChild(curve, from, index)).toBeUndefined();
      }
      expect(deriveChild(curve, from, HARDENED - 1)).toBeDefined();
    }
  });
});

describe("BIP-32's test vector 5", () => {
  it('has sixteen keys', () => {
    expect(BIP32_INVALID).toHaveLength(16);
  });

  it.each(BIP32_INVALID)('is refused: $why', ({ key }) => {
    const parsed = parseExtendedKey(key);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.error.code).toBe('key_format');
    for (let at = 4; at + 8 <= key.length; at += 1) expect(parsed.error.message).not.toContain(key.slice(at, at + 8));
    expect(parsed.error.cause).toBeUndefined();
  });

  it('is joined by a public key whose coordinate lies beyond the field', () => {
    const { data, prefix } = Utils.fromBase58Check(BIP32_VECTORS[0]?.steps[0]?.xpub ?? '');
    const bytes = [...(prefix as number[]), ...(data as number[])];
    // The field's prime and 1: read modulo the prime, it would be the point whose coordinate is 1.
    const beyond = `${'f'.repeat(55)}efffffc30`;
    const altered = [...bytes.slice(0, 45), 2, ...Buffer.from(beyond, 'hex')];
    expect(altered).toHaveLength(78);
    expect(parseExtendedKey(Utils.toBase58Check(altered, []))).toMatchObject({ ok: false });
    expect(readExtendedPublicKey(Utils.toBase58Check(altered, []))).toBeUndefined();
    const point = [...bytes.slice(0, 45), 2, ...Buffer.from('1'.padStart(64, '0'), 'hex')];
    expect(parseExtendedKey(Utils.toBase58Check(point, []))).toMatchObject({ ok: true });
  });

  it('is joined by what is no extended key at all', () => {
    for (const text of ['', 'xprv', 'xpub', '0', 'xprv9s21', '!'.repeat(111), '1'.repeat(200)]) {
      expect(parseExtendedKey(text)).toMatchObject({ ok: false, error: { code: 'key_format' } });
    }
  });
});

describe('the quick reading of an extended public key', () => {
  const all = BIP32_VECTORS.flatMap(({ steps }) => steps);

  it('says of each vector what @bsv/sdk says, and leaves private keys to it', () => {
    for (const { xpub, xprv } of all) {
      const quick = readExtendedPublicKey(xpub);
      expect(quick === undefined ? undefined : shown(quick)).toEqual(node(xpub));
      expect(readExtendedPublicKey(xprv)).toBeUndefined();
    }
  });

  it.each(BIP32_INVALID)('leaves to it what is none: $why', ({ key }) => {
    expect(readExtendedPublicKey(key)).toBeUndefined();
  });

  it('leaves to it a key with any one character altered', () => {
    const { xpub = '' } = all[0] ?? {};
    for (let at = 0; at < xpub.length; at += 1) {
      const other = xpub[at] === 'x' ? 'y' : 'x';
      expect(readExtendedPublicKey(`${xpub.slice(0, at)}${other}${xpub.slice(at + 1)}`)).toBeUndefined();
    }
  });
});
