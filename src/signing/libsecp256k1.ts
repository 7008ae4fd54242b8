// In a module of its own, so that it comes with the first receipt that is checked: it is 240 KB. The package's index would
// start its other WebAssembly modules too.
export { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
