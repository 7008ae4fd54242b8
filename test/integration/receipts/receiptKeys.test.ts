import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageOf, unwrap } from '../../../src/core/shared/errors';
import type { SigningScheme } from '../../../src/core/receipt/receipt';
import { makeMasterKey, parseExtendedKey } from '../../../src/signing/bsv';
import { ed25519FromSeed, ed25519PublicBytes } from '../../../src/signing/ed25519';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { KeyFolders, errorOf } from '../../support/fixtures/receipts/keyFolders';
import { contentsOf, nodeError, tapped } from '../../support/fixtures/store';

let keys: KeyFolders;
beforeEach(() => {
  keys = new KeyFolders();
});
afterEach(() => {
  keys.dispose();
});

const newXprv = (): string => makeMasterKey(randomBytes(64));

describe('a signing key', () => {
  it.each<[SigningScheme, RegExp]>([
    ['hd', /^xprv[1-9A-HJ-NP-Za-km-z]{107}\n$/],
    ['ed25519', /^[0-9a-f]{64}\n$/],
  ])('of %s is made on first use, with its backup and its public key, for its owner alone', async (scheme, form) => {
    expect(keys.manager(scheme).exists()).toBe(false);
    unwrap(await keys.manager(scheme).load());
    expect(keys.names()).toEqual(['master.key', 'master.key.bak', 'receipts.pub.json']);
    expect(keys.text('master.key')).toMatch(form);
    expect(keys.text('master.key.bak')).toBe(keys.text('master.key'));
    expect([keys.mode(), keys.mode('master.key'), keys.mode('master.key.bak')]).toEqual(['700', '600', '600']);
    expect(keys.mode('receipts.pub.json')).toBe('644');
    expect(keys.text('receipts.pub.json')).not.toContain(keys.text('master.key').trim());
    expect(keys.manager(scheme).exists()).toBe(true);
    const before = contentsOf(keys.path);
    unwrap(await keys.manager(scheme).load());
    expect(contentsOf(keys.path)).toEqual(before);
  });

  it('is on disk before its name is, and its name before it is used', async () => {
    const done: string[] = [];
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation === 'write') expect(args[2]).toMatchObject({ exclusive: true, sync: true });
      if (['write', 'link', 'rename', 'syncFolder'].includes(operation)) {
        const target = String(args[operation === 'link' || operation === 'rename' ? 1 : 0]);
        done.push(`${operation} ${path.relative(keys.path, target).replace(/\.[0-9a-f]{8}\.tmp$/, '.tmp')}`);
      }
    });
    unwrap(await keys.manager('hd', {}, keys.folder(files)).load());
    const steps = (name: string): string[] => [`write ${name}.tmp`, `link ${name}`, 'syncFolder '];
    expect(done).toEqual([
      'syncFolder ..',
      ...steps('master.key'),
      ...steps('master.key.bak'),
      ...['write receipts.pub.json.tmp', 'rename receipts.pub.json', 'syncFolder '],
    ]);
  });

  it('is never made over another: who comes second takes the one that is there', async () => {
    let raced = false;
    const slow = tapped(new NodeFileSystem(), (operation, [, target]) => {
      if (operation !== 'link' || raced || target !== keys.file('master.key')) return;
      raced = true;
      keys.put('master.key', `${winner}\n`);
    });
    const winner = newXprv();
    const second = unwrap(await keys.manager('hd', {}, keys.folder(slow)).newSigner({ task: 0, receipt: 0 }));
    expect(raced).toBe(true);
    expect(keys.text('master.key').trim()).toBe(winner);
    expect(keys.text('master.key.bak').trim()).toBe(winner);
    const first = unwrap(await keys.manager().newSigner({ task: 0, receipt: 0 }));
    expect(second.keyId).toBe(first.keyId);
    const message = Buffer.from('x');
    expect(first.verify(message, 'text', second.sign(message, 'text'))).toBe(true);
  });

  it('is backed up where its backup is gone, and is not where it is there', async () => {
    unwrap(await keys.manager().load());
    rmSync(keys.file('master.key.bak'));
    unwrap(await keys.manager().load());
    expect(keys.text('master.key.bak')).toBe(keys.text('master.key'));
    keys.put('master.key.bak', 'something of the user');
    unwrap(await keys.manager().load());
    expect(keys.text('master.key.bak')).toBe('something of the user');
  });

  it('of the other scheme gets a file beside it, and neither disturbs the other', async () => {
    const hd = unwrap(await keys.manager('hd').newSigner({ task: 1, receipt: 2 }));
    const ed = unwrap(await keys.manager('ed25519').newSigner({ task: 1, receipt: 2 }));
    expect(keys.names()).toEqual([
      'master.ed25519.key',
      'master.ed25519.key.bak',
      'master.key',
      'master.key.bak',
      'receipts.pub.json',
    ]);
    expect([hd.keyPath, ed.keyPath]).toEqual(["m/44'/236'/0'/1/2", 'native-ed25519-v1']);
    expect(unwrap(await keys.manager('hd').newSigner({ task: 1, receipt: 2 })).keyId).toBe(hd.keyId);
    expect(unwrap(await keys.manager('ed25519').newSigner({ task: 1, receipt: 2 })).keyId).toBe(ed.keyId);
  });

  it('of the Go ATLAS, seed and public key, is taken as it is; one of a seed alone and in capitals as well', async () => {
    const seed = randomBytes(32);
    const both = Buffer.concat([seed, ed25519PublicBytes(ed25519FromSeed(seed))]).toString('hex');
    const ids = new Set<string>();
    for (const text of [both, `${both}\n`, seed.toString('hex'), ` ${seed.toString('hex').toUpperCase()}\r\n`]) {
      keys.put('master.key', text);
      ids.add(unwrap(await keys.manager('ed25519').newSigner({ task: 0, receipt: 0 })).keyId);
      expect(keys.text('master.key')).toBe(text);
    }
    expect(ids.size).toBe(1);
  });

  it.each([
    [{ purpose: 84, coinType: 0, account: 0 }, "m/84'/0'/0'/3/4"],
    [{ purpose: 44, coinType: 236, account: 7 }, "m/44'/236'/7'/3/4"],
    [{ purpose: 0, coinType: 2147483647, account: 1 }, "m/0'/2147483647'/1'/3/4"],
  ])('of hd follows the settings: %o', async (derivation, path) => {
    const signer = unwrap(await keys.manager('hd', { derivation }).newSigner({ task: 3, receipt: 4 }));
    expect(signer.keyPath).toBe(path);
    const account = unwrap(parseExtendedKey(keys.text('master.key').trim())).derive(
      path.split('/').slice(0, 4).join('/'),
    );
    expect(keys.text('receipts.pub.json')).toContain(account.toPublic().toString());
  });
});

