import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimed, writeNote } from '../../support/fixtures/attachedLine';
import { Machine, POLICY, VerifyTeam } from '../../support/fixtures/verifyTeam';

/* What lies in the notes: what may be published, what others put there, and how several machines add to them. */

let made: VerifyTeam;
let team: VerifyTeam;
let ana: Machine;

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
const APP = { command: 'sh check.sh', folder: 'packages/app' };

/** Everything that a remote has below our ref: names, authors, messages and the notes themselves, decoded. */
function everyByte(machine: Machine, ref = 'refs/notes/atlas'): string {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: machine.remote, env: machine.env, encoding: 'latin1' });
  const objects = git('rev-list', '--objects', ref)
    .split('\n')
    .filter((line) => line !== '');
  const texts = objects.map((line) => {
    const [id = '', name = ''] = line.split(' ');
    const type = git('cat-file', '-t', id).trim();
    const text = git('cat-file', type === 'tree' ? '-p' : type, id);
    const decoded = text.split('\n').flatMap((each) => {
      const envelope = Buffer.from(each, 'base64').toString('utf8');
      if (!envelope.startsWith('{')) return [];
      const { payload } = JSON.parse(envelope) as { payload: string };
      return [envelope, Buffer.from(payload, 'base64').toString('utf8')];
    });
    return [name, text, ...decoded].join('\n');
  });
  return texts.join('\n');
}

