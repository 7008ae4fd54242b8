import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOSTS } from '../../../src/agents/hosts/hosts';
import { BuiltCli, type Said, said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Pipes, devices, folders and links where files belong: nothing hangs, and nothing is read or written elsewhere. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** A command that takes longer hangs: each of these answers in well under a second. */
const HANGS_MS = 10_000;

/** Runs it to its end, which has to come by itself. */
async function ends(desk: Desk, args: readonly string[], input?: string): Promise<Said> {
  const child = cli.start(args, desk.how());
  const timer = setTimeout(() => child.kill('SIGKILL'), HANGS_MS);
  const ended = await said(child, input);
  clearTimeout(timer);
  expect(ended.code, `atlas ${args.join(' ')} hangs`).not.toBeNull();
  expect(`${ended.out}${ended.err}`, args.join(' ')).not.toContain('Unexpected');
  return ended;
}

function pipe(file: string): void {
  rmSync(file, { recursive: true, force: true });
  mkdirSync(path.dirname(file), { recursive: true });
  execFileSync('mkfifo', [file]);
}

function device(file: string): void {
  rmSync(file, { recursive: true, force: true });
  mkdirSync(path.dirname(file), { recursive: true });
  symlinkSync('/dev/zero', file);
}

const COMMANDS = [
  ['status'],
  ['checkpoint', 'x'],
  ['validate', '--command', 'true'],
  ['lifecycle', 'session-start', '--host', 'claude'],
  ['doctor'],
] as const;

/** All of them for each file by `npm run test:hostile`; one, in turn, in the ordinary run. */
function tried(index: number): readonly (readonly string[])[] {
  return process.env['ATLAS_HOSTILE'] === 'all' ? COMMANDS : [COMMANDS[index % COMMANDS.length] ?? []];
}

/** A desk with a task that has a receipt, an owner and an inbox item; and the files of its store. */
async function worked(name: string): Promise<{ desk: Desk; files: string[] }> {
  const desk = new Desk(cli, name);
  desk.template('own', { name: 'one', validation: ['exit 0'] }, { name: 'two' });
  await desk.ok('start', 'Sample', '-t', 'own');
  await desk.ok('step', 'start');
  await desk.ok('validate');
  await desk.ok('step', 'start');
  await desk.ok('inbox', 'add', 'look');
  desk.settings({});
  const files = readdirSync(desk.root, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(path.join(desk.root, file)).isFile())
    .filter((file) => !/(?:\.tmp|stdout|stderr)$/u.test(file));
  return { desk, files };
}

describe('a store file that is', () => {
  it.each([
    ['a pipe', pipe],
    ['a device', device],
  ])(
    '%s hangs no command',
    async (kind, place) => {
      const { desk, files } = await worked(kind);
      const names = files.map((file) => path.basename(file));
      expect(names).toEqual(
        expect.arrayContaining(['hook.json', 'task.json', 'journal.jsonl', 'trust.json', 'config.yaml', 'master.key']),
      );
      const sound = `${desk.root} as it was`;
      cpSync(desk.root, sound, { recursive: true });
      for (const [index, file] of files.entries()) {
        place(path.join(desk.root, file));
        for (const args of tried(index)) await ends(desk, args);
        rmSync(desk.root, { recursive: true });
        cpSync(sound, desk.root, { recursive: true });
      }
    },
    300_000,
  );
});

describe("a repository's", () => {
  it('.git that is a pipe is no repository', async () => {
    const desk = new Desk(cli, 'piped git');
    rmSync(path.join(desk.folder, '.git'), { recursive: true });
    pipe(path.join(desk.folder, '.git'));
    expect((await ends(desk, ['status'])).code).toBe(3);
    for (const name of ['HEAD', 'packed-refs', 'logs/HEAD', 'commondir']) {
      const other = new Desk(cli, `piped ${name.replaceAll('/', ' ')}`);
      await other.ok('start', 'Sample');
      pipe(path.join(other.folder, '.git', name));
      await ends(other, ['status']);
    }
  });

  it('.gitignore or exclude file that is a pipe keeps nobody waiting', async () => {
    for (const name of ['.gitignore', '.gitattributes', '.git/info/exclude']) {
      const desk = new Desk(cli, `piped ${name.replaceAll('/', ' ')}`);
      await desk.ok('start', 'Sample');
      pipe(path.join(desk.folder, name));
      for (const args of [
        ['step', 'start'],
        ['lifecycle', 'pre-compact', '--host', 'claude'],
        ['validate', '--command', 'true'],
      ])
        expect((await ends(desk, args)).code, args.join(' ')).toBe(0);
      const [receipt] = (await desk.json('receipts', 'list'))['receipts'] as { current: unknown }[];
      expect(receipt).toMatchObject({ verdict: 'valid', current: null });
    }
  });

  it('nested .gitignore that is a pipe keeps no host waiting', async () => {
    const desk = new Desk(cli, 'nested pipe');
    await desk.ok('start', 'Sample');
    await desk.ok('step', 'start');
    pipe(path.join(desk.folder, 'sub', '.gitignore'));
    expect((await ends(desk, ['lifecycle', 'pre-compact', '--host', 'claude'], '{}')).code).toBe(0);
    expect((await ends(desk, ['lifecycle', 'session-start', '--host', 'claude'], '{}')).code).toBe(0);
  });

  it('prompts and memory that are pipes or lead out of it are not read, and are named', async () => {
    const desk = new Desk(cli, 'prompts');
    const outside = path.join(cli.home, 'secret.md');
    writeFileSync(outside, 'THE SECRET');
    const prompt = path.join(desk.folder, '.atlas', 'prompts', 'pre-compact.md');
    const memory = path.join(desk.folder, '.atlas', 'memory', 'MEMORY.md');
    for (const place of [
      pipe,
      device,
      (file: string) => {
        rmSync(file, { force: true });
        symlinkSync(outside, file);
      },
    ]) {
      place(prompt);
      place(memory);
      const compact = await ends(desk, ['lifecycle', 'pre-compact', '--host', 'claude'], '{}');
      expect(compact).toMatchObject({ code: 0 });
      expect(compact.err).toContain('pre-compact.md: ');
      const start = await ends(desk, ['lifecycle', 'session-start', '--host', 'claude'], '{}');
      expect(start).toMatchObject({ code: 0 });
      expect(start.err).toContain('MEMORY.md: ');
      expect(compact.out + start.out).not.toContain('THE SECRET');
    }
  });
});

describe('a file that is named on the command line and', () => {
  it.each([
    ['is a pipe', pipe],
    ['is a device', device],
    ['is a folder', (file: string): unknown => mkdirSync(file)],
  ])('%s is refused', async (kind, place) => {
    const desk = new Desk(cli, `named ${kind}`);
    await desk.running();
    const file = path.join(desk.folder, 'named');
    place(file);
    for (const args of [
      ['step', 'note', 'x', '--prompt-file', file],
      ['step', 'output', file],
      ['receipts', 'verify', file],
    ]) {
      const refused = await ends(desk, args);
      expect(refused.code, args.join(' ')).toBe(1);
      expect(refused.err).toMatch(/could not be read: .* not a file/u);
    }
  });
});

describe('a link that leads out of the repository', () => {
  it("from a host's settings is shown, and written through only with a yes", async () => {
    const desk = new Desk(cli, 'settings');
    const outside = path.join(cli.home, 'dotfiles', 'settings.json');
    mkdirSync(path.dirname(outside), { recursive: true });
    writeFileSync(outside, '{}');
    const file = path.join(desk.folder, HOSTS.claude.file);
    mkdirSync(path.dirname(file), { recursive: true });
    symlinkSync(outside, file);
    const install = ['lifecycle', 'install', '--host', 'claude'];
    const dry = await desk.run(...install, '--dry-run');
    expect(dry.out).toContain(`(symbolic link to ${outside}, outside this repository)`);
    const refused = await desk.run(...install);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(`A symbolic link points outside this repository, to ${outside}. `);
    expect(readFileSync(outside, 'utf8')).toBe('{}');
    const made = await desk.run(...install, '--yes');
    expect(made.code).toBe(0);
    expect(made.out).toContain(`A symbolic link points outside this repository, to ${outside}. `);
    expect(readFileSync(outside, 'utf8')).toContain('lifecycle stop');
    const json = await desk.json('lifecycle', 'uninstall', '--host', 'claude', '--dry-run');
    // With the yes, sessions are observed too, by the user's own settings.
    const own = path.join(cli.home, '.claude', 'settings.json');
    expect(json['files']).toMatchObject([{ leads_to: outside }, { path: own, leads_to: null }]);
  });

  it("from a folder above a host's settings counts too, where the file is new", async () => {
    const desk = new Desk(cli, 'above settings');
    const outside = path.join(cli.home, 'claude folder');
    mkdirSync(outside);
    symlinkSync(outside, path.join(desk.folder, path.dirname(HOSTS.claude.file)));
    const refused = await desk.run('lifecycle', 'install', '--host', 'claude');
    expect(refused.err).toContain('A symbolic link points outside this repository, to ');
    expect(readdirSync(outside)).toEqual([]);
  });

  it("from the repository's git hooks is said, and written through only with a yes", async () => {
    const desk = new Desk(cli, 'git hooks');
    const outside = path.join(cli.home, 'shared hooks');
    mkdirSync(outside);
    rmSync(path.join(desk.folder, '.git', 'hooks'), { recursive: true });
    symlinkSync(outside, path.join(desk.folder, '.git', 'hooks'));
    const refused = await desk.run('hook', 'install');
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(
      `This repository's git hooks are a symbolic link to ${outside}, outside the repository. `,
    );
    expect(readdirSync(outside)).toEqual([]);
    const started = await desk.run('start', 'Sample', '--git-hooks');
    expect(started.code).toBe(0);
    expect(started.err).toContain(outside);
    expect(readdirSync(outside)).toEqual([]);
    const made = await desk.run('hook', 'install', '--yes');
    expect(made.code).toBe(0);
    expect(made.err).toContain(`is a symbolic link to ${outside}, outside this repository.`);
    expect(existsSync(path.join(outside, 'post-commit'))).toBe(true);
  });
});
