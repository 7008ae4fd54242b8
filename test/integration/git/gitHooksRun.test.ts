import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rememberEnvironment } from '../../support/environment';
import { HookWorld, until } from '../../support/fixtures/hookWorld';
import { WorkerPool } from '../../support/processes/workerPool';

let world: HookWorld;
let pool: WorkerPool;
const restoreEnvironment = rememberEnvironment();

beforeAll(async () => {
  pool = await WorkerPool.open();
});
afterAll(async () => {
  await pool.close();
});
beforeEach(async () => {
  world = await HookWorld.open();
});
afterEach(() => {
  world.dispose();
  restoreEnvironment();
});

const mark = (text: string): string => `echo ${text} >>"${world.ws.root}/trace"`;
const trace = (): string => {
  const file = path.join(world.ws.root, 'trace');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};
const eventOf = (name = world.events[0] ?? ''): string => readFileSync(path.join(world.spoolFolder, name), 'utf8');

describe('a fresh hook', () => {
  it('writes one event and starts one program, which is told the store and nothing of git', async () => {
    await world.install(
      world.program(`env >"${world.ws.root}/environment"; pwd >>"${world.ws.root}/environment"; exec sleep 60`),
    );
    const first = await world.commit('one', {
      env: { ATLAS_TASK: 'repo/task-1', GIT_EDITOR: 'true', NODE_OPTIONS: '--no-warnings' },
    });
    expect(first).toEqual({ code: 0, out: '', err: '' });
    expect(world.events).toHaveLength(1);
    expect(eventOf()).toMatch(
      new RegExp(`^atlas-event 1\ntrigger post-commit\nfolder ${world.folder}\nparent \\d+\nend\n$`, 'u'),
    );
    await until('it runs', () => world.starts.length === 1 && existsSync(path.join(world.ws.root, 'environment')));
    expect(await world.commit('two')).toEqual({ code: 0, out: '', err: '' });
    expect(world.events).toHaveLength(2);
    expect(world.starts).toHaveLength(1);
    const environment = readFileSync(path.join(world.ws.root, 'environment'), 'utf8');
    expect(environment).toContain(`ATLAS_HOME=${world.ws.atlasHome}\n`);
    const git = (await world.ws.git('rev-parse', '--local-env-vars')).split('\n');
    const named = environment.split('\n').map((line) => line.replace(/=.*$/u, ''));
    const unwanted = [
      ...git,
      'GIT_EDITOR',
      'GIT_REFLOG_ACTION',
      'GIT_QUARANTINE_PATH',
      'NODE_OPTIONS',
      'GIT_EXEC_PATH',
    ];
    expect(named.filter((name) => unwanted.includes(name))).toEqual([]);
    expect(environment).toMatch(/^\/$/mu);
    world.endStarted();
  });

  it.each(['dash', 'bash'])('does the same under %s', async (shell) => {
    world.hush();
    await world.install();
    const result = await world.run(shell, [world.hook('post-commit')]);
    expect(result).toEqual({ code: 0, out: '', err: '' });
    expect(world.events).toHaveLength(1);
    expect(world.starts).toEqual([]);
  });

  it('does nothing where there is no spool', async () => {
    await world.install();
    const report = readdirSync(world.ws.atlasHome);
    expect(report).toContain('spool');
    await world.run('rm', ['-r', world.spoolFolder]);
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
    expect(existsSync(world.spoolFolder)).toBe(false);
    expect(world.starts).toEqual([]);
  });

  it('keeps to itself where the spool takes no file', async () => {
    await world.install();
    mkdirSync(path.join(world.spoolFolder, 'claim'));
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
    await world.run('rm', ['-r', world.spoolFolder]);
    writeFileSync(world.spoolFolder, '');
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
  });

  it('says where to look, and nothing of what the environment says', async () => {
    world.hush();
    await world.install();
    await world.commit('one', { env: { ATLAS_TASK: 'a\nend\n' } });
    await world.commit('two', { env: { ATLAS_TASK: 'x'.repeat(600) } });
    expect(world.events.map((name) => eventOf(name).split('\n').slice(4))).toEqual([
      ['end', ''],
      ['end', ''],
    ]);
  });
});

