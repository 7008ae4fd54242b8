import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* What lies where a file or a folder of a worker belongs, and is none: nothing waits for it, and nothing is done through it. */

let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});

const TIMEOUT_MS = 60_000;

async function makeDesk(): Promise<{ readonly desk: Desk; readonly hook: string }> {
  desks += 1;
  const desk = new Desk(cli, `not-files-${desks}`);
  await desk.ok('worker', 'sling', 't1', 'w1');
  return { desk, hook: path.join(desk.folder, '.forge/hooks/w1') };
}

/** Has a shell's line do the work of a worker. */
async function worked(desk: Desk, line: string, env: Record<string, string> = {}): Promise<Said> {
  return desk.runWith({ env }, 'worker', 'run', 'w1', '--', '/bin/sh', '-c', `cd "$FORGE_HOOK" && ${line}`);
}

async function statusOf(desk: Desk): Promise<string> {
  return (/^Status: +(\S+)/mu.exec(await desk.ok('worker', 'status', 'w1')) ?? [])[1] ?? '';
}

describe.runIf(process.platform !== 'win32')('what is no file', { timeout: TIMEOUT_MS }, () => {
  const KINDS = ['mkfifo', 'ln -s /dev/zero', 'ln -s /dev/tty', 'mkdir', 'ln -s ../../../README.md', 'echo x >'];
  const NAMES = [
    'result.json',
    'task.json',
    'context.json',
    'status.json',
    'evidence',
    'evidence/input-hash.txt',
    'out.txt',
  ];

  // Every place of every kind by `npm run test:hostile`; of each kind two, in turn, in the ordinary run.
  const placesOf = (kind: string): readonly string[] => {
    const first = KINDS.indexOf(kind);
    return process.env['ATLAS_HOSTILE'] === 'all'
      ? NAMES
      : [0, 3].map((at) => NAMES[(first + at) % NAMES.length] ?? '');
  };

  it.each(KINDS)('made by %s holds nobody up in any place of a folder', async (kind) => {
    for (const name of placesOf(kind)) {
      const { desk } = await makeDesk();
      const ran = await worked(desk, `{ mkdir -p evidence; rm -rf ${name}; ${kind} ${name}; }`);
      expect([0, 1, 5], `${name}: ${ran.out}${ran.err}`).toContain(ran.code);
      expect(['COMPLETE', 'FAILED'], name).toContain(await statusOf(desk));
      for (const args of [['list'], ['repair', '--yes'], ['recover', 'w1'], ['clear', 'w1']])
        expect((await desk.run('worker', ...args)).code, `${name}: ${args.join(' ')}`).toBe(0);
    }
  });

  it('and lies where one of ours belongs is kept beside it', async () => {
    const { desk, hook } = await makeDesk();
    const made = 'rm task.json; mkdir task.json; echo mine >task.json/x; echo mine >evidence';
    await desk.run('worker', 'run', 'w1', '--', '/bin/sh', '-c', `cd "$FORGE_HOOK" && ${made}`);
    expect(await statusOf(desk)).toBe('COMPLETE');
    const names = readdirSync(hook);
    const kept = (prefix: string): string =>
      names.find((name) => name.startsWith(prefix) && name.endsWith('.aside')) ?? '';
    expect(readFileSync(path.join(hook, kept('task.json'), 'x'), 'utf8')).toBe('mine\n');
    expect(readFileSync(path.join(hook, kept('evidence')), 'utf8')).toBe('mine\n');
    desk.git('fsck', '--strict', '--no-dangling');
    expect(await desk.ok('worker', 'repair')).toContain('Nothing to repair.');
  });

  it('a socket holds nobody up either', async () => {
    const { desk, hook } = await makeDesk();
    const server = createServer();
    // A path of a socket has at most 100 characters or so.
    const before = process.cwd();
    process.chdir(hook);
    await new Promise<void>((resolve) => server.listen('result.json', resolve));
    process.chdir(before);
    const ran = await worked(desk, 'true');
    server.close();
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('result.json')]);
  });

  it('in the place of .git, the ledger’s files or the settings is refused or set aside', async () => {
    const { desk, hook } = await makeDesk();
    for (const target of [path.join(hook, '.git'), path.join(desk.folder, '.forge/ledger/tasks.jsonl')])
      execFileSync('/bin/sh', ['-c', `rm '${target}' && mkfifo '${target}'`]);
    for (const args of [['list'], ['status', 'w1'], ['repair'], ['repair', '--yes'], ['task', 'list']])
      expect((await desk.run('worker', ...args)).code, args.join(' ')).toBe(0);
    expect(await desk.ok('worker', 'repair')).toContain('Nothing to repair.');
    execFileSync('mkfifo', [path.join(desk.folder, '.forge/config.yaml')]);
    const said = await desk.run('worker', 'list');
    expect(said.code).toBe(0);
    expect((await desk.run('worker', 'sling', 't2', 'w2')).err).toContain('config.yaml is not a file');
  });

  it('a folder of ours that is a link is refused, and nothing is written where it leads', async () => {
    const places = [
      '.forge',
      '.forge/hooks',
      '.forge/hooks/p',
      '.forge/hooks/p/w1',
      '.forge/ledger',
      '.forge/set-aside',
    ];
    for (const place of places) {
      desks += 1;
      const desk = new Desk(cli, `not-files-${desks}`);
      const outside = path.join(cli.folder, `outside-${desks}`);
      mkdirSync(outside);
      mkdirSync(path.dirname(path.join(desk.folder, place)), { recursive: true });
      symlinkSync(path.relative(path.dirname(path.join(desk.folder, place)), outside), path.join(desk.folder, place));
      // What makes the folder be set aside.
      if (place === '.forge/set-aside') desk.write('.forge/hooks/p/w1/notes.txt', 'mine');
      const said = await desk.run('worker', 'sling', 't1', 'p/w1');
      expect([said.code, said.err], place).toEqual([1, expect.stringContaining(`${place} is a symbolic link.`)]);
      for (const args of [['list'], ['repair', '--yes'], ['recover', 'p/w1']]) await desk.run('worker', ...args);
      expect(readdirSync(outside, { recursive: true }), place).toEqual([]);
      if (place === '.forge/set-aside')
        expect(existsSync(path.join(desk.folder, '.forge/hooks/p/w1/notes.txt'))).toBe(true);
    }
  });

  it('edited files are not kept through a link', async () => {
    const { desk, hook } = await makeDesk();
    const outside = path.join(cli.folder, 'outside-edited');
    mkdirSync(outside);
    symlinkSync(outside, path.join(desk.folder, '.forge/set-aside'));
    writeFileSync(path.join(hook, 'task.json'), '{}');
    const said = await desk.run('worker', 'repair', '--yes');
    expect([said.code, said.out]).toEqual([1, expect.stringContaining('set-aside is a symbolic link.')]);
    expect(readdirSync(outside)).toEqual([]);
    expect(readFileSync(path.join(hook, 'task.json'), 'utf8')).toBe('{}');
  });

  it('what lies behind a link in the place of our folder is not taken for a worker’s', async () => {
    desks += 1;
    const desk = new Desk(cli, `not-files-${desks}`);
    const outside = path.join(cli.folder, 'outside-hooks');
    mkdirSync(path.join(outside, 'hooks/w9'), { recursive: true });
    writeFileSync(path.join(outside, 'hooks/w9/task.json'), '{"secret":1}');
    symlinkSync(outside, path.join(desk.folder, '.forge'));
    for (const args of [['list'], ['repair'], ['repair', '--yes']])
      expect((await desk.run('worker', ...args)).out, args.join(' ')).not.toContain('w9');
    expect(desk.git('for-each-ref', 'refs/heads/forge')).toBe('');
  });
});

