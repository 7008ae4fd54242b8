import { type ChildProcess, type SpawnOptions, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandEnvironment } from '../../../src/validation/commandEnvironment';
import { CommandRunner } from '../../../src/validation/commandRunner';
import { commandSystem } from '../../../src/validation/commandSystem';
import type { SeenProcess } from '../../../src/validation/processTable';
import { ProcessTree } from '../../../src/validation/processTree';
import { CommandRuns, isRunning, signalProcess, stateOf } from '../../support/drivers/commandRuns';
import { PROJECT } from '../../support/project';

const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const MIB = 1024 * 1024;
const LINUX = process.platform === 'linux';
/** Long enough for a machine that does much else. */
const GRACE_MS = 200;

let runs: CommandRuns;
beforeEach(() => {
  runs = new CommandRuns();
});
afterEach(() => {
  runs.dispose();
});

/** What `sha256sum` says of a command's output. */
function sha256sum(command: string): string {
  return execFileSync('/bin/sh', ['-c', `{ ${command}; } | sha256sum`], { encoding: 'utf8' }).slice(0, 64);
}

/** Writes its process id to a file, then sleeps; `prefix` is what it is started with. */
const sleeper = (name: string, prefix = ''): string => `${prefix} /bin/sh -c 'echo $$ >${name}; exec sleep 300'`;
/** Waits until such files are written. */
const written = (...names: string[]): string =>
  names.map((name) => `while [ ! -s ${name} ]; do sleep 0.02; done`).join('; ');
const pidIn = (name: string): number => Number(readFileSync(path.join(runs.folder, name), 'utf8'));

describe('a command that ends by itself', () => {
  it.each([
    ['true', 0],
    ['exit 3', 3],
    ['false || exit 255', 255],
    ['no-such-command-here', 127],
    [`/bin/sh -c 'kill -TERM $$' ; exit $?`, 143],
  ])('%s: %i is its own exit code', async (command, exitCode) => {
    const outcome = await runs.run(command);
    expect(outcome).toMatchObject({ argv: ['/bin/sh', '-c', command], exitCode, ended: 'exit' });
    expect(outcome).not.toHaveProperty('signal');
  });

  it('is dated by the clock, and its duration measured by another that nobody sets', async () => {
    const times = [1_700_000_000_000, 1_600_000_000_000];
    const runner = new CommandRunner({ now: () => times.shift() ?? 0 });
    const keep = (name: string): string => path.join(runs.folder, name);
    const result = await runner.run({
      command: 'sleep 0.1',
      cwd: runs.folder,
      env: process.env,
      timeoutMs: 0,
      keepStdout: keep('out'),
      keepStderr: keep('err'),
      marker: 'rcpt-1',
      signal: new AbortController().signal,
    });
    expect(result).toMatchObject({ ok: true, value: { startedAt: 1_700_000_000_000, completedAt: 1_700_000_000_000 } });
    if (result.ok) expect(result.value.durationMs).toBeGreaterThanOrEqual(95);
  });

  it('has nothing to read, so that it cannot wait for an answer', async () => {
    const run = runs.start('read answer; echo "[$?:$answer]"; cat');
    await run.outcome();
    expect(run.keptStdout()).toBe('[1:]\n');
  });

  it('may write to /dev/stdout and /dev/stderr by name, as in a terminal', async () => {
    const run = runs.start('echo out >/dev/stdout && echo err >/dev/stderr');
    expect((await run.outcome()).exitCode).toBe(0);
    expect([run.keptStdout(), run.keptStderr()]).toEqual(['out\n', 'err\n']);
  });

  it('is waited for, even if it closed its output long before', async () => {
    const outcome = await runs.run('exec >&- 2>&-; sleep 0.5; exit 7');
    expect(outcome).toMatchObject({ exitCode: 7, ended: 'exit', stdout: { sha256: NOTHING, bytes: 0, kept: 0 } });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(450);
  });

  it('has ended in time, though this process was held up and hears of the timeout first', async () => {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const hold = (): void => void Atomics.wait(pause, 0, 0, 1500);
    // Not while the output is read: then its end is heard of before timers are looked at.
    const outcome = await runs.run('echo done; sleep 0.2', { timeoutMs: 1000, onOutput: () => setImmediate(hold) });
    expect(outcome).toMatchObject({ exitCode: 0, ended: 'exit' });
  });

  it('is given all the time there is, where the timeout is more than a timer takes', async () => {
    expect(await runs.run('sleep 0.2', { timeoutMs: 2 ** 31 })).toMatchObject({ exitCode: 0, ended: 'exit' });
  });
});