describe('where atlas is', () => {
  const commits = async (): Promise<void> => {
    expect(await world.commit('one')).toEqual({ code: 0, out: '', err: '' });
    expect(await world.commit('two')).toEqual({ code: 0, out: '', err: '' });
    expect(world.events).toHaveLength(2);
  };

  it('missing, and none in the path either, the event is left for later', async () => {
    await world.install('/nowhere/atlas');
    await commits();
  });

  it('missing, the one in the path is taken', async () => {
    const there = world.program('exec sleep 60');
    await world.install('/nowhere/atlas');
    process.env['PATH'] = `${path.dirname(there)}:${process.env['PATH'] ?? ''}`;
    await commits();
    await until('it runs', () => world.starts.length > 0);
    world.endStarted();
  });

  it('broken, commits succeed and say nothing', async () => {
    await world.install(world.program('echo broken >&2; exit 3'));
    await commits();
  });

  it('hanging, commits succeed at once and a second one is not started', async () => {
    await world.install(world.program('exec sleep 600'));
    await commits();
    await until('it runs', () => world.starts.length > 0);
    expect(world.starts).toHaveLength(1);
    const pid = world.starts[0];
    // Signals 1 and 2 are ignored, so neither a closed terminal nor Ctrl+C ends it.
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
    expect(Number.parseInt(ignored, 16) & 3).toBe(3);
    world.endStarted();
  });
});

describe('somebody drains already', () => {
  it('an open window: nothing is started; once it has gone, one is', async () => {
    world.hush();
    await world.install(world.program('exec sleep 60'));
    await world.commit('one');
    await world.commit('two');
    expect(world.starts).toEqual([]);
    world.spool.withdrawWindow();
    await world.commit('three');
    await until('it runs', () => world.starts.length === 1);
    world.endStarted();
  });

  it.each([
    ['of a process that ended', () => `${deadPid()} -\n`],
    ['of a process whose number another has now', () => `${process.pid} 123456789012 x y\n`],
    ['that is nonsense', () => 'nonsense'],
    ['that is empty', () => ''],
  ])('a claim %s counts for nothing', async (_what, text) => {
    await world.install(world.program(':'));
    for (const name of ['claim', 'window.1']) writeFileSync(path.join(world.spoolFolder, name), text());
    await world.commit();
    await until('it runs', () => world.starts.length === 1);
  });

  function deadPid(): number {
    for (let pid = 4_000_000; ; pid -= 1) if (!existsSync(`/proc/${pid}`)) return pid;
  }
});

