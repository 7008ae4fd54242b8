import { type Result, fail, ok, unwrap } from '../../src/core/shared/errors';
import { GIT_HOOK_NAMES, OWN_SHEBANG } from '../../src/git/hooks/hookScript';
import type { Atlas } from '../../src/service/atlas';
import { GitHookFiles } from '../../src/git/hooks/gitHookFiles';
import { writeLauncher } from '../../src/system/launcher/launcher';
import { type MadeLink, linkLauncher } from '../../src/system/launcher/launcherLink';
import { TrustFile } from '../../src/store/workspace/trustFile';
import { keyOf, must, tried } from '../support/fixtures/caseHelpers';
import { taskIndexesOf } from '../support/fixtures/receipts/signedStore';
import { type UseCase, WrongAnswer } from '../support/faults/useCase';

const keys: UseCase[] = (['hd', 'ed25519'] as const).map((scheme) => ({
  name: `make the ${scheme} key`,
  arrange: () => {
    return {
      repeatable: true,
      act: async (atlas) => tried(async () => keyOf(atlas, scheme)),
      check: async (atlas, outcome, told) => {
        // Whoever needs it next makes it, or finds the one that was made.
        const id = await keyOf(atlas, scheme);
        must(outcome !== 'done' || id === told, 'another key was made than the one that was told of');
        const folder = atlas.ports.paths.keys;
        const read = (name: string): string => Buffer.from(atlas.ports.files.read(`${folder}/${name}`, 1e6)).toString();
        must(read('master.key') === read('master.key.bak'), 'the backup is not the key');
        must(read('receipts.pub.json').includes(id), 'the key is not published');
        must(atlas.ports.files.stat(`${folder}/master.key`)?.mode === 0o600, 'the key is open to others');
      },
    };
  },
}));

const recording: UseCase[] = [
  {
    name: 'make a workspace',
    arrange: () => {
      return {
        repeatable: true,
        act: async (atlas) => tried(() => unwrap(atlas.workspaces.ensure('/some/repository', 'main'))),
        check: (atlas, outcome) => {
          const found = atlas.workspaces.find('/some/repository');
          must(outcome !== 'done' || found === 'repository', 'the workspace is not there');
        },
      };
    },
  },
  {
    name: 'number a task',
    arrange: async (world) => {
      const before = unwrap(await taskIndexesOf(world.process()).next());
      return {
        repeatable: true,
        act: async (atlas) => taskIndexesOf(atlas).next(),
        check: async (atlas, outcome, told) => {
          const next = unwrap(await taskIndexesOf(atlas).next());
          const last = outcome === 'done' ? Number(told) : before;
          must(next > last, `number ${next} was given twice`);
        },
      };
    },
  },
  {
    name: 'allow a command',
    arrange: (world) => {
      new TrustFile(world.process().ports).allow({ path: 'work', firstCommit: undefined }, ['old']);
      return {
        repeatable: true,
        act: async (atlas) =>
          tried(() => new TrustFile(atlas.ports).allow({ path: 'work', firstCommit: undefined }, ['new'])),
        check: (atlas, outcome) => {
          const unknown = new TrustFile(atlas.ports).unknown('work', ['old', 'new']);
          must(!unknown.includes('old'), 'what was allowed is forgotten');
          must(outcome !== 'done' || unknown.length === 0, 'what was allowed just now is forgotten');
        },
      };
    },
  },
  {
    name: 'write the launcher',
    arrange: (world) => {
      const { folder } = world.stage;
      const target = { folder: `${folder}/bin`, node: '/usr/bin/node', cli: `${folder}/cli.js` };
      return {
        repeatable: true,
        act: (atlas) => writeLauncher(atlas.ports, target, 'linux'),
        check: (atlas) => {
          unwrap(writeLauncher(atlas.ports, target, 'linux'));
          must(!unwrap(writeLauncher(atlas.ports, target, 'linux')), 'the launcher is written again and again');
        },
      };
    },
  },
  {
    name: 'link the launcher for other shells',
    arrange: (world) => {
      const { folder } = world.stage;
      const request = { path: '', home: `${folder}/home`, name: 'atlas', platform: 'win32' } as const;
      const link = (atlas: Atlas, launcher: string): Result<MadeLink> =>
        linkLauncher(atlas.ports, { ...request, launcher });
      unwrap(link(world.process(), 'first'));
      return {
        repeatable: true,
        act: (atlas) => link(atlas, 'second'),
        check: (atlas) => {
          const { path } = unwrap(link(atlas, 'second'));
          must(Buffer.from(atlas.ports.files.read(path, 1e6)).toString().includes('"second"'), 'the link is not ours');
        },
      };
    },
  },
  {
    name: 'load templates',
    arrange: (world) => {
      const { folder, files } = world.stage;
      for (const each of ['.atlas', '.atlas/templates']) files.makeFolder(`${folder}/${each}`);
      const text = (id: string): string => `id: ${id}\nsteps:\n  - name: only\n`;
      for (const id of ['own', 'other']) files.write(`${folder}/.atlas/templates/${id}.yaml`, text(id), { sync: true });
      return {
        repeatable: true,
        act: async (atlas) => {
          const { templates, issues } = await atlas.configs.templates(folder);
          const found = templates.filter(({ source }) => source === 'project').length;
          if (found === 2) return ok(undefined);
          // What is said of the folder is said of all in it.
          const isWhole = issues.some(({ file }) => file === `${folder}/.atlas/templates`);
          if (!isWhole && found + issues.length < 2) throw new WrongAnswer('a template is missing and nothing says so');
          return fail('unreadable', issues.map(({ message }) => message).join());
        },
      };
    },
  },
];

