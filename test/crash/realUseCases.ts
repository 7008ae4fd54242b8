import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fail, unwrap } from '../../src/core/shared/errors';
import type { Repository } from '../../src/core/shared/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import type { CrashWorld } from '../support/faults/crashWorld';
import { taskIn } from '../support/fixtures/eventCases';
import type { UseCase } from '../support/faults/useCase';
import { ED25519, checkReceipts, config, keyOf } from '../support/fixtures/caseHelpers';

const PERSON = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', '-c', 'commit.gpgSign=false'];

function git(folder: string, ...args: string[]): void {
  execFileSync('git', [...PERSON, ...args], { cwd: folder, stdio: 'ignore' });
}

function makeRepository(folder: string): void {
  git(folder, 'init', '--quiet', '--template=', '--initial-branch=main');
  git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'first');
}

/** A running task in a repository that was looked at, and a commit since then. */
async function committed(world: CrashWorld): Promise<{ ref: TaskRef; repository: Repository }> {
  const { folder } = world.stage;
  makeRepository(folder);
  const ref = await taskIn(world, 'step_running');
  const repository = await world.process().ports.git.locate(folder);
  if (repository === undefined) throw new Error('no repository');
  unwrap(await (await world.process().git()).scan(repository));
  writeFileSync(path.join(folder, 'file.txt'), 'committed');
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'second');
  return { ref, repository };
}

const HOOK = '#!/bin/sh\necho theirs\n';

/** The use cases that start git or a command, on the real file system. */
export function realUseCases(): UseCase[] {
  return [
    {
      name: 'validate with a command',
      arrange: async (world) => {
        // What the receipt covers is the worktree, which is noted in an index of Atlas's own.
        makeRepository(world.stage.folder);
        config(world, ED25519);
        const ref = await taskIn(world, 'step_running');
        await keyOf(world.process(), 'ed25519');
        const signal = new AbortController().signal;
        return {
          several: true,
          act: async (atlas) => atlas.validate(ref, { commands: ['true'], signal, caller: 'human' }),
          check: async (atlas) => checkReceipts(atlas, ref),
        };
      },
    },
    {
      name: 'scan commits',
      arrange: async (world) => {
        const { repository } = await committed(world);
        return { several: true, repeatable: true, act: async (atlas) => (await atlas.git()).scan(repository) };
      },
    },
    {
      name: 'drain the spool',
      arrange: async (world) => {
        await committed(world);
        const { root, folder } = world.stage;
        const event = path.join(root, 'spool', 'event.1.0');
        mkdirSync(path.dirname(event), { mode: 0o700 });
        writeFileSync(event, `atlas-event 1\ntrigger post-commit\nfolder ${folder}\nparent 1\nend\n`);
        return {
          several: true,
          repeatable: true,
          act: async (atlas) => {
            const drained = await (await atlas.spool()).drain();
            if (!drained.ok) return drained;
            const { left, kept } = drained.value;
            return left + kept.length > 0 ? fail('write_failed', 'an event is left') : drained;
          },
          check: (_atlas, outcome) => {
            if (outcome === 'done' && existsSync(event)) throw new Error('the event is still there');
          },
        };
      },
    },
    ...(['install', 'uninstall'] as const).map((what): UseCase => ({
      name: `git hooks of a repository: ${what}`,
      arrange: async (world) => {
        const { folder } = world.stage;
        makeRepository(folder);
        const theirs = path.join(folder, '.git', 'hooks', 'post-commit');
        mkdirSync(path.dirname(theirs));
        writeFileSync(theirs, HOOK);
        chmodSync(theirs, 0o755);
        const command = { command: [process.execPath, 'cli.js'] };
        if (what === 'uninstall') unwrap(await (await world.process().gitHooks()).install(folder, command));
        return {
          repeatable: true,
          act: async (atlas) => {
            const hooks = await atlas.gitHooks();
            const report = what === 'install' ? await hooks.install(folder, command) : await hooks.uninstall(folder);
            const blocked = report.ok && report.value.hooks.some(({ state }) => state === 'blocked');
            return blocked ? fail('write_failed', 'a hook could not be changed') : report;
          },
          check: (_atlas, outcome) => {
            const text = readFileSync(theirs, 'utf8');
            if (!text.includes('echo theirs')) throw new Error('the hook that was there is lost');
            if (outcome === 'done' && (text === HOOK) !== (what === 'uninstall'))
              throw new Error(`hooks: not ${what}ed`);
          },
        };
      },
    })),
  ];
}
