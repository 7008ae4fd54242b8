/* Looks at or watches a store of many tasks in a process that has done nothing before, and says what that took. */
import { readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch } from 'chokidar';
import { createAtlas } from '../../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { StoreWatcher } from '../../../src/store/storeWatcher';

/** Times in ms. `finishedOpened`: how many finished tasks' files the first answer opened. */
export interface Looked {
  readonly answerMs: number;
  readonly statMs: number;
  readonly finishedOpened: number;
  readonly sweepMs: number;
  readonly longestSliceMs: number;
}

/** `missed`: of a thousand renames onto open tasks' hook.json, how many were not told of. */
export interface Watched {
  readonly readyMs: number;
  readonly memoryMb: number;
  readonly watches: number;
  readonly missed: number;
}

const [what = '', root = '', workspace = ''] = process.argv.slice(2);
const RENAMES = 1000;
const MB = 1024 * 1024;
const FINISHED = /task-2025/u;

class CountedFiles extends NodeFileSystem {
  finishedOpened = 0;

  override read(file: string, maxBytes: number): Uint8Array {
    if (FINISHED.test(file)) this.finishedOpened += 1;
    return super.read(file, maxBytes);
  }

  override readAt(file: string, position: number, length: number): Uint8Array {
    if (FINISHED.test(file)) this.finishedOpened += 1;
    return super.readAt(file, position, length);
  }
}

/** The longest time (ms) that nothing else could run while something is done. */
async function longestHoldUp(run: () => Promise<void>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  await run();
  clearInterval(timer);
  return Math.max(longest, performance.now() - last);
}

async function look(): Promise<Looked> {
  const files = new CountedFiles();
  const atlas = createAtlas({ ...systemPorts(root, 'bench', silentLog), files });
  const start = performance.now();
  const fares = atlas.catalog.openTasks(workspace).map((stored) => atlas.diagnose(stored, 300_000));
  const answerMs = performance.now() - start;
  if (fares.length === 0) throw new Error('no task is open');
  const { finishedOpened } = files;
  const tasks = path.join(root, 'workspaces', workspace, 'tasks');
  const statStart = performance.now();
  for (const id of readdirSync(tasks)) statSync(path.join(tasks, id, 'hook.json'));
  const statMs = performance.now() - statStart;
  const sweepStart = performance.now();
  const longestSliceMs = await longestHoldUp(async () => atlas.catalog.sweep(() => undefined));
  return { answerMs, statMs, finishedOpened, sweepMs: performance.now() - sweepStart, longestSliceMs };
}

/** Inotify watches of this process; -1 where the system doesn't tell. */
function watchCount(): number {
  try {
    const infos = readdirSync('/proc/self/fdinfo').map((fd) => {
      try {
        return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
      } catch {
        return '';
      }
    });
    return infos.join('\n').match(/^inotify /gmu)?.length ?? 0;
  } catch {
    return -1;
  }
}

function memoryMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss / MB;
}

async function watched(): Promise<Watched> {
  const atlas = createAtlas(systemPorts(root, 'bench', silentLog));
  const refs = atlas.catalog.open();
  const told = new Set<string>();
  let onTold = (): void => undefined;
  const watcher = new StoreWatcher(atlas.ports.paths, silentLog, (changed) => {
    for (const { id } of changed) told.add(id);
    onTold();
  });
  const before = memoryMb();
  const start = performance.now();
  watcher.start(refs);
  const readyMs = performance.now() - start;
  const memory = memoryMb() - before;
  const watches = watchCount();
  let missed = 0;
  for (let made = 0; made < RENAMES; made += 1) {
    const ref = refs[made % refs.length];
    if (ref === undefined) throw new Error('no task is open');
    told.delete(ref.id);
    const hook = atlas.ports.paths.hook(ref);
    writeFileSync(`${hook}.tmp`, readFileSync(hook));
    renameSync(`${hook}.tmp`, hook);
    const heard = new Promise<void>((resolve) => {
      onTold = () => {
        if (told.has(ref.id)) resolve();
      };
    });
    await Promise.race([heard, sleep(5000)]);
    if (!told.has(ref.id)) missed += 1;
  }
  watcher.close();
  return { readyMs, memoryMb: memory, watches, missed };
}

/** The same by chokidar on every task, as the design had it. */
async function naive(): Promise<Watched> {
  const before = memoryMb();
  const start = performance.now();
  const watcher = watch(path.join(root, 'workspaces'), { ignoreInitial: true });
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
  });
  const readyMs = performance.now() - start;
  const result = { readyMs, memoryMb: memoryMb() - before, watches: watchCount(), missed: 0 };
  await watcher.close();
  return result;
}

async function main(): Promise<void> {
  const result = what === 'look' ? await look() : what === 'watch' ? await watched() : await naive();
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

void main().then(() => process.exit(0));
