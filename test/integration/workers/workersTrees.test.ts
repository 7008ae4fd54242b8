import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { HostileRemote, indexed, typed } from '../../support/faults/hostileRemote';
import type { RawEntry } from '../../support/fixtures/hostileTrees';

/* What somebody puts into the trees of a branch forge/*: `atlas` is built and run as users do, then git is, as editors do. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});

const LEDGER = '.forge/ledger';

/** A file that leads git to a repository in a folder beside it, whose settings name a program. */
function repositoryInside({ objects, program }: HostileRemote, link: string): RawEntry[] {
  const config = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${program}\n\tworktree = ..\n[index]\n\tversion = 2\n`;
  return [
    objects.file(link, 'gitdir: fakegit\n'),
    objects.folder('fakegit', [
      objects.file('HEAD', 'ref: refs/heads/main\n'),
      objects.file('config', config),
      objects.folder('objects', [objects.file('x', '')]),
      objects.folder('refs', [objects.file('x', '')]),
    ]),
  ];
}

describe('a tree that somebody hostile pushed', { timeout: 120_000 }, () => {
  it('with a file .git runs nothing once changes in the folder are discarded', async () => {
    const remote = await HostileRemote.make(cli, 'dotgit');
    const { b } = remote;
    const entries = repositoryInside(remote, '.git');
    remote.objects.plant('forge/ledger', entries);
    remote.objects.plant('forge/hooks/evil', entries);
    const said = await b.run('worker', 'sync', 'origin');
    expect([said.code, said.out]).toEqual([0, expect.stringContaining('Left out of forge/ledger: ".git": ')]);
    expect(said.out).toContain('Left out of forge/hooks/evil: ".git": ');
    await b.run('worker', 'recover', 'evil');
    for (const folder of [LEDGER, '.forge/hooks/evil']) {
      const names = ['restore .', 'checkout -- .', 'reset --hard', 'clean -ffdx'];
      for (const name of names) {
        typed(b, folder, `git ${name}`);
        typed(b, folder, 'git status');
      }
      expect(readFileSync(path.join(b.folder, folder, '.git'), 'utf8')).toContain(`${b.folder}/.git/worktrees/`);
      expect(indexed(b, folder)).not.toContain('.git');
      // Nor is it a repository to whoever goes into it.
      typed(b, folder, 'cd fakegit && git status');
    }
    expect(remote.hasRun).toBe(false);
  });

  it('with names that lead above writes nothing there', async () => {
    const remote = await HostileRemote.make(cli, 'above');
    const { a, b, objects } = remote;
    const escaping = ['../../../../x', '..', '../x', 'a/../../x', '/x', '../../.git/hooks/post-checkout'];
    for (const branch of ['forge/ledger', 'forge/hooks/evil'])
      objects.plant(
        branch,
        escaping.map((name) => objects.file(name, `#!/bin/sh\ntouch '${remote.canary}'\n`, '100755')),
      );
    const before = readdirSync(cli.folder);
    const hooks = readdirSync(path.join(b.folder, '.git', 'hooks'));
    const { out } = await b.run('worker', 'sync', 'origin');
    for (const name of escaping) expect(out).toContain(`${JSON.stringify(name)}: `);
    await b.run('worker', 'recover', 'evil');
    for (const folder of [LEDGER, '.forge/hooks/evil']) {
      for (const line of ['git restore .', 'git checkout -- .', 'git reset --hard', 'git status'])
        typed(b, folder, line);
      expect(indexed(b, folder).filter((name) => name.includes('..') || name.startsWith('/'))).toEqual([]);
    }
    expect(readdirSync(cli.folder)).toEqual(before);
    expect(readdirSync(path.join(b.folder, '.git', 'hooks'))).toEqual(hooks);
    expect([readdirSync(a.folder).sort(), readdirSync(b.folder).sort()]).toEqual([
      ['.forge', '.git'],
      ['.forge', '.git'],
    ]);
    expect(remote.hasRun).toBe(false);
  });

  it('loses what is refused with the next commit, which repair makes; all else stays', async () => {
    const remote = await HostileRemote.make(cli, 'dropped');
    const { b, objects } = remote;
    const ledger = objects.file('notes.txt', 'kept');
    objects.plant('forge/ledger', [...repositoryInside(remote, '.git'), objects.file('GIT~1', 'x'), ledger]);
    await b.ok('worker', 'sync', 'origin');
    const plan = await b.ok('worker', 'repair');
    expect(plan).toContain('forge/ledger: 3 files are left out: ".git", because git takes it for a repository');
    const done = await b.run('worker', 'repair', '--yes');
    expect([done.code, done.out + done.err]).toEqual([0, expect.stringContaining('"GIT~1"')]);
    expect(await b.ok('worker', 'repair')).toContain('Nothing to repair.');
    const names = b.git('ls-tree', '-r', '--name-only', 'forge/ledger').split('\n');
    expect(names).toEqual(expect.arrayContaining(['.gitattributes', 'notes.txt', 'tasks.jsonl', 'fakegit/config']));
    expect(names).not.toEqual(expect.arrayContaining(['.git']));
    expect(names).not.toEqual(expect.arrayContaining(['GIT~1']));
    expect(names).not.toEqual(expect.arrayContaining(['fakegit/HEAD']));
    expect(remote.git('rev-parse', 'forge/ledger')).toBe(b.git('rev-parse', 'forge/ledger'));
    // An ordinary change drops them too.
    objects.plant('forge/ledger', [objects.file('.git', 'x')]);
    await b.ok('worker', 'sync', 'origin');
    await b.ok('worker', 'task', 'add', 't9', '--type', 'x');
    expect(remote.git('ls-tree', '--name-only', 'forge/ledger').split('\n')).not.toContain('.git');
  });

  it('with attributes of its own has no filter run', async () => {
    const remote = await HostileRemote.make(cli, 'filter');
    const { b, objects } = remote;
    b.git('config', 'filter.own.smudge', `${remote.program}; cat`);
    b.git('config', 'filter.own.clean', `${remote.program}; cat`);
    const spellings = [
      '.gitattributes',
      '.GITATTRIBUTES',
      '.gitattributes ',
      'gitatt~1',
      'GI7D29~1',
      '.gitattribute\u200cs',
    ];
    const own = objects.file('.gitattributes', '* filter=own\n');
    objects.plant('forge/ledger', [
      ...spellings.map((name) => ({ ...own, name })),
      objects.folder('in', [own, objects.file('f', 'x'), objects.folder('deeper', [own, objects.file('f', 'x')])]),
    ]);
    await b.ok('worker', 'sync', 'origin');
    expect(indexed(b, LEDGER).filter((name) => /git/iu.test(name))).toEqual([]);
    for (const line of ['rm -r in', 'git restore .', 'touch tasks.jsonl in/f', 'git status', 'git diff'])
      typed(b, LEDGER, line);
    expect(remote.hasRun).toBe(false);
  });

  it('names what is refused on one line each, escaped, and not without end', async () => {
    const remote = await HostileRemote.make(cli, 'named');
    const { b, objects } = remote;
    const { id } = objects.file('f', 'x');
    const many = Array.from({ length: 500 }, (_, index) => ({ mode: '120000', name: `l${index}`, id }));
    objects.plant('forge/ledger', [objects.file('\u001b[2J\n\u202eevil\nNothing new.', 'x'), ...many]);
    const { out } = await b.run('worker', 'sync', 'origin');
    const lines = out.split('\n').filter((line) => line.includes('eft out'));
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('Left out of forge/ledger: 481 more files.');
    // eslint-disable-next-line no-control-regex -- what must not be printed
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/u);
    expect(out).toContain('"\\u001b[2J\\n\\u202eevil\\nNothing new."');
    const { unusable, refused } = (await b.json('worker', 'sync', 'origin')) as Record<string, unknown>;
    expect([unusable, refused]).toEqual([[], []]);
  });
});

