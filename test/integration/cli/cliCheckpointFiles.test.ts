import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observeCommand } from '../../../src/agents/install/observeInstall';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { SessionSpool } from '../../../src/store/sessions/sessionSpool';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { until } from '../../support/drivers/taskFiles';

/* The files of checkpoints by the command alone: captured by a process that nobody waits for, compared and restored. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
});

afterAll(() => {
  cli.dispose();
});

interface Listed {
  readonly checkpoints: readonly {
    readonly checkpoint_id: string;
    readonly description: string;
    readonly status: string;
    readonly possibly_late: boolean;
  }[];
}

async function listed(desk: Desk): Promise<Listed['checkpoints']> {
  return ((await desk.json('checkpoint', 'list')) as unknown as Listed).checkpoints;
}

/** Runs the script that hosts run, as one does at an event, to its end. */
function observed(desk: Desk, event: string, told: object, env: NodeJS.ProcessEnv = {}): void {
  const spool = new SessionSpool(systemPorts(desk.root, '0.0.0', silentLog));
  spool.open(`'${process.execPath}' '${cli.entry}'`);
  const command = observeCommand(spool.scriptPath, 'claude', event);
  const input = JSON.stringify({ session_id: 'one', cwd: desk.folder, hook_event_name: event, ...told });
  const own = { ...cli.environment({ ATLAS_HOME: desk.root, ATLAS_SNAPSHOTS: 'on' }), ...env };
  const run = spawnSync('sh', ['-c', command], { cwd: desk.folder, input, env: own, encoding: 'utf8' });
  expect([run.status, run.stdout, run.stderr]).toEqual([0, '', '']);
}

/** A desk whose commands capture files, in a step that runs. */
async function capturing(name: string): Promise<Desk> {
  const desk = new Desk(cli, name, { ATLAS_SNAPSHOTS: 'on' });
  desk.write('a.txt', 'one\n');
  await desk.ok('start', 'Sample', '--template', 'task');
  await desk.ok('step', 'start');
  return desk;
}

/** Records a checkpoint, and waits until its files are kept; its id. */
async function recorded(desk: Desk, description: string): Promise<string> {
  const { checkpoint_id: id } = (await desk.json('checkpoint', description)) as unknown as { checkpoint_id: string };
  const task = (await desk.json('status')) as unknown as { task: { hook_path: string } };
  const entry = path.join(path.dirname(task.task.hook_path), 'snapshots', `${id}.json`);
  await until(`the files of ${description} are captured`, () => {
    if (!existsSync(entry)) return false;
    return (JSON.parse(readFileSync(entry, 'utf8')) as { status: string }).status !== 'pending';
  });
  return id;
}

