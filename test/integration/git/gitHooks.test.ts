import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { rememberEnvironment } from '../../support/environment';
import { HookWorld, until } from '../../support/fixtures/hookWorld';

let world: HookWorld;
const restoreEnvironment = rememberEnvironment();

beforeEach(async () => {
  world = await HookWorld.open();
});
afterEach(() => {
  world.dispose();
  restoreEnvironment();
});

const NAMES = ['post-commit', 'post-merge', 'pre-push'];

function states(report: { readonly hooks: readonly { readonly state: string }[] }): string[] {
  return report.hooks.map(({ state }) => state);
}

/** Every file of a folder with its bytes, mode and target. */
function picture(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => {
      const file = path.join(folder, name);
      const stat = lstatSync(file);
      const content = stat.isSymbolicLink()
        ? `-> ${readlinkSync(file)}`
        : stat.isFile()
          ? readFileSync(file, 'latin1')
          : '';
      return [name, `${(stat.mode & 0o7777).toString(8)} ${content}`];
    }),
  );
}

const hooksFolder = (): string => path.join(world.folder, '.git', 'hooks');

describe('hooks in a plain repository', () => {
  it('are made, found, and removed', async () => {
    const before = picture(hooksFolder());
    expect(states(unwrap(await world.hooks.inspect(world.folder)))).toEqual(['absent', 'absent', 'absent']);
    const report = await world.install();
    expect(report).toMatchObject({ folder: hooksFolder(), changed: true, notes: [] });
    expect(states(report)).toEqual(['installed', 'installed', 'installed']);
    expect(report.hooks.map(({ name, path: file }) => [name, statSync(file).mode & 0o777])).toEqual(
      NAMES.map((name) => [name, 0o755]),
    );
    expect(unwrap(await world.hooks.inspect(path.join(world.folder)))).toMatchObject({ ...report, changed: false });
    expect(unwrap(await world.hooks.uninstall(world.folder))).toMatchObject({ changed: true });
    expect(picture(hooksFolder())).toEqual(before);
    expect(unwrap(await world.hooks.uninstall(world.folder))).toMatchObject({ changed: false });
  });

  it('are executable whatever the mask says', async () => {
    const mask = process.umask(0o177);
    try {
      const { hooks } = await world.install();
      expect(hooks.map(({ path: file }) => statSync(file).mode & 0o777)).toEqual([0o755, 0o755, 0o755]);
    } finally {
      process.umask(mask);
    }
  });

  it('installed again are the same bytes; another command is taken up in place', async () => {
    world.ownHook('pre-push', '#!/bin/sh\nexit 0\n');
    await world.install();
    const before = picture(hooksFolder());
    expect(await world.install()).toMatchObject({ changed: false });
    expect(picture(hooksFolder())).toEqual(before);
    const other = world.program(':', 'other atlas');
    expect(states(unwrap(await world.hooks.inspect(world.folder, [other])))).toEqual([
      'outdated',
      'outdated',
      'outdated',
    ]);
    expect(await world.install(other)).toMatchObject({ changed: true });
    expect(states(unwrap(await world.hooks.inspect(world.folder, [other])))).toEqual([
      'installed',
      'installed',
      'beside',
    ]);
    expect(readFileSync(world.hook('pre-push'), 'utf8').match(/>>> atlas/gu)).toHaveLength(1);
    await world.install(world.program(':'));
    expect(picture(hooksFolder())).toEqual(before);
  });

  it('of another store are outdated', async () => {
    await world.install();
    const atlas = new Atlas(systemPorts(path.join(world.ws.root, 'other'), '0.0.0', silentLog));
    const hooks = await atlas.gitHooks();
    expect(states(unwrap(await hooks.inspect(world.folder)))).toEqual(['outdated', 'outdated', 'outdated']);
  });

  it('that start what is gone say so', async () => {
    const program = world.program(':');
    await world.install(program);
    rmSync(program);
    const { hooks } = unwrap(await world.hooks.inspect(world.folder));
    expect(hooks[0]?.problem).toContain(program);
  });

  it('to which somebody added lines keep them, and let them decide', async () => {
    await world.install();
    writeFileSync(world.hook('post-commit'), `${readFileSync(world.hook('post-commit'), 'utf8')}exit 4\n`);
    expect(states(await world.install())).toEqual(['beside', 'installed', 'installed']);
    world.hush();
    expect((await world.run(world.hook('post-commit'), [])).code).toBe(4);
    expect(world.events).toHaveLength(1);
    unwrap(await world.hooks.uninstall(world.folder));
    expect(readFileSync(world.hook('post-commit'), 'utf8')).toBe('#!/bin/sh\nexit 4\n');
  });

  it('with marks that do not belong together are left alone', async () => {
    world.ownHook('post-commit', '#!/bin/sh\n# >>> atlas task recovery 1 own >>>\nexit 0\n');
    const report = await world.install();
    expect(report.hooks[0]).toMatchObject({ state: 'blocked', problem: expect.stringContaining('markers') as string });
    expect(readFileSync(world.hook('post-commit'), 'utf8')).toContain('own >>>\nexit 0\n');
    expect(states(unwrap(await world.hooks.uninstall(world.folder)))[0]).toBe('blocked');
  });

  it.each([
    [[], 'usage'],
    [['bin/atlas'], 'usage'],
    [['/a\nb'], 'unsafe_path'],
  ])('refuse %j as a command', async (command, code) => {
    expect(await world.hooks.install(world.folder, { command })).toMatchObject({ ok: false, error: { code } });
  });

  it('work where the path has spaces, quotes and signs of the shell in it', async () => {
    const root = path.join(world.ws.root, `it's "a" $HOME \`id\` \\n *ü`);
    const odd = await HookWorld.open(root);
    await odd.install(odd.program('exec sleep 60'));
    expect(await odd.commit()).toEqual({ code: 0, out: '', err: '' });
    expect(odd.events).toHaveLength(1);
    const text = readFileSync(path.join(odd.spoolFolder, odd.events[0] ?? ''), 'utf8');
    expect(text).toContain(`\nfolder ${odd.folder}\n`);
    expect(states(await odd.install(odd.program('exec sleep 60')))).toEqual(['installed', 'installed', 'installed']);
    await until('it runs', () => odd.starts.length === 1);
    odd.endStarted();
  });
});