describe('the output', () => {
  it('is hashed whole and in order, each stream for itself, and handed on as it comes', async () => {
    const [out, err] = ['seq 1 60000', 'seq 7 70000'];
    const heard = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
    const run = runs.start(`${out} & ${err} >&2; wait`, {
      onOutput: (stream, chunk) => void heard[stream].push(Uint8Array.from(chunk)),
    });
    const outcome = await run.outcome();
    for (const [stream, command] of [['stdout', out] as const, ['stderr', err] as const]) {
      const text = execFileSync('/bin/sh', ['-c', command]);
      expect(outcome[stream]).toEqual({ sha256: sha256sum(command), bytes: text.length, kept: text.length });
      expect(Buffer.concat(heard[stream]).equals(text)).toBe(true);
    }
    expect(run.keptStdout()).toBe(execFileSync('/bin/sh', ['-c', out], { encoding: 'utf8' }));
    expect(statSync(run.stdoutFile).mode & 0o777).toBe(0o600);
    expect(statSync(run.stderrFile).mode & 0o777).toBe(0o600);
  });

  it.each([
    [5 * MIB, 5 * MIB],
    [5 * MIB + 1, 5 * MIB],
  ])('of %i bytes is kept up to byte %i', async (bytes, kept) => {
    const command = `printf x; head -c ${bytes - 1} /dev/zero`;
    const run = runs.start(command);
    expect((await run.outcome()).stdout).toEqual({ sha256: sha256sum(command), bytes, kept });
    expect(statSync(run.stdoutFile).size).toBe(kept);
  });

  it('does not depend on who listens', async () => {
    const fails = (): void => {
      throw new Error('the terminal is gone');
    };
    const outcome = await runs.run('seq 1 60000', { onOutput: fails });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: { sha256: sha256sum('seq 1 60000') } });
  });

  it('that a short-lived process of the command still writes is waited for', async () => {
    const run = runs.start('( sleep 0.05; echo late ) & echo early');
    expect(await run.outcome()).toMatchObject({ exitCode: 0, ended: 'exit' });
    expect(run.keptStdout()).toBe('early\nlate\n');
  });
});

/** Runs one command in a process of its own, which says the outcome and by how many bytes its memory grew at most. */
const MEASURED = `
  import { CommandRunner } from './src/validation/commandRunner';
  import { systemClock } from './src/system/systemPorts';
  process.on('SIGXFSZ', () => undefined);
  const [command, keep] = process.argv.slice(2);
  const before = process.memoryUsage().rss;
  const request = { command, cwd: keep, env: process.env, timeoutMs: 0, marker: 'rcpt-' + process.pid,
    keepStdout: keep + '/stdout', keepStderr: keep + '/stderr', signal: new AbortController().signal };
  new CommandRunner(systemClock).run(request).then((result) => {
    const grown = process.resourceUsage().maxRSS * 1024 - before;
    process.stdout.write(JSON.stringify({ result, grown }));
  });`;

/** Runs a command by {@link MEASURED}; `limits` are shell commands that set what its process may do. */
async function measured(command: string, limits = ':'): Promise<{ result: unknown; grown: number }> {
  const bundle = path.join(runs.folder, 'measured.cjs');
  const stdin = { contents: MEASURED, resolveDir: PROJECT, loader: 'ts' } as const;
  await build({ stdin, outfile: bundle, bundle: true, platform: 'node', format: 'cjs', target: 'node20' });
  const args = ['-c', `${limits}; exec "$@"`, 'sh', process.execPath, bundle, command, runs.folder];
  return JSON.parse(execFileSync('/bin/sh', args, { encoding: 'utf8' })) as { result: unknown; grown: number };
}

