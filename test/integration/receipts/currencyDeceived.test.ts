import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* A proof must not stay current when a file changes, whatever the file is called and git is told to overlook. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** A name that is no text; on Windows there is none. */
const isWindows = process.platform === 'win32';
const BAD = Buffer.from(isWindows ? [0x74, 0x2e, 0x74, 0x78, 0x74] : [0x74, 0xff, 0x2e, 0x74, 0x78, 0x74]);
const below = (desk: Desk, name: Buffer): Buffer => Buffer.concat([Buffer.from(`${desk.folder}/`), name]);

/** A desk with a committed file, one whose name is no text, and a receipt for them. */
async function proven(name: string, before: (desk: Desk) => unknown = () => undefined): Promise<Desk> {
  const desk = new Desk(cli, name);
  desk.template('own', { name: 'one', validation: ['exit 0'] }, { name: 'two' });
  desk.write('a.txt', 'one\n');
  desk.write('b.txt', 'two\n');
  writeFileSync(below(desk, BAD), 'three\n');
  before(desk);
  desk.git('add', '--all');
  desk.git('commit', '-q', '-m', 'files');
  await desk.ok('start', 'Sample', '-t', 'own');
  await desk.ok('step', 'start');
  await desk.ok('validate');
  expect(await outdatedBy(desk)).toBeUndefined();
  return desk;
}

interface Judged {
  readonly receipt_id: string;
  readonly verdict: string;
  readonly current: boolean | null;
  readonly changed_files: readonly string[];
}

/** The files for which its receipt is outdated; `undefined`: it is current. */
async function outdatedBy(desk: Desk): Promise<readonly string[] | undefined> {
  const { receipts } = (await desk.json('receipts', 'list')) as unknown as { receipts: Judged[] };
  const id = receipts[0]?.receipt_id ?? '';
  const { receipt } = (await desk.json('hook', 'verify-receipt', id)) as unknown as { receipt: Judged };
  expect(receipt).toMatchObject({ verdict: 'valid', current: receipts[0]?.current });
  expect(receipt.current).not.toBeNull();
  return receipt.current === true ? undefined : receipt.changed_files;
}

/** Changes a file's content, and puts back its size and time. */
function sneak(desk: Desk, name: string): void {
  const file = path.join(desk.folder, name);
  const { atime, mtime } = statSync(file);
  writeFileSync(file, readFileSync(file, 'utf8').replace('o', '0'));
  utimesSync(file, atime, mtime);
}

describe('a file whose name is no UTF-8', () => {
  const CHANGES: readonly (readonly [string, Buffer, (file: Buffer) => unknown])[] = [
    ['changed', BAD, (file) => writeFileSync(file, 'other')],
    ['deleted', BAD, (file) => rmSync(file)],
    ['added', Buffer.from([0xfe, 0x0a, 0x22]), (file) => writeFileSync(file, '')],
  ];
  it.each(CHANGES)('%s after a receipt, outdates it, and is shown as git quotes it', async (what, name, change) => {
    const desk = await proven(`no text ${what}`);
    change(below(desk, name));
    const shown = what === 'added' ? '"\\376\\n\\""' : '"t\\377.txt"';
    expect(await outdatedBy(desk)).toEqual([shown]);
    expect(desk.git('-c', 'core.quotePath=true', 'status', '--porcelain')).toContain(shown);
    const checkpoint = await desk.json('checkpoint', 'looked at');
    expect(checkpoint.exit).toBe(0);
    const exported = JSON.stringify(await desk.json('hook', 'export'));
    expect(exported).not.toContain('\ufffd');
  });

  it('is covered as git would commit it, and committing it outdates nothing', async () => {
    const desk = await proven('committed');
    await desk.ok('step', 'start');
    writeFileSync(below(desk, BAD), 'changed before the run');
    writeFileSync(below(desk, Buffer.from([0x80])), 'new');
    await desk.ok('validate', '--command', 'true');
    desk.git('add', '--all');
    desk.git('commit', '-q', '-m', 'as validated');
    const { receipts } = (await desk.json('receipts', 'list')) as unknown as { receipts: { current: boolean }[] };
    expect(receipts.map(({ current }) => current)).toEqual([false, true]);
  });
});