describe('a hook that was there has its bytes and mode again', () => {
  const cases: readonly (readonly [string, string | Uint8Array, number])[] = [
    ['sh', '#!/bin/sh\necho hi\n', 0o755],
    ['odd mode', '#!/bin/sh\necho hi\n', 0o711],
    ['CRLF', '#!/bin/sh\r\necho hi\r\n', 0o755],
    ['no first line', 'echo hi\n', 0o750],
    ['no final newline', '#!/bin/sh\necho hi', 0o755],
    ['first line only, without newline', '#!/bin/sh', 0o755],
    ['first line only', '#!/bin/sh\n', 0o755],
    ['empty', '', 0o755],
    ['BOM', '\ufeff#!/bin/sh\necho hi\n', 0o755],
    ['latin1', Buffer.from('#!/bin/bash\n# caf\u00e9\n', 'latin1'), 0o755],
    ['python', '#!/usr/bin/python3\nprint(1)\n', 0o755],
    ['node', '#!/usr/bin/env node\n0\n', 0o700],
    ['binary', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]), 0o755],
    ['not executable', '#!/bin/sh\nexit 1\n', 0o644],
  ];
  it.each(cases)('%s', async (_what, text, mode) => {
    for (const name of NAMES) world.ownHook(name, text, mode);
    const before = picture(hooksFolder());
    const report = await world.install();
    expect(states(report)).toEqual(['beside', 'beside', 'beside']);
    for (const name of NAMES) expect(statSync(world.hook(name)).mode & 0o100).not.toBe(0);
    expect(await world.install()).toMatchObject({ changed: false });
    expect(states(unwrap(await world.hooks.inspect(world.folder)))).toEqual(['beside', 'beside', 'beside']);
    unwrap(await world.hooks.uninstall(world.folder));
    expect(picture(hooksFolder())).toEqual(before);
  });

  it('a link is a link again, though it leads nowhere', async () => {
    const target = path.join(world.ws.root, 'target');
    writeFileSync(target, '#!/bin/sh\n');
    chmodSync(target, 0o755);
    symlinkSync(target, world.hook('post-commit'));
    symlinkSync('../nowhere', world.hook('post-merge'));
    const before = picture(hooksFolder());
    expect(states(await world.install())).toEqual(['beside', 'beside', 'installed']);
    expect(readFileSync(target, 'utf8')).toBe('#!/bin/sh\n');
    unwrap(await world.hooks.uninstall(world.folder));
    expect(picture(hooksFolder())).toEqual(before);
  });

  it('where something lies in the way, both stay as they are', async () => {
    world.ownHook('post-commit', '#!/usr/bin/python3\n');
    world.ownHook('post-commit.before-atlas', 'mine');
    mkdirSync(world.hook('post-merge'));
    const before = picture(hooksFolder());
    const report = await world.install();
    expect(states(report)).toEqual(['blocked', 'blocked', 'installed']);
    expect(report.hooks[0]?.problem).toContain('post-commit.before-atlas');
    unwrap(await world.hooks.uninstall(world.folder));
    expect(picture(hooksFolder())).toEqual(before);
  });

  it('an install that was interrupted after moving it aside is ended by the next', async () => {
    const before = picture(path.dirname(world.ownHook('post-commit', '#!/usr/bin/python3\n')));
    await world.install();
    rmSync(world.hook('post-commit'));
    expect(states(await world.install())[0]).toBe('beside');
    unwrap(await world.hooks.uninstall(world.folder));
    expect(picture(hooksFolder())).toEqual(before);
  });

  it('a hook that was moved aside and is gone is told', async () => {
    world.ownHook('post-commit', '#!/usr/bin/python3\n');
    await world.install();
    rmSync(`${world.hook('post-commit')}.before-atlas`);
    const { hooks } = unwrap(await world.hooks.inspect(world.folder));
    expect(hooks[0]).toMatchObject({ state: 'outdated', problem: expect.stringContaining('is missing') as string });
    unwrap(await world.hooks.uninstall(world.folder));
    expect(existsSync(world.hook('post-commit'))).toBe(false);
  });
});

