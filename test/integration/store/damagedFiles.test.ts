import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { serializeRecord } from '../../../src/core/task/taskRecord';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { TrustFile } from '../../../src/store/workspace/trustFile';
import {
  type TestStore,
  checkpoint,
  contentsOf,
  editFile,
  makeStore,
  nodeError,
  tapped,
} from '../../support/fixtures/store';

let store: TestStore;
let ref: TaskRef;
let hookPath: string;
beforeEach(async () => {
  store = makeStore();
  ref = await store.running();
  for (const name of ['one', 'two', 'three']) await checkpoint(store.other(), ref, name);
  hookPath = store.atlas.ports.paths.hook(ref);
});
afterEach(() => {
  store.dispose();
});

const BROKEN: readonly (readonly [string, () => void])[] = [
  ['corrupt', () => editFile(hookPath, (text) => text.replace('"history"', 'history'))],
  ['empty', () => writeFileSync(hookPath, '')],
  ['truncated', () => editFile(hookPath, (text) => text.slice(0, 700))],
  ['all zeros', () => editFile(hookPath, (text) => '\0'.repeat(text.length))],
  ['200 MB large', () => truncateSync(hookPath, 200 * 1024 * 1024)],
  ['of a foreign schema', () => writeFileSync(hookPath, '{"name":"something","version":"0.1.0"}')],
];