describe('a large output', () => {
  it('of 200 MB is hashed whole, its beginning kept, in less than 100 MB', async () => {
    const bytes = 200_000_000;
    const command = `yes 'The quick brown fox jumps over the lazy dog' | head -c ${bytes}`;
    const { result, grown } = await measured(command);
    const stdout = { sha256: sha256sum(command), bytes, kept: 5 * MIB };
    expect(result).toMatchObject({ ok: true, value: { exitCode: 0, stdout } });
    expect(statSync(path.join(runs.folder, 'stdout')).size).toBe(5 * MIB);
    expect(grown).toBeLessThan(100 * MIB);
  }, 60_000);

  it('is hashed whole when no more of it can be kept', async () => {
    const command = 'seq 1 60000; seq 1 7000';
    // Files may have 64 blocks of 512 bytes: to the writer that is as if the disk were full. Later there is room again.
    const freed = LINUX ? `seq 1 60000; prlimit --pid $PPID --fsize=unlimited; seq 1 7000` : command;
    const { result } = await measured(freed, 'ulimit -S -f 64');
    const stdout = { sha256: sha256sum(command), kept: 32_768 };
    expect(result).toMatchObject({ ok: true, value: { exitCode: 0, ended: 'exit', stdout } });
    const beginning = execFileSync('/bin/sh', ['-c', `{ ${command}; } | head -c 32768`], { encoding: 'utf8' });
    expect(readFileSync(path.join(runs.folder, 'stdout'), 'utf8')).toBe(beginning);
  });
});

