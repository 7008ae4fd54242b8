import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** What terminals answer to what programs ask them: where the cursor is, what they are, and their colors. */
const ANSWERS: readonly (readonly [asked: string, answer: string])[] = [
  ['\u001b[6n', '\u001b[1;1R'],
  ['\u001b[c', '\u001b[?62;c'],
  ['\u001b]10;?', '\u001b]10;rgb:ffff/ffff/ffff\u001b\\'],
  ['\u001b]11;?', '\u001b]11;rgb:0000/0000/0000\u001b\\'],
];

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A program in a pseudo terminal, which `script` (util-linux) makes; what it draws is read as text. */
export class TerminalProgram {
  private drawn = '';

  private constructor(
    private readonly child: ChildProcess,
    readonly ended: Promise<unknown>,
  ) {}

  /** Starts it, in a terminal of 40 lines. */
  static start(
    command: readonly string[],
    { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ): TerminalProgram {
    const line = `stty rows 40 cols 140; exec ${command.map(quoted).join(' ')}`;
    const child = spawn('script', ['-qfec', line, '/dev/null'], {
      cwd,
      env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const program = new TerminalProgram(child, once(child, 'close'));
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => program.take(chunk));
    return program;
  }

  private take(chunk: string): void {
    this.drawn += chunk;
    for (const [asked, answer] of ANSWERS) if (chunk.includes(asked)) this.type(answer);
  }

  /** What it drew so far, without what moves the cursor and sets colors. */
  get text(): string {
    // eslint-disable-next-line no-control-regex
    return this.drawn.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-~])/gu, ' ');
  }

  /** Waits until it drew a text, spaces aside. */
  async shows(text: string): Promise<void> {
    const wanted = text.replaceAll(/\s/gu, '');
    while (!this.text.replaceAll(/\s/gu, '').includes(wanted)) {
      const happened = await Promise.race([
        once(this.child.stdout ?? this.child, 'data'),
        this.ended.then(() => undefined),
      ]);
      if (happened === undefined) throw new Error(`it ended before it showed "${text}": ${this.text.slice(-2000)}`);
    }
  }

  /** Presses keys. */
  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  /** The process in the terminal. */
  get pid(): number {
    const { pid = 0 } = this.child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  }

  /** Kills it, and what holds its terminal. */
  async kill(): Promise<void> {
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
