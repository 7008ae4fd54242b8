import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parse } from 'yaml';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BuiltCli, type Said, said } from '../../support/drivers/cli';
import { claimed, writeNote } from '../../support/fixtures/attachedLine';
import { type Machine, VerifyTeam } from '../../support/fixtures/verifyTeam';
import { PROJECT } from '../../support/project';

/* The script of action.yml as a CI system runs it: bash, variables, a real bare remote, and an API that takes comments. */

let made: VerifyTeam;
let team: VerifyTeam;
let ana: Machine;
let cli: BuiltCli;

beforeAll(async () => {
  [made, cli] = await Promise.all([VerifyTeam.make(), BuiltCli.open()]);
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
  cli.dispose();
});

const treeOf = (): string => ana.git('rev-parse', 'HEAD^{tree}');
const head = (): string => ana.git('rev-parse', 'HEAD');
const report = (): string => path.join(team.base, 'report.md');

/** Pushes the head as a forge has it: below a pull request, from a fork or not. */
function request(remote = 'origin'): void {
  ana.git('push', '--quiet', remote, 'HEAD:refs/heads/feature');
  ana.git('push', '--quiet', 'origin', 'HEAD:refs/pull/1/head');
  if (ana.git('for-each-ref', 'refs/notes/atlas') !== '') ana.git('push', '--quiet', remote, 'refs/notes/atlas');
}

/** Runs the script; its folder for temporary files shows what it leaves behind. */
async function verified(more: Readonly<Record<string, string>> = {}): Promise<Said> {
  const env = {
    ...{ PATH: process.env['PATH'], HOME: team.base, TMPDIR: path.join(team.base, 'tmp'), GIT_CONFIG_NOSYSTEM: '1' },
    ...{ ATLAS_CLI: cli.entry, ATLAS_URL: `file://${team.remote}`, ATLAS_BASE: 'main', ATLAS_HEAD: head() },
    ...{ ATLAS_HEAD_REF: 'refs/pull/1/head', ATLAS_REPORT: report(), CI: 'true', GITHUB_ACTIONS: 'true', ...more },
  };
  execFileSync('mkdir', ['-p', env.TMPDIR]);
  const outcome = await said(
    spawn('bash', [path.join(PROJECT, 'ci', 'verify.sh')], { cwd: team.base, env, stdio: 'pipe' }),
  );
  expect(readdirSync(env.TMPDIR)).toEqual([]);
  expect(existsSync(path.join(team.base, '.atlas'))).toBe(false);
  return outcome;
}

const APP = { command: 'sh check.sh', folder: 'packages/app' };

async function attach(machine = ana, ...claims: readonly object[]): Promise<void> {
  const wanted = (claims.length === 0 ? [{}, APP] : claims).map((claim) => ({ tree: treeOf(), ...claim }));
  writeNote(ana, treeOf(), `${(await claimed(machine, wanted)).join('\n')}\n`);
}

