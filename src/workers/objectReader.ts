import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { type Result, fail, messageOf, ok } from '../core/errors';
import type { WorkerGit } from './workerGit';

/** How long git waits for the next question, in ms: those of one change come at once. Then it ends, and holds no file open. */
const IDLE_MS = 500;
const MAX_HEADER = 4096;

/** An object as git has it. */
export interface GitObject {
  readonly type: string;
  readonly bytes: Uint8Array;
}

interface Question {
  readonly name: string;
  readonly answer: (answered: Result<GitObject | undefined>) => void;
}

/** Asks one `git cat-file --batch` for objects, as long as questions come. */
export class ObjectReader {
  private process: ChildProcessWithoutNullStreams | undefined;
  private readonly waiting: Question[] = [];
  private chunks: Buffer[] = [];
  private size = 0;
  /** What the answer that is coming needs to be whole, as far as known. */
  private wanted = 1;
  private idle: NodeJS.Timeout | undefined;

  constructor(private readonly git: WorkerGit) {}

  /** The objects of these names: ids, or what leads to one (`<commit>:<path>`); `undefined` where there is none. No name has a line break. */
  async read(names: readonly string[]): Promise<Result<(GitObject | undefined)[]>> {
    if (names.length === 0) return ok([]);
    const answers = Promise.all(names.map((name) => this.question(name)));
    this.ask(names);
    const objects: (GitObject | undefined)[] = [];
    for (const each of await answers) {
      if (!each.ok) return each;
      objects.push(each.value);
    }
    return ok(objects);
  }

  private async question(name: string): Promise<Result<GitObject | undefined>> {
    return new Promise((answer) => {
      this.waiting.push({ name, answer });
    });
  }

  private ask(names: readonly string[]): void {
    clearTimeout(this.idle);
    try {
      this.process ??= this.listen(this.git.start(['cat-file', '--batch']));
      for (const handle of handles(this.process)) handle.ref();
      this.process.stdin.write(names.map((name) => `${name}\n`).join(''));
    } catch (error) {
      this.end(messageOf(error));
    }
  }

  private listen(child: ChildProcessWithoutNullStreams): ChildProcessWithoutNullStreams {
    let said = '';
    const end = (why: string): void => {
      if (this.process === child) this.end(why);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      if (this.process !== child) return;
      this.chunks.push(chunk);
      this.size += chunk.length;
      this.answer();
    });
    child.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString('utf8')}`.slice(0, MAX_HEADER)));
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => {
      end(error.message);
    });
    child.on('close', () => {
      end(said);
    });
    return child;
  }

  /** Answers what can be answered with what has come. */
  private answer(): void {
    while (this.size >= this.wanted && this.waiting[0] !== undefined) {
      const all = this.chunks.length === 1 ? (this.chunks[0] ?? EMPTY) : Buffer.concat(this.chunks);
      this.chunks = [all];
      const end = all.indexOf(10);
      if (end < 0) {
        this.wanted = this.size + 1;
        return;
      }
      const header = all.toString('utf8', 0, Math.min(end, MAX_HEADER));
      const [, type = '', length] = /^[0-9a-f]+ (\S+) (\d+)$/u.exec(header) ?? [];
      const whole = end + 1 + (length === undefined ? 0 : Number(length) + 1);
      if (this.size < whole) {
        this.wanted = whole;
        return;
      }
      this.take(
        all,
        whole,
        length === undefined ? undefined : { type, bytes: all.subarray(end + 1, whole - 1) },
        header,
      );
    }
    if (this.waiting.length === 0) this.rest();
  }

  private take(all: Buffer, whole: number, object: GitObject | undefined, header: string): void {
    this.chunks = [all.subarray(whole)];
    this.size -= whole;
    this.wanted = 1;
    const question = this.waiting.shift();
    const isAnswer = object !== undefined || header.endsWith(' missing') || header.endsWith(' ambiguous');
    question?.answer(isAnswer ? ok(object) : fail('git_failed', `git cat-file did not answer for ${question.name}.`));
  }

  /** Nobody is kept waiting by a git that has nothing to do. */
  private rest(): void {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      this.stop();
    }, IDLE_MS).unref();
    if (this.process !== undefined) for (const handle of handles(this.process)) handle.unref();
  }

  private stop(): void {
    const child = this.process;
    this.process = undefined;
    child?.stdin.end();
  }

  private end(why: string): void {
    this.process = undefined;
    [this.chunks, this.size, this.wanted] = [[], 0, 1];
    for (const { answer } of this.waiting.splice(0)) answer(fail('git_failed', `git cat-file failed: ${why.trim()}`));
  }
}

const EMPTY = Buffer.alloc(0);

/** What keeps this process alive for another: it, and the pipes to it, which are sockets. */
function handles(child: ChildProcessWithoutNullStreams): { ref(): void; unref(): void }[] {
  const all: readonly object[] = [child, child.stdin, child.stdout, child.stderr];
  return all.filter(isHandle);
}

function isHandle(value: object): value is { ref(): void; unref(): void } {
  return 'ref' in value && 'unref' in value;
}