describe('a command that is ended', () => {
  it('by the timeout never passes, even if it makes a success of it', async () => {
    const run = runs.start(`trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`, {
      timeoutMs: 1000,
    });
    expect(await run.outcome()).toMatchObject({ exitCode: 143, signal: 'SIGTERM', ended: 'timeout' });
    expect(run.keptStdout()).toBe('ready\nbye\n');
  });

  it('by its user says so', async () => {
    const run = runs.start('echo ready; exec sleep 300');
    await run.says('ready');
    run.cancel();
    expect(await run.outcome()).toMatchObject({ exitCode: 143, signal: 'SIGTERM', ended: 'cancelled' });
  });

  it('is killed after a while, if it takes no notice', async () => {
    const run = runs.start(`trap '' TERM; echo ready; while :; do sleep 0.05; done`, { graceMs: GRACE_MS });
    await run.says('ready');
    run.cancel();
    const outcome = await run.outcome();
    expect(outcome).toMatchObject({ exitCode: 137, signal: 'SIGKILL', ended: 'cancelled' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(GRACE_MS);
  });

  it('is ended when it has been stopped', async () => {
    const run = runs.start('echo $$ ready; kill -STOP $$', { graceMs: GRACE_MS });
    const pid = Number.parseInt(await run.says('ready'), 10);
    await expect.poll(() => stateOf(pid)).toMatch(/^T/);
    run.cancel();
    expect(await run.outcome()).toMatchObject({ ended: 'cancelled', signal: 'SIGKILL', exitCode: 137 });
  });

  it('before it began is not started', async () => {
    const outcome = await runs.run('touch started', { signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ exitCode: 130, ended: 'cancelled', stdout: { sha256: NOTHING, bytes: 0 } });
    expect(existsSync(path.join(runs.folder, 'started'))).toBe(false);
  });

  it('by another, with a signal, is said to have died of it', async () => {
    const run = runs.start('echo $$ ready; exec sleep 300');
    signalProcess(Number.parseInt(await run.says('ready'), 10), 'SIGKILL');
    expect(await run.outcome()).toMatchObject({ exitCode: 137, signal: 'SIGKILL', ended: 'signal' });
  });

  it('by a signal of its own making is said to have died of it', async () => {
    expect(await runs.run('kill -ABRT $$')).toMatchObject({ exitCode: 134, signal: 'SIGABRT', ended: 'signal' });
  });
});

describe.each([
  ['the processes', process.platform],
  ...(LINUX ? [['the processes, as other systems than Linux show them', 'darwin'] as const] : []),
] as const)('%s', (_name, platform) => {
  beforeEach(() => {
    runs.dispose();
    runs = new CommandRuns(commandSystem(platform));
  });

  it('that a command left behind are ended, and the exit code is its own', async () => {
    const [quiet, loud] = ['quiet', 'loud'].map((name) => sleeper(name));
    const run = runs.start(`${quiet} >/dev/null 2>&1 & ${loud} & ${written('quiet', 'loud')}; echo done; exit 4`);
    expect(await run.outcome()).toMatchObject({ exitCode: 4, ended: 'exit' });
    expect(run.keptStdout()).toBe('done\n');
    expect([pidIn('quiet'), pidIn('loud')].filter(isRunning)).toEqual([]);
  });

  it('that a command left behind are killed when they take no notice', async () => {
    const stubborn = `( trap '' TERM; ${sleeper('stubborn')} ) &`;
    const outcome = await runs.run(`${stubborn} ${written('stubborn')}`, { graceMs: GRACE_MS });
    expect(outcome).toMatchObject({ exitCode: 0, ended: 'exit' });
    expect(isRunning(pidIn('stubborn'))).toBe(false);
  });

  it.runIf(LINUX)(
    'in sessions of their own, without its environment, end with the command they belong to',
    async () => {
      const children = [sleeper('own', 'setsid'), sleeper('bare', 'env -i setsid'), sleeper('plain')];
      const run = runs.start(`${children.join(' & ')} & ${written('own', 'bare', 'plain')}; echo ready; wait`);
      await run.says('ready');
      run.cancel();
      expect(await run.outcome()).toMatchObject({ exitCode: 143, ended: 'cancelled' });
      expect([pidIn('own'), pidIn('bare'), pidIn('plain')].filter(isRunning)).toEqual([]);
    },
  );

  it('of others are left alone', async () => {
    const other = runs.start('echo ready; sleep 1; echo unharmed');
    const run = runs.start('echo ready; exec sleep 300', { timeoutMs: 0 });
    await Promise.all([run.says('ready'), other.says('ready')]);
    run.cancel();
    await run.outcome();
    expect(await other.outcome()).toMatchObject({ exitCode: 0, ended: 'exit' });
    expect(other.keptStdout()).toBe('ready\nunharmed\n');
  });
});

describe('daemons', () => {
  const daemon = (name: string, prefix = 'setsid'): string => `( ( ${sleeper(name, prefix)} ) & )`;

  it.runIf(LINUX)('that nobody is the parent of any more are known by their environment', async () => {
    const run = runs.start(`${daemon('daemon')}; ${written('daemon')}; exit 0`);
    expect(await run.outcome()).toMatchObject({ exitCode: 0, ended: 'exit' });
    expect(isRunning(pidIn('daemon'))).toBe(false);
  });

  it.runIf(LINUX)('end with a command that is cancelled, even if they take no notice at first', async () => {
    const stubborn = `( trap '' TERM; ${daemon('stubborn')} )`;
    const run = runs.start(`${stubborn}; ${written('stubborn')}; echo ready; sleep 300`, { graceMs: GRACE_MS });
    await run.says('ready');
    run.cancel();
    expect(await run.outcome()).toMatchObject({ ended: 'cancelled', exitCode: 143 });
    expect(isRunning(pidIn('stubborn'))).toBe(false);
  });

  it.runIf(LINUX)('out of reach do not hold up the run, though they hold its output open', async () => {
    const run = runs.start(`${daemon('free', 'env -i setsid')}; ${written('free')}; echo done`);
    const outcome = await run.outcome();
    const pid = pidIn('free');
    onTestFinished(() => signalProcess(pid, 'SIGKILL'));
    expect(outcome).toMatchObject({ exitCode: 0, ended: 'exit', stdout: { bytes: 5 } });
    expect(isRunning(pid)).toBe(true);
  });
});

describe('a process id', () => {
  const seen = (pid: number, parent: number, group: number, start: string): SeenProcess => ({
    ...{ pid, parent, group, start },
    session: group,
  });

  /** What is sent to whom when a tree is ended whose root was process 500000, started at 10, or the one that is given. */
  async function sent(rootAlive: boolean, table: SeenProcess[], lives = true, root = 500_000): Promise<string[]> {
    const signals: string[] = [];
    const looks = [table];
    const tree = new ProcessTree(
      { pid: root, alive: () => rootAlive && signals.length === 0 },
      'rcpt-1',
      { look: () => Promise.resolve(looks.shift() ?? []), lives: () => lives, carries: () => false },
      (pid, signal) => void signals.push(`${signal} ${pid}`),
    );
    await tree.end(0);
    return signals;
  }

  it('is of its group only as long as somebody was in it all the time', async () => {
    expect(await sent(false, [seen(500_001, 1, 500_000, '11')])).toEqual(['SIGTERM 500001']);
    const stranger = seen(500_000, 1, 500_000, '99');
    expect(await sent(false, [stranger, seen(500_001, 500_000, 500_000, '100')])).toEqual([]);
  });

  it('gets no signal when it is another process by now', async () => {
    expect(await sent(false, [seen(500_001, 1, 500_000, '11')], false)).toEqual([]);
  });

  it('of a whole group gets one while its leader is there, and what left the group its own', async () => {
    const table = [seen(500_000, process.pid, 500_000, '10'), seen(500_001, 500_000, 500_001, '11')];
    expect(await sent(true, table)).toEqual(['SIGTERM -500000', 'SIGTERM 500001']);
  });

  it.concurrent.each([1, 0, -1])('of %i is no group, which would be our own or everybody', async (root) => {
    const table = [seen(2, 1, root, '1'), seen(1, 0, 1, '0')];
    expect(await sent(true, table, true, root)).toEqual([]);
  });

  it('is never that of this process, whatever it says of itself', async () => {
    expect(await sent(false, [seen(process.pid, 1, 500_000, '1'), seen(process.ppid, 1, 500_000, '1')])).toEqual([]);
  });
});

describe('what can not be run', () => {
  it('is a command that the system takes for too long', async () => {
    const outcome = await runs.run(`true ${'x'.repeat(16 * MIB)}`);
    expect(outcome).toMatchObject({ exitCode: 127, ended: 'not_started', stdout: { sha256: NOTHING, kept: 0 } });
    expect(outcome.problem).toContain('E2BIG');
  });

  it('is a command in a folder that is gone', async () => {
    const run = runs.start('true', { cwd: path.join(runs.folder, 'gone') });
    const result = await run.result;
    expect(result).toMatchObject({ ok: false, error: { code: 'not_found' } });
    if (!result.ok)
      expect([result.error.message, result.error.hint]).toEqual([expect.stringContaining('gone'), expect.any(String)]);
    expect(existsSync(run.stdoutFile)).toBe(false);
  });

  it('is one whose output can not be kept, and nothing half made stays', async () => {
    const missing = runs.start('touch ran', { keepStderr: path.join(runs.folder, 'missing', 'stderr') });
    expect(await missing.result).toMatchObject({ ok: false, error: { code: 'write_failed' } });
    expect(existsSync(missing.stdoutFile)).toBe(false);
    const taken = path.join(runs.folder, 'taken');
    writeFileSync(taken, 'of another run');
    const again = await runs.start('touch ran', { keepStdout: taken }).result;
    expect(again).toMatchObject({ ok: false, error: { code: 'write_failed' } });
    expect(readFileSync(taken, 'utf8')).toBe('of another run');
    expect(existsSync(path.join(runs.folder, 'ran'))).toBe(false);
  });

  it('is one without a marker to know its processes by', async () => {
    expect(await runs.start('true', { marker: '' }).result).toMatchObject({ ok: false, error: { code: 'usage' } });
  });
});

describe('the environment of a command', () => {
  const clean = (env: NodeJS.ProcessEnv, platform: NodeJS.Platform = 'linux'): NodeJS.ProcessEnv =>
    commandEnvironment(env, 'rcpt-1', platform);

  it('is the user’s, and names the run', () => {
    const mine = { PATH: '/bin', NODE_EXTRA_CA_CERTS: '/ca.pem', ELECTRON_MIRROR: 'https://mirror.example' };
    const git = {
      GIT_AUTHOR_NAME: 'A',
      GIT_SSH_COMMAND: 'ssh',
      GIT_CONFIG_COUNT: '0',
      VSCODE_GIT_ASKPASS_NODE: 'node',
    };
    const env = { ...mine, ...git, NODE_OPTIONS: '--max-old-space-size=4096 --require "./my setup.js"' };
    expect(clean({ ...env, ATLAS_RECEIPT_ID: 'outer' })).toEqual({ ...env, ATLAS_RECEIPT_ID: 'rcpt-1' });
  });

  it('has the certificates again that the launcher kept from our own start', () => {
    expect(clean({ ATLAS_NODE_EXTRA_CA_CERTS: '/ca.pem', HOME: '/h' })).toEqual({
      NODE_EXTRA_CA_CERTS: '/ca.pem',
      HOME: '/h',
      ATLAS_RECEIPT_ID: 'rcpt-1',
    });
  });

  it('has nothing of the editor’s, of its hooks or of the repository that git was in', () => {
    const editor = {
      ELECTRON_RUN_AS_NODE: '1',
      ATLAS_LAUNCHER: 'x',
      VSCODE_IPC_HOOK: 'x',
      VSCODE_PID: '1',
      VSCODE_NLS_CONFIG: '{}',
    };
    const host = { VSCODE_ESM_ENTRYPOINT: 'x', VSCODE_HANDLES_UNCAUGHT_ERRORS: 'true', VSCODE_INSPECTOR_OPTIONS: '{}' };
    const git = { GIT_DIR: '.git', GIT_INDEX_FILE: 'index', GIT_WORK_TREE: '.', GIT_PREFIX: '', GIT_COMMON_DIR: 'x' };
    expect(clean({ ...editor, ...host, ...git, HOME: '/h' })).toEqual({ HOME: '/h', ATLAS_RECEIPT_ID: 'rcpt-1' });
    expect(clean({ Git_Dir: '.git', Atlas_Receipt_Id: 'outer', Path: 'C:\\' }, 'win32')).toEqual({
      Path: 'C:\\',
      ATLAS_RECEIPT_ID: 'rcpt-1',
    });
  });

  it.each([
    ['--inspect', undefined],
    ['--inspect-brk=127.0.0.1:9229', undefined],
    ['--inspect-port 9229 --trace-warnings', '--trace-warnings'],
    [' --require "/ext/ms-vscode.js-debug/src/bootloader.js"  --inspect-publish-uid=http', undefined],
    ['-r /ext/js-debug/bootloader.js --max-old-space-size=4096', '--max-old-space-size=4096'],
    ['--import=file:///ext/js-debug/bootloader.js --import ./mine.mjs', '--import ./mine.mjs'],
  ])('has of NODE_OPTIONS %s only what is no debugger’s', (before, after) => {
    expect(clean({ NODE_OPTIONS: before })['NODE_OPTIONS']).toBe(after);
  });

  it('is what the command sees', async () => {
    const env = { PATH: process.env['PATH'], GIT_DIR: '/elsewhere/.git', MINE: 'kept' };
    const run = runs.start('echo "$MINE,$GIT_DIR,$ATLAS_RECEIPT_ID"', { env });
    await run.outcome();
    expect(run.keptStdout()).toBe(`kept,,${run.marker}\n`);
  });
});

describe('on Windows', () => {
  interface Call {
    readonly file: string;
    readonly args: readonly string[];
    readonly options?: SpawnOptions;
  }
  const calls: Call[] = [];
  let started: ChildProcess | undefined;

  /** What would be started there, while a shell of this system runs the command and `taskkill` kills it. */
  function windowsRuns(): CommandRuns {
    calls.length = 0;
    const port = {
      spawn: (file: string, args: readonly string[], options: SpawnOptions) => {
        calls.push({ file, args, options });
        started = spawn('/bin/sh', ['-c', (args.at(-1) ?? '').slice(1, -1)], options);
        return started;
      },
      run: (file: string, args: readonly string[]) => {
        calls.push({ file, args });
        started?.kill('SIGKILL');
        return Promise.resolve();
      },
    };
    mkdirSync(runs.folder, { recursive: true });
    return new CommandRuns(commandSystem('win32', port, { SystemRoot: 'D:\\Windows' }));
  }

  it('cmd runs the command just as it is written, without a window', async () => {
    const windows = windowsRuns();
    onTestFinished(() => windows.dispose());
    const command = 'echo "a b" && exit 5';
    const argv = ['D:\\Windows\\System32\\cmd.exe', '/d', '/s', '/c', `"${command}"`];
    expect(await windows.run(command)).toMatchObject({ argv, exitCode: 5, ended: 'exit', stdout: { bytes: 4 } });
    const options = { cwd: windows.folder, windowsVerbatimArguments: true, windowsHide: true };
    expect(calls).toMatchObject([{ file: argv[0], args: argv.slice(1), options }]);
    expect(calls[0]?.options).not.toHaveProperty('detached');
    expect(calls[0]?.options?.stdio).toEqual(['ignore', 'pipe', 'pipe']);
  });

  it('taskkill ends the command with all below it', async () => {
    const windows = windowsRuns();
    onTestFinished(() => windows.dispose());
    const run = windows.start('echo ready; exec sleep 300');
    await run.says('ready');
    run.cancel();
    expect(await run.outcome()).toMatchObject({ exitCode: 137, signal: 'SIGKILL', ended: 'cancelled' });
    const args = ['/pid', String(started?.pid), '/t', '/f'];
    expect(calls.slice(1)).toEqual([{ file: 'D:\\Windows\\System32\\taskkill.exe', args }]);
  });
});
