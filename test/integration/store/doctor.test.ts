import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { derivationFor } from '../../../src/core/receipt/keyPath';
import { unwrap } from '../../../src/core/shared/errors';
import type { ProcessIdentity } from '../../../src/core/recovery/liveness';
import { type DoctorFinding, examine } from '../../../src/service/doctor/doctor';
import { GenerationLock } from '../../../src/system/locks/lock';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { FileKeyManager } from '../../../src/signing/keyManager';
import { silentLog } from '../../../src/service/ports';
import { type TestStore, checkpoint, editFile, makeStore } from '../../support/fixtures/store';

let store: TestStore;
let ref: TaskRef;
beforeEach(async () => {
  store = makeStore();
  ref = await store.running();
  await checkpoint(store.other(), ref, 'one');
});
afterEach(() => {
  store.dispose();
});

const DAY_MS = 24 * 3_600_000;
const at = (...names: string[]): string => path.join(store.root, ...names);
const inTask = (...names: string[]): string => path.join(store.atlas.ports.paths.task(ref), ...names);

async function look(
  options: { fix?: boolean; confirm?: boolean; asked?: string[]; folders?: string[] } = {},
): Promise<readonly DoctorFinding[]> {
  return examine(store.other(), {
    fix: options.fix === true,
    folders: options.folders ?? [],
    confirm: async (question) => {
      options.asked?.push(question);
      return Promise.resolve(options.confirm === true);
    },
  });
}

/** What is not as it should be, in short. */
async function wrong(options: Parameters<typeof look>[0] = {}): Promise<string[]> {
  const findings = await look(options);
  return findings.filter(({ level }) => level !== 'ok').map(({ area, level }) => `${area} ${level}`);
}

/** Every entry below a folder with all that a write would change; mode and time of change included. */
function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const { mode, size, mtimeMs, ctimeMs, ino } = lstatSync(file);
    hash.update(JSON.stringify([file, mode, entry.isDirectory() ? 0 : size, mtimeMs, ctimeMs, ino]));
    if (entry.isFile()) hash.update(readFileSync(file));
    if (entry.isSymbolicLink()) hash.update(readlinkSync(file));
  }
  return hash.digest('hex');
}

function makeOld(file: string, ms = 2 * DAY_MS): void {
  const then = (Date.now() - ms) / 1000;
  utimesSync(file, then, then);
}

/** A lock of the task, held since long ago by a process of another machine. */
function heldElsewhere(): void {
  const { ports } = store.atlas;
  const elsewhere: ProcessIdentity = { ...ports.processes.self(), machine_id: 'another', incarnation: 'x' };
  const folder = ports.paths.locks(ref);
  const processes = { self: () => elsewhere, vitality: () => 'alive' as const };
  const held = new GenerationLock(folder, { ...ports, processes }).tryAcquire();
  if (held === undefined) throw new Error('the lock is not free');
  makeOld(path.join(folder, `lock.${held.generation}`));
}

async function withKey(): Promise<void> {
  const receipts = await store.atlas.receipts();
  const { config } = await store.atlas.configs.forWorktree(undefined);
  const settings = { scheme: 'ed25519' as const, derivation: derivationFor(config.keyDerivation) };
  unwrap(await new FileKeyManager(receipts.keys, settings, silentLog, receipts.curve).load());
}

const POSIX = process.platform !== 'win32';

/** A broken store, what is found, what a run with `fix` leaves, and whether it asks. */
interface Broken {
  readonly name: string;
  readonly breakIt: () => void | Promise<void>;
  readonly found: readonly string[];
  /** What is left after `fix`; nothing, unless said. */
  readonly left?: readonly string[];
  /** What a human has to know of although it was fixed. */
  readonly told?: readonly string[];
  readonly message: RegExp;
}

