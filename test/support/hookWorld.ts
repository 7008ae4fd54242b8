import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import { shellQuote } from '../../src/git/hookScript';
import { Atlas } from '../../src/service/atlas';
import type { GitHookReport, GitHooks } from '../../src/service/gitHooks';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { SpoolService } from '../../src/service/spoolService';
import type { TaskRef } from '../../src/storage/paths';
import { signalProcess } from './commandRuns';
import { type GitWorkspace, makeGitWorkspace } from './gitWorkspace';
import type { WorkerPool } from './workers';

/** How a program ended, and all that it and its children wrote until nobody held the pipes any more. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const LIMIT_MS = 30_000;

/** Waits until something is so; the limit only ends a test that has failed. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A repository with hooks that start a stand-in for `atlas`, which notes each start. */
export class HookWorld {
  readonly atlas: Atlas;
  hooks!: GitHooks;
  spool!: SpoolService;

  private constructor(readonly ws: GitWorkspace) {
    this.atlas = new Atlas(systemPorts(ws.atlasHome, '0.0.0', silentLog));
  }

  /** @param name of the folder that everything lies in */
  static async open(root?: string): Promise<HookWorld> {
    const world = new HookWorld(await makeGitWorkspace(root));
    Object.assign(process.env, world.ws.env);
    world.hooks = await world.atlas.gitHooks();
    world.spool = await world.atlas.spool();
    return world;
  }

  get folder(): string {
    return this.ws.folder;
  }

  get spoolFolder(): string {
    return this.atlas.ports.paths.spool;
  }

  /** Process ids of the programs that the hooks started. A line that is still being written is none: 0 is our own group. */
  get starts(): number[] {
    const file = path.join(this.ws.root, 'starts');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number);
  }

  /** Ends the first program that a hook started. */
  endStarted(): void {
    signalProcess(this.starts[0], 'SIGKILL');
  }

  /** Names of the events that wait. */
  get events(): string[] {
    return existsSync(this.spoolFolder)
      ? readdirSync(this.spoolFolder).filter((name) => name.startsWith('event.'))
      : [];
  }

  /** A program that notes its process id and then does what the text says. */
  program(text: string, name = 'atlas'): string {
    const file = path.join(this.ws.root, name);
    writeFileSync(file, `#!/bin/sh\necho "$$" >>${shellQuote(path.join(this.ws.root, 'starts'))}\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  /** The real thing: the stand-in becomes a worker that drains. */
  drainer(pool: WorkerPool): string {
    const log = path.join(this.ws.root, 'drained');
    return this.program(
      `env >'${this.ws.root}/environment'\nexec '${process.execPath}' '${pool.bundle}' drain "$ATLAS_HOME" >>'${log}' 2>&1`,
    );
  }

  async install(command = this.program(':'), folder = this.folder, force = false): Promise<GitHookReport> {
    return unwrap(await this.hooks.install(folder, { command: [command], force }));
  }

  /** Says that somebody drains already, so that hooks start nothing. */
  hush(): void {
    mkdirSync(this.spoolFolder, { recursive: true });
    this.spool.announceWindow();
  }

  hook(name: string): string {
    return path.join(this.folder, '.git', 'hooks', name);
  }

  /** Writes a hook of the user's own. */
  ownHook(name: string, text: string | Uint8Array, mode = 0o755): string {
    const file = this.hook(name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  }

  /** Runs a program with captured output, as another program would: it ends when nobody holds the pipes. */
  async run(
    command: string,
    args: readonly string[],
    options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
  ): Promise<Ended> {
    const env = { ...process.env, ...this.ws.env, ...options.env };
    const child = spawn(command, args, {
      cwd: options.cwd ?? this.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
    });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, err };
  }

  /** Makes a commit without files. */
  async commit(subject = 'work', options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Ended> {
    return this.run('git', ['commit', '--quiet', '--allow-empty', '--message', subject], options);
  }

  async start(folder = this.folder): Promise<TaskRef> {
    const { ref } = unwrap(await this.atlas.startTask({ title: 'Sample', template: 'task', folder }));
    unwrap(await this.atlas.startStep(ref));
    return ref;
  }

  checkpoints(ref: TaskRef): string[] {
    return unwrap(this.atlas.store.read(ref)).hook.checkpoints.map((item) => item.description);
  }

  /** Waits until no event waits and nobody drains any more. */
  async drained(): Promise<void> {
    await until('all is drained', () => this.events.length === 0 && !existsSync(path.join(this.spoolFolder, 'claim')));
  }

  dispose(): void {
    this.ws.dispose();
  }
}
