import { execFileSync } from 'node:child_process';
import { unwrap } from '../../../src/core/shared/errors';
import { preAuthEncoding } from '../../../src/core/receipt/receipt';
import { parseTrustedKeys } from '../../../src/core/verify/trustedKeys';
import { locateRepository } from '../../../src/git/read/locate';
import { verifyCommits } from '../../../src/service/verify/verifyService';
import { parseEnvelope, parseStatement } from '../../../src/signing/envelope';
import { hdEntry, openPublicKeys } from '../../../src/signing/publicKeys';
import { chooseSecp256k1 } from '../../../src/signing/secp256k1';
import { SignatureVerifier } from '../../../src/signing/signatureVerifier';

/** What one process measured, in ms. */
export interface VerifiedRange {
  readonly verify: number;
  readonly log: number;
  readonly signatures: number;
  readonly commits: number;
}

/** One check of a signature: its key's path, what is signed, and the signature. */
interface Signed {
  readonly path: string;
  readonly keyId: string | undefined;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Every signature in the notes, read beforehand. */
function signedIn(folder: string): Signed[] {
  const git = (args: readonly string[], input = ''): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'latin1', input, maxBuffer: 1 << 30 });
  const blobs = git(['ls-tree', '-r', '--object-only', 'refs/notes/atlas']);
  const lines = git(['cat-file', '--batch'], blobs).split('\n');
  return lines.flatMap((line) => {
    if (!line.startsWith('ey')) return [];
    const { payload, payloadType, keyId, signature } = unwrap(parseEnvelope(Buffer.from(line, 'base64')));
    const path = String(unwrap(parseStatement(payload)).predicate.receipt['key_path']);
    return [{ path, keyId, message: preAuthEncoding(payloadType, payload), signature }];
  });
}

async function main(folder: string, range: string): Promise<VerifiedRange> {
  const repository = locateRepository(folder);
  if (repository === undefined) throw new Error('no repository');
  const curve = await chooseSecp256k1();
  const signed = signedIn(folder);
  const show = ['show', 'main:.atlas/trusted-keys.json'];
  const trusted = unwrap(parseTrustedKeys(execFileSync('git', show, { cwd: folder, encoding: 'utf8' })));
  const keys = unwrap(await openPublicKeys(trusted.map(({ path, keys: [key = ''] }) => hdEntry(path, key))));
  const timed = async (run: () => unknown): Promise<number> => {
    const start = performance.now();
    await run();
    return performance.now() - start;
  };
  const log = await timed(() =>
    execFileSync('git', ['log', '--format=%T', range], { cwd: folder, maxBuffer: 1 << 28 }),
  );
  const signatures = await timed(() => {
    const verifier = new SignatureVerifier(keys, () => curve);
    for (const { path, keyId, message, signature } of signed) {
      if (verifier.check(path, keyId, message, 'envelope', signature).kind !== 'good') throw new Error('not good');
    }
  });
  const request = { revision: range, base: 'main', require: [], allowAncestor: false, env: {} };
  let commits = 0;
  const verify = await timed(async () => {
    const { report } = unwrap(await verifyCommits(repository, async () => Promise.resolve(curve), request));
    if (report.outcome !== 'passed') throw new Error(report.outcome);
    commits = report.commits.length;
  });
  return { verify, log, signatures, commits };
}

const [folder = '', range = ''] = process.argv.slice(2);
console.log(JSON.stringify(await main(folder, range)));
