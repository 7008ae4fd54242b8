import { describe, expect, it } from 'vitest';
import { keyProblems } from '../../../src/core/config/configKeys';
import { readConfig } from '../../../src/core/config/readConfig';
import { derivationFor } from '../../../src/core/receipt/keyPath';
import { absolutePathIn } from '../../../src/core/verify/attachedReceipt';
import { foreignCommand, foreignName, markdownCode, withoutOrders } from '../../../src/core/verify/foreignText';
import { pathMatcher } from '../../../src/core/verify/pathGlobs';
import { checkOf, parsePolicy } from '../../../src/core/verify/policy';
import { parseTrustedKeys, serializeTrustedKeys } from '../../../src/core/verify/trustedKeys';

const CHECKS = [{ name: 'unit', run: 'npm test' }];

describe('a policy', () => {
  it('has its checks at the top by default, for developers', () => {
    expect(parsePolicy({ verify: { checks: CHECKS } })).toEqual({
      ok: true,
      value: { checks: [{ name: 'unit', run: 'npm test', cwd: '.', by: 'developer' }], protect: [], ignore: [] },
    });
  });

  it.each<[unknown, RegExp]>([
    [undefined, /has no "verify:"/u],
    [{ verify: 5 }, /verify: must be a table/u],
    [{ verify: { checks: [] } }, /declares no checks/u],
    [{ verify: { checks: CHECKS, ignored: [] } }, /unknown key\. Did you mean "ignore"\?/u],
    [{ verify: { checks: [{ ...CHECKS[0], by: 'nobody' }] } }, /verify\.checks\.0\.by: must be developer or ci/u],
    [{ verify: { checks: [...CHECKS, ...CHECKS] } }, /two have the same name/u],
    [{ verify: { checks: [{ name: '::x', run: 'y' }] } }, /verify\.checks\.0\.name: use letters/u],
    [{ verify: { checks: [{ name: 'x', run: 'a\u001b[2J' }] } }, /must not contain control characters/u],
    ...['/etc', '../x', 'a/../b', 'a//b', './a', 'a/', 'C:\\x', ''].map((cwd): [unknown, RegExp] => [
      { verify: { checks: [{ ...CHECKS[0], cwd }] } },
      /cwd: write a folder of the repository/u,
    ]),
  ])('is refused whole where it is %j', (data, message) => {
    const parsed = parsePolicy(data);
    expect(parsed).toMatchObject({ ok: false, error: { code: 'no_policy' } });
    if (!parsed.ok) expect(parsed.error.message).toMatch(message);
  });

  it('names a command by its check only in its folder', () => {
    const parsed = parsePolicy({ verify: { checks: [{ ...CHECKS[0], cwd: 'app' }] } });
    const policy = parsed.ok ? parsed.value : undefined;
    expect(checkOf(policy, 'npm test', 'app')?.name).toBe('unit');
    expect(checkOf(policy, 'npm test', '.')).toBeUndefined();
    expect(checkOf(undefined, 'npm test', '.')).toBeUndefined();
  });

  it("is a repository's to set, and no user's", () => {
    const data = { verify: { checks: CHECKS } };
    expect(keyProblems(data, 'repository')).toEqual([]);
    expect(keyProblems(data, 'user')).toMatchObject([{ path: ['verify'] }]);
    expect(readConfig(data).config.verify).toBeUndefined();
    expect(readConfig(undefined, data).config.verify?.checks).toHaveLength(1);
    expect(readConfig(undefined, { verify: { checks: 5 } })).toMatchObject({
      config: { verify: { checks: [] } },
      repositoryProblems: [{ path: ['verify', 'checks'] }],
    });
  });
});

