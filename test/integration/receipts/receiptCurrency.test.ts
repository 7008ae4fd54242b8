import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { Freshness } from '../../../src/core/receipt/receipt';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { makeStore } from '../../support/fixtures/store';
import { type ValidationWorld, makeValidationWorld } from '../../support/fixtures/validationWorld';

let world: ValidationWorld;
let ref: TaskRef;
const at = (...names: readonly string[]): string => path.join(world.workspace.folder, ...names);
const git = (...args: string[]): Promise<string> => world.workspace.git(...args);

/** Whether the newest receipt of a task covers the files as they are now, as another process says. */
async function currency(of: TaskRef = ref): Promise<Freshness> {
  const receipts = await world.other().receipts();
  const stored = world.stored(of);
  const id = stored.hook.receipts.at(-1)?.receipt_id ?? '';
  const report = unwrap(await receipts.reports(stored)).get(id);
  if (report === undefined) throw new Error('the task has no receipt');
  expect(report.verdict).toBe('valid');
  const found = (await receipts.currencies(stored, [report])).get(id);
  if (found === undefined) throw new Error('nothing is said of the receipt');
  const proven = unwrap(await receipts.proven(stored, { current: true }));
  expect(proven.has(id)).toBe(found.kind === 'current' && stored.hook.receipts.at(-1)?.exit_code === 0);
  return found;
}

const CURRENT: Freshness = { kind: 'current' };
const outdated = (...files: string[]): Freshness => ({ kind: 'outdated', files, more: 0 });

