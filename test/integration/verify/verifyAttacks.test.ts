import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseTrustedKeys, serializeTrustedKeys } from '../../../src/core/verify/trustedKeys';
import { unwrap } from '../../../src/core/shared/errors';
import { type Claim, claimed, writeNote } from '../../support/fixtures/attachedLine';
import { type Machine, POLICY, VerifyTeam } from '../../support/fixtures/verifyTeam';

/* What somebody comes to who wants a change to pass that shouldn't. docs/security.md names each of these. */

let made: VerifyTeam;
let team: VerifyTeam;
let ana: Machine;
let reviewer: Machine;
let clones = 0;

beforeAll(async () => {
  made = await VerifyTeam.make();
  made.ana.commit('feature', { 'a.txt': 'two\n' });
}, 120_000);
beforeEach(() => {
  team = made.copy();
  ({ ana } = team);
});
afterEach(() => {
  team.dispose();
});
afterAll(() => {
  made.dispose();
});

const treeOf = (revision = 'HEAD'): string => ana.git('rev-parse', `${revision}^{tree}`);

/** What a reviewer's clone says once all of it is pushed: the branch, and the notes as they are here. */
async function reviewed(...more: readonly string[]): ReturnType<Machine['atlas']> {
  ana.git('push', '--quiet', '--force', 'origin', 'HEAD:refs/heads/feature');
  // Whoever attacks pushes with git itself.
  if (ana.git('for-each-ref', 'refs/notes/atlas') !== '') ana.git('push', '--quiet', 'origin', 'refs/notes/atlas');
  reviewer = team.clone(`reviewer ${(clones += 1)}`);
  await reviewer.ok('receipts', 'fetch');
  return reviewer.atlas('verify', 'origin/feature', ...more);
}

/** Attaches claims that Ana's key signs to the commit's tree, or to another. */
async function attach(claims: readonly Omit<Claim, 'tree'>[] | readonly Claim[], on = treeOf()): Promise<void> {
  const lines = await claimed(
    ana,
    claims.map((claim) => ({ tree: on, ...claim })),
  );
  writeNote(ana, on, `${lines.join('\n')}\n`);
}

const APP = { command: 'sh check.sh', folder: 'packages/app' };

describe('a change to what is demanded', () => {
  it.each([
    ['the policy', { '.atlas/config.yaml': JSON.stringify({ verify: { checks: [{ name: 'unit', run: 'true' }] } }) }],
    ["a check's command", { '.atlas/config.yaml': JSON.stringify(POLICY).replace('test/unit.sh', 'test/none.sh') }],
    ['the trusted keys', { '.atlas/trusted-keys.json': serializeTrustedKeys([]) }],
    ['a test', { 'test/unit.sh': 'true\n' }],
    ['a workflow', { '.github/workflows/ci.yml': 'on: push\n' }],
  ])('%s, needs a human, however good its receipts', async (_what, files) => {
    ana.commit('change', files);
    await attach([{}, APP]);
    const said = await reviewed();
    expect(said.out).toMatch(/passed {3}unit: [^]*passed {3}app: /u);
    expect(said.out).toContain(
      `  protected  ${Object.keys(files)[0]?.startsWith('.') === true ? `"${Object.keys(files)[0] ?? ''}"` : Object.keys(files)[0]}\n`,
    );
    expect(said).toMatchObject({ code: 7 });
  });

  it('the folder of the policy as a link, or its removal, needs a human too', async () => {
    ana.git('rm', '--quiet', '-r', '.atlas');
    ana.commit('gone');
    await attach([{}, APP]);
    expect(await reviewed()).toMatchObject({ code: 7 });
  });

  it('an added key doesn’t count before the base has it', async () => {
    const mallory = team.clone('mallory');
    await mallory.ok('keys', 'trust', '--name', 'Mallory');
    ana.write('.atlas/trusted-keys.json', mallory.read('.atlas/trusted-keys.json'));
    ana.commit('trust somebody');
    writeNote(
      ana,
      treeOf(),
      `${(await claimed(mallory, [{ tree: treeOf() }, { tree: treeOf(), ...APP }])).join('\n')}\n`,
    );
    const said = await reviewed();
    expect(said.code).toBe(7);
    expect(said.out).toMatch(/Receipt rcpt-\w+ is by a key that the base does not trust\./u);
    expect(said.out).not.toContain('Mallory');
  });

  it('a base without policy or keys demands nothing that could be verified', async () => {
    for (const file of ['.atlas/config.yaml', '.atlas/trusted-keys.json']) {
      const branch = `without ${file.slice(7, 10)}`.replace(' ', '-');
      ana.git('switch', '--quiet', '--create', branch, 'main');
      ana.git('rm', '--quiet', file);
      ana.commit('none');
      const said = await ana.atlas('verify', 'feature', '--base', branch);
      expect(said).toMatchObject({ code: 6, out: '' });
      expect(said.err).toContain(`${file} is not there.`);
      expect(said.err).toContain('A maintainer commits these two files to the base first');
    }
  });

  it.each([
    ['a misspelt key', { verify: { ...POLICY.verify, protct: ['x'] } }, /unknown key\. Did you mean "protect"\?/u],
    ['no checks', { verify: { protect: ['x'] } }, /declares no checks/u],
    [
      'a folder outside',
      { verify: { checks: [{ name: 'x', run: 'y', cwd: '../z' }] } },
      /verify\.checks\.0\.cwd: write a folder/u,
    ],
  ])('a policy with %s is none', async (_what, config, message) => {
    ana.git('switch', '--quiet', '--create', 'odd', 'main');
    ana.commit('odd', { '.atlas/config.yaml': JSON.stringify(config) });
    const said = await ana.atlas('verify', 'feature', '--base', 'odd');
    expect(said.err).toMatch(message);
    expect(said.code).toBe(6);
  });
});

