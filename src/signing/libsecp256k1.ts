import { secp256k1Base64Bytes } from '@bitauth/libauth/build/lib/bin/secp256k1/secp256k1.base64.js';
import { instantiateSecp256k1Bytes } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';

/**
 * libsecp256k1. In a module of its own, so that it comes with the first receipt that is checked: it is 240 KB. The
 * package's index would start its other WebAssembly modules too, and its own decoder takes longer than the compiler.
 */
export async function instantiateSecp256k1(): ReturnType<typeof instantiateSecp256k1Bytes> {
  return instantiateSecp256k1Bytes(Uint8Array.from(Buffer.from(secp256k1Base64Bytes, 'base64')).buffer);
}
