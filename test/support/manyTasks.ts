import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import type { TestStore } from './store';

/**
 * Adds finished tasks to a store, as they lie about after a year: one is started and abandoned for real, the others are
 * its copies, whole and readable, each with an id and a journal of its own.
 */
export async function addFinishedTasks(store: TestStore, count: number): Promise<void> {
  const { atlas } = store;
  const ref = await store.running('commit');
  unwrap(await atlas.send(ref, { type: 'abandon', by: 'human' }));
  const { paths } = atlas.ports;
  const text = (file: string): string => readFileSync(file, 'utf8');
  const original = {
    'hook.json': text(paths.hook(ref)),
    'task.json': text(paths.taskFile(ref)),
    'HOOK.md': text(paths.markdown(ref)).replace(/(?<footer>· journal seq )\d+/u, '$<footer>1'),
  };
  for (let made = 1; made < count; made += 1) {
    const id = `task-20250101-${String(made).padStart(6, '0')}`;
    const folder = path.join(paths.tasks(ref.workspace), id);
    mkdirSync(folder);
    for (const [name, content] of Object.entries(original))
      writeFileSync(path.join(folder, name), content.replaceAll(ref.id, id));
    const hook = original['hook.json'].replaceAll(ref.id, id);
    const line = {
      ...{ seq: 1, prev: '', at: '2025-01-01T00:00:00.000Z', base_sha256: '' },
      hook_sha256: createHash('sha256').update(hook).digest('hex'),
      event: 'init',
      hook: JSON.parse(hook) as object,
    };
    writeFileSync(path.join(folder, 'journal.jsonl'), `${JSON.stringify(line)}\n`);
  }
}