describe('a pull request', { timeout: 60_000 }, () => {
  it('that has its receipts passes', async () => {
    await attach();
    request();
    const outcome = await verified();
    expect(outcome.out).toContain(
      "The holder of Ana's key states: atlas ran `sh test/unit.sh` on this tree; it exited 0.",
    );
    expect(outcome).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(report(), 'utf8')).toMatch(/^<!-- atlas-verify -->\n/u);
  });

  it('whose checks failed does not', async () => {
    await attach(ana, { exitCode: 1 }, APP);
    request();
    const outcome = await verified();
    expect(outcome.out).toContain('it exited 1.');
    expect(outcome.code).toBe(5);
  });

  it('that is not signed, or has no receipts at all, does not', async () => {
    request();
    expect(await verified()).toMatchObject({ code: 5 });
    const [line = ''] = await claimed(ana, [{ tree: treeOf() }]);
    const envelope = JSON.parse(Buffer.from(line, 'base64').toString()) as { signatures: { sig: string }[] };
    const unsigned = { ...envelope, signatures: [{ ...envelope.signatures[0], sig: '' }] };
    writeNote(ana, treeOf(), `${Buffer.from(`${JSON.stringify(unsigned)}\n`).toString('base64')}\n`);
    request();
    const outcome = await verified();
    expect(outcome.out).toMatch(/has a signature that does not match it|No passing receipt/u);
    expect(outcome.code).toBe(5);
  });

  it('by a key that the base does not trust does not', async () => {
    const mallory = team.clone('mallory');
    await mallory.ok('keys', 'trust', '--name', 'Mallory');
    await attach(mallory);
    request();
    const outcome = await verified();
    expect(outcome.out).toContain('is by a key that the base does not trust.');
    expect(outcome.code).toBe(5);
  });

  it('that changes a protected path needs a human, and nothing of it is run', async () => {
    const trap = `touch ${team.base}/trapped\n`;
    ana.commit('trap', {
      'test/unit.sh': trap,
      '.gitattributes': '* filter=trap\n',
      'package.json': '{"scripts":{"prepare":"touch trapped"}}',
    });
    await attach();
    request();
    expect(await verified()).toMatchObject({ code: 7 });
    expect(existsSync(path.join(team.base, 'trapped'))).toBe(false);
  });

  it('to a base that demands nothing says what a maintainer has to commit', async () => {
    ana.git('push', '--quiet', 'origin', `${ana.git('rev-list', '--max-parents=0', 'HEAD')}:refs/heads/old`);
    request();
    const outcome = await verified({ ATLAS_BASE: 'old' });
    expect(outcome.err).toContain('.atlas/trusted-keys.json is not there.');
    expect(outcome.code).toBe(6);
    expect(readFileSync(report(), 'utf8')).toBe('');
  });

  it('from a fork has its receipts there', async () => {
    const fork = path.join(team.base, 'fork.git');
    ana.git('clone', '--quiet', '--bare', team.remote, fork);
    ana.git('remote', 'add', 'fork', fork);
    ana.commit('of the fork', { 'a.txt': 'fork\n' });
    await attach();
    request('fork');
    expect(await verified()).toMatchObject({ code: 5 });
    expect(await verified({ ATLAS_HEAD_URL: `file://${fork}` })).toMatchObject({ code: 0 });
    expect(await verified({ ATLAS_HEAD_URL: `file://${team.base}/gone.git` })).toMatchObject({ code: 5 });
  });

  it('gives a CI system no orders, whatever its names and remotes say', async () => {
    ana.commit('::set-output name=x::y', { 'a.txt': '##[add-path]x\n' });
    await attach(ana, { command: '::set-output::x', check: 'unit' }, { command: '@everyone ##vso[x]', check: 'app' });
    request();
    const output = path.join(team.base, 'github-output');
    const outcome = await verified({
      GITHUB_OUTPUT: output,
      GITHUB_ENV: output,
      GITHUB_PATH: output,
      GITHUB_STEP_SUMMARY: output,
    });
    expect(outcome.code).toBe(5);
    expect(outcome.out + outcome.err).not.toMatch(/::|##\[|##vso/u);
    expect(readFileSync(report(), 'utf8')).not.toContain('@everyone');
    expect(existsSync(output)).toBe(false);
    const lost = await verified({ ATLAS_URL: `file://${team.base}/::error::x.git` });
    expect(lost.code).toBe(1);
    expect(lost.out + lost.err).not.toMatch(/::|##\[|##vso/u);
  });

  it.each([
    ['ATLAS_HEAD', '$(touch trapped)'],
    ['ATLAS_HEAD', '--upload-pack=touch trapped'],
    ['ATLAS_URL', '--upload-pack=touch trapped'],
    ['ATLAS_HEAD_URL', '-x'],
    ['ATLAS_BASE', '--output=x'],
    ['ATLAS_BASE', '$(touch trapped)'],
  ])('whose %s is %s is refused', async (name, text) => {
    request();
    const outcome = await verified({ [name]: text });
    expect([1, 2, 3]).toContain(outcome.code);
    expect(existsSync(path.join(team.base, 'trapped'))).toBe(false);
  });
});

describe('a push', { timeout: 60_000 }, () => {
  it('is held against what was there before, or for a new branch against the default one', async () => {
    await attach();
    const before = ana.git('rev-parse', 'main');
    ana.git('push', '--quiet', 'origin', 'HEAD:main');
    request();
    expect(await verified({ ATLAS_BASE: before })).toMatchObject({ code: 0 });
    expect(await verified({ ATLAS_BASE: '0'.repeat(40), ATLAS_DEFAULT: 'main' })).toMatchObject({ code: 0 });
    expect(await verified({ ATLAS_BASE: '0'.repeat(40) })).toMatchObject({ code: 3 });
  });
});

interface Comment {
  id: number;
  body: string;
  user: { login: string };
}

/** GitHub's comments of one pull request, as far as the script asks for them. */
class Comments {
  readonly all: Comment[] = [];
  readonly asked: string[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const url = new URL(request.url ?? '', 'http://x');
        this.asked.push(`${request.method ?? ''} ${url.pathname}`);
        const answer = this.answer(request.method ?? '', url, body);
        response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer ?? {}));
      });
    });
  }

  private answer(method: string, url: URL, text: string): unknown {
    const body = text === '' ? '' : (JSON.parse(text) as { body: string }).body;
    if (method === 'GET') {
      const page = Number(url.searchParams.get('page'));
      return this.all.slice((page - 1) * 100, page * 100);
    }
    if (method === 'POST') {
      this.all.push({ id: this.all.length + 1, body, user: { login: 'github-actions[bot]' } });
      return {};
    }
    const comment = this.all.find(({ id }) => url.pathname.endsWith(`/comments/${id}`));
    if (comment !== undefined) comment.body = body;
    return comment;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
  }
}