describe('a hook that was there', () => {
  const bodies: readonly (readonly [string, (body: string) => string])[] = [
    ['sh', (body) => `#!/bin/sh\n${body}\n`],
    ['env bash -eu', (body) => `#!/usr/bin/env -S bash -eu\n${body}\n`],
    ['sh -eu', (body) => `#!/bin/sh -eu\n${body}\n`],
    ['no first line', (body) => `${body}\n`],
    ['no final newline', (body) => `#!/bin/dash\n${body}`],
    ['set -eu in the body', (body) => `#!/bin/sh\nset -eu\n${body}\n`],
    ['a trap', (body) => `#!/bin/sh\ntrap '${mark('trapped')}' EXIT\n${body}\n`],
  ];

  it.each(bodies)('runs first and alone decides (%s)', async (_what, wrap) => {
    world.hush();
    const seen = `ls "${world.spoolFolder}" | grep -c '^event' || :`;
    world.ownHook(
      'post-commit',
      wrap(`${mark('"body $#"')}\necho "$(${seen})" >>"${world.ws.root}/trace"\necho told >&2\nexit 7`),
    );
    await world.install();
    const { code, err } = await world.commit();
    expect([code, err.trim()]).toEqual([0, 'told']);
    expect(trace()).toMatch(/^body 0\n0\n(trapped\n)?$/u);
    expect(world.events).toHaveLength(1);
    expect((await world.run(world.hook('post-commit'), [])).code).toBe(7);
  });

  it('that becomes another program keeps its status', async () => {
    world.hush();
    world.ownHook('post-commit', `#!/bin/sh\n${mark('first')}\nexec sh -c 'exit 9'\n`);
    await world.install();
    expect((await world.run(world.hook('post-commit'), [])).code).toBe(9);
    expect(trace()).toBe('first\n');
    expect(world.events).toHaveLength(1);
  });

  it('that commits itself makes events of its own', async () => {
    world.hush();
    world.ownHook('post-commit', '#!/bin/sh\n[ -n "$INNER" ] || INNER=1 git commit -q --allow-empty -m inner\n');
    await world.install();
    await world.commit();
    expect(world.events).toHaveLength(2);
  });

  const python = (body: string): string => `#!/usr/bin/env python3\nimport sys\n${body}\n`;
  it.each([
    ['sh', `#!/bin/sh\necho "$@" >>TRACE\ncat >>TRACE\nexit STATUS\n`],
    ['python', python(`open("TRACE", "a").write(" ".join(sys.argv[1:]) + "\\n" + sys.stdin.read())\nsys.exit(STATUS)`)],
  ])('before a push gets its arguments and input (%s), and may refuse', async (_what, text) => {
    world.hush();
    const file = path.join(world.ws.root, 'trace');
    world.ownHook('pre-push', text.replaceAll('TRACE', file).replace('STATUS', '0'));
    await world.install();
    await world.commit();
    expect((await world.run('git', ['push', '--quiet'])).code).toBe(0);
    const pushed = /^origin \S*remote\.git\nrefs\/heads\/main [0-9a-f]{40} refs\/heads\/main [0-9a-f]{40}\n$/u;
    expect(trace()).toMatch(pushed);
    const wrote = world.events.map((name) => eventOf(name).split('\n')[1]).sort();
    expect(wrote).toEqual(['trigger post-commit', 'trigger pre-push']);
    const hook = _what === 'sh' ? world.hook('pre-push') : `${world.hook('pre-push')}.before-atlas`;
    writeFileSync(
      hook,
      readFileSync(hook, 'utf8').replace(/exit 0\n|exit\(0\)\n/u, (all) => all.replace('0', '5')),
    );
    await world.commit('refused');
    expect((await world.run('git', ['push', '--quiet'])).code).not.toBe(0);
    expect(world.events.filter((name) => eventOf(name).includes('pre-push'))).toHaveLength(1);
  });

  it('that is not executable still does not run, but ours does', async () => {
    world.hush();
    world.ownHook('post-commit', `#!/bin/sh\n${mark('ran')}\n`, 0o644);
    const report = await world.install();
    expect(report.notes.join()).toContain('not executable');
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
    expect([trace(), world.events.length]).toEqual(['', 1]);
  });

  it('that is a link runs, and what it points to is not written', async () => {
    world.hush();
    const target = path.join(world.ws.root, 'elsewhere');
    writeFileSync(target, `#!/bin/sh\n${mark('linked')}\n`);
    chmodSync(target, 0o755);
    symlinkSync(target, world.hook('post-commit'));
    const before = readFileSync(target, 'utf8');
    await world.install();
    await world.commit();
    expect([trace(), world.events.length, readFileSync(target, 'utf8') === before]).toEqual(['linked\n', 1, true]);
  });

  it('and that runs again and again does so once each time, by the name that git gives it or another', async () => {
    world.hush();
    world.ownHook('post-commit', `#!/bin/sh\n${mark('ran')}\n`);
    await world.install();
    await world.run('sh', [world.hook('post-commit')]);
    await world.run('sh', ['post-commit'], { cwd: path.dirname(world.hook('x')) });
    expect(trace()).toBe('ran\nran\n');
  });
});

