import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { type Clone, Clones, codeOf } from '../../support/fixtures/forgeClones';
import { type ForgeWorld, makeForgeWorld, usersOwn } from '../../support/fixtures/forgeWorld';
import { HostileObjects, type RawEntry } from '../../support/fixtures/hostileTrees';

const EVIL = 'forge/hooks/evil';
let world: ForgeWorld;
let clones: Clones;
let a: Clone;
let b: Clone;
let objects: HostileObjects;

beforeEach(async () => {
  world = makeForgeWorld();
  clones = new Clones(world);
  a = clones.add('a');
  unwrap(await a.sling('evil', 't1'));
  unwrap(await a.sling('w2', 't2'));
  unwrap(await a.workers.sharing.sync());
  b = clones.add('b');
  objects = new HostileObjects(clones.bare);
});
afterEach(() => {
  world.dispose();
});

/** What lies beside a clone, and at its top: a name that leads out of a hook's folder would add to it. */
function around({ folder }: Clone): string[][] {
  const hooks = path.join(folder, '.git', 'hooks');
  const inside = [folder, path.join(folder, '.forge'), path.join(folder, '.forge', 'hooks')];
  return [world.base, ...inside, hooks].map((each) => (existsSync(each) ? readdirSync(each).sort() : []));
}

/** A tree that names another a hundredfold, and that again: more files than anybody can list. */
function bomb(): RawEntry {
  let inner = objects.folder('', [objects.file('f', 'x')]);
  for (let depth = 0; depth < 8; depth += 1)
    inner = objects.folder(
      '',
      Array.from({ length: 100 }, (_, index) => ({ ...inner, name: `d${String(index).padStart(2, '0')}` })),
    );
  return { ...inner, name: 'bomb' };
}

function chain(): RawEntry {
  let inner = objects.file('f', 'x');
  for (let depth = 0; depth < 300; depth += 1) inner = objects.folder('d', [inner]);
  return inner;
}

const ESCAPED = 'escaped.txt';

/** What somebody can put on a branch of the remote. */
const HOSTILE: readonly { readonly what: string; readonly entries: () => readonly RawEntry[] }[] = [
  {
    what: "git's own folder",
    entries: () => [
      objects.folder('.git', [objects.file('config', '[core]\n\tfsmonitor = touch mark\n')]),
      objects.folder('.GIT', [objects.file('config', 'x')]),
      objects.folder('git~1', [objects.file('config', 'x')]),
    ],
  },
  {
    what: 'folders above',
    entries: () => [
      objects.folder('..', [objects.file(ESCAPED, 'x'), objects.folder('..', [objects.file(ESCAPED, 'x')])]),
    ],
  },
  {
    what: 'a name with slashes',
    entries: () => [objects.file(`../${ESCAPED}`, 'x'), objects.file(`..\\${ESCAPED}`, 'x')],
  },
  {
    what: 'a link, and a folder of the same name',
    entries: () => [
      objects.file('out', '../../..', '120000'),
      objects.folder('out', [objects.file(ESCAPED, 'x')]),
      objects.file('task', '../../../README.md', '120000'),
    ],
  },
  {
    what: "the protocol's file as a link",
    entries: () => [objects.file('status.json', '../w2/status.json', '120000')],
  },
  { what: 'a repository in it', entries: () => [{ mode: '160000', name: 'inner', id: '1'.repeat(40) }] },
  {
    what: '20,000 files',
    entries: () => {
      const { id } = objects.file('f', 'x');
      const names = Array.from({ length: 20_000 }, (_, index) => `f${String(index).padStart(5, '0')}`);
      return [
        objects.folder(
          'many',
          names.map((name) => ({ mode: '100644', name, id })),
        ),
      ];
    },
  },
  { what: 'a tree that names itself a hundredfold, eight times', entries: () => [bomb()] },
  { what: 'folders 300 deep', entries: () => [chain()] },
  { what: 'a status of 20 MB', entries: () => [objects.file('status.json', Buffer.alloc(20 * 1024 * 1024, ' '))] },
  { what: 'a status that is garbage', entries: () => [objects.file('status.json', Buffer.from([0, 255, 123, 34]))] },
  { what: 'a status of deep JSON', entries: () => [objects.file('status.json', '['.repeat(200_000))] },
  {
    what: 'a status of another worker',
    entries: () => [objects.file('status.json', clones.git('show', 'forge/hooks/w2:status.json'))],
  },
];

