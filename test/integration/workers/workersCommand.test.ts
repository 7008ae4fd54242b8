import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli, type Said, said } from '../../support/drivers/cli';
import { isRunning, signalProcess } from '../../support/drivers/commandRuns';
import { Desk } from '../../support/drivers/cliDesk';

/* `atlas worker`, built and started as users do, on real repositories: the seed's protocol, section by section. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

let desks = 0;

/** A repository of its own, with the hook of a worker. */
function makeDesk(): Desk {
  desks += 1;
  return new Desk(cli, `workers-${desks}`);
}

async function slung(desk: Desk, task = 't1', worker = 'w1', ...more: readonly string[]): Promise<string> {
  await desk.ok('worker', 'sling', task, worker, ...more);
  return hookOf(desk, worker);
}

function hookOf(desk: Desk, worker = 'w1'): string {
  return path.join(desk.folder, '.forge', 'hooks', ...worker.split('/'));
}

/** The JSON in a file of a hook's folder. */
function fileOf(desk: Desk, name: string, worker = 'w1'): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(hookOf(desk, worker), name), 'utf8')) as Record<string, unknown>;
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function subjects(desk: Desk, branch: string): string[] {
  return desk.git('log', '--format=%s', `forge/${branch}`).split('\n');
}

interface StatusSaid {
  readonly worker: {
    readonly status: string | null;
    readonly task_id: string | null;
    readonly plan: { readonly action: string } | null;
    readonly stale: string | null;
    readonly incarnation: number;
    readonly attempts: number;
    readonly orphaned: readonly string[];
    readonly damage: { readonly code: string } | null;
  };
}

async function statusOf(desk: Desk, worker = 'w1'): Promise<StatusSaid['worker']> {
  return ((await desk.json('worker', 'status', worker)) as unknown as StatusSaid).worker;
}

/** A program for Node, behind two dashes. */
function script(code: string): string[] {
  return ['--', process.execPath, '-e', code];
}

const WRITE = `const fs = require('node:fs'); const hook = process.env.FORGE_HOOK;
const write = (name, text) => fs.writeFileSync(require('node:path').join(hook, name), text);
`;
/** Says its process id and that it has begun, and lives on. */
const LIVE = `process.stdout.write('begun ' + process.pid + '\\n'); setInterval(() => {}, 1000);`;

/** A command that goes on while the test does. */
class Running {
  readonly ended: Promise<Said>;
  private heard = '';
  private listener: () => void = () => undefined;