/** The private parts that a message about a file might hold, in pieces. */
function expectNothingOf(text: string, message: string): void {
  for (const word of text.match(/[0-9A-Za-z]{12,}/g) ?? []) {
    for (let at = 0; at + 8 <= word.length; at += 1) expect(message).not.toContain(word.slice(at, at + 8));
  }
}

describe('a key file that can not be used', () => {
  const derived = (): string => unwrap(parseExtendedKey(newXprv())).derive("m/44'").toString();
  const publicOnly = (): string => unwrap(parseExtendedKey(newXprv())).toPublic().toString();
  const mismatched = (): string => randomBytes(64).toString('hex');
  const garbled = (): string => newXprv().replace(/.{3}$/, 'abc');
  it.each<[string, SigningScheme, () => string, string, RegExp]>([
    ['empty', 'hd', () => '', 'key_size', /is empty/],
    ['blank', 'ed25519', () => ' \n', 'key_size', /is empty/],
    ['a text', 'hd', () => 'correct horse battery staple', 'key_format', /contains neither/],
    ['a text', 'ed25519', () => 'correct horse battery staple', 'key_format', /contains neither/],
    ['binary', 'hd', () => '\u0000\u0001\ufffd', 'key_format', /contains neither/],
    ['a derived key', 'hd', derived, 'key_format', /contains a derived key/],
    ['a public key', 'hd', publicOnly, 'key_format', /contains (neither|a public key)/],
    ['a garbled key', 'hd', garbled, 'key_format', /its format or checksum is wrong/],
    ['a cut key', 'hd', () => newXprv().slice(0, 60), 'key_format', /its format or checksum is wrong/],
    ['two keys', 'hd', () => `${newXprv()}\n${newXprv()}`, 'key_format', /its format or checksum is wrong/],
    ['an odd number of digits', 'ed25519', () => randomBytes(32).toString('hex').slice(1), 'key_size', /63 hex digits/],
    ['too few digits', 'ed25519', () => randomBytes(16).toString('hex'), 'key_size', /has 32 hex digits/],
    ['10 KB of digits', 'ed25519', () => randomBytes(5120).toString('hex'), 'key_size', /has 10240 hex digits/],
    ['100 KB', 'hd', () => 'x'.repeat(102_400), 'key_size', /has 102400 bytes/],
    ["another seed's public key", 'ed25519', mismatched, 'key_format', /does not match its seed/],
  ])('is told apart and left alone: %s (%s)', async (_name, scheme, make, code, message) => {
    const text = make();
    keys.put('master.key', text);
    const before = contentsOf(keys.path);
    const error = errorOf(await keys.manager(scheme).load());
    expect(error.code).toBe(code);
    expect(error.message).toContain(keys.file('master.key'));
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/does not create another key/);
    expectNothingOf(text, [error.message, error.hint, messageOf(error.cause), ...keys.log.lines].join('\n'));
    expect(contentsOf(keys.path)).toEqual(before);
  });

  it('is missing with its backup there: no other key is made', async () => {
    unwrap(await keys.manager().load());
    renameSync(keys.file('master.key'), keys.file('away'));
    const error = errorOf(await keys.manager().load());
    expect(error).toMatchObject({
      code: 'key_missing',
      hint: expect.stringContaining('Copy master.key.bak to') as string,
    });
    expect(error.message).toContain(keys.file('master.key'));
    expect(keys.names()).toEqual(['away', 'master.key.bak', 'receipts.pub.json']);
  });

  it('holds the other scheme under a name that promises this one', async () => {
    const text = newXprv();
    keys.put('master.key', text);
    keys.put('master.ed25519.key', text);
    const error = errorOf(await keys.manager('ed25519').load());
    expect(error.code).toBe('key_other_scheme');
    expect(error.message).toContain(keys.file('master.ed25519.key'));
    expectNothingOf(text, error.message);
  });

  it.each(['EACCES', 'EIO', 'EMFILE'])('is unreadable (%s)', async (code) => {
    unwrap(await keys.manager().load());
    const before = contentsOf(keys.path);
    const files = tapped(new NodeFileSystem(), (operation, [target]) => {
      if (operation === 'read' && target === keys.file('master.key')) throw nodeError(code);
    });
    const manager = keys.manager('hd', {}, keys.folder(files));
    const error = errorOf(await manager.load());
    expect(error.code).toBe('key_unreadable');
    expect(error.message).toContain(keys.file('master.key'));
    expect(manager.exists()).toBe(false);
    expect(contentsOf(keys.path)).toEqual(before);
  });

  it('is a link or a folder', async () => {
    unwrap(await keys.manager().load());
    renameSync(keys.file('master.key'), keys.file('away'));
    symlinkSync(keys.file('away'), keys.file('master.key'));
    expect(errorOf(await keys.manager().load())).toMatchObject({ code: 'key_unreadable' });
    expect(errorOf(await keys.manager().load()).message).toMatch(/master\.key is a link\.$/);
    rmSync(keys.file('master.key'));
    mkdirSync(keys.file('master.key'));
    expect(errorOf(await keys.manager().load()).message).toMatch(/master\.key is not a file\.$/);
  });

  it.each(['ENOSPC', 'EROFS'])('can not be made (%s): nothing is left behind', async (code) => {
    const files = tapped(new NodeFileSystem(), (operation) => {
      if (operation === 'link' || operation === 'rename') throw nodeError(code);
    });
    expect(errorOf(await keys.manager('hd', {}, keys.folder(files)).load())).toMatchObject({ code: 'write_failed' });
    expect(keys.names()).toEqual([]);
  });
});