/** All that others do goes on. */
async function othersGoOn(): Promise<void> {
  const before = await b.statusOf('w2');
  expect(before).toMatchObject({ damage: undefined, state: { status: 'PENDING', taskId: 't2' } });
  await b.done('w2');
  unwrap(await b.sling('w3', 't3'));
  expect(b.workers.sharing.unshared).toBeUndefined();
  unwrap(await a.workers.sharing.sync());
  expect(await a.tasks()).toEqual(expect.arrayContaining(['t2 COMPLETE w2', 't3 PENDING w3']));
}

describe('a branch that somebody hostile pushed', { timeout: 60_000 }, () => {
  it.each(HOSTILE)('$what: is taken for damaged or left alone where it is new here', async ({ entries }) => {
    objects.plant(EVIL, entries());
    unwrap(await b.workers.sharing.sync());
    await othersGoOn();
    const [before, own] = [around(b), ownOf(b)];
    const claimed = await b.claim('evil');
    expect(['ok', 'damaged', 'git_failed', 'recorded_not_written']).toContain(codeOf(claimed));
    await b.workers.steps.restore('evil');
    await b.workers.repairs.apply();
    expect(around(b).map((names) => names.filter((name) => name !== 'evil' && name !== 'set-aside'))).toEqual(before);
    expect(ownOf(b)).toEqual(own);
    if (existsSync(b.hook('evil'))) expect(readdirSync(b.hook('evil'))).not.toContain(ESCAPED);
    unwrap(await b.sling('w4', 't4'));
  });

  it.each(HOSTILE)('$what: keeps nobody from anything where its folder is here', async ({ entries }) => {
    unwrap(await b.workers.sharing.sync());
    unwrap(await b.claim('evil'));
    objects.plant(EVIL, entries());
    const [before, own] = [around(b), ownOf(b)];
    unwrap(await b.workers.sharing.sync());
    expect(around(b)).toEqual(before);
    await othersGoOn();
    await b.workers.repairs.apply();
    expect(ownOf(b)).toEqual(own);
    expect(readdirSync(b.hook('evil'), { withFileTypes: true }).filter((entry) => entry.isSymbolicLink())).toEqual([]);
    unwrap(await b.sling('w4', 't4'));
  });

  it('of a name that no worker can have is nobody, and stays where it is', async () => {
    const names = ['forge/hooks/UPPER', 'forge/other', 'forge/hooks/p/q/r', 'forge/hooks/con', 'forge/hooks/-x'];
    for (const name of names) objects.plant(name, [], 'forge/hooks/w2');
    unwrap(await b.workers.sharing.sync());
    expect(unwrap(await b.workers.statuses.all()).workers.map(({ worker }) => worker)).toEqual(['evil', 'w2']);
    await othersGoOn();
    expect(existsSync(path.join(b.folder, '.forge', 'hooks', 'UPPER'))).toBe(false);
    expect(unwrap(await b.workers.repairs.plan())).toEqual([]);
    for (const name of names) expect(clones.refs).toContain(`refs/heads/${name} `);
    for (const name of names) expect(b.git('for-each-ref', `refs/heads/${name}`)).toBe('');
  });

  it('of the ledger: lines that are none are reported, and all others count', async () => {
    const good = clones.git('show', 'forge/ledger:tasks.jsonl');
    const garbage = Buffer.concat([
      Buffer.from(`${good}\n{"id":"t2"}\n`),
      Buffer.from([0, 255, 10]),
      Buffer.from('{"id":"'),
    ]);
    objects.plant('forge/ledger', [
      objects.file('tasks.jsonl', garbage),
      objects.file('evidence.jsonl', Buffer.alloc(1_000_000, 'x')),
      objects.file('convoys.jsonl', '../../../README.md', '120000'),
    ]);
    unwrap(await b.workers.sharing.sync());
    await othersGoOn();
    expect(unwrap(await b.workers.repairs.apply()).failed).toEqual([]);
    unwrap(await b.workers.sharing.sync());
    expect(readFileSync(path.join(b.folder, 'README.md'), 'utf8')).toBe('# Sample\n');
    expect(await b.tasks()).toEqual(['t1 PENDING evil', 't2 COMPLETE w2', 't3 PENDING w3']);
  });
});

/** What is the user's in a clone. */
function ownOf(clone: Clone): Map<string, string> {
  const picture = usersOwn({ ...world, folder: clone.folder, git: (...args) => clone.git(...args) });
  const isSynced = (name: string): boolean =>
    /refs\/remotes\/origin\/forge\/|worktrees\/evil\//u.test(name.replaceAll('\\', '/'));
  const refs = (picture.get('refs') ?? '').split('\n').filter((line) => !isSynced(line));
  return new Map([...[...picture].filter(([name]) => !isSynced(name)), ['refs', refs.join('\n')]]);
}
