import { type AtlasError, type AtlasErrorCode, messageOf } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { CliContext } from '../context';
import { type Answer, EXIT, type ErrorData, answerJson, errorJson, exitOf } from './output';
import { fitted } from './table';

/** What is answered to. */
export interface Asked {
  /** The command's name; empty where none was meant. */
  readonly name: string;
  /** Whether an agent's host asked. */
  readonly byHost: boolean;
}

/** Says what a command answers, or why it failed, and gives what to exit with. */
export async function answering(
  { name, byHost }: Asked,
  context: CliContext,
  answerOf: () => Promise<Answer>,
): Promise<number> {
  const { streams } = context;
  const failed = (error: ErrorData): void => {
    if (context.json) streams.out(errorJson(name, error));
    else streams.err(fitted(errorText(error), streams.errColumns));
  };
  // A host takes 2 for an order to go on, which only an intended block is.
  const exit = (code: AtlasErrorCode): number => (byHost && exitOf(code) === EXIT.usage ? EXIT.failed : exitOf(code));
  try {
    const answer = await answerOf();
    say(name, answer, context);
    return answer.exit;
  } catch (error) {
    const known = error as Partial<AtlasError>;
    if (error instanceof Error && known.name === 'AtlasError' && known.code !== undefined) {
      failed({ code: known.code, message: error.message, hint: (await sandboxHint(error, context)) ?? known.hint });
      return exit(known.code);
    }
    const ofFile = await fileProblem(error);
    if (ofFile !== undefined) {
      failed(ofFile);
      return exit(ofFile.code);
    }
    failed({ code: 'unexpected', message: `Unexpected error: ${messageOf(error)}` });
    return EXIT.failed;
  }
}

/** Codex runs commands in a sandbox that lets them write to the folder that it works in, and to nothing else of the user's. */
async function sandboxHint(error: unknown, { env, root }: CliContext): Promise<string | undefined> {
  if ((env['CODEX_SANDBOX'] ?? env['CODEX_SANDBOX_NETWORK_DISABLED'] ?? '') === '') return undefined;
  const { codeOf } = await import('../../system/files/fileErrors');
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (['EROFS', 'EACCES', 'EPERM'].includes(codeOf(cause)))
      return `Codex's sandbox keeps Atlas from writing to its store. A human can allow it in ~/.codex/config.toml, under [sandbox_workspace_write]: writable_roots = [${JSON.stringify(root)}]`;
  return undefined;
}

/** What a file that can't be used as one brings about wherever it is met. */
async function fileProblem(error: unknown): Promise<AtlasError | undefined> {
  const { codeOf, fileError } = await import('../../system/files/fileErrors');
  const isOne = ['ENOTREG', 'EISDIR', 'ENOTDIR', 'EFBIG'].includes(codeOf(error));
  return isOne ? fileError('unreadable', "A file can't be used", error) : undefined;
}

function say(name: string, answer: Answer, { streams, json, quiet, ignored }: CliContext): void {
  if (json) {
    const notes = [...(answer.notes ?? []), ...(ignored === undefined ? [] : [ignored])];
    streams.out(answerJson(name, { ...answer, notes }));
    return;
  }
  const notes = quiet ? [] : (answer.notes ?? []);
  for (const note of notes) streams.err(fitted(`atlas: ${oneLine(note, 500)}\n`, streams.errColumns));
  if (!quiet || answer.wanted === true || answer.error !== undefined) streams.out(answer.text);
}

/** An error for people; its lines (a list of tasks) stay lines, each made plain. */
function errorText({ message, hint }: ErrorData): string {
  const lines = [...message.split('\n'), ...(hint === undefined ? [] : [hint])];
  return `atlas: ${lines.map((line) => `${/^\s*/u.exec(line)?.[0] ?? ''}${oneLine(line, 500)}`).join('\n')}\n`;
}
