import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* What a human is shown before agents may run a repository's commands, and how long that holds; by the built command. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

const AGENT = { env: { CLAUDECODE: '1' } };
const LONG = `echo ${'a harmless text '.repeat(20)}; touch hidden`;
const TRICKY = 'echo safe\u001b[2K\r\u202e# ;touch hidden\nrm -rf x';

describe.concurrent('what a human allows', { timeout: 60_000 }, () => {
  it.each([[], ['--quiet'], ['--json']])(
    'by starting a task is shown whole, one command a line (%s)',
    async (...more) => {
      const desk = new Desk(cli, `shown ${more.join('')}`);
      desk.template(
        'checked',
        { name: 'work', validation: [LONG, TRICKY, 'a    b'] },
        { name: 'next', validation: ['exit 0'] },
      );
      const { code, err, out } = await desk.run('start', 'Look', '--template', 'checked', ...more);
      expect(code, err).toBe(0);
      const lines = err.split('\n');
      expect(lines).toContain(`  ${LONG}`);
      expect(lines).toContain(String.raw`  $'echo safe\x1b[2K\x0d\u202e# ;touch hidden\nrm -rf x'`);
      expect(lines).toContain(String.raw`  $'a\x20\x20\x20\x20b'`);
      expect(lines).toContain('  exit 0');
      // eslint-disable-next-line no-control-regex -- what a terminal acts on
      expect(err).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/u);
      if (more[0] === '--json') {
        const said = JSON.parse(out) as { commands: string[] };
        expect(said.commands).toEqual([LONG, TRICKY, 'a    b', 'exit 0']);
      }
    },
  );

  it('by validating is shown whole, once, also with --quiet', async () => {
    const desk = new Desk(cli, 'validated');
    desk.template('checked', { name: 'work', validation: [`true ${LONG}`] });
    expect((await desk.runWith(AGENT, 'start', 'Look', '--template', 'checked')).err).toContain(
      'only after a human allows them',
    );
    await desk.ok('step', 'start');
    const refused = await desk.runWith(AGENT, 'validate');
    expect(refused.code, refused.err).toBe(4);
    const first = await desk.run('validate', '--quiet');
    expect(first.err).toContain(`\n  true ${LONG}\n`);
    await desk.runWith(AGENT, 'start', 'Again', '--template', 'checked');
    await desk.ok('step', 'start');
    expect((await desk.run('validate', '--quiet')).err).not.toContain('allow agents to run');
  });

  it("names a repository's template that stands in for a built-in one", async () => {
    const desk = new Desk(cli, 'replaced');
    desk.template('bug', { name: 'work' });
    for (const more of [[], ['--quiet'], ['--json']]) {
      const { err } = await desk.run('start', 'Look', '--template', 'bug', ...more);
      expect(err).toContain(`This repository's own template replaces the built-in "bug". Its steps: work.`);
    }
    const { err } = await desk.run('start', 'Look', '--template', 'feature');
    expect(err).not.toContain('replaces');
  });
});

describe.concurrent('a check', { timeout: 60_000 }, () => {
  it('that a human runs makes no decision in their name', async () => {
    const desk = new Desk(cli, 'deciding check');
    desk.template('reviewed', { name: 'look', type: 'human' });
    await desk.ok('start', 'Review', '--template', 'reviewed');
    await desk.ok('step', 'start');
    const { task } = (await desk.json('status')) as unknown as { task: { task_id: string } };
    const atlas = `'${process.execPath}' '${cli.entry}'`;
    desk.template('deciding', { name: 'work', validation: [`${atlas} approve --task ${task.task_id}`] });
    const started = await desk.json('start', 'Work', '--template', 'deciding');
    const other = (started as unknown as { task: { task_id: string } }).task.task_id;
    await desk.ok('step', 'start', '--task', other);
    const said = await desk.run('validate', '--task', other);
    expect(said.code).toBe(1);
    expect(said.err).toContain('Only a human may approve a step, and a check that Atlas runs ran this command');
    expect(await desk.state('--task', task.task_id)).toBe('awaiting_human');
  });
});

describe.concurrent('what was allowed', { timeout: 60_000 }, () => {
  const template = (desk: Desk): void => {
    desk.template('checked', { name: 'work', validation: ['touch ran'] });
  };
  const asAgent = async (desk: Desk): Promise<number | null> => {
    const started = await desk.runWith(AGENT, 'start', 'Look', '--template', 'checked');
    expect(started.code, started.err).toBe(0);
    await desk.runWith(AGENT, 'step', 'start');
    return (await desk.runWith(AGENT, 'validate')).code;
  };

  it('ends with the workspace', async () => {
    const desk = new Desk(cli, 'destroyed');
    template(desk);
    await desk.ok('start', 'Look', '--template', 'checked');
    await desk.ok('abandon');
    expect(await asAgent(desk)).toBe(0);
    await desk.ok('workspace', 'destroy', 'destroyed', '--yes');
    expect(readFileSync(path.join(desk.root, 'trust.json'), 'utf8')).not.toContain('allowed_at');
    expect(await asAgent(desk)).toBe(4);
  });

  it('is not passed on to another repository with a folder of the same name', async () => {
    const desk = new Desk(cli, 'first/same-name');
    template(desk);
    await desk.ok('start', 'Look', '--template', 'checked');
    await desk.ok('abandon');
    rmSync(path.join(desk.root, 'workspaces'), { recursive: true });
    rmSync(path.join(desk.root, 'open'), { recursive: true, force: true });
    const other = new Desk(cli, 'second/same-name', { ATLAS_HOME: desk.root });
    template(other);
    expect(await asAgent(other)).toBe(4);
  });

  it('is not passed on to a repository that is put in its place', async () => {
    const desk = new Desk(cli, 'replaced-repository');
    template(desk);
    await desk.ok('start', 'Look', '--template', 'checked');
    await desk.ok('abandon');
    expect(await asAgent(desk)).toBe(0);
    rmSync(path.join(desk.folder, '.git'), { recursive: true });
    const elsewhere = path.join(cli.folder, 'another history');
    desk.git('init', '-q', '-b', 'main', elsewhere);
    const person = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
    desk.git('-C', elsewhere, ...person, 'commit', '-q', '--allow-empty', '-m', 'another first');
    renameSync(path.join(elsewhere, '.git'), path.join(desk.folder, '.git'));
    expect(await asAgent(desk)).toBe(4);
  });

  it('holds in a linked worktree of the repository, and after a commit', async () => {
    const desk = new Desk(cli, 'linked');
    template(desk);
    await desk.ok('start', 'Look', '--template', 'checked');
    await desk.ok('abandon');
    desk.git('add', '.');
    desk.git('commit', '-q', '-m', 'second');
    mkdirSync(path.join(cli.folder, 'worktrees'), { recursive: true });
    const linked = path.join(cli.folder, 'worktrees', 'linked');
    desk.git('worktree', 'add', '-q', linked);
    const how = { ...AGENT, folder: linked };
    await desk.runWith(how, 'start', 'Look', '--template', 'checked');
    await desk.runWith(how, 'step', 'start');
    const said = await desk.runWith(how, 'validate');
    expect(said.code, said.err).toBe(0);
  });
});