describe('a submodule that .gitmodules has git overlook', () => {
  it('still counts as a change: it needs a human where it is protected, and is never ignored', async () => {
    const [first, second] = [ana.git('rev-parse', 'main'), ana.git('rev-parse', 'feature')];
    ana.git('switch', '--quiet', 'main');
    ana.write('.gitmodules', '[submodule "v"]\n\tpath = docs/v\n\turl = ./v\n\tignore = all\n');
    ana.git('add', '.gitmodules');
    ana.git('update-index', '--add', '--cacheinfo', `160000,${first},docs/v`);
    ana.git('commit', '--quiet', '--message', 'vendor');
    await attach([{}, APP]);
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', '--create', 'moved');
    ana.git('update-index', '--cacheinfo', `160000,${second},docs/v`);
    ana.git('commit', '--quiet', '--message', 'moved');
    expect(await reviewed('--allow-ancestor')).toMatchObject({ code: 5 });
    ana.git('switch', '--quiet', 'main');
    const config = { verify: { ...POLICY.verify, protect: ['docs/v'] } };
    ana.write('.atlas/config.yaml', JSON.stringify(config));
    ana.git('add', '.atlas');
    ana.git('commit', '--quiet', '--message', 'protect it');
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', 'moved');
    const said = await reviewed();
    expect(said.out).toContain('  protected  docs/v\n');
    expect(said.code).toBe(7);
    expect(await reviewer.atlas('verify', 'origin/main~1..origin/feature')).toMatchObject({ code: 7 });
  });
});

