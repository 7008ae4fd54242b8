import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../support/drivers/cli';
import { Desk } from '../support/drivers/cliDesk';
import { until } from '../support/drivers/taskFiles';

/* Paths as Windows has them: drives, either slash, any case, `\\?\`, shares, more than 260 characters, names of devices. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
});

afterAll(() => {
  cli.dispose();
});

async function taskSeenFrom(desk: Desk, folder: string): Promise<string> {
  const { code, out, err } = await desk.runWith({ folder }, 'status', '--json');
  expect(code, out + err).toBe(0);
  return (JSON.parse(out) as { task: { task_id: string } }).task.task_id;
}

/** Every way in which Windows calls a folder. */
function otherNames(folder: string): string[] {
  const drive = folder.charAt(0);
  const otherDrive = drive === drive.toUpperCase() ? drive.toLowerCase() : drive.toUpperCase();
  return [
    `${otherDrive}${folder.slice(1)}`,
    folder.toUpperCase(),
    folder.toLowerCase(),
    folder.replaceAll('\\', '/'),
    `${folder}\\`,
    `${folder}\\.\\sub\\..`,
  ];
}

describe('a task', () => {
  it('is the same, by whatever name its folder is called', async () => {
    const desk = new Desk(cli, 'Repo With Case');
    mkdirSync(path.join(desk.folder, 'sub'));
    await desk.ok('start', 'Sample', '--template', 'task');
    const own = await taskSeenFrom(desk, desk.folder);
    for (const name of otherNames(desk.folder)) expect(await taskSeenFrom(desk, name), name).toBe(own);
    expect(await taskSeenFrom(desk, path.join(desk.folder, 'SUB'))).toBe(own);
  });

  it('is in the same store, by whatever name that is called', async () => {
    const desk = new Desk(cli, 'store names');
    await desk.ok('start', 'Sample', '--template', 'task');
    const own = await taskSeenFrom(desk, desk.folder);
    for (const name of [...otherNames(desk.root), `\\\\?\\${desk.root}`]) {
      const { out } = await desk.runWith({ env: { ATLAS_HOME: name } }, 'status', '--json');
      expect((JSON.parse(out) as { task: { task_id: string } }).task.task_id, name).toBe(own);
    }
  });

  it('has a repository on one drive and a store on another', async () => {
    const desk = new Desk(cli, 'two drives');
    const home = process.env['USERPROFILE'] ?? os.homedir();
    expect(home.charAt(0)).not.toBe(desk.folder.charAt(0));
    const root = path.join(home, `atlas store ${process.pid}`);
    const on = { env: { ATLAS_HOME: root } };
    try {
      expect((await desk.runWith(on, 'start', 'Sample', '--template', 'task')).code).toBe(0);
      expect((await desk.runWith(on, 'step', 'start')).code).toBe(0);
      expect((await desk.runWith(on, 'checkpoint', 'on another drive')).code).toBe(0);
      const { out } = await desk.runWith(on, 'status', '--json');
      expect(JSON.parse(out)).toMatchObject({ task: { state: 'step_running' } });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it('is kept below a store whose path takes more than 260 characters', async () => {
    const desk = new Desk(cli, 'long store', {});
    const root = path.join(desk.root, 'x'.repeat(120), 'y'.repeat(120));
    const on = { env: { ATLAS_HOME: root } };
    for (const args of [
      ['start', 'Sample', '--template', 'task'],
      ['step', 'start'],
      ['checkpoint', 'deep'],
    ]) {
      const { code, out, err } = await desk.runWith(on, ...args);
      expect(code, out + err).toBe(0);
    }
    const { out } = await desk.runWith(on, 'doctor', '--json');
    expect(out).not.toContain('"level": "problem"');
    expect(existsSync(path.join(root, 'workspaces'))).toBe(true);
  });
});

/** A desk that captures files, in a step that runs. */
async function capturing(name: string): Promise<Desk> {
  const desk = new Desk(cli, name, { ATLAS_SNAPSHOTS: 'on' });
  await desk.ok('start', 'Sample', '--template', 'task');
  await desk.ok('step', 'start');
  return desk;
}

/** Records a checkpoint, and waits until its files are kept; its id. */
async function captured(desk: Desk, description: string): Promise<string> {
  const { checkpoint_id: id } = (await desk.json('checkpoint', description)) as unknown as { checkpoint_id: string };
  await until(`the files of ${description} are kept`, async () => {
    const { checkpoints } = (await desk.json('checkpoint', 'list')) as unknown as {
      checkpoints: readonly { checkpoint_id: string; status: string }[];
    };
    return checkpoints.some((each) => each.checkpoint_id === id && each.status === 'taken');
  });
  return id;
}

describe('the files of a checkpoint', () => {
  it('come back as they were, and one whose path git cannot take is named', async () => {
    const desk = await capturing('files');
    const names = ['plain.txt', 'Größe €.txt', path.join('x'.repeat(60), 'crlf.txt')];
    // More than 260 characters: git for Windows takes them by `core.longPaths`, git's own source doesn't.
    const deep = path.join('x'.repeat(120), 'y'.repeat(120), 'deep.txt');
    for (const name of [...names, deep]) desk.write(name, `first of ${path.basename(name)}\r\n`);
    const id = await captured(desk, 'first');
    for (const name of [...names, deep]) desk.write(name, 'second\n');
    const { out, err } = await desk.run('checkpoint', 'restore', id, '--yes');
    for (const name of names) expect(desk.read(name)).toBe(`first of ${path.basename(name)}\r\n`);
    if (desk.read(deep) === 'second\n')
      expect(out + err + (await desk.ok('checkpoint', 'show', id))).toContain('x'.repeat(120));
  });

  it('come back though a folder is called in another case now', async () => {
    const desk = await capturing('case');
    desk.write('Folder/File.txt', 'first\n');
    const id = await captured(desk, 'first');
    rmSync(path.join(desk.folder, 'Folder'), { recursive: true });
    desk.write('folder/file.txt', 'second\n');
    await desk.ok('checkpoint', 'restore', id, '--yes');
    expect(desk.read('folder/file.txt')).toBe('first\n');
    expect(readdirSync(desk.folder).filter((name) => name.toLowerCase() === 'folder')).toHaveLength(1);
  });

  it('are left alone where a name means something else to Windows', async () => {
    const desk = await capturing('devices');
    desk.write('kept.txt', 'first\n');
    for (const name of ['aux.txt', 'NUL', 'ends with a dot.']) writeFileSync(path.join(desk.folder, name), name);
    const id = await captured(desk, 'first');
    desk.write('kept.txt', 'second\n');
    await desk.ok('checkpoint', 'restore', id, '--yes');
    expect(desk.read('kept.txt')).toBe('first\n');
    for (const name of ['aux.txt', 'NUL', 'ends with a dot.']) expect(desk.read(name)).toBe(name);
  });
});
