import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { BuiltCli, CliRun } from '../../../support/drivers/cli';

/** Whether this machine has what makes a terminal: `script` of util-linux, which other systems have in another form. */
export function hasTerminals(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}

/** What a terminal shows, and how the command ended. */
export interface Screen {
  readonly code: number | null;
  /** As it came, but with lines that end in a newline alone. */
  readonly text: string;
}

/** A word for the shell that the terminal runs. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Runs `atlas` in a terminal of that width. `typed` is what somebody types; at its end the terminal gets a Ctrl+D. */
export async function inTerminal(
  cli: BuiltCli,
  columns: number,
  args: readonly string[],
  how: CliRun & { readonly typed?: string } = {},
): Promise<Screen> {
  const command = [process.execPath, cli.entry, ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 40 -echo; ${command}`, '/dev/null'], {
    cwd: how.folder ?? cli.folder,
    env: { ...cli.environment(how.env), SHELL: '/bin/sh', TERM: how.env?.['TERM'] ?? 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    // Typed when it is asked for: what comes sooner may be read by nobody.
    if (how.typed !== undefined && text.includes('[y/N] ') && !child.stdin.writableEnded) child.stdin.end(how.typed);
  });
  child.stdin.on('error', () => undefined);
  if (how.typed === undefined) child.stdin.end();
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text: text.replaceAll('\r\n', '\n') };
}

/** A text without what colours it. */
export function uncolored(text: string): string {
  // eslint-disable-next-line no-control-regex -- that is how colours are written
  return text.replaceAll(/\u001b\[\d+m/gu, '');
}

/** How many cells a line takes: by a table of its own, made from what terminals agree on. */
export function cellsOf(line: string): number {
  let cells = 0;
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(line)) {
    const [first = ''] = segment;
    cells += /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]$/u.test(
      first,
    )
      ? 2
      : 1;
  }
  return cells;
}