describe('a name in a tree', { timeout: 120_000 }, () => {
  /** Git's own test of names (t0060, t1014, verify_path), and those of systems that it doesn't know of. */
  const REFUSED = [
    ...[
      '.',
      '..',
      '.git',
      '.GIT',
      '.Git',
      'git~1',
      'GIT~1',
      'git~2',
      'gIt~4',
      'git~12',
      '.git.',
      '.git ',
      '.git. .',
      '.git...',
    ],
    ...[
      '.git::$INDEX_ALLOCATION',
      '.git:x',
      '.git\\x',
      '.g\u200cit',
      '.gi\u200dt',
      '\ufeff.git',
      '.git\u206a',
      '.\u202agit',
    ],
    ...[
      '.ｇｉｔ',
      '․git',
      'a\\b',
      '..\\x',
      'c:',
      'c:x',
      'a:b',
      'a\u0001',
      'a\nb',
      'a\tb',
      'con',
      'NUL',
      'aux.txt',
      'com1.x',
      'lpt9',
    ],
    ...[
      'a.',
      'a ',
      'a*',
      'a?',
      'a"',
      'a<',
      'a|',
      'x'.repeat(256),
      '.Gitmodules',
      'GITMOD~1',
      'gi7eba~1',
      '.gitignore.',
    ],
    ...['status~1.jso', '.mailmap '],
  ];
  const TAKEN = [
    'a',
    'é',
    '😀',
    '.gitkeep',
    '.gitignore',
    'git',
    'git~',
    '.github',
    'a~b',
    'com10',
    'console',
    'x'.repeat(255),
    '日本語.txt',
  ];
  const KINDS = ['120000', '160000', '100664', '100600', '040000', '40755', '0', '100645', '777777'];

  it('or a mode is refused where git or any system would take it for more than a file', async () => {
    const remote = await HostileRemote.make(cli, 'names');
    const { b, objects } = remote;
    const entry = (name: string, mode?: string): RawEntry => objects.file(name, `in ${mode ?? 'a file'}`, mode);
    objects.plant('forge/ledger', [
      ...[...REFUSED, ...TAKEN].map((name) => entry(name)),
      ...KINDS.map((mode) => ({
        ...(/^0?4/u.test(mode) ? objects.folder('', []) : entry('')),
        name: `mode ${mode}`,
        mode,
      })),
      ...[entry('twice'), entry('twice'), entry('both'), objects.folder('both', [entry('in')])],
      objects.folder('deep', [
        ...REFUSED.map((name) => objects.folder(name, [entry('in')])),
        entry('.git'),
        entry('ok'),
      ]),
      objects.raw(Buffer.from([0x66, 0xff, 0xfe])),
    ]);
    await b.ok('worker', 'sync', 'origin');
    const own = ['tasks.jsonl', 'convoys.jsonl', 'evidence.jsonl', '.gitattributes'];
    const wanted = [...TAKEN, ...own, 'deep/ok'].sort();
    expect(indexed(b, LEDGER).sort()).toEqual(wanted);
    const shown = readdirSync(path.join(b.folder, LEDGER), { recursive: true, encoding: 'utf8' });
    expect(shown.filter((name) => name !== '.git' && name !== 'deep').sort()).toEqual(wanted);
    expect(existsSync(path.join(b.folder, LEDGER, 'twice'))).toBe(false);
  });
});