const ZOO: readonly Broken[] = [
  {
    name: 'a store that others may write into',
    breakIt: () => chmodSync(store.root, 0o777),
    found: ['store problem'],
    message: /Other users can write/u,
  },
  {
    name: 'a setting that can not be used',
    breakIt: () => writeFileSync(at('config.yaml'), 'hooks:\n  max_checkpoints: many\n'),
    found: ['config problem'],
    left: ['config problem'],
    message: /max_checkpoints/u,
  },
  {
    name: 'a torn journal',
    breakIt: () => appendFileSync(inTask('journal.jsonl'), '{"seq":9,"torn'),
    found: ['journal problem'],
    message: /interrupted/u,
  },
  {
    name: 'a hook.json of nothing but zeros',
    breakIt: () => editFile(inTask('hook.json'), (text) => '\0'.repeat(text.length)),
    found: ['task problem'],
    message: /rebuilt from the journal/u,
  },
  {
    name: 'a hook.json that is lost',
    breakIt: () => rmSync(inTask('hook.json')),
    found: ['task problem'],
    message: /rebuilt from the journal/u,
  },
  {
    name: 'a hook.json that somebody edited',
    breakIt: () => editFile(inTask('hook.json'), (text) => text.replace('"one"', '"uno"')),
    found: ['task problem'],
    told: ['task problem'],
    message: /other than Atlas/u,
  },
  {
    name: 'a HOOK.md that is lost',
    breakIt: () => rmSync(inTask('HOOK.md')),
    found: ['task problem'],
    message: /HOOK\.md/u,
  },
  {
    name: 'a task.json that disagrees',
    breakIt: () => editFile(inTask('task.json'), (text) => text.replace('"running"', '"pending"')),
    found: ['task problem'],
    message: /task\.json disagrees/u,
  },
  {
    name: 'a marker that is lost',
    breakIt: () => rmSync(store.atlas.ports.paths.marker(ref)),
    found: ['marker problem'],
    message: /its marker is missing/u,
  },
  {
    name: 'a marker of a finished task',
    breakIt: async () => {
      unwrap(await store.other().send(ref, { type: 'abandon', by: 'human' }));
      writeFileSync(store.atlas.ports.paths.marker(ref), '');
    },
    found: ['marker problem'],
    message: /marked as open/u,
  },
  {
    name: 'a marker of no task',
    breakIt: () => writeFileSync(at('open', 'work@task-20200101-000000'), ''),
    found: ['marker problem'],
    message: /the task does not exist/u,
  },
  {
    name: 'a hook.json and a journal that are both damaged',
    breakIt: () => {
      writeFileSync(inTask('hook.json'), '{');
      editFile(inTask('journal.jsonl'), (text) => text.replace('"init"', '"Init"'));
    },
    found: ['task problem', 'journal problem'],
    left: ['task problem', 'journal problem'],
    message: /line 2/u,
  },
  {
    name: 'a journal whose last line was not all on disk when the power went',
    breakIt: () => appendFileSync(inTask('journal.jsonl'), '\0\0\0\0\0\0\0\0\n'),
    found: ['journal problem'],
    message: /Its last 9 bytes were never acknowledged/u,
  },
  {
    name: 'a journal whose last line is none, and tells what hook.json says',
    breakIt: () => editFile(inTask('journal.jsonl'), (text) => text.replace(/\{[^\n]*\n$/u, 'nonsense\n')),
    found: ['task problem', 'journal problem'],
    left: ['task problem', 'journal problem'],
    message: /last line/u,
  },
  {
    name: 'a task whose making was interrupted',
    breakIt: () => {
      for (const name of ['hook.json', 'HOOK.md', 'journal.jsonl', 'task.log']) rmSync(inTask(name));
    },
    found: ['marker problem'],
    message: /Its creation was interrupted/u,
  },
  {
    name: 'a journal with a changed line in the middle',
    breakIt: () => editFile(inTask('journal.jsonl'), (text) => text.replace('"setup_complete"', '"setup_complet_"')),
    found: ['journal problem'],
    left: ['journal problem'],
    message: /chain is broken at line 3/u,
  },
  {
    name: 'a task of a newer schema',
    breakIt: () => editFile(inTask('task.json'), (text) => text.replaceAll('"1.0"', '"9.0"')),
    found: ['task problem'],
    left: ['task problem'],
    message: /schema version 9/u,
  },
  {
    name: 'a task folder that is a link',
    breakIt: () => {
      renameSync(inTask(), at('elsewhere'));
      symlinkSync(at('elsewhere'), inTask());
    },
    found: ['task problem'],
    left: ['task problem'],
    message: /symbolic link/u,
  },
  {
    name: 'a workspace without its file',
    breakIt: () => rmSync(path.join(store.atlas.ports.paths.workspace(ref.workspace), 'workspace.json')),
    found: ['store problem'],
    left: ['store problem'],
    message: /workspace\.json/u,
  },
  {
    name: 'a file where the tasks of a workspace belong',
    breakIt: () => {
      mkdirSync(at('workspaces', 'other'));
      writeFileSync(at('workspaces', 'other', 'tasks'), '');
    },
    found: ['store problem', 'task problem', 'task problem'],
    left: ['store problem', 'task problem', 'task problem'],
    message: /could not be checked/u,
  },
  {
    name: 'a trust.json that is none',
    breakIt: () => writeFileSync(at('trust.json'), '[]'),
    found: ['trust problem'],
    left: ['trust problem'],
    message: /no command is allowed/u,
  },
  {
    name: 'a temporary file that was left over',
    breakIt: () => {
      writeFileSync(inTask('hook.json.0badcafe.tmp'), 'half');
      makeOld(inTask('hook.json.0badcafe.tmp'));
    },
    found: ['store problem'],
    message: /temporary file/u,
  },
  {
    name: 'keys that others may read',
    breakIt: async () => {
      await withKey();
      chmodSync(at('keys'), 0o755);
      chmodSync(at('keys', 'master.key'), 0o644);
      writeFileSync(at('keys', 'verdicts.key'), '', { mode: 0o644 });
    },
    found: ['keys problem', 'keys problem', 'keys problem'],
    message: /Other users can access it/u,
  },
  {
    name: 'a key that is none',
    breakIt: async () => {
      await withKey();
      writeFileSync(at('keys', 'master.key'), 'not a key');
    },
    found: ['keys problem'],
    left: ['keys problem'],
    message: /key/u,
  },
  {
    name: 'a key that is gone but for its backup',
    breakIt: async () => {
      await withKey();
      rmSync(at('keys', 'master.key'));
    },
    found: ['keys problem'],
    left: ['keys problem'],
    message: /backup/u,
  },
  {
    name: 'a public key that is not published',
    breakIt: async () => {
      await withKey();
      rmSync(at('keys', 'receipts.pub.json'));
    },
    found: ['keys problem'],
    message: /public key/u,
  },
  {
    name: 'public keys that are none',
    breakIt: async () => {
      await withKey();
      writeFileSync(at('keys', 'receipts.pub.json'), '{');
    },
    found: ['keys problem'],
    message: /public key/u,
  },
];

describe('the doctor', () => {
  it('finds nothing wrong in a good store, and says what it looked at', async () => {
    await withKey();
    const findings = await look();
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(findings.map(({ message }) => message)).toEqual([
      'The store exists and is writable.',
      'The signing key is usable and its public key is published.',
      'Checked 1 open task and 0 finished tasks.',
    ]);
  });

  it.runIf(POSIX).each(ZOO.map((each) => [each.name, each] as const))(
    'finds %s without a write, fixes it if it can, and then finds nothing new',
    async (_name, { breakIt, found, left = [], told = left, message }) => {
      await breakIt();
      const before = hashOf(store.root);
      const findings = await look();
      expect(hashOf(store.root)).toBe(before);
      const problems = findings.filter(({ level }) => level !== 'ok');
      expect(problems.map(({ area, level }) => `${area} ${level}`).sort()).toEqual([...found].sort());
      expect(problems.map((each) => each.message).join('\n')).toMatch(message);
      for (const each of problems) {
        expect(each.hint).toBeTruthy();
        expect(each.hint).not.toMatch(/\brm\b|--force|reset --hard|delete/u);
        expect(each.fixable === true).toBe(left.length === 0);
      }
      const fixed = await wrong({ fix: true });
      expect(fixed.filter((each) => each.endsWith('problem')).sort()).toEqual([...told].sort());
      expect(fixed.some((each) => each.endsWith('fixed'))).toBe(left.length === 0);
      expect((await wrong({ fix: true })).sort()).toEqual([...told].sort());
    },
  );

  it('says of what was set aside earlier that it is there', async () => {
    writeFileSync(inTask('hook.json'), '{');
    await look({ fix: true });
    const kept = (await look()).filter(({ message }) => message.includes('.corrupt-'));
    expect(kept.map(({ level }) => level)).toEqual(['ok']);
  });

  it('leaves a temporary file alone that may be in use', async () => {
    writeFileSync(inTask('hook.json.0badcafe.tmp'), 'half');
    writeFileSync(inTask('notes.tmp'), 'of somebody else');
    makeOld(inTask('notes.tmp'));
    expect(await wrong({ fix: true })).toEqual([]);
    expect(existsSync(inTask('notes.tmp'))).toBe(true);
  });

  it('takes a lock from a holder elsewhere only once a person says that it is gone', async () => {
    heldElsewhere();
    const before = hashOf(store.root);
    expect(await wrong()).toEqual(['lock problem']);
    expect(hashOf(store.root)).toBe(before);
    const asked: string[] = [];
    expect(await wrong({ fix: true, asked })).toEqual(['lock problem']);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(`Process ${process.pid}`);
    expect(await wrong({ fix: true, confirm: true })).toEqual(['lock fixed']);
    expect(await wrong({ fix: true, confirm: true })).toEqual([]);
    await checkpoint(store.other(), ref, 'after');
  });

  it('says where a task crashed, and removes what the dead left on one that did not', async () => {
    const { ports } = store.atlas;
    const dead = { ...ports.processes.self(), pid: 2 ** 22 + 1, incarnation: 'dead' };
    mkdirSync(ports.paths.owners(ref), { recursive: true });
    const owner = { kind: 'window', process: dead, started_at: '2026-01-01T00:00:00.000Z' };
    const file = path.join(ports.paths.owners(ref), 'dead.json');
    writeFileSync(file, JSON.stringify(owner));
    expect(await wrong({ fix: true })).toEqual(['owner problem']);
    expect(existsSync(file)).toBe(true);
    const waiting = await store.start();
    const left = path.join(ports.paths.owners(waiting), 'dead.json');
    mkdirSync(path.dirname(left), { recursive: true });
    writeFileSync(left, JSON.stringify(owner));
    expect((await wrong({ fix: true })).sort()).toEqual(['owner fixed', 'owner problem']);
    expect(existsSync(left)).toBe(false);
  });

  it('looks at the journals of finished tasks too', async () => {
    unwrap(await store.other().send(ref, { type: 'abandon', by: 'human' }));
    expect(await wrong()).toEqual([]);
    editFile(inTask('journal.jsonl'), (text) => text.replace('"setup_complete"', '"setup_complet_"'));
    const [found] = (await look()).filter(({ level }) => level === 'problem');
    expect(found?.message).toContain('line 3');
  });

  it('turns events of git hooks that waited for long, and forgets what could not be turned once told to', async () => {
    mkdirSync(at('spool', 'locks'), { recursive: true });
    const event = at('spool', 'event.1.0');
    writeFileSync(event, 'atlas-event 1\ntrigger post-commit\nfolder /gone/repo\nparent 1\nend\n');
    expect(await wrong()).toEqual([]);
    makeOld(event);
    const before = hashOf(store.root);
    expect(await wrong()).toEqual(['spool problem']);
    expect(hashOf(store.root)).toBe(before);
    const asked: string[] = [];
    expect(await wrong({ fix: true, asked })).toEqual(['spool fixed', 'spool problem']);
    expect(asked[0]).toContain('/gone/repo no longer exists');
    expect(await wrong({ fix: true, confirm: true })).toEqual(['spool fixed']);
    expect(await wrong({ fix: true, confirm: true })).toEqual([]);
  });

  it('looks at the git hooks of a folder: absent is worth knowing, missing and outdated ones are wrong', async () => {
    execFileSync('git', ['init', '--quiet', store.folder]);
    const hooksOf = async (): Promise<string[]> =>
      (await look({ folders: [store.folder, store.folder] }))
        .filter(({ area }) => area === 'git_hooks')
        .map(({ level, message }) => `${level} ${message}`);
    expect(await hooksOf()).toEqual([expect.stringMatching(/^ok No git hooks are installed here/u)]);
    unwrap(await (await store.other().gitHooks()).install(store.folder, { command: [process.execPath] }));
    expect(await hooksOf()).toEqual(['ok The git hooks are installed and up to date.']);
    const hook = path.join(store.folder, '.git', 'hooks', 'post-commit');
    editFile(hook, (text) => text.replace('atlas_n=0', 'atlas_n=1'));
    expect(await hooksOf()).toEqual(['problem It was installed by another version of Atlas.']);
    rmSync(hook);
    expect(await hooksOf()).toEqual(['problem post-commit of Atlas is missing.']);
  });

  it('looks at the settings and templates of a folder', async () => {
    mkdirSync(path.join(store.folder, '.atlas', 'templates'), { recursive: true });
    writeFileSync(path.join(store.folder, '.atlas', 'templates', 'bad.yaml'), 'id: [');
    writeFileSync(path.join(store.folder, '.atlas', 'config.yaml'), 'hooks:\n  max_checkpoints: -1\n');
    const findings = (await look({ folders: [store.folder] })).filter(({ level }) => level === 'problem');
    expect(findings.map(({ area }) => area)).toEqual(['config', 'template']);
    for (const { subject } of findings) expect(subject).toMatch(/\.ya?ml:\d+:\d+$/u);
  });

  it.runIf(POSIX).each([
    ['is not there', () => rmSync(store.root, { recursive: true }), []],
    [
      'is a file',
      () => {
        rmSync(store.root, { recursive: true });
        writeFileSync(store.root, '');
      },
      ['store problem'],
    ],
    [
      'is a link that leads nowhere',
      () => {
        rmSync(store.root, { recursive: true });
        symlinkSync('/gone', store.root);
      },
      ['store problem'],
    ],
    [
      'is a link to a folder',
      () => {
        renameSync(store.root, `${store.root}-real`);
        symlinkSync(`${store.root}-real`, store.root);
      },
      [],
    ],
  ])('copes with a store that %s, and makes none', async (_name, change, expected) => {
    change();
    const before = lstatSync(store.root, { throwIfNoEntry: false })?.ino;
    expect(await wrong({ fix: true })).toEqual(expected);
    expect(lstatSync(store.root, { throwIfNoEntry: false })?.ino).toBe(before);
  });

  it.runIf(POSIX && process.getuid?.() !== 0)('says who could read and write what this user can not', async () => {
    chmodSync(at('open'), 0o500);
    const [finding] = (await look()).filter(({ level }) => level === 'problem');
    expect(finding?.hint).toContain('chmod u+rwx');
    chmodSync(at('open'), 0o755);
  });

  it('ends early when told to, with what it found', async () => {
    const ending = new AbortController();
    ending.abort();
    const options = { fix: true, folders: [], confirm: async () => Promise.resolve(true), signal: ending.signal };
    expect(await examine(store.other(), options)).toEqual([]);
  });

  it('never writes a wide key folder while it only looks, though reading keys narrows it elsewhere', async () => {
    await withKey();
    chmodSync(at('keys'), 0o777);
    await look();
    expect(statSync(at('keys')).mode & 0o777).toBe(0o777);
  });
});