describe('a proof, after its files', () => {
  /** The validated state: committed, changed, staged, untracked and ignored files. */
  beforeAll(async () => {
    world = await makeValidationWorld();
    writeFileSync(at('.gitignore'), '*.log\nbuild/\n');
    mkdirSync(at('src'));
    for (const name of ['a.txt', 'b.txt', 'src/c.txt', 'run.sh', 'hidden.txt']) writeFileSync(at(name), `${name}\n`);
    ref = await world.running(['true']);
    writeFileSync(at('b.txt'), 'changed, not staged\n');
    writeFileSync(at('src', 'c.txt'), 'changed and staged\n');
    await git('add', 'src/c.txt');
    writeFileSync(at('new.txt'), 'untracked\n');
    writeFileSync(at('some.log'), 'ignored\n');
    unwrap(await world.validate(ref));
    await git('branch', 'validated');
    await git('stash', 'push', '--quiet', '--include-untracked');
    await git('stash', 'apply', '--quiet', '--index');
  });
  afterAll(() => {
    world.dispose();
  });
  /** Each case begins with the validated state, whatever the one before did. */
  beforeEach(async () => {
    for (const name of ['a.txt', 'src', 'hidden.txt'])
      await git('update-index', '--no-skip-worktree', name).catch(() => '');
    await git('checkout', '--quiet', '--force', 'main');
    await git('reset', '--quiet', '--hard', 'validated');
    await git('clean', '--quiet', '-ffdx');
    await git('stash', 'apply', '--quiet', '--index');
    writeFileSync(at('some.log'), 'ignored\n');
  });

  it('stayed as they were, is current', async () => {
    expect(await currency()).toEqual(CURRENT);
  });

  const CHANGES: readonly (readonly [string, () => unknown, readonly string[]])[] = [
    ['were edited', () => writeFileSync(at('a.txt'), 'edited\n'), ['a.txt']],
    ['were edited, of the same size and time', () => sneak('a.txt'), ['a.txt']],
    [
      'were edited, two of them',
      () => {
        writeFileSync(at('b.txt'), '');
        writeFileSync(at('src/c.txt'), '');
      },
      ['b.txt', 'src/c.txt'],
    ],
    ['were put back to what is committed', () => git('checkout', 'HEAD', '--', 'b.txt'), ['b.txt']],
    ['got an untracked one', () => writeFileSync(at('more.txt'), ''), ['more.txt']],
    [
      'got an untracked one in a new folder',
      () => {
        mkdirSync(at('n'));
        writeFileSync(at('n/ü é.txt'), '');
      },
      ['n/ü é.txt'],
    ],
    ['lost an untracked one', () => rmSync(at('new.txt')), ['new.txt']],
    ['lost a tracked one', () => rmSync(at('a.txt')), ['a.txt']],
    ['can be executed', () => chmodSync(at('run.sh'), 0o755), ['run.sh']],
    [
      'became a link',
      () => {
        rmSync(at('a.txt'));
        symlinkSync('b.txt', at('a.txt'));
      },
      ['a.txt'],
    ],
    [
      'became a folder',
      () => {
        rmSync(at('a.txt'));
        mkdirSync(at('a.txt'));
        writeFileSync(at('a.txt/x'), '');
      },
      ['a.txt', 'a.txt/x'],
    ],
    ['were renamed', () => renameSync(at('a.txt'), at('z.txt')), ['a.txt', 'z.txt']],
    [
      'are other ones that are ignored no longer',
      () => writeFileSync(at('.gitignore'), 'build/\n'),
      ['.gitignore', 'some.log'],
    ],
    ['are hidden by assume-unchanged', () => hide('--assume-unchanged'), ['hidden.txt']],
    ['are hidden by skip-worktree', () => hide('--skip-worktree'), ['hidden.txt']],
    ['are no longer in the index', () => git('rm', '--quiet', 'a.txt'), ['a.txt']],
    ['were edited and committed', commitEdit, ['a.txt']],
  ];
  async function commitEdit(): Promise<void> {
    writeFileSync(at('a.txt'), 'x');
    await git('commit', '-qam', 'x');
  }
  function sneak(name: string): void {
    const { atime, mtime } = statSync(at(name));
    const text = readFileSync(at(name), 'utf8');
    writeFileSync(at(name), text.replace('a', 'b'));
    utimesSync(at(name), atime, mtime);
  }
  async function hide(flag: string): Promise<void> {
    await git('update-index', flag, 'hidden.txt');
    writeFileSync(at('hidden.txt'), 'edited behind the back\n');
  }

  it.each(CHANGES)('%s, is outdated and says which', async (_name, change, files) => {
    await change();
    expect(await currency()).toEqual(outdated(...files));
  });

  const HARMLESS: readonly (readonly [string, () => unknown])[] = [
    ['were committed as they were validated', async () => [await git('add', '.'), await git('commit', '-qm', 'x')]],
    ['were committed in part', () => git('commit', '-qm', 'x')],
    ['were staged', () => git('add', '--all')],
    ['were unstaged', () => git('reset', '--quiet')],
    ['got a commit with another message', () => git('commit', '--quiet', '--amend', '--only', '-m', 'another')],
    ['are on another branch', () => git('checkout', '--quiet', '-b', `other-${Date.now()}`)],
    ['were written again with what they had', () => writeFileSync(at('a.txt'), readFileSync(at('a.txt')))],
    [
      'got an ignored one',
      () => {
        writeFileSync(at('more.log'), 'x');
        mkdirSync(at('build'));
        writeFileSync(at('build/x'), '');
      },
    ],
    ['got an empty folder', () => mkdirSync(at('empty'))],
    ['lost an ignored one', () => rmSync(at('some.log'), { force: true })],
    ['can be read by fewer', () => chmodSync(at('a.txt'), 0o600)],
  ];
  it.each(HARMLESS)('%s, is current', async (_name, change) => {
    await change();
    expect(await currency()).toEqual(CURRENT);
  });

  it('had been looked at, left index, objects and files as they were', async () => {
    const seen = async (): Promise<unknown> => ({
      index: readFileSync(at('.git/index')).toString('base64'),
      objects: readdirSync(at('.git/objects'), { recursive: true }).length,
      status: await git('--no-optional-locks', 'status', '--porcelain=v2'),
      temporary: readdirSync(at('.git')).sort(),
    });
    writeFileSync(at('a.txt'), 'never in an object\n');
    writeFileSync(at('more.txt'), 'never in an object either\n');
    const before = await seen();
    expect(await currency()).toEqual(outdated('a.txt', 'more.txt'));
    expect(await seen()).toEqual(before);
  });

  it('names at most fifty of many, and counts the others', async () => {
    for (let index = 0; index < 60; index += 1) writeFileSync(at(`n${String(index).padStart(2, '0')}`), '');
    const found = await currency();
    expect(found).toMatchObject({ kind: 'outdated', more: 10 });
    expect(found.kind === 'outdated' && found.files).toHaveLength(50);
  });

  it("hold another repository or a submodule, says what of it counts: a submodule's commit", async () => {
    await git('init', '--quiet', at('inner'));
    await git('-C', at('inner'), 'commit', '--quiet', '--allow-empty', '-m', 'one');
    expect(await currency()).toEqual(CURRENT);
    await git('-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
    expect(await currency()).toEqual(outdated('inner'));
    const other = await world.running(['true']);
    unwrap(await world.validate(other));
    expect(await currency(other)).toEqual(CURRENT);
    writeFileSync(at('inner', 'x'), '');
    expect(await currency(other)).toEqual(CURRENT);
    await git('-C', at('inner'), 'commit', '--quiet', '--allow-empty', '-m', 'two');
    expect(await currency(other)).toEqual(outdated('inner'));
  });
});

describe('a proof', () => {
  beforeEach(async () => {
    world = await makeValidationWorld();
    return () => world.dispose();
  });

  it('of a command that changes files names them, and covers them as it left them', async () => {
    ref = await world.running(['echo formatted > README.md; mkdir -p gen; echo 1 > gen/x; touch made.log']);
    writeFileSync(at('.gitignore'), '*.log\n');
    unwrap(await world.validate(ref));
    const [report] = await world.reports(ref);
    expect(report?.statement?.predicate.tree).toMatchObject({ changed: ['README.md', 'gen/x'], changed_count: 2 });
    expect(report?.statement?.predicate.tree.before).not.toBe(report?.statement?.predicate.tree.after);
    expect(await currency()).toEqual(CURRENT);
    writeFileSync(at('gen/x'), '2');
    expect(await currency()).toEqual(outdated('gen/x'));
  });

  it('agrees with what git commits: line ends, filters, attributes', async () => {
    await git('config', 'core.autocrlf', 'input');
    await git('config', 'filter.upper.clean', 'tr a-z A-Z');
    await git('config', 'filter.upper.smudge', 'tr A-Z a-z');
    writeFileSync(at('.gitattributes'), '*.up filter=upper\n*.bat text eol=crlf\n');
    for (const name of ['x.txt', 'x.up', 'x.bat']) writeFileSync(at(name), 'one\r\ntwo\r\n');
    ref = await world.running(['true']);
    for (const name of ['y.txt', 'y.up', 'y.bat']) writeFileSync(at(name), 'one\r\ntwo\r\n');
    writeFileSync(at('x.up'), 'three\r\n');
    unwrap(await world.validate(ref));
    const [report] = await world.reports(ref);
    await git('add', '.');
    await git('commit', '--quiet', '-m', 'as validated');
    expect(await git('rev-parse', 'HEAD^{tree}')).toBe(report?.statement?.predicate.tree.after);
    expect(await currency()).toEqual(CURRENT);
    writeFileSync(at('x.txt'), 'one\ntwo\n');
    expect(await currency()).toEqual(CURRENT);
  });

  it('in a linked worktree covers that worktree, and no other', async () => {
    const linked = path.join(world.workspace.root, 'linked');
    ref = await world.running(['true']);
    await git('worktree', 'add', '--quiet', '-b', 'side', linked);
    const started = await world.atlas.startTask({ title: 'Linked', template: 'checked', folder: linked });
    const side = unwrap(started).ref;
    unwrap(await world.atlas.startStep(side));
    unwrap(await world.validate(side));
    writeFileSync(at('README.md'), 'edited in the main worktree\n');
    expect(await currency(side)).toEqual(CURRENT);
    writeFileSync(path.join(linked, 'README.md'), 'edited here\n');
    expect(await currency(side)).toEqual(outdated('README.md'));
  });

  it('of a repository without a commit covers its files as well', async () => {
    const fresh = path.join(world.workspace.root, 'fresh');
    await git('init', '--quiet', fresh);
    writeFileSync(path.join(fresh, 'a'), '1');
    const task = unwrap(await world.atlas.startTask({ title: 'Fresh', template: 'commit', folder: fresh }));
    unwrap(await world.atlas.startStep(task.ref));
    unwrap(await world.validate(task.ref, { commands: ['true'] }));
    expect(await currency(task.ref)).toEqual(CURRENT);
    writeFileSync(path.join(fresh, 'b'), '');
    expect(await currency(task.ref)).toEqual(outdated('b'));
  });

  it('without a repository, or once its worktree is gone, covers nothing that is known', async () => {
    const store = makeStore();
    const bare = await store.running();
    unwrap(
      await store.other().validate(bare, { signal: new AbortController().signal, caller: 'human', commands: ['true'] }),
    );
    const stored = unwrap(store.other().catalog.read(bare));
    const receipts = await store.other().receipts();
    const reports = [...unwrap(await receipts.reports(stored)).values()];
    expect(reports).toMatchObject([{ verdict: 'valid', statement: { subject: [{ name: 'stdout' }] } }]);
    expect([...(await receipts.currencies(stored, reports)).values()]).toMatchObject([{ kind: 'unknown' }]);
    expect(unwrap(await receipts.proven(stored, { current: true })).size).toBe(0);
    expect(unwrap(await receipts.proven(stored, { current: false })).size).toBe(1);
    store.dispose();
    ref = await world.running(['true']);
    unwrap(await world.validate(ref));
    renameSync(world.workspace.folder, `${world.workspace.folder}-moved`);
    expect(await currency()).toMatchObject({ kind: 'unknown' });
  });
});