describe('trusted keys', () => {
  const entry = {
    name: 'Ana',
    scheme: 'hd',
    path: "m/44'/236'/5'",
    keys: ['xpub1'],
    kind: 'developer',
    added: '2026-11-25',
  } as const;

  it('are read as they are written', () => {
    const revoked = { ...entry, keys: [...entry.keys], revoked: { at: '2026-11-26', reason: 'rotated' as const } };
    expect(parseTrustedKeys(serializeTrustedKeys([revoked]))).toEqual({ ok: true, value: [revoked] });
  });

  it.each([
    ['x', /is not JSON/u],
    ['[]', /can't be used/u],
    [JSON.stringify({ schema_version: '2.0', trusted: [] }), /is of version 2\.0, which this Atlas does not know/u],
    [
      JSON.stringify({ schema_version: '1.0', trusted: [{ ...entry, revokd: {} }] }),
      /unknown key\. Did you mean "revoked"\?/u,
    ],
    [
      JSON.stringify({ schema_version: '1.0', trusted: [{ ...entry, revoked: { at: 'x', reason: 'lost' } }] }),
      /must be rotated or compromised/u,
    ],
  ])('are refused whole where they are %s', (text, message) => {
    const parsed = parseTrustedKeys(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.error.message).toMatch(message);
  });
});

describe('paths', () => {
  it('match globs as people write them, hidden files included', () => {
    const matches = pathMatcher(['test/', '.github/**', '*.lock', 'src/**/*.test.ts', '/top', '!x']);
    const paths = ['test/a', 'test/.hidden/b', '.github/workflows/ci.yml', 'yarn.lock', 'src/a/b.test.ts', 'top', '!x'];
    for (const path of paths) expect(matches(path), path).toBe(true);
    for (const path of ['tests/a', 'a/yarn.lock', 'src/a.ts', 'x', 'a/top']) expect(matches(path), path).toBe(false);
  });

  it.each([
    ['/home/ana/x', true],
    ['test -d /tmp', true],
    ['A=~/x make', true],
    ['"C:\\Users\\Ana"', true],
    ['cat \\\\server\\share', true],
    ['file:///etc/passwd', true],
    ['PATH=/usr/bin:/x make', true],
    ['npm test', false],
    ['curl https://example.com/x', false],
    ['sh ./test/unit.sh a/b', false],
    ['sed s/a/b/', false],
    ['2026-11-25T01:24:00Z', false],
  ])('of %j are absolute: %s', (text, is) => {
    expect(absolutePathIn({ deep: [text] }) !== undefined).toBe(is);
  });
});

describe('what others wrote', () => {
  it.each([
    ['npm test', '`npm test`'],
    ['a `b`', '"a `b`"'],
    ['a\nb\u001b\u202e', '"a\\nb\\u001b\\u202e"'],
    ['::warning::x', '"\\u003a:warning\\u003a:x"'],
    [':::x', '"\\u003a\\u003a:x"'],
    ['##vso[x] ##[y] ##teamcity[z] ## w', '"\\u0023#vso[x] \\u0023#[y] \\u0023#teamcity[z] ## w"'],
  ])('of %j is %s in a log', (text, shown) => {
    expect(foreignCommand(text)).toBe(shown);
    expect(foreignCommand(text)).not.toMatch(/::|##\[|##vso\[|##teamcity\[/u);
  });

  it('is a bare name only where it can be one', () => {
    expect(foreignName('Ana Zoë')).toBe('Ana Zoë');
    for (const text of ['-x', ' a', '.atlas', 'a::b', 'a\tb', '']) expect(foreignName(text)).toMatch(/^"/u);
  });

  it('is the same text once JSON is read', () => {
    const text = JSON.stringify({ a: '::x ##[y]' });
    expect(JSON.parse(withoutOrders(text))).toEqual(JSON.parse(text));
  });

  it('is code without markup in a comment', () => {
    const shown = markdownCode('@everyone </code> `x` [a](b)|');
    expect(shown.slice('<code>'.length, -'</code>'.length)).not.toMatch(/[@<>`[\]()|]/u);
    expect(markdownCode('npm test')).toBe('<code>npm test</code>');
  });
});

describe('the account that signs for a repository', () => {
  const settings = { purpose: 44, coinType: 236, account: undefined };

  it('comes from its first commit, is never hardened twice, and is the one that is set', () => {
    expect(derivationFor(settings, ['ffffffff00']).account).toBe(0x7fff_ffff);
    expect(derivationFor(settings, ['00000005ab', 'ffffffff']).account).toBe(5);
    expect(derivationFor(settings).account).toBe(0);
    expect(derivationFor({ ...settings, account: 3 }, ['ffffffff00']).account).toBe(3);
  });
});