describe('what is pushed', () => {
  it('holds no absolute path, request, output, history or person', async () => {
    await ana.validate(['unit', 'app'], ['echo the-output; echo other-output >&2']);
    await ana.ok('receipts', 'attach');
    const shown = await ana.atlas('receipts', 'push');
    expect(shown).toMatchObject({ code: 2, out: '' });
    expect(shown.err).toContain('This is the first push of receipts to origin.');
    expect(shown.err).toContain('    `echo the-output; echo other-output >&2`\n');
    expect(() => ana.git('-C', team.remote, 'rev-parse', '--verify', '--quiet', 'refs/notes/atlas')).toThrow();
    await ana.ok('receipts', 'push', '--yes');
    const bytes = everyByte(ana);
    expect(bytes).toContain('"command":"sh test/unit.sh"');
    for (const secret of [
      team.base,
      'author ana',
      'committer ana',
      'Secret request',
      'x@example.com',
      '/bin/',
      '/tmp',
      'history',
      'prompt',
      'Users',
    ])
      expect(bytes.toLowerCase(), secret).not.toContain(secret.toLowerCase());
    expect(bytes).not.toMatch(/(?:^|[\s"=(])(?:\/[\w.]|~\/|[A-Za-z]:\\)/mu);
    // The command names it; what it printed is there as a digest alone.
    expect(bytes.split('the-output').length - 1).toBe(bytes.split('echo the-output;').length - 1);
    // The first push was agreed to: later ones aren't asked about.
    ana.commit('more', { 'a.txt': 'three\n' });
    await ana.validate();
    await ana.ok('receipts', 'attach');
    expect(await ana.ok('receipts', 'push')).toMatch(/^Pushed 2 receipts on 1 tree to origin\.$/mu);
    expect(await ana.ok('receipts', 'push')).toMatch(/already has every receipt/u);
  });

  it('leaves out a command with an absolute path, unless the policy of the commit has it', async () => {
    const run = `test -d ${team.base}`;
    await ana.validate(['unit'], [run]);
    const said = await ana.ok('receipts', 'attach');
    expect(said).toMatch(/^Attached 1 receipt /u);
    expect(said).toMatch(/left out: Its command names an absolute path, which would become public\./u);
    const checks = [...POLICY.verify.checks, { name: 'where', run }];
    ana.commit('declared', { '.atlas/config.yaml': JSON.stringify({ verify: { checks } }) });
    await ana.validate(['where']);
    expect(await ana.ok('receipts', 'attach')).toMatch(/^Attached 1 receipt /u);
  });

  it('is nothing of what an older version stated, which says to run again', async () => {
    const [line = ''] = await claimed(ana, [{ tree: treeOf(), roots: [] }]);
    writeNote(ana, treeOf(), `${line}\n`);
    expect(await ana.ok('receipts', 'push', '--yes')).toMatch(
      /1 line in the notes here is no receipt that may be published, and stays here\./u,
    );
    const said = await ana.atlas('verify', 'HEAD');
    expect(said.out).toMatch(
      /by an older version of Atlas, which did not record repository and folder\. Run the check again\./u,
    );
    expect(said.code).toBe(5);
  });
});

describe('a key that is trusted before it signed anything', () => {
  it('is of this repository alone, and no problem for the doctor', async () => {
    const ben = team.clone('ben');
    await ben.ok('keys', 'trust', '--name', 'Ben');
    const { trusted } = JSON.parse(ben.read('.atlas/trusted-keys.json')) as {
      trusted: { name: string; path: string }[];
    };
    const root = ben.git('rev-list', '--max-parents=0', 'HEAD');
    const account = Number.parseInt(root.slice(0, 8), 16) & 0x7fff_ffff;
    expect(trusted.map(({ name, path }) => [name, path])).toEqual([
      ['Ana', `m/44'/236'/${account}'`],
      ['Ben', `m/44'/236'/${account}'`],
    ]);
    expect(JSON.stringify(trusted)).not.toContain('xprv');
    expect((await ben.atlas('doctor')).out).toContain('The signing key is usable and its public key is published.');
  });
});

describe('attach', () => {
  it('takes only what covers exactly the commit, before and after the run', async () => {
    ana.write('untracked.txt', 'x');
    await ana.validate();
    const refused = await ana.atlas('receipts', 'attach');
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.err).toContain('No receipt of this machine covers the files of commit');
    ana.git('clean', '--quiet', '--force');
    await ana.validate(['unit']);
    expect(await ana.ok('receipts', 'attach', 'HEAD')).toMatch(/^Attached 1 receipt to tree [0-9a-f]{12}/u);
    expect(await ana.ok('receipts', 'attach')).toMatch(/^Attached 0 receipts .* 1 receipt was attached before\./mu);
    expect(await ana.atlas('receipts', 'attach', 'nonsense')).toMatchObject({ code: 3 });
  });
});

describe('three machines', () => {
  it('that add notes at once lose none, and each has all after a fetch', { timeout: 120_000 }, async () => {
    const names = ['ben', 'cleo', 'dan'];
    const tree = treeOf();
    ana.git('push', '--quiet', 'origin', 'feature');
    const machines = names.map((name) => team.clone(name, '--branch=feature'));
    // Each has three receipts: one on a tree of its own, and two on the same.
    for (const machine of machines) {
      machine.git('config', 'user.name', machine.name);
      const lines = await claimed(machine, [{ tree, command: `echo ${machine.name}` }, { tree }]);
      writeNote(machine, tree, `${lines.join('\n')}\n`);
      const own = machine.git('rev-parse', 'origin/main^{tree}');
      writeNote(
        machine,
        own,
        `${(await claimed(machine, [{ tree: own, command: `true ${machine.name}` }])).join('\n')}\n`,
      );
    }
    const pushed = await Promise.all(machines.map(async (machine) => machine.ok('receipts', 'push', '--yes')));
    for (const said of pushed) expect(said).toMatch(/^Pushed 3 receipts on 2 trees to origin\.$/mu);
    for (const name of names) {
      const bytes = everyByte(ana);
      expect(bytes).toContain(`"command":"echo ${name}"`);
      expect(bytes).toContain(`"command":"true ${name}"`);
    }
    const late = team.clone('late');
    await late.ok('receipts', 'fetch');
    const note = late.git('notes', '--ref=refs/notes/atlas-remote/origin', 'show', tree);
    expect(note.split('\n')).toHaveLength(6);
  });
});

describe('notes that are not ours', () => {
  it('are kept where they are, and change nothing', async () => {
    const [line = '', app = ''] = await claimed(ana, [{ tree: treeOf() }, { tree: treeOf(), ...APP }]);
    const noise = [
      'hello',
      '::set-output name=x::y',
      Buffer.from('{"payload":"x"}').toString('base64'),
      `${line} `,
      '',
    ];
    writeNote(ana, treeOf(), `${[...noise, line, app, line].join('\n')}\n`);
    ana.git('push', '--quiet', 'origin', 'refs/notes/atlas', 'feature');
    const reviewer = team.clone('reviewer');
    await reviewer.ok('receipts', 'fetch');
    const said = await reviewer.atlas('verify', 'origin/feature');
    expect(said.out).toContain('Note: 3 lines in the notes are not a receipt of Atlas. They were ignored.');
    expect(said.code).toBe(0);
    ana.git('update-ref', '-d', 'refs/notes/atlas');
    writeNote(ana, treeOf(), `${(await claimed(ana, [{ tree: treeOf(), command: 'true' }])).join('\n')}\nmine\n`);
    await ana.ok('receipts', 'push', '--yes');
    const there = everyByte(ana);
    expect(there).toContain('hello');
    expect(there).toContain('"command":"true"');
    expect(there).not.toContain('\nmine\n');
  });

  it('may be no notes at all: files and links of any name', async () => {
    const blob = ana.git('hash-object', '-w', 'a.txt');
    const entries = [
      `100644 blob ${blob}\tREADME`,
      `120000 blob ${blob}\t${'ab'.repeat(20)}`,
      `100644 blob ${blob}\t${'cd'.repeat(20)}`,
    ];
    const tree = execFileSync('git', ['mktree'], {
      cwd: ana.folder,
      env: ana.env,
      input: `${entries.join('\n')}\n`,
      encoding: 'utf8',
    }).trim();
    ana.git('update-ref', 'refs/notes/atlas', ana.git('commit-tree', tree, '-m', 'odd'));
    expect(await ana.atlas('verify', 'HEAD')).toMatchObject({ code: 5 });
    await ana.validate();
    await ana.ok('receipts', 'attach');
    expect(await ana.atlas('verify', 'HEAD')).toMatchObject({ code: 0 });
    expect(ana.git('ls-tree', '--name-only', 'refs/notes/atlas')).toContain('README');
  });

  it('of a newer version are named, and those that are known still count', async () => {
    const lines = await claimed(ana, [{ tree: treeOf() }, { tree: treeOf(), ...APP }]);
    const newer = Buffer.from(
      JSON.stringify({
        payloadType: 'application/vnd.in-toto+json',
        payload: Buffer.from(
          JSON.stringify({ _type: 'https://in-toto.io/Statement/v2', predicateType: 'x', subject: [], predicate: {} }),
        ).toString('base64'),
        signatures: [{ keyid: 'x', sig: 'AAAA' }],
      }),
    ).toString('base64');
    writeNote(ana, treeOf(), `${[newer, ...lines].join('\n')}\n`);
    const said = await ana.atlas('verify', 'HEAD');
    expect(said.out).toMatch(
      /Note: 1 receipt in the notes could not be read\. A newer version of Atlas may have made them: update Atlas\./u,
    );
    expect(said.code).toBe(0);
  });

  it(
    'ten thousand receipts in one are read in seconds, and the one that counts is found',
    { timeout: 120_000 },
    async () => {
      const [real = '', app = ''] = await claimed(ana, [{ tree: treeOf() }, { tree: treeOf(), ...APP }]);
      const envelope = JSON.parse(Buffer.from(real, 'base64').toString()) as { payload: string };
      const statement = Buffer.from(envelope.payload, 'base64').toString();
      const forged = Array.from({ length: 10_000 }, (_each, index) => {
        const payload = Buffer.from(statement.replace(/rcpt-\w+/u, `rcpt-${index.toString(16).padStart(8, '0')}`));
        return Buffer.from(`${JSON.stringify({ ...envelope, payload: payload.toString('base64') })}\n`).toString(
          'base64',
        );
      });
      writeNote(ana, treeOf(), `${[...forged, app, real].join('\n')}\n`);
      const start = performance.now();
      const said = await ana.atlas('verify', 'HEAD');
      expect(said.code).toBe(0);
      expect(performance.now() - start).toBeLessThan(60_000);
      writeNote(ana, treeOf(), `${forged.join('\n')}\n`);
      const none = await ana.atlas('verify', 'HEAD');
      expect(none.code).toBe(5);
      expect(none.out.length).toBeLessThan(10_000);
    },
  );
});

const HOSTILE = [
  '::set-output name=x::y',
  '##vso[task.setvariable]x',
  '##[error]x',
  '##teamcity[x]',
  '@everyone <b>x</b> `y`',
].concat(['\u001b[31mred\u001b[0m', 'a\rb', 'left \u202eright', '[x](http://example.com) |']);

describe('what others wrote', () => {
  it('reaches no log or comment as anything but text on one line', async () => {
    ana.git('switch', '--quiet', 'main');
    const checks = HOSTILE.filter((text) => !/\p{C}/u.test(text)).map((run, index) => ({
      name: `c${index}`,
      run,
    }));
    ana.commit('hostile', {
      '.atlas/config.yaml': JSON.stringify({ verify: { checks, protect: ['**/*set-output*'] } }),
    });
    ana.git('push', '--quiet', 'origin', 'main');
    ana.git('switch', '--quiet', '--create', 'hostile');
    ana.commit('::warning::subject ##[group]x @everyone', { 'x::set-output::y\n::z': 'x' });
    const claims = [
      ...checks.map(({ run }) => ({ tree: treeOf(), command: run })),
      ...HOSTILE.map((command) => ({ tree: treeOf(), command, check: 'c0' })),
    ];
    writeNote(ana, treeOf(), `${(await claimed(ana, claims)).join('\n')}\n`);
    for (const format of ['text', 'json', 'markdown', 'sarif']) {
      const { out, err, code } = await ana.atlas('verify', 'HEAD', '--format', format, '--require', '::error::x');
      expect(code, format).toBe(7);
      expect(out + err, format).not.toMatch(/::|##\[|##vso\[|##teamcity\[|(?!\n)\p{C}/u);
      if (format === 'markdown') {
        expect(out).not.toMatch(/@everyone|<b>|\[x\]/u);
        expect(out.split('\n')[0]).toBe('<!-- atlas-verify -->');
      }
    }
  });

  it('is in the JSON as it is', async () => {
    const [line = ''] = await claimed(ana, [{ tree: treeOf(), command: '::set-output name=x::y', check: 'unit' }]);
    writeNote(ana, treeOf(), `${line}\n`);
    const { out } = await ana.atlas('verify', 'HEAD', '--format', 'json');
    const document = JSON.parse(out) as { commits: { checks: { refused: { command: string }[] }[] }[] };
    expect(document.commits[0]?.checks[0]?.refused[0]?.command).toBe('::set-output name=x::y');
    expect(JSON.parse((await ana.atlas('verify', 'HEAD', '--json')).out)).toEqual(document);
  });
});

describe('--rerun', { timeout: 60_000 }, () => {
  it('leaves no checkout behind, and says why a run covers no commit', async () => {
    ana.git('switch', '--quiet', 'main');
    const checks = [
      { name: 'messy', run: 'echo x > made.txt' },
      { name: 'keys', run: 'test -z "$ATLAS_HOME"' },
    ];
    ana.commit('messy', { '.atlas/config.yaml': JSON.stringify({ verify: { checks } }) });
    ana.git('push', '--quiet', 'origin', 'main');
    const said = await ana.atlas('verify', 'HEAD', '--rerun', '--format', 'json');
    expect(JSON.parse(said.out)).toMatchObject({
      reruns: [
        {
          check: 'messy',
          exit_code: 0,
          problem: expect.stringContaining('changed files that git does not ignore: made.txt') as string,
        },
        { check: 'keys', exit_code: 0, problem: null },
      ],
    });
    expect(said.code).toBe(5);
    expect(ana.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(existsSync(`${ana.folder}/made.txt`)).toBe(false);
    const asAgent = new Machine(team.base, 'ana', team.remote, { CLAUDECODE: '1' });
    expect(await asAgent.atlas('verify', 'HEAD', '--rerun')).toMatchObject({ code: 4 });
  });

  it('can be two jobs: one runs and has no key, the other signs and runs nothing', async () => {
    ana.git('push', '--quiet', 'origin', 'feature');
    const runner = team.clone('runner');
    const outcome = await runner.atlas('verify', 'origin/feature', '--rerun', '--unsigned', 'results.json');
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.out).toMatch(/Note: Nothing is signed yet\.\nTo fix:\n {2}atlas verify [0-9a-f]{12} --sign /u);
    expect(existsSync(`${runner.store}/keys`)).toBe(false);
    expect(await runner.atlas('verify', 'origin/feature')).toMatchObject({ code: 5 });
    const results = JSON.parse(runner.read('results.json')) as { results: { check: string; exit_code: number }[] };
    const [first] = results.results;
    // Results of what nobody demanded, and of another commit, are no receipts.
    const more = [
      { ...first, check: 'other' },
      { ...first, commit: ana.git('rev-parse', 'main') },
    ];
    ana.write('more.json', JSON.stringify({ ...results, results: [...results.results, ...more] }));
    ana.write('test/unit.sh', 'touch ran-again\n');
    const signed = await ana.atlas('verify', 'feature', '--sign', 'more.json', '--format', 'json');
    expect(JSON.parse(signed.out)).toMatchObject({ outcome: 'passed', reruns: [{ check: 'unit' }, { check: 'app' }] });
    expect(ana.git('notes', '--ref=refs/notes/atlas', 'show', treeOf()).split('\n')).toHaveLength(2);
    expect(existsSync(`${ana.folder}/ran-again`)).toBe(false);
    ana.write('bad.json', '{"format":"atlas-results","schema_version":"2.0","results":[]}');
    ana.git('update-ref', '-d', 'refs/notes/atlas');
    expect(await ana.atlas('verify', 'feature', '--sign', 'bad.json')).toMatchObject({ code: 5 });
  });

  it('of a check that fails hands over that it failed', async () => {
    ana.commit('broken', { 'b.txt': 'x' });
    ana.git('rm', '--quiet', 'a.txt');
    ana.commit('gone');
    const outcome = await ana.atlas('verify', 'HEAD', '--rerun', '--unsigned', 'results.json');
    expect(outcome.code).toBe(5);
    const signed = await ana.atlas('verify', 'HEAD', '--sign', 'results.json');
    expect(signed.out).toMatch(/atlas ran `sh test\/unit\.sh` on this tree; it exited 1\./u);
    expect(signed.code).toBe(5);
  });
});
