import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { type Result, fail, messageOf, ok, unwrap } from '../../core/shared/errors';
import type { WorkerGit } from './workerGit';

/** How long git waits for the next question, in ms: those of one change come at once. Then it ends, and holds no file open. */
const IDLE_MS = 500;
const MAX_HEADER = 4096;
/** No object has this name. Git's answer shows that it works, so that an end after it is the fault of what was asked next. */
const NOTHING = '-';

/** An object as git has it. */
export interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly size: number;
  /** `undefined` where it is larger than was asked for, and was not read. */
  readonly bytes: Uint8Array | undefined;
}

/** How much is read. */
export interface ReadLimit {
  /** The most bytes of one object. */
  readonly each: number;
  /** The most bytes of all; the smallest are read first. */
  readonly total: number;
}

/** Only what objects are, and how large. */
export const SIZES_ONLY: ReadLimit = { each: -1, total: 0 };

/** Which of several sizes are read within a limit, the smallest first. */
export function withinLimit(sizes: readonly (number | undefined)[], { each, total }: ReadLimit): Set<number> {
  const allowed = [...sizes.entries()].flatMap(([index, size]) =>
    size === undefined || size > each ? [] : [{ index, size }],
  );
  const chosen = new Set<number>();
  let sum = 0;
  for (const { index, size } of allowed.sort((a, b) => a.size - b.size)) {
    sum += size;
    if (sum > total) break;
    chosen.add(index);
  }
  return chosen;
}

interface Question {
  readonly what: 'info' | 'contents';
  readonly name: string;
  readonly answer: (answered: Result<GitObject | undefined>) => void;
}

/** Asks one `git cat-file --batch-command` for objects, as long as questions come. */
export class ObjectReader {
  private process: ChildProcessWithoutNullStreams | undefined;
  private waiting: Question[] = [];
  private chunks: Buffer[] = [];
  private size = 0;
  /** What the answer that is coming needs to be whole, as far as known. */
  private wanted = 1;
  private idle: NodeJS.Timeout | undefined;
  /** What was being answered when git ended. */
  private suspect: Question | undefined;

  constructor(private readonly git: WorkerGit) {}

  /**
   * The objects of these names: ids, or what leads to one (`<commit>^{tree}`); `undefined` where there is none that can be read. The size
   * is asked before any content. No name has a line break.
   * @param known what was said of their sizes before, which is then not asked again
   */
  async read(
    names: readonly string[],
    limit: ReadLimit,
    known?: readonly (GitObject | undefined)[],
  ): Promise<(GitObject | undefined)[]> {
    const found = known === undefined ? await this.all('info', names) : [...known];
    if (limit.each < 0) return found;
    const sizes = found.map((info) => info?.size);
    const chosen = [...withinLimit(sizes, limit)].sort((a, b) => a - b);
    const ids = chosen.map((index) => found[index]?.id ?? '');
    const contents = await this.all('contents', ids);
    for (const [at, index] of chosen.entries()) found[index] = contents[at];
    return found;
  }

  private async all(what: Question['what'], names: readonly string[]): Promise<(GitObject | undefined)[]> {
    if (names.length === 0) return [];
    const answers = Promise.all(
      names.map(
        async (name) =>
          new Promise<Result<GitObject | undefined>>((answer) => this.waiting.push({ what, name, answer })),
      ),
    );
    this.ask(this.waiting.slice(-names.length));
    return (await answers).map((answer) => unwrap(answer));
  }

  private ask(questions: readonly Question[]): void {
    clearTimeout(this.idle);
    try {
      let asked = questions;
      if (this.process === undefined) {
        this.process = this.listen(this.git.start(['cat-file', '--batch-command']));
        this.waiting.unshift({ what: 'info', name: NOTHING, answer: () => undefined });
        asked = this.waiting;
      }
      for (const handle of handles(this.process)) handle.ref();
      this.process.stdin.write(asked.map(({ what, name }) => `${what} ${name}\n`).join(''));
    } catch (error) {
      this.failAll(messageOf(error));
    }
  }

  private listen(child: ChildProcessWithoutNullStreams): ChildProcessWithoutNullStreams {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (this.process !== child) return;
      this.chunks.push(chunk);
      this.size += chunk.length;
      this.answer();
    });
    child.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString('utf8')}`.slice(0, MAX_HEADER)));
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => {
      if (this.process === child) this.failAll(error.message);
    });
    child.on('close', () => {
      if (this.process === child) this.ended(said);
    });
    return child;
  }

  /** Answers what can be answered with what has come. */
  private answer(): void {
    for (
      let question = this.waiting[0];
      this.size >= this.wanted && question !== undefined;
      [question] = this.waiting
    ) {
      const all = this.chunks.length === 1 ? (this.chunks[0] ?? EMPTY) : Buffer.concat(this.chunks);
      this.chunks = [all];
      const end = all.indexOf(10);
      if (end < 0) {
        this.wanted = this.size + 1;
        return;
      }
      const header = all.toString('utf8', 0, Math.min(end, MAX_HEADER));
      const [, id = '', type = '', length] = /^([0-9a-f]+) (\S+) (\d+)$/u.exec(header) ?? [];
      const size = Number(length);
      const whole = end + 1 + (length === undefined || question.what === 'info' ? 0 : size + 1);
      if (this.size < whole) {
        this.wanted = whole;
        return;
      }
      const bytes = question.what === 'info' ? undefined : all.subarray(end + 1, whole - 1);
      this.take(all, whole, length === undefined ? undefined : { id, type, size, bytes }, header);
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
    this.idle = setTimeout(() => this.stop(), IDLE_MS).unref();
    if (this.process !== undefined) for (const handle of handles(this.process)) handle.unref();
  }

  private stop(): void {
    const child = this.process;
    this.process = undefined;
    child?.stdin.end();
  }

  /** Git ends at an object that is damaged. Where it does so twice, that one can't be read; the others are asked for again. */
  private ended(why: string): void {
    const [first, ...rest] = this.waiting;
    if (first === undefined || first.name === NOTHING) {
      this.failAll(why);
      return;
    }
    this.forget();
    if (this.suspect === first) {
      this.waiting = rest;
      first.answer(ok(undefined));
    }
    this.suspect = first;
    if (this.waiting.length > 0) this.ask(this.waiting);
  }

  private forget(): void {
    this.process = undefined;
    [this.chunks, this.size, this.wanted] = [[], 0, 1];
  }

  private failAll(why: string): void {
    this.forget();
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