describe('the comment', () => {
  it('is found by its marker and author, updated, and never repeated', async () => {
    const comments = new Comments();
    const api = await comments.open();
    const comment = async (text: string): Promise<Said> => {
      writeFileSync(report(), text);
      const env = {
        ...{ PATH: process.env['PATH'], ATLAS_REPORT: report(), ATLAS_API: api, ATLAS_REPOSITORY: 'team/project' },
        ...{ ATLAS_PULL_REQUEST: '1', ATLAS_TOKEN: 'secret' },
      };
      return said(spawn(process.execPath, [path.join(PROJECT, 'ci', 'comment.mjs')], { env, stdio: 'pipe' }));
    };
    try {
      // Others write what they like, the marker included; ours comes after more than a page of theirs.
      for (let id = 1; id <= 150; id += 1)
        comments.all.push({ id, body: '<!-- atlas-verify -->\nmine', user: { login: 'mallory' } });
      expect(await comment('<!-- atlas-verify -->\nfirst')).toMatchObject({ code: 0, out: '', err: '' });
      expect(await comment('<!-- atlas-verify -->\nsecond')).toMatchObject({ code: 0 });
      expect(await comment('<!-- atlas-verify -->\nsecond')).toMatchObject({ code: 0 });
      expect(comments.all.slice(150)).toEqual([
        { id: 151, body: '<!-- atlas-verify -->\nsecond', user: { login: 'github-actions[bot]' } },
      ]);
      expect(comments.all.slice(0, 150).every(({ body }) => body.endsWith('mine'))).toBe(true);
      expect(comments.asked.filter((each) => !each.startsWith('GET'))).toEqual([
        'POST /repos/team/project/issues/1/comments',
        'PATCH /repos/team/project/issues/comments/151',
      ]);
      expect(await comment('')).toMatchObject({ code: 0 });
      expect(comments.all).toHaveLength(151);
    } finally {
      comments.close();
    }
  });
});

describe('action.yml', () => {
  interface Step {
    readonly run: string;
    readonly env?: Readonly<Record<string, string>>;
  }
  const action = parse(readFileSync(path.join(PROJECT, 'action.yml'), 'utf8')) as { runs: { steps: readonly Step[] } };

  it('puts no value into the text of a script, and runs nothing but what lies beside it', () => {
    for (const { run } of action.runs.steps) {
      expect(run).not.toContain('${{');
      expect(run).not.toMatch(/checkout|GITHUB_OUTPUT|GITHUB_ENV|GITHUB_WORKSPACE/u);
    }
  });

  it('names only variables that the scripts know', () => {
    const known = ['verify.sh', 'comment.mjs']
      .map((name) => readFileSync(path.join(PROJECT, 'ci', name), 'utf8'))
      .join('');
    const names = action.runs.steps.flatMap(({ env = {} }) => Object.keys(env));
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(known).toContain(name);
  });
});