describe('through hook, spool and drain', () => {
  it('a commit becomes one checkpoint', async () => {
    await world.install(world.drainer(pool));
    const ref = await world.start();
    await world.commit('work');
    await world.drained();
    expect(world.checkpoints(ref)).toEqual(['Commit: work']);
    expect(world.starts).toHaveLength(1);
  });

  it('a push becomes one checkpoint, though the hook runs before it', async () => {
    world.hush();
    await world.install(world.drainer(pool));
    const ref = await world.start();
    await world.commit('work');
    await world.spool.drain();
    world.spool.withdrawWindow();
    // The push takes its time after the hook: the remote's own hook waits until the drain has seen the event.
    const remote = path.join(world.ws.remote, 'hooks', 'pre-receive');
    writeFileSync(
      remote,
      `#!/bin/sh\nuntil grep -q '[0-9] [0-9]' '${world.spoolFolder}/claim'; do sleep 0.02; done\nsleep 0.3\n`,
    );
    chmodSync(remote, 0o755);
    expect((await world.run('git', ['push', '--quiet'])).code).toBe(0);
    await world.drained();
    expect(world.checkpoints(ref)).toEqual(['Commit: work', 'Pushed main to origin (1 commit)']);
    expect(world.starts).toHaveLength(1);
  });

  it('a commit in a linked worktree, with GIT_DIR set, goes to the task there', async () => {
    const linked = path.join(world.ws.root, 'linked');
    await world.ws.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    const main = await world.start();
    const side = await world.start(linked);
    await world.install(world.drainer(pool), linked);
    const gitDir = path.join(world.folder, '.git', 'worktrees', 'linked');
    expect(await world.commit('there', { cwd: linked, env: { GIT_DIR: gitDir, GIT_WORK_TREE: linked } })).toMatchObject(
      { code: 0 },
    );
    await world.drained();
    expect([world.checkpoints(main), world.checkpoints(side)]).toEqual([[], ['Commit: there']]);
  });

  it('a merge becomes one', async () => {
    await world.ws.git('switch', '--quiet', '--create', 'side');
    await world.commit('on the side');
    await world.ws.git('switch', '--quiet', 'main');
    await world.install(world.drainer(pool));
    const ref = await world.start();
    expect((await world.run('git', ['merge', '--quiet', '--no-ff', '--message', 'merged', 'side'])).code).toBe(0);
    await world.drained();
    expect(world.checkpoints(ref)).toEqual(['Commit: merged']);
  });

  it(
    'a rebase of 200 commits starts one program and makes no checkpoint; the commit after it makes one',
    { timeout: 120_000 },
    async () => {
      await world.ws.git('switch', '--quiet', '--create', 'long');
      const stream = Array.from({ length: 200 }, (_each, index) =>
        [
          'commit refs/heads/long',
          `committer Test Person <test@example.invalid> ${1_700_000_000 + index} +0000`,
          `data 6\nnr ${String(index).padStart(3, '0')}`,
          ...(index === 0 ? ['from refs/heads/main^0'] : []),
          `M 100644 inline f${index}`,
          'data 1\nx',
          '',
        ].join('\n'),
      ).join('\n');
      const input = path.join(world.ws.root, 'stream');
      writeFileSync(input, stream);
      await world.run('sh', ['-c', `git fast-import --quiet --force <'${input}' && git reset --quiet --hard`]);
      await world.ws.git('switch', '--quiet', 'main');
      await world.commit('base');
      await world.ws.git('switch', '--quiet', 'long');
      const ref = await world.start();
      // It stays until the rebase is over, as a drain with much to do would.
      const gate = path.join(world.ws.root, 'gate');
      const drainer = world.drainer(pool);
      writeFileSync(
        drainer,
        readFileSync(drainer, 'utf8').replace('exec ', `until [ -e '${gate}' ]; do sleep 0.05; done\nexec `),
      );
      await world.install(drainer);
      expect((await world.run('git', ['rebase', '--quiet', 'main'])).code).toBe(0);
      expect(await world.ws.git('rev-list', '--count', 'main..long')).toBe('200');
      expect(world.events.length).toBeGreaterThanOrEqual(199);
      writeFileSync(gate, '');
      await world.drained();
      expect([world.starts.length, world.checkpoints(ref)]).toEqual([1, []]);
      await world.commit('after');
      await world.drained();
      expect(world.checkpoints(ref)).toEqual(['Commit: after']);
    },
  );
});