describe('the folder that git uses', () => {
  const set = async (value: string): Promise<void> => {
    await world.ws.git('config', 'core.hooksPath', value);
  };

  it('is core.hooksPath below the worktree, and that shows in git status', async () => {
    await set('tools/hooks');
    const report = await world.install();
    expect(report.folder).toBe(path.join(world.folder, 'tools', 'hooks'));
    expect(report.notes.join()).toContain('git status');
    world.hush();
    const sub = path.join(world.folder, 'sub');
    mkdirSync(sub);
    expect(unwrap(await world.hooks.inspect(sub)).folder).toBe(report.folder);
    await world.commit('one', { cwd: sub });
    expect(world.events).toHaveLength(1);
    writeFileSync(path.join(world.folder, '.gitignore'), 'tools\n');
    expect(unwrap(await world.hooks.inspect(world.folder)).notes).toEqual([]);
  });

  it('is an absolute one', async () => {
    const folder = path.join(world.ws.root, 'my hooks');
    await set(folder);
    expect(await world.install()).toMatchObject({ folder, notes: [] });
    world.hush();
    await world.commit();
    expect(world.events).toHaveLength(1);
  });

  it('is the one in the home folder for all repositories, which is told', async () => {
    process.env['HOME'] = world.ws.root;
    await world.ws.git('config', '--global', 'core.hooksPath', '~/shared');
    const report = await world.install();
    expect(report.folder).toBe(path.join(world.ws.root, 'shared'));
    expect(report.notes.join()).toContain('more than this repository');
    world.hush();
    await world.commit();
    expect(world.events).toHaveLength(1);
  });

  it('switched off is told', async () => {
    await set('/dev/null');
    const result = await world.hooks.install(world.folder, { command: [world.program(':')] });
    expect(result).toMatchObject({ ok: false, error: { code: 'write_failed' } });
  });

  it("is the repository's for a linked worktree", async () => {
    const linked = path.join(world.ws.root, 'linked');
    await world.ws.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    expect(await world.install(undefined, linked)).toMatchObject({ folder: hooksFolder() });
    world.hush();
    await world.commit('there', { cwd: linked });
    await world.commit('here');
    expect(world.events).toHaveLength(2);
  });

  it("is a submodule's own", async () => {
    await world.ws.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', world.ws.remote, 'sub');
    const sub = path.join(world.folder, 'sub');
    const report = await world.install(undefined, sub);
    expect(report.folder).toBe(path.join(world.folder, '.git', 'modules', 'sub', 'hooks'));
    world.hush();
    await world.commit('outside');
    expect(world.events).toHaveLength(0);
    await world.commit('inside', { cwd: sub });
    expect(world.events).toHaveLength(1);
  });

  it.each([
    ['a bare repository', () => world.ws.remote, 'bare'],
    ['the git folder', () => path.join(world.folder, '.git'), 'git folder'],
    ['no repository', () => os.tmpdir(), 'not in a usable git repository'],
  ])('is refused for %s', async (_what, folder, text) => {
    for (const result of [
      await world.hooks.install(folder(), { command: [world.program(':')] }),
      await world.hooks.inspect(folder()),
      await world.hooks.uninstall(folder()),
    ]) {
      expect(result).toMatchObject({
        ok: false,
        error: { code: 'no_repository', message: expect.stringContaining(text) as string },
      });
    }
    expect(readdirSync(path.join(world.ws.remote, 'hooks')).every((name) => name.endsWith('.sample'))).toBe(true);
  });
});