describe('receipts', () => {
  it('that a trusted key signed for this tree are enough: the cases below are refused for what they say', async () => {
    await attach([{}, APP]);
    expect(await reviewed()).toMatchObject({ code: 0 });
  });

  it.each<[string, Omit<Claim, 'tree'>, RegExp]>([
    ['another command', { command: 'true', check: 'unit' }, /is about another command: `true`\./u],
    ['another folder', { folder: 'docs' }, /is about another folder: docs\./u],
    ['another repository', { roots: ['0'.repeat(40)] }, /was made in another repository\./u],
    ['a run that failed', { exitCode: 1 }, /on this tree; it exited 1\./u],
    ['a run that changed files', { after: '1'.repeat(40) }, /a run that changed files/u],
  ])('for %s are refused', async (_what, claim, message) => {
    await attach([claim, APP]);
    const said = await reviewed();
    expect(said.out).toMatch(message);
    expect(said.out).toContain('  missing  unit: No passing receipt of `sh test/unit.sh` for this tree.');
    expect(said.out).toContain("  passed   app: The holder of Ana's key states");
    expect(said.code).toBe(5);
  });

  it('copied from another tree are refused', async () => {
    const lines = await claimed(ana, [{ tree: treeOf('main') }, { tree: treeOf('main'), ...APP }]);
    writeNote(ana, treeOf(), `${lines.join('\n')}\n`);
    const said = await reviewed();
    expect(said.out).toMatch(/is for another tree: its note was copied here\./u);
    expect(said.code).toBe(5);
  });

  it('with anything changed in them are refused', async () => {
    const [line = ''] = await claimed(ana, [{ tree: treeOf(), command: 'sh test/none.sh' }]);
    const envelope = JSON.parse(Buffer.from(line, 'base64').toString()) as { payload: string };
    const payload = Buffer.from(envelope.payload, 'base64').toString().replaceAll('test/none.sh', 'test/unit.sh');
    envelope.payload = Buffer.from(payload).toString('base64');
    writeNote(ana, treeOf(), `${Buffer.from(`${JSON.stringify(envelope)}\n`).toString('base64')}\n`);
    const said = await reviewed();
    expect(said.out).toMatch(/has a signature that does not match it\./u);
    expect(said.code).toBe(5);
  });

  it('that were removed from the remote by force are missing to new clones, and kept by the others', async () => {
    await attach([{}, APP]);
    expect(await reviewed()).toMatchObject({ code: 0 });
    const earlier = reviewer;
    const empty = ana.git('commit-tree', ana.git('mktree', '--missing'), '-m', 'nothing');
    ana.git('push', '--quiet', '--force', 'origin', `${empty}:refs/notes/atlas`);
    const refused = await earlier.atlas('receipts', 'fetch');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('Somebody rewrote the receipts on "origin"');
    expect(await earlier.atlas('verify', 'origin/feature')).toMatchObject({ code: 0 });
    const later = team.clone('later');
    await later.ok('receipts', 'fetch');
    expect(await later.atlas('verify', 'origin/feature')).toMatchObject({ code: 5 });
  });

  it('by a developer don’t count for a check that a CI system has to run', async () => {
    ana.git('switch', '--quiet', 'main');
    const checks = [{ name: 'unit', run: 'sh test/unit.sh', by: 'ci' }];
    ana.commit('by ci', { '.atlas/config.yaml': JSON.stringify({ verify: { ...POLICY.verify, checks } }) });
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', 'feature');
    ana.git('rebase', '--quiet', 'main');
    await attach([{}, { by: 'ci' }]);
    const said = await reviewed();
    expect(said.out).toMatch(/was not made by a CI key, which this check demands\./u);
    expect(said.code).toBe(5);
    const ci = team.clone('ci');
    ci.git('switch', '--quiet', 'main');
    ci.git('fetch', '--quiet');
    await ci.ok('keys', 'trust', '--kind', 'ci', '--name', 'CI');
    ci.commit('trust CI');
    ci.git('push', '--quiet', 'origin', 'main');
    ci.git('fetch', '--quiet');
    await ci.ok('verify', 'origin/feature', '--rerun');
    await ci.ok('receipts', 'push', '--yes');
    await reviewer.ok('receipts', 'fetch');
    reviewer.git('fetch', '--quiet');
    const after = await reviewer.atlas('verify', 'origin/feature');
    expect(after.out).toContain(
      "The holder of CI's key states: atlas ran `sh test/unit.sh` on this tree; it exited 0.",
    );
    expect(after.code).toBe(0);
  });

  it('--require only adds', async () => {
    await attach([{}, APP, { command: 'sh lint.sh', check: 'lint', exitCode: 1 }]);
    expect(await reviewed()).toMatchObject({ code: 0 });
    expect(await reviewer.atlas('verify', 'origin/feature', '--require', 'unit')).toMatchObject({ code: 0 });
    const failed = await reviewer.atlas('verify', 'origin/feature', '--require', 'lint');
    expect(failed.out).toMatch(
      /missing {2}lint: No passing receipt for this tree\.\n.*`sh lint\.sh` on this tree; it exited 1\./u,
    );
    expect(failed.code).toBe(5);
    await attach([{}, APP, { command: 'sh lint.sh', check: 'lint' }]);
    const passed = await reviewed('--require', 'lint');
    expect(passed.out).toContain("passed   lint: The holder of Ana's key states: atlas ran `sh lint.sh` on this tree");
    expect(passed.code).toBe(0);
  });
});