  constructor(readonly child: ChildProcess) {
    const hear = (chunk: Buffer): void => {
      this.heard += chunk.toString();
      this.listener();
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    this.ended = said(child);
  }

  /** Waits until it has said something. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.heard);
      if (found !== null) return found;
      await new Promise<void>((resolve, reject) => {
        this.listener = resolve;
        void this.ended.then(({ out, err }) => {
          if (pattern.test(this.heard)) resolve();
          else reject(new Error(`It ended without ${String(pattern)}: ${out}${err}`));
        });
      });
    }
  }

  async kill(signal: NodeJS.Signals): Promise<Said> {
    this.child.kill(signal);
    return this.ended;
  }
}

function start(desk: Desk, ...args: readonly string[]): Running {
  return new Running(cli.start(args, desk.how()));
}

/** As `isRunning`, in a program of a test: a process that has ended and that nobody asks about any more doesn't live. */
const LIVES = `(pid) => {
  try {
    return !/^(Z|$)/u.test(require('node:child_process').execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim());
  } catch {
    return false;
  }
}`;

describe.concurrent('a hook', { timeout: 120_000 }, () => {
  it('lies in a worktree of its own, beside what is the user’s, with task, context and status', async () => {
    const desk = makeDesk();
    const folder = await slung(desk, 't1', 'pool/w1', '--type', 'translate', '--tool', 'file-system');
    expect(fileOf(desk, 'task.json', 'pool/w1')).toMatchObject({ id: 't1', type: 'translate' });
    expect(fileOf(desk, 'context.json', 'pool/w1')).toMatchObject({ task: { id: 't1' }, tools: ['file-system'] });
    expect(fileOf(desk, 'status.json', 'pool/w1')).toMatchObject({ status: 'PENDING', worker: 'pool/w1' });
    expect(desk.git('worktree', 'list', '--porcelain')).toContain(`worktree ${folder}\n`);
    expect(subjects(desk, 'hooks/pool/w1')).toEqual(['Sling t1 to pool/w1']);
    expect(desk.git('status', '--porcelain')).toBe('');
    for (const name of ['tasks', 'convoys', 'evidence'])
      expect(existsSync(path.join(desk.folder, '.forge', 'ledger', `${name}.jsonl`)), name).toBe(true);
  });

  it('takes one task at a time, from one context of at most five tools', async () => {
    const desk = makeDesk();
    const tools = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((tool) => ['--tool', tool]);
    expect((await desk.run('worker', 'sling', 't1', 'w1', ...tools)).err).toContain('at most 5');
    await slung(desk, 't1', 'w1', ...tools.slice(2));
    const second = await desk.run('worker', 'sling', 't2', 'w1');
    expect(second).toMatchObject({ code: 4 });
    expect(second.err).toContain('w1 has unfinished work: t1 is PENDING.');
    expect((await desk.run('worker', 'sling', 't1', 'w2')).code).toBe(4);
    expect((await desk.run('worker', 'clear', 'w1')).code).toBe(4);
    expect(subjects(desk, 'hooks/w1')).toHaveLength(1);
  });

  it('is told about in words: damaged, without its folder, without its branch', async () => {
    const desk = makeDesk();
    await slung(desk);
    await slung(desk, 't2', 'w2');
    rmSync(hookOf(desk), { recursive: true });
    expect(await desk.ok('worker', 'status', 'w1')).toContain(
      'Orphaned: its folder was removed; its branch has everything\n',
    );
    expect(await desk.ok('worker', 'recover', 'w1')).toContain('Its folder was restored.');
    expect(fileOf(desk, 'task.json')).toMatchObject({ id: 't1' });
    desk.git('update-ref', '-d', 'refs/heads/forge/hooks/w2');
    expect(await desk.ok('worker', 'status', 'w2')).toContain('Orphaned: its branch was removed; its folder is left\n');
    writeFileSync(path.join(hookOf(desk), 'status.json'), 'not json');
    expect(await statusOf(desk)).toMatchObject({ status: 'PENDING', orphaned: ['folder_differs'] });
    const folder = hookOf(desk);
    desk.git('-C', folder, '-c', 'user.name=x', '-c', 'user.email=x', 'commit', '-qam', 'by hand');
    expect((await statusOf(desk)).damage).toMatchObject({ code: 'damaged' });
    expect(await desk.ok('worker', 'list')).toMatch(/^w1 +damaged/mu);
    expect((await desk.run('worker', 'run', 'w1', '--', 'git', '--version')).code).toBe(7);
  });
});

describe.concurrent('a run', { timeout: 120_000 }, () => {
  it('does the work that hangs there without asking, proves it by hashes, and ends after one task', async () => {
    const desk = makeDesk();
    const folder = await slung(desk);
    await desk.ok('worker', 'task', 'add', 't2');
    const code = `${WRITE} console.log('from', process.cwd()); write('out.bin', Buffer.from([1, 13, 10, 255]));`;
    const done = await desk.run('worker', 'run', 'w1', ...script(code));
    expect(done).toMatchObject({ code: 0, out: `from ${desk.folder}\n` });
    expect(done.err).toContain('t1 is COMPLETE.');
    const hashes = {
      inputHash: hashOf(path.join(folder, 'context.json')),
      outputHash: hashOf(path.join(folder, 'out.bin')),
    };
    expect(fileOf(desk, 'result.json')).toMatchObject({ taskId: 't1', status: 'COMPLETE', evidence: hashes });
    expect(readFileSync(path.join(folder, 'evidence', 'input-hash.txt'), 'utf8')).toBe(
      `${hashes.inputHash}  context.json\n`,
    );
    expect(subjects(desk, 'hooks/w1')).toEqual(['Complete t1', 'Start t1', 'Sling t1 to w1']);
    const shown = (await desk.json('worker', 'task', 'show', 't1')) as unknown as { records: { status: string }[] };
    expect(shown.records.map(({ status }) => status)).toEqual(['OPEN', 'PENDING', 'IN_PROGRESS', 'COMPLETE']);
    // The next task needs to be slung, and a new worker.
    expect((await desk.run('worker', 'run', 'w1', ...script(code))).code).toBe(4);
    await desk.ok('worker', 'clear', 'w1');
    expect((await desk.run('worker', 'run', 'w1', ...script(code))).code).toBe(3);
    await slung(desk, 't2');
    expect(existsSync(path.join(folder, 'out.bin'))).toBe(false);
  });

  it('knows its lease, has nothing to read, and is told what failed before', async () => {
    const desk = makeDesk();
    await slung(desk);
    const failing = `process.stdin.resume(); process.stdin.on('end', () => { console.error('no such\\u001b[31m input'); process.exit(7); });`;
    const failed = await desk.run('worker', 'run', 'w1', ...script(failing));
    expect(failed.code).toBe(1);
    expect(fileOf(desk, 'result.json')).toMatchObject({
      status: 'FAILED',
      error: { code: 'exit_7', recoverable: true },
    });
    expect((fileOf(desk, 'result.json')['error'] as { message: string }).message).toMatch(
      /exited with code 7\.\nno such\[31m input$/u,
    );
    await slung(desk, 't1', 'w2');
    expect(fileOf(desk, 'context.json', 'w2')).toMatchObject({
      previousAttempts: [{ worker: 'w1', error: { code: 'exit_7' } }],
    });
    const told = `const { FORGE_WORKER: w, FORGE_TASK: t, FORGE_CLAIM: c, FORGE_INCARNATION: i, FORGE_ACTION: a } = process.env; console.log(w, t, c, i, a);`;
    expect((await desk.run('worker', 'run', 'w2', ...script(told))).out).toBe('w2 t1 2 1 run\n');
  });

  it('that says itself how it ended is believed', async () => {
    const desk = makeDesk();
    const own = (...args: readonly string[]): string[] =>
      script(`const { execFileSync } = require('node:child_process');
execFileSync(process.execPath, ${JSON.stringify([cli.entry, ...args])}, { stdio: 'inherit' });`);
    await slung(desk);
    const handed = await desk.run(
      'worker',
      'run',
      'w1',
      ...own('worker', 'handoff', 'w1', '--reason', 'context_limit', '--resume-point', 'step 3'),
    );
    expect(handed, handed.err).toMatchObject({ code: 0 });
    expect(await statusOf(desk)).toMatchObject({ status: 'IN_PROGRESS', plan: { action: 'resume' }, attempts: 1 });
    expect(subjects(desk, 'hooks/w1')[0]).toBe('Handoff checkpoint');
    const failed = await desk.run(
      'worker',
      'run',
      'w1',
      ...own('worker', 'fail', 'w1', '--code', 'hopeless', '--message', 'no', '--final'),
    );
    expect(failed.code).toBe(1);
    expect(fileOf(desk, 'result.json')).toMatchObject({
      status: 'FAILED',
      error: { code: 'hopeless', recoverable: false },
    });
    await slung(desk, 't2');
    const result = { taskId: 't2', status: 'FAILED', error: { code: 'own', message: 'x', recoverable: true } };
    const hash = 'a'.repeat(64);
    const evidence = { inputHash: hash, outputHash: hash, timestamp: '2026-01-01T00:00:00Z' };
    const code = `${WRITE} write('result.json', ${JSON.stringify(JSON.stringify({ ...result, evidence }))});`;
    expect((await desk.run('worker', 'run', 'w1', ...script(code))).code).toBe(1);
    expect(fileOf(desk, 'result.json')).toMatchObject({ status: 'FAILED', error: { code: 'own' } });
    await slung(desk, 't3');
    const wrong = JSON.stringify(JSON.stringify({ taskId: 't3', status: 'COMPLETE', evidence }));
    const lied = await desk.run('worker', 'run', 'w1', ...script(`${WRITE} write('result.json', ${wrong});`));
    expect(lied.code).toBe(5);
    expect(await statusOf(desk)).toMatchObject({ status: 'FAILED', task_id: 't3' });
  });

  it('that finds work adds it to the ledger, from where it came', async () => {
    const desk = makeDesk();
    await slung(desk);
    desk.write(
      'found.json',
      JSON.stringify({ discoveredTasks: [{ id: 'found-1', type: 'validate' }], output: { path: 'x' } }),
    );
    const lease = (await desk.json('worker', 'claim', 'w1')) as unknown as {
      lease: { claim: number; incarnation: number };
    };
    const flags = [
      '--task',
      't1',
      '--claim',
      String(lease.lease.claim),
      '--incarnation',
      String(lease.lease.incarnation),
    ];
    await desk.ok('worker', 'complete', 'w1', '--result', 'found.json', ...flags);
    expect(await desk.json('worker', 'task', 'show', 'found-1')).toMatchObject({
      task: { status: 'OPEN', discovered_from: 't1' },
    });
    expect(fileOf(desk, 'result.json')).toMatchObject({ output: { path: 'x' } });
  });

  it('ends its program at the deadline, with all that it started', async () => {
    const desk = makeDesk();
    await slung(desk);
    const code = `const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
console.log('child', child.pid); setInterval(() => {}, 1000);`;
    const late = await desk.run('worker', 'run', 'w1', '--timeout', '1s', ...script(code));
    expect(late.code).toBe(1);
    expect(fileOf(desk, 'result.json')).toMatchObject({ error: { code: 'timeout', recoverable: true } });
    expect(isRunning(Number(/child (\d+)/u.exec(late.out)?.[1]))).toBe(false);
    await slung(desk, 't2', 'w2', '--timeout', '2020-01-01T00:00:00Z');
    expect(await statusOf(desk, 'w2')).toMatchObject({ stale: 'deadline' });
    const past = await desk.run('worker', 'run', 'w2', ...script(`console.log('begun')`));
    expect(past).toMatchObject({ code: 1, out: '' });
    expect(fileOf(desk, 'result.json', 'w2')).toMatchObject({ status: 'FAILED', error: { code: 'timeout' } });
    expect((fileOf(desk, 'result.json', 'w2')['error'] as { message: string }).message).toContain(
      'passed before it was started',
    );
  });

  it('whose program is not there leaves the work on the hook', async () => {
    const desk = makeDesk();
    await slung(desk);
    expect(await desk.run('worker', 'run', 'w1', '--', 'no-such-program')).toMatchObject({ code: 3, out: '' });
    expect(await statusOf(desk)).toMatchObject({ status: 'IN_PROGRESS', plan: { action: 'resume' } });
    expect((await desk.run('worker', 'run', 'w1', ...script('0'))).code).toBe(0);
  });

  it('waits for work, and is woken by it', async () => {
    const desk = makeDesk();
    const waiting = [1, 2].map(() =>
      start(desk, 'worker', 'run', 'w1', '--wait', ...script(`console.log('did', process.env.FORGE_TASK)`)),
    );
    for (const each of waiting) await each.says(/w1 is waiting for a task/u);
    await slung(desk, 't1');
    const first = await Promise.race(waiting.map(async ({ ended }) => ended));
    expect(first).toMatchObject({ code: 0, out: 'did t1\n' });
    // The other one waits on: the task was done once.
    await slung(desk, 't2');
    const both = await Promise.all(waiting.map(async ({ ended }) => ended));
    expect(both.map(({ out }) => out).sort()).toEqual(['did t1\n', 'did t2\n']);
    const last = start(desk, 'worker', 'run', 'w9', '--wait', ...script('0'));
    await last.says(/w9 is waiting for a task/u);
    const ended = await last.kill('SIGTERM');
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('Stopped before w9 got a task');
  });
});

describe.concurrent('after a crash', { timeout: 120_000 }, () => {
  it('work that was never begun is run', async () => {
    const desk = makeDesk();
    await slung(desk);
    expect(await desk.ok('worker', 'recover', 'w1')).toContain('run it. It was never started.');
    expect((await desk.run('worker', 'recover', 'w1', ...script('0'))).code).toBe(0);
    expect(await desk.ok('worker', 'recover', 'w1')).toContain('nothing to do. It has ended: COMPLETE.');
    expect((await statusOf(desk)).incarnation).toBe(1);
  });

  it.each([
    ['restart', ''],
    ['resume', `${WRITE} write('part.txt', 'half');`],
  ])(
    'of the run, the work is to %s; its program is ended before, so that it is never done twice at once',
    async (action, code) => {
      const desk = makeDesk();
      await slung(desk);
      const run = start(
        desk,
        'worker',
        'run',
        'w1',
        ...script(`${code} process.on('SIGPIPE', () => {}); process.stdout.on('error', () => {}); ${LIVE}`),
      );
      const pid = Number((await run.says(/begun (\d+)/u))[1]);
      await run.kill('SIGKILL');
      expect(isRunning(pid)).toBe(true);
      expect(await statusOf(desk)).toMatchObject({ status: 'IN_PROGRESS', stale: 'owner_dead', plan: { action } });
      const told = `console.log((${LIVES})(${pid}) ? 'twice' : [process.env.FORGE_ACTION, process.env.FORGE_INCARNATION].join(' '))`;
      const again = await desk.run('worker', 'run', 'w1', ...script(told));
      expect(again, again.err).toMatchObject({ code: 0, out: `${action} 2\n` });
      expect(isRunning(pid)).toBe(false);
      expect(subjects(desk, 'hooks/w1')[1]).toBe(action === 'resume' ? 'Resume t1' : 'Restart t1');
      if (action === 'resume') expect(desk.git('show', 'forge/hooks/w1:part.txt')).toBe('half');
    },
  );

  // Elsewhere the system doesn't show what a process was started with.
  it.runIf(process.platform === 'linux')(
    'what the program started is ended too, also where it hides behind another command',
    async () => {
      const desk = makeDesk();
      await slung(desk);
      const hidden = `const env = { ...process.env, ATLAS_RECEIPT_ID: 'another' };
const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore', env });
child.unref(); console.log('child', child.pid); ${LIVE}`;
      const run = start(desk, 'worker', 'run', 'w1', ...script(hidden));
      const child = Number((await run.says(/child (\d+)/u))[1]);
      const program = Number((await run.says(/begun (\d+)/u))[1]);
      await run.kill('SIGKILL');
      signalProcess(program, 'SIGKILL');
      expect(isRunning(child)).toBe(true);
      await desk.ok('worker', 'claim', 'w1');
      expect(isRunning(child)).toBe(false);
    },
  );

  it('it is tried three times, and then has failed', async () => {
    const desk = makeDesk();
    await slung(desk);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const run = start(desk, 'worker', 'run', 'w1', ...script(LIVE));
      await run.says(/begun/u);
      await run.kill('SIGKILL');
    }
    const last = await desk.run('worker', 'run', 'w1', ...script('0'));
    expect(last).toMatchObject({ code: 4, out: '' });
    expect(fileOf(desk, 'result.json')).toMatchObject({
      status: 'FAILED',
      error: { code: 'attempts_spent', recoverable: false },
    });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'by %s the program is ended and the work handed on, with what it left',
    async (signal) => {
      const desk = makeDesk();
      await slung(desk);
      const run = start(desk, 'worker', 'run', 'w1', ...script(`${WRITE} write('part.txt', 'half'); ${LIVE}`));
      const pid = Number((await run.says(/begun (\d+)/u))[1]);
      const ended = await run.kill(signal);
      expect(ended.code).toBe(1);
      expect(ended.err).toContain('t1 was handed over');
      expect(isRunning(pid)).toBe(false);
      rmSync(path.join(desk.folder, '.forge'), { recursive: true });
      expect(await statusOf(desk)).toMatchObject({ status: 'IN_PROGRESS', stale: null, plan: { action: 'resume' } });
      const read = `console.log(require('node:fs').readFileSync(process.env.FORGE_HOOK + '/part.txt', 'utf8'))`;
      await desk.ok('worker', 'recover', 'w1');
      expect((await desk.run('worker', 'run', 'w1', ...script(read))).out).toBe('half\n');
    },
  );

  it('of a worker that nobody can see, a human says that it is gone, and an agent may not', async () => {
    const desk = makeDesk();
    await slung(desk);
    await desk.ok('worker', 'claim', 'w1');
    expect(await desk.ok('worker', 'status', 'w1')).toContain('ask a human whether its worker is gone');
    expect((await desk.run('worker', 'run', 'w1', ...script('0'))).code).toBe(4);
    const agent = await desk.runWith(
      { env: { CLAUDECODE: '1' } },
      'worker',
      'run',
      'w1',
      '--owner-is-gone',
      ...script('0'),
    );
    expect(agent.err).toContain("Only a human may declare a worker's owner gone");
    expect((await desk.run('worker', 'run', 'w1', '--owner-is-gone', ...script('0'))).code).toBe(0);
  });

  it('of a worker that named its process, it is seen', async () => {
    const desk = makeDesk();
    await slung(desk);
    const worker = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await desk.ok('worker', 'claim', 'w1', '--pid', String(worker.pid));
    expect(await statusOf(desk)).toMatchObject({ stale: null, plan: { action: 'nothing' } });
    const gone = new Promise((resolve) => worker.once('exit', resolve));
    worker.kill('SIGKILL');
    await gone;
    expect(await statusOf(desk)).toMatchObject({ stale: 'owner_dead', plan: { action: 'restart' } });
  });
});

describe.concurrent('a worker', { timeout: 120_000 }, () => {
  it('writes the result of its own hook only, and of its own incarnation', async () => {
    const desk = makeDesk();
    await slung(desk);
    await slung(desk, 't2', 'w2');
    await desk.ok('worker', 'claim', 'w1');
    await desk.ok('worker', 'claim', 'w2');
    const env = { FORGE_WORKER: 'w1', FORGE_TASK: 't1', FORGE_CLAIM: '1', FORGE_INCARNATION: '1' };
    for (const verb of ['complete', 'fail', 'claim']) {
      const other = await desk.runWith({ env }, 'worker', verb, 'w2');
      expect(other, verb).toMatchObject({ code: 4 });
      expect(other.err, verb).toContain('This runs as worker w1');
    }
    await desk.ok('worker', 'run', 'w1', '--owner-is-gone', ...script('0'));
    const late = await desk.runWith({ env }, 'worker', 'fail', 'w1', '--message', 'late');
    expect(late.code).toBe(4);
    expect(late.err).toContain('belongs to another incarnation');
    expect(await statusOf(desk)).toMatchObject({ status: 'COMPLETE', incarnation: 2 });
    expect(await statusOf(desk, 'w2')).toMatchObject({ status: 'IN_PROGRESS' });
    // The same numbers of another task are no lease.
    await slung(desk, 't3');
    await desk.ok('worker', 'claim', 'w1');
    expect((await desk.runWith({ env }, 'worker', 'complete', 'w1')).code).toBe(4);
    expect((await desk.run('worker', 'complete', 'w1', '--claim', '1', '--incarnation', '1')).code).toBe(2);
  });

  it('is called by forge hook too, and told so', async () => {
    const desk = makeDesk();
    await slung(desk);
    const forge = async (...args: readonly string[]): Promise<Said> => {
      const entry = path.join(path.dirname(cli.entry), 'forge.js');
      const child = spawn(process.execPath, [entry, ...args], { cwd: desk.folder, env: cli.environment() });
      return said(child);
    };
    for (const args of [['status', 'w1'], ['show', 'w1'], ['list']])
      expect((await forge('hook', ...args)).out, args.join(' ')).toContain('w1');
    expect(JSON.parse((await forge('hook', 'status', 'w1', '--json')).out)).toMatchObject({ command: 'worker status' });
    expect((await forge('hook', 'run', 'w1', ...script('0'))).code).toBe(0);
    expect((await forge('hook', 'clear', 'w1')).code).toBe(0);
    expect((await forge('hook', 'status', '--help')).out).toMatch(/^Usage: forge hook status /u);
    expect(await forge('hook', 'nonsense')).toMatchObject({ code: 2 });
    expect((await forge('status')).err).toContain('See: forge --help');
  });
});

describe.concurrent('tasks', { timeout: 120_000 }, () => {
  it('wait for those that block them, and are grouped in convoys', async () => {
    const desk = makeDesk();
    mkdirSync(path.join(desk.folder, 'in'));
    const lines = [
      { id: 'a', type: 'x' },
      { id: 'b', type: 'x', blockedBy: ['a'] },
      { id: 'c', type: 'x', convoyId: 'v' },
    ];
    desk.write('in/tasks.jsonl', lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
    expect(await desk.ok('worker', 'task', 'add', '--from', 'in/tasks.jsonl')).toBe('Added: a, b, c\n');
    await desk.ok('worker', 'convoy', 'create', 'v', 'a', 'b', '--title', 'Both');
    expect(await desk.ok('worker', 'convoy', 'status', 'v')).toBe(
      'v (Both): 3 tasks: 3 open; ready: a, c\n  a: open\n  b: open, waits for a\n  c: open\n',
    );
    expect((await desk.run('worker', 'sling', 'b', 'w1')).code).toBe(4);
    for (const task of ['a', 'b', 'c']) {
      await slung(desk, task);
      await desk.ok('worker', 'run', 'w1', ...script('0'));
    }
    expect(await desk.json('worker', 'convoy', 'status', 'v')).toMatchObject({ convoys: [{ done: true, ready: [] }] });
    expect(await desk.ok('worker', 'ready')).toBe('No tasks.\n');
    expect(readFileSync(path.join(desk.folder, '.forge', 'ledger', 'convoys.jsonl'), 'utf8').split('\n')).toHaveLength(
      2,
    );
  });

  it('that another machine could not have made are refused whole', async () => {
    const desk = makeDesk();
    desk.write(
      'bad.json',
      JSON.stringify([
        { id: 'ok', type: 'x' },
        { id: '../evil', type: 'x' },
      ]),
    );
    expect((await desk.run('worker', 'task', 'add', '--from', 'bad.json')).code).toBe(2);
    expect(await desk.ok('worker', 'task', 'list')).toBe('No tasks.\n');
    expect((await desk.run('worker', 'sling', 't1', 'W1')).code).toBe(2);
  });
});