const COMMAND = { root: '/store', command: ['/bin/atlas'], platform: 'linux' } as const;
const THEIRS: Readonly<Record<(typeof GIT_HOOK_NAMES)[number], string>> = {
  'post-commit': '#!/bin/sh\necho theirs\n',
  'post-merge': '#!/usr/bin/env python3\nprint("theirs")\n',
  'pre-push': '',
};

/** The files of hooks by themselves; which folder they belong to is git's to say. */
const hookFiles: UseCase[] = (['install', 'uninstall'] as const).map((what) => ({
  name: `git hooks: ${what}`,
  arrange: (world) => {
    const folder = `${world.stage.folder}/hooks`;
    const { files } = world.stage;
    files.makeFolder(folder);
    for (const name of GIT_HOOK_NAMES) {
      if (THEIRS[name] !== '') files.write(`${folder}/${name}`, THEIRS[name], { mode: 0o755, sync: true });
    }
    const act = (atlas: Atlas, how: 'install' | 'uninstall'): void => {
      const hooks = new GitHookFiles(atlas.ports);
      for (const name of GIT_HOOK_NAMES) {
        const change = how === 'install' ? hooks.install(folder, name, COMMAND) : hooks.uninstall(folder, name);
        if (change.problem !== undefined) throw new WrongAnswer(`${name} is blocked: ${change.problem}`);
      }
    };
    if (what === 'uninstall') act(world.process(), 'install');
    files.syncFolder(folder);
    return {
      repeatable: true,
      act: async (atlas) => tried(() => act(atlas, what)),
      check: (atlas, outcome) => {
        const text = (name: string): string => Buffer.from(atlas.ports.files.read(`${folder}/${name}`, 1e6)).toString();
        const names = new Set(atlas.ports.files.list(folder));
        for (const name of GIT_HOOK_NAMES.filter((each) => THEIRS[each] !== '')) {
          const body = THEIRS[name].split('\n')[1] ?? '';
          const kept = [...names].filter((each) => each.startsWith(name)).some((each) => text(each).includes(body));
          must(kept, `the ${name} hook that was there is lost`);
          must(names.has(name), `git finds no ${name} hook any more`);
          const mode = atlas.ports.files.stat(`${folder}/${name}`)?.mode ?? 0;
          must((mode & 0o100) !== 0, `git can't run ${name}`);
          must(text(name).includes(body) || text(name).startsWith(OWN_SHEBANG), `${name} is neither theirs nor ours`);
        }
        if (outcome !== 'done') return;
        for (const name of GIT_HOOK_NAMES) {
          const ours = names.has(name) && text(name).includes('/bin/atlas');
          must(ours === (what === 'install'), `${name} is not as it was told to be`);
          if (what === 'uninstall' && THEIRS[name] !== '')
            must(text(name) === THEIRS[name], `${name} is not as it was`);
        }
      },
    };
  },
}));

/** What is stored beside tasks: keys, workspaces, numbers, trust, the launcher, templates, git hooks. */
export const STORE_CASES: readonly UseCase[] = [...keys, ...recording, ...hookFiles];