describe('hook.json that is', () => {
  it.each(BROKEN)(
    '%s is damaged, is set aside and rebuilt from the journal to the same bytes',
    async (_name, breakIt) => {
      const good = readFileSync(hookPath, 'utf8');
      breakIt();
      expect(store.atlas.store.read(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
      const { size } = new NodeFileSystem().stat(hookPath) ?? { size: -1 };
      const fixed = unwrap(await store.other().reconcile(ref));
      expect(fixed.findings.map((finding) => finding.kind)).toEqual(['rebuilt']);
      expect(readFileSync(hookPath, 'utf8')).toBe(good);
      const aside = readdirSync(store.atlas.ports.paths.task(ref)).filter((name) =>
        name.startsWith('hook.json.corrupt-'),
      );
      expect(aside).toHaveLength(1);
      expect(aside[0]).toMatch(/^hook\.json\.corrupt-\d{8}T\d{6}-\d{3}Z-[0-9a-f]{4}$/u);
      expect(new NodeFileSystem().stat(join(store.atlas.ports.paths.task(ref), aside[0] ?? ''))?.size).toBe(size);
      expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
      await checkpoint(store.other(), ref, 'after');
    },
  );

  it('missing is "not there", and rebuilt from the journal', async () => {
    const good = readFileSync(hookPath, 'utf8');
    rmSync(hookPath);
    expect(store.atlas.store.read(ref)).toMatchObject({ ok: false, error: { code: 'not_found' } });
    expect(unwrap(await store.other().reconcile(ref)).findings.map((finding) => finding.kind)).toEqual(['rebuilt']);
    expect(readFileSync(hookPath, 'utf8')).toBe(good);
  });

  it('missing is replaced by the next change too, which then is on top', async () => {
    rmSync(hookPath);
    const made = await checkpoint(store.other(), ref, 'four');
    expect(made.hook.checkpoints.map((item) => item.description)).toEqual(['one', 'two', 'three', 'four']);
  });

  it.each([
    [
      'of a newer schema',
      () => editFile(hookPath, (text) => text.replace('"schema_version": "1.0"', '"schema_version": "2.0"')),
      'too_new',
    ],
    [
      'a folder',
      () => {
        rmSync(hookPath);
        mkdirSync(hookPath);
      },
      'unreadable',
    ],
    [
      'a link out of the store',
      () => {
        renameSync(hookPath, join(store.folder, 'h'));
        symlinkSync(join(store.folder, 'h'), hookPath);
      },
      'unsafe_path',
    ],
    [
      'a link to nowhere',
      () => {
        rmSync(hookPath);
        symlinkSync('/nowhere/hook.json', hookPath);
      },
      'unsafe_path',
    ],
  ])('%s is refused, and nothing is written', async (_name, change, code) => {
    change();
    const before = contentsOf(store.root);
    expect(store.other().store.read(ref)).toMatchObject({ ok: false, error: { code } });
    expect(await store.other().reconcile(ref)).toMatchObject({ ok: false, error: { code } });
    expect(await store.other().send(ref, { type: 'step_complete' })).toMatchObject({ ok: false, error: { code } });
    expect(contentsOf(store.root)).toEqual(before);
  });

  it.each(['EACCES', 'EIO', 'EMFILE'])(
    'not to be read (%s) is unreadable: neither damaged nor replaced',
    async (code) => {
      const files = tapped(new NodeFileSystem(), (operation, args) => {
        if (operation === 'read' && args[0] === hookPath) throw nodeError(code);
      });
      const before = contentsOf(store.root);
      const atlas = store.other({ files });
      expect(atlas.store.read(ref)).toMatchObject({ ok: false, error: { code: 'unreadable' } });
      expect(await atlas.send(ref, { type: 'step_complete' })).toMatchObject({
        ok: false,
        error: { code: 'unreadable' },
      });
      expect(contentsOf(store.root)).toEqual(before);
    },
  );

  it('corrupt, with a broken journal, is damaged for good, kept as it is and told of', async () => {
    writeFileSync(hookPath, 'nonsense');
    editFile(store.atlas.ports.paths.journal(ref), (text) => text.replace('"seq":2', '"seq":9'));
    const before = contentsOf(store.root);
    const result = await store.other().reconcile(ref);
    expect(result).toMatchObject({ ok: false, error: { code: 'damaged' } });
    if (!result.ok)
      expect(`${result.error.message} ${result.error.hint ?? ''}`).toMatch(
        /not valid JSON.*journal is broken at line 3.*Doctor/u,
      );
    expect(contentsOf(store.root)).toEqual(before);
  });

  it("another task's, or beyond its steps, is damaged", () => {
    editFile(hookPath, (text) => text.replace(`"task_id": "${ref.id}"`, '"task_id": "task-1"'));
    expect(store.other().store.read(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
    editFile(hookPath, (text) =>
      text.replace('"task_id": "task-1"', `"task_id": "${ref.id}"`).replace('"step_index": 0', '"step_index": 40'),
    );
    expect(store.other().store.read(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
  });
});

describe('a task beside a damaged one', () => {
  it('goes on, and a start of another one works', async () => {
    const healthy = await store.running();
    writeFileSync(hookPath, 'nonsense');
    writeFileSync(store.atlas.ports.paths.journal(ref), 'nonsense\n');
    const atlas = store.other();
    expect(atlas.catalog.read(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
    expect(atlas.catalog.openTasks().map((task) => task.ref.id)).toEqual([healthy.id]);
    await checkpoint(atlas, healthy);
    expect((await store.start()).id).toMatch(/^task-/u);
  });
});

describe('the journal', () => {
  const journal = (): string => store.atlas.ports.paths.journal(ref);

  it.each([
    ['half a line', '{"seq":7,"at":"2026'],
    ['zeros, as a power cut leaves them', '\0'.repeat(3000)],
    ['a line without its end', '{"seq":7}'],
  ])('with %s at its end is cut, what was cut is kept aside and reported', async (_name, torn) => {
    const good = readFileSync(journal(), 'latin1');
    writeFileSync(journal(), torn, { flag: 'a' });
    expect(unwrap(store.other().store.read(ref)).suspect).toBe(true);
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.findings.map((finding) => finding.kind)).toEqual(['torn_line']);
    expect(readFileSync(journal(), 'latin1')).toBe(good);
    const aside = readdirSync(store.atlas.ports.paths.task(ref)).filter((name) =>
      name.startsWith('journal.jsonl.torn-'),
    );
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(store.atlas.ports.paths.task(ref), aside[0] ?? ''), 'latin1')).toBe(torn);
    await checkpoint(store.other(), ref);
  });

  it('missing begins anew with the whole hook', async () => {
    rmSync(journal());
    const made = await checkpoint(store.other(), ref, 'four');
    expect(made.findings.map((finding) => finding.kind)).toEqual(['adopted']);
    rmSync(hookPath);
    const rebuilt = unwrap(await store.other().reconcile(ref));
    expect(rebuilt.hook).toEqual(made.hook);
  });

  it('that is a link is not followed: what it names stays untouched', async () => {
    const victim = join(store.folder, 'victim.txt');
    writeFileSync(victim, 'precious, and longer than the path of the link that names it');
    rmSync(journal());
    symlinkSync(victim, journal());
    expect(await store.other().reconcile(ref)).toMatchObject({ ok: false, error: { code: 'unsafe_path' } });
    expect(readFileSync(victim, 'utf8')).toContain('precious');
    expect(store.other().store.read(ref)).toMatchObject({ ok: true, value: { suspect: true } });
  });

  it('of ten thousand lines still shows its last one at once', () => {
    let read = 0;
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation === 'readAt' && args[0] === journal()) read += args[2] as number;
    });
    const lines = readFileSync(journal(), 'utf8').trimEnd().split('\n');
    const filler = JSON.stringify({ ...(JSON.parse(lines[0] ?? '') as object), filler: 'x'.repeat(300) });
    writeFileSync(journal(), `${Array.from({ length: 10_000 }, () => filler).join('\n')}\n${lines.at(-1) ?? ''}\n`);
    expect(unwrap(store.other({ files }).store.read(ref)).suspect).toBe(false);
    expect(read).toBeLessThan(300_000);
  });
});

describe('task.json', () => {
  const path = (): string => store.atlas.ports.paths.taskFile(ref);

  it('that disagrees is brought in line, once, and said so', async () => {
    const good = readFileSync(path(), 'utf8');
    editFile(path(), (text) => text.replace('"status": "running"', '"status": "completed"'));
    const fixed = unwrap(await store.other().reconcile(ref));
    expect(fixed.findings.map((finding) => finding.kind)).toEqual(['task_aligned']);
    expect(fixed.task).toMatchObject({ status: 'running', current_step: 0 });
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toMatchObject({
      steps: (JSON.parse(good) as { steps: object }).steps,
    });
    expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
  });

  it('missing or damaged is said, and hook.json stays', async () => {
    const before = readFileSync(hookPath, 'utf8');
    writeFileSync(path(), '{');
    expect(await store.other().reconcile(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
    rmSync(path());
    expect(await store.other().reconcile(ref)).toMatchObject({ ok: false, error: { code: 'damaged' } });
    expect(readFileSync(hookPath, 'utf8')).toBe(before);
  });
});

describe('a folder of the store', () => {
  it('that is a link is not followed', async () => {
    const { paths } = store.atlas.ports;
    renameSync(paths.task(ref), join(store.folder, 'moved'));
    symlinkSync(join(store.folder, 'moved'), paths.task(ref));
    expect(store.other().store.read(ref)).toMatchObject({ ok: false, error: { code: 'unsafe_path' } });
    expect(await store.other().send(ref, { type: 'fail', by: 'human' })).toMatchObject({
      ok: false,
      error: { code: 'unsafe_path' },
    });
  });

  it.each(['../../x', '..', 'a/b', 'nul', ''])('is not left by a task called %j', async (id) => {
    const before = contentsOf(store.folder);
    expect(store.atlas.store.read({ workspace: ref.workspace, id })).toMatchObject({
      ok: false,
      error: { code: 'invalid_name' },
    });
    expect(await store.atlas.send({ workspace: id, id: ref.id }, { type: 'fail', by: 'human' })).toMatchObject({
      ok: false,
    });
    expect(contentsOf(store.folder)).toEqual(before);
  });

  it('without that task says so', () => {
    expect(store.atlas.catalog.read({ workspace: ref.workspace, id: 'task-1' })).toMatchObject({
      ok: false,
      error: { code: 'not_found' },
    });
    expect(existsSync(store.atlas.ports.paths.task({ workspace: ref.workspace, id: 'task-1' }))).toBe(false);
  });
});

describe('fields that this version does not know', () => {
  it('survive a change in hook.json and task.json, and a rebuild', async () => {
    editFile(hookPath, (text) =>
      text.replace('{\n', '{\n  "x_new": {"a": [1]},\n').replace('"step_name"', '"x_step": 1,\n    "step_name"'),
    );
    editFile(store.atlas.ports.paths.taskFile(ref), (text) => text.replace('{\n', '{\n  "x_task": true,\n'));
    const made = await checkpoint(store.other(), ref, 'after');
    expect(made.hook).toMatchObject({ x_new: { a: [1] }, current_step: { x_step: 1 } });
    unwrap(await store.other().send(ref, { type: 'step_complete' }));
    expect(JSON.parse(readFileSync(store.atlas.ports.paths.taskFile(ref), 'utf8'))).toMatchObject({ x_task: true });
    rmSync(hookPath);
    const rebuilt = unwrap(await store.other().reconcile(ref));
    expect(rebuilt.hook).toMatchObject({ x_new: { a: [1] } });
    expect(readFileSync(hookPath, 'utf8')).toBe(serializeRecord(rebuilt.hook));
  });
});

describe('a damaged trust.json', () => {
  it('allows nothing, and is set aside, not overwritten, when something is allowed anew', () => {
    const { ports } = store.atlas;
    const damaged = '{"commands": {"half';
    writeFileSync(ports.paths.trust, damaged);
    const trust = new TrustFile(ports);
    expect(trust.unknown('work', ['npm test'])).toEqual(['npm test']);
    expect(readFileSync(ports.paths.trust, 'utf8')).toBe(damaged);
    trust.allow({ path: 'work', firstCommit: undefined }, ['npm test']);
    expect(trust.unknown('work', ['npm test', 'npm run lint'])).toEqual(['npm run lint']);
    const aside = readdirSync(store.root).filter((name) => name.startsWith('trust.json.corrupt-'));
    expect(aside.map((name) => readFileSync(join(store.root, name), 'utf8'))).toEqual([damaged]);
  });

  it('that can not be read just now stays as it is', () => {
    const { ports } = store.atlas;
    new TrustFile(ports).allow({ path: 'work', firstCommit: undefined }, ['npm test']);
    const before = readFileSync(ports.paths.trust, 'utf8');
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation === 'read' && args[0] === ports.paths.trust) throw nodeError('EIO');
    });
    expect(() => {
      new TrustFile({ ...ports, files }).allow({ path: 'work', firstCommit: undefined }, ['npm run lint']);
    }).toThrow('EIO');
    expect(readFileSync(ports.paths.trust, 'utf8')).toBe(before);
  });
});