describe('git told to overlook a change', () => {
  it.each([
    ['core.trustctime', 'false'],
    ['core.checkStat', 'minimal'],
  ])('by %s=%s and a time that is put back, is not believed', async (name, value) => {
    const desk = await proven(`told by ${name}`, (at) => at.git('config', name, value));
    // Git takes a file that is as new as its index for possibly changed: these are not.
    for (const file of ['a.txt', 'b.txt']) utimesSync(path.join(desk.folder, file), 1e9, 1e9);
    desk.git('update-index', '--refresh');
    expect(await outdatedBy(desk)).toBeUndefined();
    sneak(desk, 'a.txt');
    expect(desk.git('status', '--porcelain')).toBe('');
    expect(await outdatedBy(desk)).toEqual(['a.txt']);
  });

  it('by an index that holds the time of another content, is not believed', async () => {
    const desk = await proven('poisoned index');
    desk.git('config', 'filter.same.clean', 'echo one');
    mkdirSync(path.join(desk.folder, '.git', 'info'), { recursive: true });
    desk.write('.git/info/attributes', 'a.txt filter=same\n');
    utimesSync(desk.write('a.txt', 'something else entirely\n'), 1e9, 1e9);
    desk.git('add', 'a.txt');
    // While the filter is there, git would commit the old content: the files as git takes them are the same.
    expect(await outdatedBy(desk)).toBeUndefined();
    desk.git('config', '--unset', 'filter.same.clean');
    rmSync(path.join(desk.folder, '.git/info/attributes'));
    expect(desk.git('status', '--porcelain')).toBe('');
    expect(await outdatedBy(desk)).toEqual(['a.txt']);
  });

  it('by attributes that come and go, is not believed', async () => {
    const desk = await proven('attributes', (at) => at.git('config', 'filter.same.clean', 'echo one'));
    desk.write('.gitattributes', 'a.txt filter=same\n');
    desk.write('a.txt', 'something else entirely\n');
    expect(await outdatedBy(desk)).toEqual(['.gitattributes']);
    rmSync(path.join(desk.folder, '.gitattributes'));
    expect(await outdatedBy(desk)).toEqual(['a.txt']);
  });

  it('by core.ignoreCase, is not believed where the file system tells names apart', async () => {
    const desk = await proven('case', (at) => at.git('config', 'core.ignoreCase', 'true'));
    desk.write('A.TXT', 'another\n');
    expect(await outdatedBy(desk)).toEqual(['A.TXT']);
  });

  it.each(['--assume-unchanged', '--skip-worktree'])('by %s, is not believed', async (flag) => {
    const desk = await proven(`marked ${flag.slice(2)}`);
    desk.git('update-index', flag, 'a.txt');
    expect(await outdatedBy(desk)).toBeUndefined();
    desk.write('a.txt', 'other\n');
    expect(await outdatedBy(desk)).toEqual(['a.txt']);
  });

  it('by a sparse checkout: what it leaves out is no change, what lies there all the same is one', async () => {
    const desk = await proven('sparse', (at) => {
      at.write('left/out.txt', '1');
      at.write('kept/in.txt', '2');
    });
    desk.git('sparse-checkout', 'set', '--cone', '--sparse-index', 'kept');
    expect(readdirSync(desk.folder)).not.toContain('left');
    expect(await outdatedBy(desk)).toBeUndefined();
    desk.write('left/out.txt', 'other');
    expect(await outdatedBy(desk)).toEqual(['left/out.txt']);
    rmSync(path.join(desk.folder, 'left'), { recursive: true });
    desk.git('sparse-checkout', 'disable');
    expect(await outdatedBy(desk)).toBeUndefined();
  });

  it('by a split index or an untracked cache, is not believed, and git folder and store keep no leftovers', async () => {
    const desk = await proven('split', (at) => {
      at.git('config', 'core.splitIndex', 'true');
      at.git('config', 'core.untrackedCache', 'true');
    });
    desk.git('status');
    const before = readdirSync(path.join(desk.folder, '.git')).sort();
    desk.write('c.txt', 'new\n');
    sneak(desk, 'b.txt');
    expect(await outdatedBy(desk)).toEqual(['b.txt', 'c.txt']);
    expect(readdirSync(path.join(desk.folder, '.git')).sort()).toEqual(before);
    const left = readdirSync(desk.root, { recursive: true, encoding: 'utf8' });
    expect(left.filter((file) => /\.tmp|\.lock$/u.test(file))).toEqual([]);
    expect(left.filter((file) => /index-[0-9a-f]{16}-/u.test(file))).toHaveLength(1);
  });
});

it('a tracked file that became a pipe outdates the proof, and hangs nothing', async () => {
  const desk = await proven('piped');
  rmSync(path.join(desk.folder, 'a.txt'));
  execFileSync('mkfifo', [path.join(desk.folder, 'a.txt')]);
  expect(await outdatedBy(desk)).toEqual(['a.txt']);
});
