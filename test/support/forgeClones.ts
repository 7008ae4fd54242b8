import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { type Server, type Socket, createServer } from 'node:net';
import path from 'node:path';
import { type Result, unwrap } from '../../src/core/errors';
import type { Workers } from '../../src/workers/workers';
import type { ClaimedWork } from '../../src/workers/workerSteps';
import type { WorkerStatus } from '../../src/workers/workerStatus';
import { type ForgeWorld, workerPorts } from './forgeWorld';

const owner = workerPorts().processes.self();

/** A clone of a bare repository, and its workers. */
export class Clone {
  readonly workers: Workers;

  constructor(
    readonly folder: string,
    open: (folder: string) => Workers,
  ) {
    this.workers = open(folder);
  }

  /** Runs git in it. */
  git(...args: string[]): string {
    return gitIn(this.folder, ...args);
  }

  /** Where the hook of a worker lies, or something in it. */
  hook(worker: string, ...parts: string[]): string {
    return path.join(this.folder, '.forge', 'hooks', worker, ...parts);
  }

  async sling(worker: string, id: string, more: object = {}): Promise<Result<unknown>> {
    return this.workers.slinging.sling({ worker, task: { id, ...more } });
  }

  async claim(worker: string, ownerIsGone = false, by = owner): Promise<Result<ClaimedWork>> {
    return this.workers.steps.claim({ worker, owner: by, ownerIsGone });
  }

  /** Claims what hangs on a hook, leaves a file there, and completes it. */
  async done(worker: string, content = `by ${worker}`): Promise<void> {
    const { lease, folder } = unwrap(await this.claim(worker));
    writeFileSync(path.join(folder, 'out.txt'), content);
    unwrap(await this.workers.steps.ending.end(lease, 'complete'));
  }

  async statusOf(worker: string): Promise<WorkerStatus> {
    const found = unwrap(await this.workers.statuses.all()).workers.find((each) => each.worker === worker);
    if (found === undefined) throw new Error(`no worker ${worker}`);
    return found;
  }

  /** What the ledger says of tasks, as `<id> <status> <worker>`. */
  async tasks(): Promise<string[]> {
    const { ledger } = unwrap(await this.workers.statuses.all());
    return [...ledger.tasks.last.values()]
      .map(({ id, status, worker }) => [id, status, ...(worker === undefined ? [] : [worker])].join(' '))
      .sort();
  }

  /** Takes the remote away, or gives it back. */
  setUrl(url: string): void {
    this.git('remote', 'set-url', 'origin', url);
  }

  /** Everything below `forge/` and `.forge/`: branches with their commits, files with their hashes. */
  picture(): string {
    const root = path.join(this.folder, '.forge');
    const entries = existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }) : [];
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => `${path.relative(root, file)} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`);
    return [forgeRefs(this.folder), ...files.sort()].join('\n');
  }
}

/** A bare repository and what clones it. */
export class Clones {
  readonly bare: string;

  constructor(private readonly world: ForgeWorld) {
    this.bare = path.join(world.base, 'bare.git');
    gitIn(world.base, 'clone', '--quiet', '--bare', world.folder, this.bare);
  }

  /** A new clone; with options, and from a URL where those need one. */
  add(name: string, options: readonly string[] = [], url = this.bare): Clone {
    const folder = path.join(this.world.base, name);
    gitIn(this.world.base, 'clone', '--quiet', ...options, url, folder);
    return new Clone(folder, this.world.open);
  }

  /** Our branches that the bare repository has, with their commits. */
  get refs(): string {
    return forgeRefs(this.bare);
  }

  git(...args: string[]): string {
    return gitIn(this.bare, ...args);
  }

  /** A hook of the bare repository's, for a shell. */
  hook(name: string, script: string): void {
    writeScript(path.join(this.bare, 'hooks', name), script);
  }

  /** Has a clone hear nothing of what became of its pushes, until the end of what this gives is called. */
  loseAnswers(clone: Clone): () => void {
    const [script, filter] = ['receive.sh', 'cut.cjs'].map((name) => slashed(path.join(this.world.base, name)));
    writeFileSync(filter ?? '', CUT);
    writeScript(script ?? '', `git-receive-pack "$@" | "${slashed(process.execPath)}" "${filter ?? ''}"`);
    clone.git('config', 'remote.origin.receivepack', `"${script ?? ''}"`);
    return () => clone.git('config', '--unset', 'remote.origin.receivepack');
  }
}

/** Passes on what a remote says first: lines that begin with their length, up to one of length 0. Then nothing. */
const CUT = `let all = Buffer.alloc(0);
let at = 0;
process.stdin.on('data', (chunk) => {
  if (at < 0) return;
  all = Buffer.concat([all, chunk]);
  while (at >= 0 && all.length >= at + 4) {
    const length = parseInt(all.toString('latin1', at, at + 4), 16);
    if (length > 0 && all.length < at + length) return;
    at += length || 4;
    if (length > 0) continue;
    process.stdout.write(all.subarray(0, at));
    at = -1;
  }
});
`;

function slashed(file: string): string {
  return file.replaceAll('\\', '/');
}

function writeScript(file: string, script: string): void {
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

function gitIn(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

function forgeRefs(folder: string): string {
  return gitIn(folder, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/');
}

/** Holds up the first process that comes to it, until it is opened. */
export class Gate {
  readonly reached: Promise<void>;
  private readonly held: Socket[] = [];
  private arrive: () => void = () => undefined;
  private isUsed = false;

  private constructor(private readonly server: Server) {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      if (this.isUsed) socket.end();
      else this.held.push(socket);
      this.isUsed = true;
      this.arrive();
    });
  }

  static async build(): Promise<Gate> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Gate(server);
  }

  /** A line for a shell that waits at the gate. */
  get line(): string {
    const address = this.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const program = `require('net').connect(${port},'127.0.0.1').on('close',()=>process.exit(0)).resume()`;
    return `"${slashed(process.execPath)}" -e "${program}" </dev/null || true`;
  }

  open(): void {
    for (const socket of this.held) socket.end();
    this.server.close();
  }
}

/** A process that has ended. */
export function deadOwner(): typeof owner {
  const { pid } = spawnSync(process.execPath, ['--eval', '']);
  return { ...owner, pid };
}

/** The code of a refusal, or `ok`. */
export function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error.code;
}
