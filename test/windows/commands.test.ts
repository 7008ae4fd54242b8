import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandRuns, isRunning } from '../support/drivers/commandRuns';
import { until } from '../support/drivers/taskFiles';

/* Commands as Windows runs them: by `cmd.exe`, in trees of processes that are ended and never signalled. */

/** Starts two generations below itself; the last one says its process id, and none of them ends by itself. */
const TREE = `
  const { spawn } = require('node:child_process');
  const left = Number(process.argv[2]);
  if (left === 0) console.log('leaf ' + process.pid + '.');
  else spawn(process.execPath, [__filename, String(left - 1)], { stdio: 'inherit' });
  setInterval(() => undefined, 60_000);
`;

let runs: CommandRuns;

beforeEach(() => {
  runs = new CommandRuns();
  writeFileSync(path.join(runs.folder, 'tree.js'), TREE);
});

afterEach(() => {
  runs.dispose();
});

describe('a command in cmd.exe', () => {
  it.each([
    ['exit 3', 3],
    ['ver > nul', 0],
    ['node -e "process.exit(7)"', 7],
    ['cd no-such-folder 2> nul || exit 4', 4],
    ['node -e "process.exit(-1073741510)"', 3_221_225_786],
  ])('%s: %i is its own exit code', async (command, exitCode) => {
    expect(await runs.run(command)).toMatchObject({ exitCode, ended: 'exit' });
  });

  it('is run as it is written, with quotes, percent signs and what combines commands', async () => {
    const run = runs.start(
      'set "A=one two" && node -p "process.argv.slice(1).join(String.fromCharCode(124))" "a b" %PATHEXT:~0,1% c^&d & echo last',
    );
    expect(await run.outcome()).toMatchObject({ exitCode: 0 });
    expect(run.keptStdout().replaceAll('\r', '')).toBe('a b|.|c&d\nlast\n');
  });

  it('has nothing to read, so that it cannot wait for an answer', async () => {
    const run = runs.start("node -e \"process.stdin.on('data', () => 0).on('end', () => console.log('no input'))\"");
    expect(await run.outcome()).toMatchObject({ exitCode: 0 });
    expect(run.keptStdout()).toBe('no input\n');
  });

  it('that nobody knows fails, and its shell says so', async () => {
    const run = runs.start('no-such-command-here');
    const { exitCode, ended } = await run.outcome();
    expect([exitCode !== 0, ended]).toEqual([true, 'exit']);
    expect(run.keptStderr()).toContain('no-such-command-here');
  });

  it('that writes 3 MB to each stream is kept and hashed whole', async () => {
    writeFileSync(
      path.join(runs.folder, 'much.js'),
      `for (const [stream, text] of [[process.stdout, 'o'], [process.stderr, 'e']]) stream.write(text.repeat(3_000_000));`,
    );
    const run = runs.start('node much.js');
    const outcome = await run.outcome();
    const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
    expect(outcome).toMatchObject({
      exitCode: 0,
      stdout: { sha256: hashOf('o'.repeat(3_000_000)), bytes: 3_000_000 },
      stderr: { sha256: hashOf('e'.repeat(3_000_000)), bytes: 3_000_000 },
    });
    expect(run.keptStdout()).toHaveLength(3_000_000);
  });
});

describe('a tree of processes', () => {
  it.each(['timeout', 'cancelled'] as const)('is ended whole: %s', async (ended) => {
    const run = runs.start('node tree.js 2', ended === 'timeout' ? { timeoutMs: 8000 } : {});
    const [, pid] = /leaf (\d+)\./u.exec(await run.says('.')) ?? [];
    expect(isRunning(Number(pid))).toBe(true);
    if (ended === 'cancelled') run.cancel();
    const outcome = await run.outcome();
    expect(outcome).toMatchObject({ ended, signal: 'SIGKILL' });
    expect(outcome.exitCode).not.toBe(0);
    await until('the leaf is gone', () => !isRunning(Number(pid)));
  });
});