describe('a checkpoint by the command', () => {
  it('has its files soon after, captured by a process of their own', async () => {
    const desk = await capturing('captured');
    const id = await recorded(desk, 'first');
    const { checkpoints } = (await desk.json('checkpoint', 'list')) as unknown as Listed;
    expect(checkpoints.find((each) => each.checkpoint_id === id)?.status).toBe('taken');
    expect(await desk.ok('checkpoint', 'show', id, 'a.txt')).toBe('one\n');
  });

  it('is joined by restore points: as a session begins, and after each turn that changed something', async () => {
    const desk = await capturing('turns');
    const points = async (): Promise<string[]> =>
      ((await desk.json('checkpoint', 'list')) as unknown as Listed).checkpoints
        .filter(({ status }) => status === 'taken')
        .map(({ description }) => description);
    const hook = async (event: string): Promise<void> => {
      const input = JSON.stringify({ session_id: 'one', cwd: desk.folder, hook_event_name: event });
      const said = await desk.runWith({ input }, 'lifecycle', event, '--host', 'claude');
      expect(said.err).toBe('');
    };
    await until('files are captured', async () => (await points()).length === 1);
    desk.write('a.txt', 'by the user\n');
    await hook('session-start');
    await until('files are captured', async () => (await points()).includes("As an agent's session began"));
    desk.write('a.txt', 'by the agent\n');
    await hook('stop');
    await until('files are captured', async () => (await points()).includes("After a turn of the agent's"));
    const before = await points();
    await hook('stop');
    const id = await recorded(desk, 'after two turns');
    expect(await points()).toEqual([...before, 'after two turns']);
    expect(await desk.ok('checkpoint', 'show', id, 'a.txt')).toBe('by the agent\n');
  });

  it('is joined by a restore point as a turn begins, where the user changed something since the last', async () => {
    const desk = await capturing('turn');
    await until('files are captured', async () => (await listed(desk)).some(({ status }) => status === 'taken'));
    desk.write('a.txt', 'by the user\n');
    observed(desk, 'UserPromptSubmit', { prompt: 'go on' });
    const isTurn = ({ description, status }: Listed['checkpoints'][number]): boolean =>
      status === 'taken' && description === "Before a turn of the agent's";
    await until('files are captured', async () => (await listed(desk)).some(isTurn));
    const point = (await listed(desk)).find(isTurn);
    expect(await desk.ok('checkpoint', 'show', point?.checkpoint_id ?? '', 'a.txt')).toBe('by the user\n');
  });

  it('is joined by a restore point before a command that discards work, which waits for it', async () => {
    const desk = await capturing('discards');
    await until('files are captured', async () => (await listed(desk)).some(({ status }) => status === 'taken'));
    desk.write('a.txt', 'by the agent\n');
    desk.write('new.txt', 'new\n');
    observed(desk, 'PreToolUse', {
      tool_name: 'Bash',
      tool_input: { command: 'cd . && git reset --hard && git clean -fd' },
    });
    // What the command would do at once.
    desk.write('a.txt', 'one\n');
    rmSync(path.join(desk.folder, 'new.txt'));
    const point = (await listed(desk)).find(({ description }) => description === 'Before "git reset --hard"');
    expect(point).toMatchObject({ status: 'taken', possibly_late: false });
    await desk.ok('checkpoint', 'restore', point?.checkpoint_id ?? '', '--yes');
    expect([desk.read('a.txt'), desk.read('new.txt')]).toEqual(['by the agent\n', 'new\n']);
    const before = await listed(desk);
    observed(desk, 'PreToolUse', { tool_name: 'Bash', tool_input: { command: 'git checkout -b next && ls -r' } });
    expect(await listed(desk)).toEqual(before);
  });

  it('does not hold a command back for long: what is captured later says that it may be late', async () => {
    const desk = await capturing('late');
    await until('files are captured', async () => (await listed(desk)).some(({ status }) => status === 'taken'));
    desk.write('a.txt', 'by the agent\n');
    const slow = path.join(desk.root, 'slow');
    mkdirSync(slow);
    const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const wait = `for a; do [ "$a" != write-tree ] || while [ ! -e '${slow}/go' ]; do sleep 0.02; done; done`;
    writeFileSync(path.join(slow, 'git'), `#!/bin/sh\n${wait}\nexec '${git}' "$@"\n`, { mode: 0o755 });
    const env = { PATH: `${slow}:${process.env['PATH'] ?? ''}` };
    observed(desk, 'PreToolUse', { tool_name: 'Bash', tool_input: { command: 'rm -rf .' } }, env);
    const point = async (): Promise<Listed['checkpoints'][number] | undefined> =>
      (await listed(desk)).find(({ description }) => description === 'Before "rm -r"');
    expect(await point()).toMatchObject({ status: 'pending' });
    writeFileSync(path.join(slow, 'go'), '');
    await until('the files are captured', async () => (await point())?.status === 'taken');
    expect(await point()).toMatchObject({ possibly_late: true });
    expect(await desk.ok('checkpoint', 'list')).toContain('Before "rm -r" (possibly late)');
  });

  it('is compared, restored after its plan is shown, and the restore undone', async () => {
    const desk = await capturing('restored');
    const id = await recorded(desk, 'first');
    desk.write('a.txt', 'two\n');
    desk.write('sub/new.txt', 'new\n');
    expect(await desk.ok('checkpoint', 'diff', '--name-only')).toBe('a.txt\nsub/new.txt\n');
    expect(await desk.ok('checkpoint', 'diff', id, 'sub')).toContain('+new');
    const plan = await desk.ok('checkpoint', 'restore', id, '--dry-run');
    expect(plan).toMatch(/^ {2}write +a\.txt/mu);
    expect(plan).toMatch(/^ {2}remove +sub\/new\.txt/mu);
    expect(plan).toContain('Step "implement" is running');
    expect(readFileSync(path.join(desk.folder, 'a.txt'), 'utf8')).toBe('two\n');
    await desk.ok('checkpoint', 'restore', id, '--yes');
    expect(readFileSync(path.join(desk.folder, 'a.txt'), 'utf8')).toBe('one\n');
    expect(existsSync(path.join(desk.folder, 'sub'))).toBe(false);
    await desk.ok('checkpoint', 'undo-restore', '--yes');
    expect(readFileSync(path.join(desk.folder, 'sub/new.txt'), 'utf8')).toBe('new\n');
    const history = await desk.ok('hook', 'export');
    expect(history.match(/"trigger": ?"restore"/gu)).toHaveLength(2);
  });

  it('restores one file of a folder that the command is called in', async () => {
    const desk = await capturing('inside');
    desk.write('sub/x.txt', 'one\n');
    const id = await recorded(desk, 'first');
    desk.write('sub/x.txt', 'two\n');
    desk.write('a.txt', 'two\n');
    const inside = await desk.runWith(
      { folder: path.join(desk.folder, 'sub') },
      'checkpoint',
      'restore',
      id,
      'x.txt',
      '-y',
    );
    expect(inside.code, inside.err).toBe(0);
    expect(readFileSync(path.join(desk.folder, 'sub/x.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(path.join(desk.folder, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('is never restored by an agent, which may look', async () => {
    const desk = await capturing('agent');
    const id = await recorded(desk, 'first');
    desk.write('a.txt', 'two\n');
    const env = { CLAUDECODE: '1' };
    for (const args of [
      ['restore', id, '--yes'],
      ['undo-restore', '--yes'],
    ]) {
      const refused = await desk.runWith({ env }, 'checkpoint', ...args);
      expect(refused.code).toBe(4);
      expect(refused.err).toContain('Only a human may restore files from a checkpoint');
    }
    for (const args of [['diff', id], ['show', id], ['list'], ['restore', id, '--dry-run']]) {
      const looked = await desk.runWith({ env }, 'checkpoint', ...args);
      expect(looked.code, looked.err).toBe(0);
    }
    expect(readFileSync(path.join(desk.folder, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('whose restore is killed anywhere is finished or undone by the next command, which records it', async () => {
    const desk = await capturing('killed');
    const many = Array.from({ length: 300 }, (_, at) => `part${at % 20}/file${at}.txt`);
    const fill = (text: string): void => many.forEach((name) => void desk.write(name, `${text} ${name}\n`));
    fill('old');
    const id = await recorded(desk, 'first');
    for (const moment of ['staging', 'applying', 'applying'] as const) {
      fill('new');
      const child = desk.cli.start(['checkpoint', 'restore', id, '--yes'], desk.how());
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const isStaged = (): boolean => readdirSync(desk.folder).some((name) => name.startsWith('.atlas-restore-'));
      const isApplied = (): boolean => many.some((name) => desk.read(name).startsWith('old'));
      await until(`the restore is ${moment}`, moment === 'staging' ? isStaged : isApplied);
      child.kill('SIGKILL');
      await ended;
      const restores = async (): Promise<number> =>
        ((await desk.ok('hook', 'export')).match(/"trigger": ?"restore"/gu) ?? []).length;
      const before = await restores();
      const left = (await desk.ok('checkpoint', 'diff', id, '--name-only')).split('\n').filter((name) => name !== '');
      const words = new Set(many.map((name) => desk.read(name).split(' ')[0]));
      expect(words.size, 'all of the old or all of the new').toBe(1);
      expect(left).toHaveLength(words.has('old') ? 0 : many.length);
      expect(isStaged()).toBe(false);
      // What came to its end before it was killed is in the history already, or nobody can know of it.
      if (words.has('new')) expect(await restores()).toBe(before);
    }
  }, 60_000);

  it('quotes and takes paths as git does', async () => {
    const desk = await capturing('quoted');
    const id = await recorded(desk, 'first');
    desk.write('tab\there "x".txt', 'odd\n');
    const names = await desk.ok('checkpoint', 'diff', '--name-only');
    expect(names).toBe('"tab\\there \\"x\\".txt"\n');
    await desk.ok('checkpoint', 'restore', id, names.trim(), '--yes');
    expect(existsSync(path.join(desk.folder, 'tab\there "x".txt'))).toBe(false);
  });

  it('shows what a file with escape sequences holds as it is only where no terminal acts on it', async () => {
    const desk = await capturing('escapes');
    desk.write('evil.txt', '\u001b[31mred\u001b[0m\n');
    const id = await recorded(desk, 'first');
    rmSync(path.join(desk.folder, 'evil.txt'));
    expect(await desk.ok('checkpoint', 'show', id, 'evil.txt')).toBe('\u001b[31mred\u001b[0m\n');
    const { file } = (await desk.json('checkpoint', 'show', id, 'evil.txt')) as unknown as { file: { text: string } };
    expect(file.text).toBe('\u001b[31mred\u001b[0m\n');
  });
});
