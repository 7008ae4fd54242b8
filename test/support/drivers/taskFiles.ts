import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { vi } from 'vitest';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import type { OwnerFile } from '../../../src/core/recovery/liveness';

/** Waiting for what another process writes may take this long, in ms. */
const LIMIT_MS = 30_000;

/** The ids of all tasks in a store, by workspace. */
export function taskIds(home: string): { workspace: string; id: string }[] {
  const root = path.join(home, 'workspaces');
  return list(root).flatMap((workspace) => list(path.join(root, workspace, 'tasks')).map((id) => ({ workspace, id })));
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A task's files, as somebody sees them who knows nothing of the code that writes them. */
export class TaskFiles {
  readonly folder: string;

  constructor(home: string, ref: { readonly workspace: string; readonly id: string }) {
    this.folder = path.join(home, 'workspaces', ref.workspace, 'tasks', ref.id);
  }

  hook(): TaskRecord {
    return JSON.parse(readFileSync(path.join(this.folder, 'hook.json'), 'utf8')) as TaskRecord;
  }

  hookMd(): string {
    return readFileSync(path.join(this.folder, 'HOOK.md'), 'utf8');
  }

  /** When HOOK.md was written, in ms since the epoch. */
  hookMdWritten(): number {
    return statSync(path.join(this.folder, 'HOOK.md')).mtimeMs;
  }

  /** What happened so far: the events' names, oldest first. */
  triggers(): string[] {
    return this.hook().history.map((event) => event.trigger);
  }

  owners(): OwnerFile[] {
    const folder = path.join(this.folder, 'owners');
    return list(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as OwnerFile);
  }

  /** Waits until the process owns the task. */
  async ownedBy(pid: number): Promise<void> {
    await until(`process ${pid} owns the task`, () =>
      this.owners().some((each) => each.process.pid === pid && each.signed_off_at === undefined),
    );
  }

  /** Waits until the process, which owned the task, has signed off. */
  async signedOffBy(pid: number): Promise<void> {
    await until(`process ${pid} signs off`, () =>
      this.owners().some((each) => each.process.pid === pid && each.signed_off_at !== undefined),
    );
  }

  /** Waits until the task is in the state; gives its hook. */
  async state(state: TaskRecord['state']): Promise<TaskRecord> {
    await until(`the task is ${state}`, () => this.hook().state === state);
    return this.hook();
  }

  /** Waits until the task has a checkpoint with that description; gives its id. */
  async checkpoint(description: string): Promise<string> {
    const find = () => this.hook().checkpoints.find((each) => each.description === description)?.checkpoint_id;
    await until(`checkpoint "${description}"`, () => find() !== undefined);
    return find() ?? '';
  }
}

/** Waits until something holds that other processes bring about. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!(await holds())) throw new Error(`waited in vain until ${what}`);
    },
    { timeout: LIMIT_MS, interval: 20 },
  );
}