describe('a folder that another program manages', () => {
  const huskyBelow = async (): Promise<void> => {
    mkdirSync(path.join(world.folder, 'web', '.husky', '_'), { recursive: true });
    await world.ws.git('config', 'core.hooksPath', 'web/.husky/_');
  };
  const husky9 = async (): Promise<void> => {
    const folder = path.join(world.folder, '.husky', '_');
    mkdirSync(folder, { recursive: true });
    await world.ws.git('config', 'core.hooksPath', '.husky/_');
    const h = `#!/usr/bin/env sh\nn=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\nexit $?\n`;
    writeFileSync(path.join(folder, 'h'), h);
    for (const name of NAMES) {
      writeFileSync(path.join(folder, name), '#!/usr/bin/env sh\n. "$(dirname "$0")/h"');
      chmodSync(path.join(folder, name), 0o755);
    }
  };
  const file = (name: string, text: string) => (): void => {
    mkdirSync(path.dirname(path.join(world.folder, name)), { recursive: true });
    writeFileSync(path.join(world.folder, name), text);
  };
  const generated = (text: string) => (): void => void world.ownHook('pre-commit', text);
  const cases: readonly (readonly [string, string, () => void | Promise<void>, string])[] = [
    ['husky', '9', husky9, ' .husky/post-commit'],
    ['husky', '9, below', huskyBelow, ' web/.husky/post-commit'],
    [
      'husky',
      '4, its hooks',
      generated('#!/bin/sh\n# husky\n\n# Created by Husky v4.3.8\n. "$(dirname "$0")/husky.sh"\n'),
      'package.json',
    ],
    ['husky', '4, its settings', file('package.json', '{ "husky": { "hooks": {} } }'), 'package.json'],
    ['husky', 'not set up yet', file('.husky/pre-commit', 'npm test\n'), '.husky/post-commit'],
    [
      'lefthook',
      'its hooks',
      generated('#!/bin/sh\ncall_lefthook()\n{\n :\n}\ncall_lefthook run "pre-commit" "$@"\n'),
      'lefthook-local.yml',
    ],
    ['lefthook', 'its settings', file('.config/lefthook.toml', ''), 'lefthook-local.yml'],
    [
      'pre-commit',
      'its hooks',
      generated('#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n'),
      '.pre-commit-config.yaml',
    ],
    ['pre-commit', 'its settings', file('.pre-commit-config.yaml', 'repos: []\n'), '.pre-commit-config.yaml'],
  ];

  it.each(cases)('%s (%s) is recognised and untouched, unless forced', async (manager, _what, make, told) => {
    await make();
    const { folder } = unwrap(await world.hooks.inspect(world.folder));
    const before = picture(folder);
    const report = await world.install();
    expect(report).toMatchObject({ manager });
    expect(states(report)).toEqual(['absent', 'absent', 'absent']);
    expect(report.instructions?.join('\n')).toContain(told);
    for (const name of NAMES) expect(report.instructions?.join('\n')).toContain(name);
    expect(picture(folder)).toEqual(before);
    expect(await world.install()).toMatchObject({ changed: false });
    const forced = await world.install(undefined, undefined, true);
    expect(states(forced)).not.toContain('absent');
    world.hush();
    await world.run('git', ['commit', '--quiet', '--no-verify', '--allow-empty', '--message', 'work']);
    expect(world.events).toHaveLength(1);
    unwrap(await world.hooks.uninstall(world.folder));
    expect(picture(folder)).toEqual(before);
  });

  it('does the same with the lines that are told, and finds the push through its processes', async () => {
    await husky9();
    world.hush();
    const { instructions = [] } = await world.install();
    for (const text of instructions) {
      const [, name = '', line = ''] = /^Add to \.husky\/(\S+) as its last line: (.*)$/u.exec(text) ?? [];
      writeFileSync(path.join(world.folder, '.husky', name), `${line}\n`);
    }
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
    const done = await world.run('sh', ['-c', 'git push --quiet & echo "$!"; wait "$!"']);
    expect(done.code).toBe(0);
    const texts = world.events.map((name) => readFileSync(path.join(world.spoolFolder, name), 'utf8'));
    const push = texts.find((text) => text.includes('trigger pre-push'));
    expect([texts.length, push?.split('\n')[3]]).toEqual([2, `parent ${done.out.trim()}`]);
    rmSync(path.join(world.spoolFolder, 'hook.sh'));
    expect(await world.commit()).toEqual({ code: 0, out: '', err: '' });
  });
});