describe.runIf(process.platform !== 'win32')('a run', { timeout: TIMEOUT_MS }, () => {
  const REPLACED = [
    'rm .git && git init -q .',
    'rm .git',
    'rm .git && mkfifo .git',
    'rm .git && mkdir .git',
    "rm .git && mkdir fake && cp -r ../../../.git/worktrees/w1/. fake && echo 'gitdir: fake' >.git",
    "rm .git && mkdir fake && echo 'ref: refs/heads/main' >fake/HEAD && echo ../../../../.git >fake/commondir && echo 'gitdir: fake' >.git",
  ];

  it.each(REPLACED)('that ends with a replaced .git (%s) is not complete, and what it made is kept', async (line) => {
    const { desk } = await makeDesk();
    const ran = await worked(desk, `echo made >out.txt && ${line}`);
    expect([ran.code, ran.err]).toEqual([5, expect.stringContaining('its .git was replaced or removed')]);
    expect(await statusOf(desk)).toBe('FAILED');
    expect(desk.git('show', 'forge/hooks/w1:out.txt')).toBe('made');
    expect(desk.git('show', 'forge/hooks/w1:evidence/output-hash.txt')).toContain('  out.txt');
    await desk.ok('worker', 'repair', '--yes');
    await desk.ok('worker', 'sling', 't1', 'w1');
    await desk.ok('worker', 'run', 'w1', '--', '/bin/sh', '-c', 'echo again >"$FORGE_HOOK/out.txt"');
    expect(await statusOf(desk)).toBe('COMPLETE');
    expect(desk.git('show', 'forge/hooks/w1:out.txt')).toBe('again');
  });

  it('without a folder for temporary files says so, and the work stays to be done', async () => {
    const { desk } = await makeDesk();
    const before = desk.git('rev-parse', 'forge/hooks/w1');
    const ran = await worked(desk, 'true', { TMPDIR: path.join(cli.folder, 'nowhere') });
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('the task was not started')]);
    expect(ran.err).toContain('Set TMPDIR');
    expect([await statusOf(desk), desk.git('rev-parse', 'forge/hooks/w1')]).toEqual(['PENDING', before]);
    expect((await worked(desk, 'true')).code).toBe(0);
  });

  it('in a repository whose path holds a line break or is not UTF-8 is refused, and nothing is made', () => {
    const names = [
      [Buffer.from('line\nbreak'), "can't have workers"],
      [Buffer.from([0x6e, 0xff, 0x6e]), 'is not valid UTF-8'],
    ] as const;
    for (const [name, why] of names) {
      const folder = Buffer.concat([Buffer.from(`${cli.folder}/`), name]);
      mkdirSync(folder);
      const script = path.join(cli.folder, 'in-folder.sh');
      const cd = Buffer.concat([Buffer.from("cd '"), folder, Buffer.from(`' && git init -q . && exec "$@"\n`)]);
      writeFileSync(script, cd);
      const run = (...args: readonly string[]): Said => {
        try {
          const all = [script, process.execPath, cli.entry, 'worker', ...args];
          const out = execFileSync('/bin/sh', all, { env: cli.environment(), encoding: 'utf8', stdio: 'pipe' });
          return { code: 0, out, err: '' };
        } catch (error) {
          const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
          return { code: status, out: stdout, err: stderr };
        }
      };
      for (const args of [['list'], ['sling', 't1', 'w1'], ['repair']]) {
        const said = run(...args);
        expect([said.code, said.err], args.join(' ')).toEqual([1, expect.stringContaining(why)]);
        expect(said.err.trimEnd().split('\n').length).toBeLessThan(3);
      }
      expect(readdirSync(folder)).toEqual(['.git']);
    }
  });
});
