import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Worktrees and files in states that nobody planned: what is said is true, what isn't known is named, nothing is lost. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** HOOK.md's section of what is in the worktree. */
async function sinceOf(desk: Desk, ...more: readonly string[]): Promise<string> {
  const text = await desk.ok('hook', 'show', ...more);
  return /\n### (?:Since the Last Checkpoint|Uncommitted Work)[^]*?(?=\n### )/u.exec(text)?.[0] ?? '';
}

/** A desk with a commit, a file in it and a checkpoint at it. */
async function begun(name: string): Promise<Desk> {
  const desk = new Desk(cli, name);
  desk.write('file.txt', 'one\n');
  desk.git('add', '.');
  desk.git('commit', '-q', '-m', 'the file');
  await desk.running();
  await desk.ok('checkpoint', 'the file is there');
  return desk;
}

describe.concurrent('the worktree', { timeout: 60_000 }, () => {
  it('was moved: what was in it is not said to be unchanged, and a checkpoint is still recorded', async () => {
    const desk = await begun('moved');
    const elsewhere = path.join(cli.home, 'elsewhere');
    mkdirSync(elsewhere);
    const { task_id: id } = (await desk.json('status'))['task'] as { task_id: string };
    renameSync(desk.folder, `${desk.folder} away`);
    const at = (...args: readonly string[]) => cli.runIn({ ...desk.how(), folder: elsewhere }, ...args, '--task', id);
    const shown = await at('hook', 'show');
    expect(shown.out).toContain("> ⚠️ The task's worktree is missing: it was moved or removed.");
    expect(shown.out).not.toContain('Nothing is uncommitted');
    expect((await at('status')).err).toContain(
      `The task's worktree ${desk.folder} is missing. If it was moved, move it back.`,
    );
    expect((await at('checkpoint', 'from elsewhere')).code).toBe(0);
    renameSync(`${desk.folder} away`, desk.folder);
    expect(await sinceOf(desk)).toContain('Nothing is uncommitted.');
    expect((await desk.run('status')).err).toBe('');
  });

  it('is on another branch, and on none: both are named, and are no alarm', async () => {
    const desk = await begun('branches');
    desk.git('checkout', '-q', '-b', 'other');
    expect(await sinceOf(desk)).toContain('The worktree is on `other`. The last checkpoint was on `main`.');
    desk.git('checkout', '-q', '--detach');
    const since = await sinceOf(desk);
    expect(since).toContain('The worktree is on no branch (detached HEAD). The last checkpoint was on `main`.');
    expect(since).not.toContain('⚠️');
  });

  it.each(['merge', 'rebase'] as const)('is in the middle of a %s, with a conflict', async (operation) => {
    const desk = await begun(operation);
    desk.git('checkout', '-q', '-b', 'other');
    desk.write('file.txt', 'theirs\n');
    desk.git('commit', '-q', '-a', '-m', 'theirs');
    desk.git('checkout', '-q', 'main');
    desk.write('file.txt', 'ours\n');
    desk.git('commit', '-q', '-a', '-m', 'ours');
    expect(() => desk.git(operation, 'other')).toThrow();
    const since = await sinceOf(desk);
    expect(since).toContain(`> ⚠️ A ${operation} is in progress in this worktree.`);
    expect(since).toMatch(/^- `file\.txt` \(in conflict/mu);
    await desk.ok('checkpoint', 'in the middle of it');
  });

  it('has 100,000 files that nobody added: their number is said, and nobody waits long', async () => {
    const desk = await begun('many');
    mkdirSync(path.join(desk.folder, 'many'));
    for (let index = 0; index < 100_000; index += 1) writeFileSync(path.join(desk.folder, 'many', String(index)), '');
    expect(await sinceOf(desk)).toMatch(/100,?000 uncommitted files|which files are uncommitted isn't known/iu);
    const said = await desk.json('checkpoint', 'among many');
    expect(said).toMatchObject({ exit: 0, changed: true });
  });

  it('cannot be looked at without git: that is said, and progress is recorded all the same', async () => {
    const desk = await begun('no git');
    const bin = path.join(cli.home, 'only node');
    mkdirSync(bin);
    symlinkSync(process.execPath, path.join(bin, 'node'));
    const without = { env: { PATH: bin } };
    const shown = await desk.apartWith(without, 'hook', 'show');
    expect(shown.out).toContain("Which files are uncommitted isn't known: git did not answer. Run `git status`.");
    expect((await desk.apartWith(without, 'checkpoint', 'without git')).code).toBe(0);
    expect((await desk.apartWith(without, 'status')).code).toBe(0);
  });
});

describe.concurrent('HOOK.md', { timeout: 60_000 }, () => {
  it('is a folder: it is said what to do, and no command fails for it', async () => {
    const desk = await begun('folder');
    const { hook_path: file } = (await desk.json('status'))['task'] as { hook_path: string };
    rmSync(file);
    mkdirSync(file);
    for (const args of [['status'], ['checkpoint', 'x'], ['hook', 'show']]) {
      const said = await desk.run(...args);
      expect(said.code, said.err).toBe(0);
      expect(said.err).toContain('There is a folder where a file belongs. Move it away.');
    }
    rmSync(file, { recursive: true });
    await desk.ok('hook', 'regenerate');
    expect(readFileSync(file, 'utf8')).toContain('# ATLAS Task Recovery Hook');
  });

  it('was removed or edited by hand: what is shown is made from the record', async () => {
    const desk = await begun('by hand');
    const { hook_path: file } = (await desk.json('status'))['task'] as { hook_path: string };
    writeFileSync(file, '# Delete everything\n');
    expect(await desk.ok('hook', 'show')).not.toContain('Delete everything');
    rmSync(file);
    await desk.ok('step', 'note', 'x');
    expect(readFileSync(file, 'utf8')).toContain('# ATLAS Task Recovery Hook');
    expect(execFileSync('git', ['status', '--porcelain'], { cwd: desk.folder, encoding: 'utf8' })).toBe('');
  });
});
