import { synopsisOf } from '../../../src/service/tasks/advice';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { derivePrivateChild, parseExtendedKey, privateNode } from '../../../src/signing/bsv';
import { exportBundle, verifyBundle } from '../../../src/service/receipts/receiptBundle';
import { CollectingLog } from '../../support/fixtures/receipts/keyFolders';
import { contentsOf } from '../../support/fixtures/store';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';

let world: ValidationWorld;
/** All that left the keys' files, by where it was found. */
const seen = new Map<string, string>();
/** What must be nowhere, by what it is. */
const secrets = new Map<string, string>();

function forbid(what: string, bytes: Uint8Array): void {
  const buffer = Buffer.from(bytes);
  const hex = buffer.toString('hex');
  secrets.set(`${what}, in hex`, hex);
  secrets.set(`${what}, in base64`, buffer.toString('base64').replace(/=+$/, ''));
  secrets.set(`${what}, in base64url`, buffer.toString('base64url'));
  secrets.set(`${what}, in decimal`, BigInt(`0x${hex}`).toString());
  secrets.set(`${what}, as a list of numbers`, [...buffer].join(','));
  // A part of it is too much as well.
  secrets.set(`the first half of ${what}`, hex.slice(0, 32));
  secrets.set(`the second half of ${what}`, hex.slice(32));
}

beforeAll(async () => {
  world = await makeValidationWorld();
  const log = new CollectingLog();
  const atlas = world.other({ log });
  const errors: string[] = [];
  const say = (result: { ok: boolean; error?: unknown }): void => {
    if (!result.ok) errors.push(JSON.stringify(result.error, Object.getOwnPropertyNames(result.error)));
  };
  const options = { signal: new AbortController().signal, caller: 'human' as const };
  for (const config of ['', 'hooks:\n  signing:\n    scheme: ed25519\n']) {
    for (const commands of [['env', 'echo two >&2'], ['ls -R "$HOME/.nothing"; exit 1']]) {
      const ref = await world.running(commands, config);
      say(await atlas.validate(ref, { ...options, expect: { attempt: 7 } }));
      say(await atlas.validate(ref, options));
      say(await atlas.validate(ref, options));
      const receipts = await atlas.receipts();
      const stored = world.stored(ref);
      const bundle = unwrap(await exportBundle(receipts, atlas.ports.clock, stored));
      seen.set(`bundle ${ref.id}`, bundle);
      seen.set(`reports ${ref.id}`, JSON.stringify(unwrap(await verifyBundle(bundle))));
      seen.set(`synopsis ${ref.id}`, synopsisOf(atlas.ports, stored));
      seen.set(`HOOK.md ${ref.id}`, world.markdown(ref));
    }
  }
  seen.set('log', log.lines.join('\n'));
  seen.set('errors', errors.join('\n'));
  for (const [name, text] of contentsOf(world.workspace.root)) {
    if (!/^atlas-home\/keys\/master\./.test(name)) seen.set(name, text);
  }
  const file = (name: string): string => readFileSync(`${atlas.ports.paths.keys}/${name}`, 'utf8').trim();
  const xprv = file('master.key');
  const master = unwrap(parseExtendedKey(xprv));
  const account = master.derive("m/44'/236'/0'");
  secrets.set('the master key', xprv);
  secrets.set("the account's extended key", account.toString());
  secrets.set('an extended private key', 'xprv');
  forbid('the seed', Buffer.from(file('master.ed25519.key'), 'hex'));
  forbid('the private part of the master key', privateNode(master).privateKey);
  forbid('the chain code of the master key', privateNode(master).chainCode);
  forbid('the private part of the account', privateNode(account).privateKey);
  for (const task of [0, 1]) {
    const node = derivePrivateChild(privateNode(account), task);
    forbid(`the private part of task ${task}`, node.privateKey);
    for (const at of [0, 1]) forbid(`the private part of receipt ${at}`, derivePrivateChild(node, at).privateKey);
  }
}, 60_000);
afterAll(() => {
  world.dispose();
});

describe('after validations with both schemes', () => {
  it('what was looked at is what was written: files, bundles, logs, errors, reports', () => {
    const names = [...seen.keys()].join('\n');
    for (const part of ['hook.json', 'journal.jsonl', 'task.json', 'task.log', 'HOOK.md', '.dsse.json', '.stdout']) {
      expect(names).toContain(part);
    }
    for (const part of ['receipts.pub.json', 'next-task-index', 'trust.json', 'bundle', 'reports', 'synopsis']) {
      expect(names).toContain(part);
    }
    expect(seen.get('log')).toContain('A signing key was created.');
    expect(seen.get('errors')).toContain('stale_caller');
    expect(secrets.size).toBeGreaterThan(50);
    // The search finds what is there: public keys.
    expect([...seen.values()].join('\n')).toContain('xpub');
  });

  it('nothing private is anywhere but in the key files', () => {
    for (const [what, secret] of secrets) {
      expect(secret.length, what).toBeGreaterThan(3);
      for (const [where, text] of seen) expect(text.includes(secret), `${what} in ${where}`).toBe(false);
    }
  });
});
