/* eslint-disable @typescript-eslint/no-deprecated -- the library would rather have its own scheme (BRC-42); receipts are specified with BIP-32 */
// In a module of its own, so that the command, which is one file, has what is large beside it.
export { BigNumber, Curve, HD, Hash, PrivateKey, PublicKey, Signature, Utils } from '@bsv/sdk';