describe('keys that are no longer trusted', () => {
  /** Marks Ana's key on the base. */
  function revoke(reason: 'rotated' | 'compromised'): void {
    ana.git('switch', '--quiet', 'main');
    const trusted = unwrap(parseTrustedKeys(ana.read('.atlas/trusted-keys.json')));
    const revoked = trusted.map((entry) => ({ ...entry, revoked: { at: '2026-11-25', reason } }));
    ana.commit(reason, { '.atlas/trusted-keys.json': serializeTrustedKeys(revoked) });
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', 'feature');
  }

  it('count for nothing new where they were rotated, and still for what the base has', async () => {
    await attach([{}, APP]);
    ana.git('switch', '--quiet', 'main');
    ana.git('merge', '--quiet', '--ff-only', 'feature');
    ana.git('switch', '--quiet', 'feature');
    ana.commit('more', { 'a.txt': 'three\n' });
    const lines = await claimed(ana, [{ tree: treeOf() }, { tree: treeOf(), ...APP }]);
    writeNote(ana, treeOf(), `${lines.join('\n')}\n`);
    revoke('rotated');
    const said = await reviewed();
    expect(said.out).toMatch(/by the holder of Ana's key, is by a key that was rotated\./u);
    expect(said.code).toBe(5);
    const merged = ana.git('rev-parse', 'feature~1');
    expect(await reviewer.atlas('verify', merged)).toMatchObject({ code: 0 });
    expect(await reviewer.atlas('verify', `${merged}~1..origin/feature`)).toMatchObject({ code: 5 });
    expect(await reviewer.atlas('verify', `${merged}~1..${merged}`)).toMatchObject({ code: 0 });
  });

  it('count for nothing at all where they were compromised', async () => {
    await attach([{}, APP]);
    revoke('compromised');
    const said = await reviewed();
    expect(said.out).toMatch(/is by a key that is marked as compromised\./u);
    expect(said.code).toBe(5);
    // The branch began before, so that the merge base still trusts the key.
    expect(ana.git('show', `${ana.git('merge-base', 'main', 'feature')}:.atlas/trusted-keys.json`)).not.toContain(
      'compromised',
    );
  });

  it('stay what they are where another line names them again', async () => {
    await attach([{}, APP]);
    revoke('compromised');
    ana.git('switch', '--quiet', 'main');
    const [entry] = unwrap(parseTrustedKeys(ana.read('.atlas/trusted-keys.json')));
    if (entry === undefined) throw new Error('no key');
    const { revoked: _revoked, ...again } = entry;
    ana.commit('again', { '.atlas/trusted-keys.json': serializeTrustedKeys([entry, { ...again, name: 'New Ana' }]) });
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', 'feature');
    expect(await reviewed()).toMatchObject({ code: 5 });
  });
});

describe('--allow-ancestor', () => {
  beforeEach(async () => {
    await attach([{}, APP]);
  });

  it('accepts an ancestor from which only ignored files differ, and says that it is not this tree', async () => {
    ana.commit('docs', { 'docs/guide.md': 'better\n', 'README.md': '# New\n' });
    expect(await reviewed()).toMatchObject({ code: 5 });
    const said = await reviewer.atlas('verify', 'origin/feature', '--allow-ancestor');
    expect(said.out).toMatch(
      /on the tree of [0-9a-f]{12}, not this tree; it exited 0\. Only paths that the policy ignores differ \(2\): README\.md, docs\/guide\.md\./u,
    );
    expect(said.code).toBe(0);
  });

  it.each<[string, () => void]>([
    [
      'a file that runs',
      () => {
        ana.write('docs/run.sh', 'evil\n');
        ana.git('add', '--chmod=+x', 'docs/run.sh');
      },
    ],
    [
      'a link',
      () => {
        const blob = ana.git('hash-object', '-w', 'a.txt');
        ana.git('update-index', '--add', '--cacheinfo', `120000,${blob},docs/link.md`);
      },
    ],
    [
      'a submodule',
      () => ana.git('update-index', '--add', '--cacheinfo', `160000,${ana.git('rev-parse', 'main')},docs/sub`),
    ],
    [
      'attributes',
      () => {
        ana.write('docs/.gitattributes', '* filter=x\n');
        ana.git('add', 'docs/.gitattributes');
      },
    ],
    [
      'another path',
      () => {
        ana.write('a.txt', 'evil\n');
        ana.git('add', 'a.txt');
      },
    ],
  ])('refuses %s among what differs', async (_what, stage) => {
    stage();
    ana.git('commit', '--quiet', '--message', 'more');
    expect(await reviewed('--allow-ancestor')).toMatchObject({ code: 5 });
  });

  it('takes what is ignored from the base, not from the change', async () => {
    const config = { verify: { ...POLICY.verify, ignore: ['**'] } };
    ana.commit('ignore all', { '.atlas/config.yaml': JSON.stringify(config), 'a.txt': 'evil\n' });
    const said = await reviewed('--allow-ancestor');
    expect(said.out).toMatch(/missing {2}unit/u);
    expect(said.code).toBe(7);
  });
});