describe('permissions that are too wide', () => {
  it.each([0o644, 0o640, 0o666, 0o604])('are taken away with a warning: %o', async (mode) => {
    unwrap(await keys.manager().load());
    keys.log.lines.length = 0;
    chmodSync(keys.file('master.key'), mode);
    chmodSync(keys.path, 0o755);
    unwrap(await keys.manager().load());
    expect([keys.mode(), keys.mode('master.key')]).toEqual(['700', '600']);
    const warnings = keys.log.lines.filter((line) => line.startsWith('warn'));
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).toContain(keys.file('master.key'));
    expectNothingOf(keys.text('master.key'), warnings.join());
  });

  it('that can not be taken away are an error', async () => {
    unwrap(await keys.manager().load());
    chmodSync(keys.file('master.key'), 0o644);
    const files = tapped(new NodeFileSystem(), (operation) => {
      if (operation === 'chmod') throw nodeError('EPERM');
    });
    const error = errorOf(await keys.manager('hd', {}, keys.folder(files)).load());
    expect(error).toMatchObject({ code: 'key_too_open', hint: expect.stringContaining('chmod 600') as string });
    expect(error.message).toContain(`Other users can access ${keys.file('master.key')} (mode 644)`);
  });

  it('of the backup are taken away as well', async () => {
    unwrap(await keys.manager().load());
    chmodSync(keys.file('master.key.bak'), 0o644);
    unwrap(await keys.manager().load());
    expect(keys.mode('master.key.bak')).toBe('600');
  });

  it('are none of our business where the system has none', async () => {
    unwrap(await keys.manager().load());
    chmodSync(keys.file('master.key'), 0o666);
    keys.log.lines.length = 0;
    unwrap(await keys.manager('hd', {}, keys.folder(new NodeFileSystem(), false)).load());
    expect(keys.log.lines).toEqual([]);
    expect(keys.mode('master.key')).toBe('666');
  });
});
