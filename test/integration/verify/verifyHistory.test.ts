import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Machine, VerifyTeam } from '../../support/fixtures/verifyTeam';

/* What is verified after each thing that people do to commits: from a clone that has neither store nor keys. */

let made: VerifyTeam;
let team: VerifyTeam;
let ana: Machine;

beforeAll(async () => {
  made = await VerifyTeam.make();
  // A feature whose tip has receipts, which are pushed.
  const { ana: first } = made;
  first.commit('feature', { 'a.txt': 'two\n' });
  await first.publish();
  first.git('push', '--quiet', 'origin', 'feature');
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

/** Verifies a revision of the remote as somebody who has nothing but a clone. */
async function reviewed(revision: string, ...more: readonly string[]): ReturnType<Machine['atlas']> {
  const reviewer = team.clone(`reviewer ${revision.replaceAll(/\W/gu, '')}`);
  await reviewer.ok('receipts', 'fetch');
  const said = await reviewer.atlas('verify', revision, ...more);
  expect(reviewer.hasStore).toBe(false);
  return said;
}

const pushed = (...args: readonly string[]): string => ana.git('push', '--quiet', '--force', 'origin', ...args);

const STATED = "passed   unit: The holder of Ana's key states: atlas ran `sh test/unit.sh` on this tree; it exited 0.";
const IN_FOLDER =
  "passed   app: The holder of Ana's key states: atlas ran `sh check.sh` in packages/app on this tree; it exited 0.";

describe('a commit that was validated', () => {
  it('passes, and each line says who states what', async () => {
    const { code, out, err } = await reviewed('origin/feature');
    expect(err).toBe('');
    expect(out).toContain(STATED);
    expect(out).toContain(IN_FOLDER);
    expect(out).toMatch(/^PASS\. All required receipts are present \(1 commit\)\.$/mu);
    expect(out).toMatch(
      /^Policy and keys: origin\/main at [0-9a-f]{12}\. The task's chain of receipts is not checked here\.$/mu,
    );
    expect(out).toContain('Whoever can run programs as that person can state it.');
    expect(code).toBe(0);
  });
});

/** What somebody does to the feature, what comes of it, and the command that gives it receipts again. */
interface Case {
  readonly what: string;
  readonly act: () => string | Promise<string>;
  readonly code: 0 | 5 | 7;
  readonly says: RegExp;
  readonly fix?: readonly string[];
}

const rerun = (revision: string): readonly string[] => ['verify', revision, '--rerun'];

const CASES: readonly Case[] = [
  {
    what: 'its message is amended',
    act: () => (ana.git('commit', '--amend', '--quiet', '--message', 'another message'), 'feature'),
    code: 0,
    says: /^PASS/u,
  },
  {
    what: 'its content is amended',
    act: () => {
      ana.write('a.txt', 'three\n');
      ana.git('commit', '--amend', '--quiet', '--all', '--no-edit');
      return 'feature';
    },
    code: 5,
    says: /missing {2}unit: No passing receipt of `sh test\/unit\.sh` for this tree\.[^]*There are receipts for tree [0-9a-f]{12}: unit, app\./u,
    fix: rerun('feature'),
  },
  {
    what: 'it is rebased onto other work, without conflicts',
    act: () => {
      ana.git('switch', '--quiet', 'main');
      ana.commit('other', { 'b.txt': 'b\n' });
      pushed('main');
      ana.git('switch', '--quiet', 'feature');
      ana.git('rebase', '--quiet', 'main');
      return 'feature';
    },
    code: 5,
    says: /No passing receipt of `sh test\/unit\.sh` for this tree\.[^]*There are receipts for tree/u,
    fix: rerun('feature'),
  },
  {
    what: 'it is rebased with conflicts',
    act: () => {
      ana.git('switch', '--quiet', 'main');
      ana.commit('other', { 'a.txt': 'zero\n' });
      pushed('main');
      ana.git('switch', '--quiet', 'feature');
      expect(() => ana.git('rebase', '--quiet', 'main')).toThrow();
      ana.write('a.txt', 'both\n');
      ana.git('add', 'a.txt');
      ana.git('-c', 'core.editor=true', 'rebase', '--continue');
      return 'feature';
    },
    code: 5,
    says: /No passing receipt/u,
    fix: rerun('feature'),
  },
  {
    what: 'it is squashed with an earlier commit of an up-to-date branch',
    act: () => {
      ana.git('reset', '--quiet', '--soft', 'main');
      ana.git('commit', '--quiet', '--message', 'squashed');
      return 'feature';
    },
    code: 0,
    says: /^PASS/u,
  },
  {
    what: 'it is merged where nothing else happened',
    act: () => {
      ana.git('switch', '--quiet', '--create', 'merged', 'main');
      ana.git('merge', '--quiet', '--no-ff', '--no-edit', 'feature');
      return 'merged';
    },
    code: 0,
    says: /^PASS/u,
  },
  {
    what: 'it is merged with other work',
    act: () => {
      ana.git('switch', '--quiet', '--create', 'merged', 'main');
      ana.commit('other', { 'b.txt': 'b\n' });
      ana.git('merge', '--quiet', '--no-ff', '--no-edit', 'feature');
      return 'merged';
    },
    code: 5,
    says: /There are receipts for tree [0-9a-f]{12}, which commit [0-9a-f]{12} has: unit, app\./u,
    fix: rerun('merged'),
  },
  {
    what: 'it is picked onto other work',
    act: () => {
      ana.git('switch', '--quiet', '--create', 'picked', 'main');
      ana.commit('other', { 'b.txt': 'b\n' });
      ana.git('cherry-pick', 'feature');
      return 'picked';
    },
    code: 5,
    says: /No passing receipt/u,
    fix: rerun('picked'),
  },
  {
    what: 'a later commit is reverted',
    act: () => {
      ana.commit('oops', { 'a.txt': 'broken\n' });
      ana.git('revert', '--no-edit', 'HEAD');
      return 'feature';
    },
    code: 0,
    says: /^PASS/u,
  },
  {
    what: 'an empty commit follows',
    act: () => (ana.git('commit', '--quiet', '--allow-empty', '--message', 'empty'), 'feature'),
    code: 0,
    says: /^PASS/u,
  },
  {
    what: 'a submodule moves',
    act: () => {
      const at = ana.git('rev-parse', 'main');
      ana.git('update-index', '--add', '--cacheinfo', `160000,${at},vendor/lib`);
      ana.git('commit', '--quiet', '--message', 'vendor');
      return 'feature';
    },
    code: 5,
    says: /No passing receipt/u,
  },
  {
    what: 'a test is changed',
    act: async () => {
      ana.commit('weaker', { 'test/unit.sh': 'true\n' });
      await ana.publish();
      return 'feature';
    },
    code: 7,
    says: /passed {3}unit: The holder[^]*protected {2}test\/unit\.sh[^]*^NEEDS A HUMAN\. 1 protected path changed, which no receipt can vouch for\./mu,
  },
];

describe('after the commit was validated', { timeout: 60_000 }, () => {
  it.each(CASES)('$what', async ({ act, code, says, fix }) => {
    const branch = await act();
    pushed(branch);
    const before = await reviewed(`origin/${branch}`);
    expect(before.out).toMatch(says);
    expect(before.code, before.out).toBe(code);
    if (code !== 5) return;
    expect(before.out).toContain('To fix:\n');
    if (fix === undefined) return;
    const id = ana.git('rev-parse', '--short=12', branch);
    expect(before.out).toContain(`  atlas verify ${id} --rerun `);
    await ana.ok(...fix);
    await ana.ok('receipts', 'push', '--yes');
    const again = team.clone('again');
    await again.ok('receipts', 'fetch');
    expect(await again.atlas('verify', `origin/${branch}`)).toMatchObject({ code: 0 });
  });
});

describe('a range', () => {
  it('passes only where each of its commits does', async () => {
    ana.commit('second', { 'a.txt': 'three\n' });
    pushed('feature');
    const said = await reviewed('origin/main..origin/feature');
    expect(said.code).toBe(5);
    expect(said.out).toMatch(/^NOT VERIFIED\. 1 of 2 commits lacks required receipts\.$/mu);
    await ana.publish();
    expect(await reviewed('origin/main..origin/feature~0')).toMatchObject({ code: 0 });
  });

  it('needs a human where a protected path is changed and changed back', async () => {
    ana.commit('weaker', { 'test/unit.sh': 'true\n' });
    await ana.publish();
    ana.git('revert', '--no-edit', 'HEAD');
    pushed('feature');
    expect(await reviewed('origin/feature')).toMatchObject({ code: 0 });
    const range = await reviewed('origin/main..origin/feature');
    expect(range).toMatchObject({ code: 7 });
    expect(range.out).toContain('protected  test/unit.sh');
  });
});

describe('clones', () => {
  it('that fetched no receipts say so first', async () => {
    const reviewer = team.clone('reviewer');
    const said = await reviewer.atlas('verify', 'origin/feature');
    expect(said.code).toBe(5);
    expect(said.out).toMatch(/To fix:\n {2}atlas receipts fetch origin +# if others pushed receipts\n/u);
    await reviewer.ok('receipts', 'fetch', 'origin');
    expect(await reviewer.atlas('verify', 'origin/feature')).toMatchObject({ code: 0 });
  });

  it('of somebody who did not push a note get it with the next push', async () => {
    ana.commit('third', { 'a.txt': 'four\n' });
    await ana.validate();
    await ana.ok('receipts', 'attach');
    pushed('feature');
    expect(await reviewed('origin/feature')).toMatchObject({ code: 5 });
    await ana.ok('receipts', 'push');
    expect(await reviewed('origin/feature~0')).toMatchObject({ code: 0 });
  });

  it('that are shallow say what to fetch', async () => {
    const reviewer = team.clone('shallow', '--depth=1', '--no-single-branch');
    await reviewer.ok('receipts', 'fetch');
    const said = await reviewer.atlas('verify', 'origin/feature');
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toContain('This clone is shallow');
    expect(said.err).toContain('git fetch --unshallow');
    reviewer.git('fetch', '--quiet', '--unshallow');
    expect(await reviewer.atlas('verify', 'origin/feature')).toMatchObject({ code: 0 });
  });

  it.each(['blob:none', 'tree:0'])('that are partial (%s) verify as whole ones do', async (filter) => {
    ana.git('-C', team.remote, 'config', 'uploadpack.allowFilter', 'true');
    ana.git('-C', team.remote, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
    const reviewer = team.clone('partial', `--filter=${filter}`, '--no-checkout');
    await reviewer.ok('receipts', 'fetch');
    expect(await reviewer.atlas('verify', 'origin/feature')).toMatchObject({ code: 0 });
  });

  it('of a fork take receipts from the fork, and policy and keys from the base', async () => {
    const { base, remote } = team;
    ana.git('clone', '--quiet', '--bare', remote, `${base}/fork.git`);
    ana.git('remote', 'add', 'fork', `${base}/fork.git`);
    ana.commit('of the fork', { 'a.txt': 'fork\n' });
    await ana.validate();
    await ana.ok('receipts', 'attach');
    await ana.ok('receipts', 'push', 'fork', '--yes');
    ana.git('push', '--quiet', 'fork', 'feature');
    const reviewer = team.clone('maintainer');
    reviewer.git('remote', 'add', 'head', `${base}/fork.git`);
    reviewer.git('fetch', '--quiet', 'head');
    await reviewer.ok('receipts', 'fetch', 'origin');
    expect(await reviewer.atlas('verify', 'head/feature')).toMatchObject({ code: 5 });
    await reviewer.ok('receipts', 'fetch', 'head');
    expect(await reviewer.atlas('verify', 'head/feature')).toMatchObject({ code: 0 });
  });
});
