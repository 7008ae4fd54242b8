import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { builtOnce, bundlePrograms } from '../built';

/** A worker process: what it said, and how it ended. */
export class Worker {
  readonly lines: string[] = [];
  readonly process: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  private errors = '';
  private readonly said: Promise<void>;
  private announce: () => void = () => undefined;
  private heard: () => void = () => undefined;

  constructor(bundle: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.process = spawn(process.execPath, [bundle, ...args], { env: { ...process.env, ...env } });
    this.said = new Promise((resolve) => (this.announce = resolve));
    this.process.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.errors += chunk));
    if (this.process.stdout === null) throw new Error('no output');
    createInterface(this.process.stdout).on('line', (line) => {
      this.lines.push(line);
      this.announce();
      this.heard();
    });
    this.ended = once(this.process, 'close').then((values) => {
      const [code, signal] = values as [number | null, NodeJS.Signals | null];
      this.announce();
      this.heard();
      return { code, signal };
    });
  }

  /** Waits for the first line, or for the end. */
  async speaks(): Promise<string> {
    await this.said;
    const [line] = this.lines;
    if (line === undefined) throw new Error(`the worker said nothing: ${this.errors}`);
    return line;
  }

  /** Has it do what a line of input tells, and gives the line that it answers. */
  async asked(line: string): Promise<string> {
    const { length } = this.lines;
    this.process.stdin?.write(`${line}\n`);
    const answer = (): string | undefined => this.lines[length];
    const isOver = (): boolean => this.process.exitCode !== null || this.process.signalCode !== null;
    while (answer() === undefined && !isOver()) await new Promise<void>((resolve) => (this.heard = resolve));
    const said = answer();
    if (said === undefined) throw new Error(`the worker ended: ${this.errors}`);
    return said;
  }

  /** Waits for an end with exit code 0 and gives what was said. */
  async done(): Promise<string[]> {
    const { code } = await this.ended;
    if (code !== 0) throw new Error(`the worker ended with ${code ?? 'a signal'}: ${this.errors}`);
    return this.lines;
  }

  /** Kills it without warning and waits until it is gone. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

/** Starts worker processes from one bundle, which starts several times faster than the sources. */
export class WorkerPool {
  private readonly started: Worker[] = [];

  private constructor(
    private readonly folder: string | undefined,
    /** The program that every worker runs. */
    readonly bundle: string,
  ) {}

  /** Bundles the worker, unless that was done for the whole run: `program` is its source, by its path in the project. */
  static async open(program = 'test/support/processes/storeWorker.ts'): Promise<WorkerPool> {
    const name = `${path.basename(program, '.ts')}.cjs`;
    const built = builtOnce(name);
    if (built !== undefined) return new WorkerPool(undefined, built);
    const folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-worker-'));
    await bundlePrograms([program], folder);
    return new WorkerPool(folder, path.join(folder, name));
  }

  /** Starts a worker; see its source for the commands. */
  start(command: string, root: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Worker {
    const worker = new Worker(this.bundle, [command, root, ...args], env);
    this.started.push(worker);
    return worker;
  }

  /** Ends what still runs and removes the bundle. */
  async close(): Promise<void> {
    for (const worker of this.started) {
      if (worker.process.exitCode === null && worker.process.signalCode === null) await worker.kill();
    }
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }
}
