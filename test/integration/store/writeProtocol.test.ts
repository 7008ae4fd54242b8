import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskInput } from '../../../src/core/transition/events';
import { EVENT_TYPES, targetsOf } from '../../../src/core/transition/states';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { inputOf } from '../../support/fixtures/stateHooks';
import { type TestStore, checkpoint, contentsOf, makeStore, tapped } from '../../support/fixtures/store';

let store: TestStore;
afterEach(() => {
  store.dispose();
});

const sha = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

interface Line {
  readonly seq: number;
  readonly prev: string;
  readonly base_sha256: string;
  readonly hook_sha256: string;
  readonly event: string;
  readonly hook?: object;
  readonly delta?: object;
}

/** Checks a journal by the specification alone, without our code; returns its lines. */
function verifiedJournal(path: string): Line[] {
  const text = readFileSync(path, 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  let prev = '';
  let base = '';
  return text
    .trimEnd()
    .split('\n')
    .map((raw, index) => {
      const line = JSON.parse(raw) as Line;
      expect(line.seq).toBe(index + 1);
      expect(line.prev).toBe(prev);
      expect(line.base_sha256).toBe(base);
      expect(index === 0 ? line.hook : line.delta).toBeDefined();
      prev = sha(raw);
      base = line.hook_sha256;
      return line;
    });
}

describe('a change', () => {
  it('is a line of the hash-chained journal, and hook.json is what its last line names', async () => {
    store = makeStore();
    const ref = await store.running();
    const { paths } = store.atlas.ports;
    for (const name of ['one', 'two', 'three']) await checkpoint(store.atlas, ref, name);
    unwrap(await store.atlas.send(ref, { type: 'step_complete' }));
    const lines = verifiedJournal(paths.journal(ref));
    expect(lines.map((line) => line.event)).toEqual([
      'init',
      'setup_complete',
      'start_step',
      'checkpoint',
      'checkpoint',
      'checkpoint',
      'step_complete',
    ]);
    expect(lines.at(-1)?.hook_sha256).toBe(sha(readFileSync(paths.hook(ref))));
    expect(readFileSync(paths.markdown(ref), 'utf8').trimEnd().split('\n').at(-1)).toContain('7');
  });

  it('goes to the journal first, then to hook.json, then to what is made of it', async () => {
    const seen: string[] = [];
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      const target = basename(String(operation === 'rename' ? args[1] : args[0]));
      if (['append', 'rename', 'syncFolder'].includes(operation) && !target.startsWith('lock.'))
        seen.push(`${operation} ${target}`);
    });
    store = makeStore({ files });
    const ref = await store.running();
    await checkpoint(store.atlas, ref);
    expect(seen).toEqual([
      'append journal.jsonl',
      'rename hook.json',
      `syncFolder ${ref.id}`,
      'rename HOOK.md',
      'append task.log',
    ]);
  });

  it('waits for the disk three times for a checkpoint: journal, hook.json, folder', async () => {
    const synced: string[] = [];
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      const options = args[2] as { sync?: boolean } | undefined;
      if (operation === 'syncFolder' || operation === 'truncate' || options?.sync === true)
        synced.push(basename(String(args[0])));
    });
    store = makeStore({ files });
    const ref = await store.running();
    await checkpoint(store.atlas, ref);
    expect(synced).toEqual(['journal.jsonl', expect.stringMatching(/^hook\.json\..*\.tmp$/u), ref.id]);
  });

  it('leaves no temporary file, and files that others may read but not write', async () => {
    store = makeStore();
    const ref = await store.running();
    await checkpoint(store.atlas, ref);
    const { paths } = store.atlas.ports;
    expect(readdirSync(paths.task(ref)).sort()).toEqual(
      ['HOOK.md', 'artifacts', 'hook.json', 'journal.jsonl', 'locks', 'task.json', 'task.log'].sort(),
    );
    for (const file of [paths.hook(ref), paths.taskFile(ref)]) expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it('finds nothing to fix in a task that was only written by us', async () => {
    store = makeStore();
    const ref = await store.running();
    const nothingToDo = 'there is no repository';
    const inputs = [{ type: 'step_complete' }, { type: 'start_step' }, { type: 'step_complete', nothingToDo }] as const;
    for (const input of inputs) {
      const sent = unwrap(await store.other().send(ref, input));
      expect(sent.findings).toEqual([]);
    }
    const before = contentsOf(store.root);
    expect(unwrap(await store.other().reconcile(ref)).findings).toEqual([]);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('logs one line each', async () => {
    store = makeStore();
    const ref = await store.running();
    const lines = readFileSync(store.atlas.ports.paths.log(ref), 'utf8').trimEnd().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map((entry) => entry['event'])).toEqual(['init', 'setup_complete', 'start_step']);
    for (const entry of entries)
      expect(entry).toMatchObject({ task_id: ref.id, workspace_name: ref.workspace, level: 'info' });
  });
});

describe('a refusal', () => {
  it('leaves every file as it was, to the byte, for each event that is illegal in its state', async () => {
    store = makeStore();
    const pending = await store.start();
    const running = await store.running();
    const over = await store.running();
    unwrap(await store.atlas.send(over, { type: 'abandon', by: 'human' }));
    const before = contentsOf(store.root);
    let refused = 0;
    for (const ref of [pending, running, over]) {
      const { hook } = unwrap(store.atlas.store.read(ref));
      for (const event of EVENT_TYPES.filter((type) => targetsOf(hook.state, type).length === 0)) {
        const result = await store.atlas.send(ref, inputOf(event, hook));
        expect(result).toMatchObject({ ok: false, error: { code: 'illegal_transition' } });
        refused += 1;
      }
    }
    expect(refused).toBe(18 + 16 + 25);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('of a late caller and a repeated commit leaves every file as it was too', async () => {
    store = makeStore();
    const ref = await store.running();
    const commit: TaskInput = {
      type: 'checkpoint',
      trigger: 'git_commit',
      description: 'Commit: x',
      source: { repository: '/r', commit: 'c' },
    };
    unwrap(await store.atlas.send(ref, commit));
    const before = contentsOf(store.root);
    const late = await store.atlas.send(ref, { type: 'step_complete', expect: { attempt: 2 } });
    expect(late).toMatchObject({ ok: false, error: { code: 'stale_caller' } });
    expect(unwrap(await store.atlas.send(ref, commit)).changed).toBe(false);
    expect(contentsOf(store.root)).toEqual(before);
  });

  it('of a second init keeps the hook that is there', async () => {
    store = makeStore();
    const ref = await store.running();
    const before = contentsOf(store.root);
    const { config } = await store.atlas.configs.forWorktree(undefined);
    expect(await store.atlas.store.create(ref, { config })).toMatchObject({
      ok: false,
      error: { code: 'illegal_transition' },
    });
    expect(contentsOf(store.root)).toEqual(before);
  });
});

describe('markers', () => {
  it('are there while a task is not over, and gone after', async () => {
    store = makeStore();
    const ref = await store.running();
    const marker = store.atlas.ports.paths.marker(ref);
    expect(existsSync(marker)).toBe(true);
    unwrap(await store.atlas.send(ref, { type: 'fail', by: 'human' }));
    expect(existsSync(marker)).toBe(false);
    expect(store.atlas.catalog.open()).toEqual([]);
  });

  it('are touched by every change', async () => {
    let now = Date.UTC(2030, 0, 1);
    store = makeStore({ clock: { now: () => (now += 60_000) } });
    const ref = await store.running();
    await checkpoint(store.atlas, ref);
    expect(statSync(store.atlas.ports.paths.marker(ref)).mtimeMs).toBe(now);
  });
});
