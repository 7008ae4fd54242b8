import path from 'node:path';
import { AtlasError, messageOf } from '../core/shared/errors';
import type { Caller } from '../core/transition/events';
import type { ProcessIdentity } from '../core/recovery/liveness';
import type { Logger } from '../core/shared/ports';
import { oneLine } from '../core/shared/text';
import type { Atlas } from '../service/atlas';
import type { OpenAtlas } from '../service/createAtlas';
import { resolveRoot } from '../system/storeRoot';
import { callingAgent } from './agentCaller';
import { CaptureStarter } from './startCapture';
import { VERSION } from './version';
import type { Streams } from './render/output';

/** What a command line is run with. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  /** Why nothing can be done in that folder. */
  readonly folderProblem?: string;
  readonly streams: Streams;
  readonly stdin: NodeJS.ReadStream;
  /** The file of this program, which captures files in a process of its own; absent where nothing is to be captured. */
  readonly program?: string;
}

/** What every command may use. */
export class CliContext {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly folderProblem: string | undefined;
  readonly streams: Streams;
  private readonly program: string | undefined;
  private loaded: Promise<OpenAtlas> | undefined;
  private told: string | undefined;

  constructor(
    private readonly surroundings: Surroundings,
    /** Whether the answer is one JSON document, so that nothing else may be written beside it. */
    readonly json: boolean,
    readonly quiet: boolean,
  ) {
    this.env = surroundings.env;
    this.folder = surroundings.folder;
    this.folderProblem = surroundings.folderProblem;
    this.streams = surroundings.streams;
    this.program = surroundings.program;
  }

  get stdin(): NodeJS.ReadStream {
    return this.surroundings.stdin;
  }

  /** The store, for reading; what changes tasks is loaded by {@link drive}. */
  async atlas(): Promise<OpenAtlas> {
    return (this.loaded ??= (async () => {
      const [{ createAtlas }, { systemPorts }] = await Promise.all([
        import('../service/createAtlas'),
        import('../service/ports'),
      ]);
      const log = warningLog(this.streams);
      const ports = systemPorts(this.root, VERSION, log);
      if (this.program === undefined) return createAtlas(ports);
      const { recorded, heldCapture } = new CaptureStarter(this.program, this.env, this.root, log);
      return createAtlas({ ...ports, recorded, heldCapture });
    })());
  }

  /** Says once, on standard error even with `--quiet`, what is ignored of the configuration. */
  tellIgnored(line: string): void {
    if (this.told !== undefined) return;
    this.told = oneLine(line, 1000);
    this.streams.err(`atlas: ${this.told}\n`);
  }

  /** What was said to be ignored of the configuration. */
  get ignored(): string | undefined {
    return this.told;
  }

  /** Where the store lies. */
  get root(): string {
    return resolveRoot(this.env['ATLAS_HOME'], undefined);
  }

  /** What changes tasks. */
  async drive(): Promise<Atlas> {
    return (await this.atlas()).drive();
  }

  /** The agent whose process this is. */
  get agent(): string | undefined {
    return callingAgent(this.env);
  }

  /** On whose behalf this changes tasks. */
  get caller(): Caller {
    return this.agent === undefined ? 'human' : 'agent';
  }

  /** What a tool is called by whoever calls this as a tool; `undefined` where commands are typed. */
  toolNamed(_name: string): string | undefined {
    return undefined;
  }

  /** The process that lives as long as the work that is claimed with this call; a command's own does not. */
  async worker(): Promise<ProcessIdentity | undefined> {
    return Promise.resolve(undefined);
  }

  /** A caller's wish that this call ends; what ends the process is another matter. */
  get cancelled(): AbortSignal | undefined {
    return undefined;
  }

  /**
   * Refuses what only a human may decide where an agent is calling: throws `human_only`.
   * @param instead what an agent can do without one
   */
  humanOnly(what: string, instead = ''): void {
    const { agent } = this;
    if (agent === undefined) return;
    throw new AtlasError('human_only', `Only a human may ${what}, and ${agent} ran this command.`, {
      hint: `Ask the human to do it in the editor or in their own terminal.${instead === '' ? '' : ` ${instead}`}`,
    });
  }

  /** Whether a person can be asked. */
  get interactive(): boolean {
    return this.stdin.isTTY && this.streams.columns !== undefined && !this.json;
  }

  /**
   * Asks a question that only an explicit yes answers. Off a terminal it throws `usage`, since nobody is there.
   * @param yes whether `--yes` was given
   */
  async confirm(question: string, yes: boolean): Promise<boolean> {
    if (yes) return true;
    if (!this.interactive) {
      throw new AtlasError('usage', `${question} There is no terminal to ask in.`, {
        hint: 'If you are sure, run it again with --yes.',
      });
    }
    return this.ask(`${question} [y/N] `);
  }

  /** Asks on the terminal; everything but a yes is a no. */
  async ask(question: string): Promise<boolean> {
    const { createInterface } = await import('node:readline/promises');
    const terminal = createInterface({ input: this.stdin, output: process.stderr });
    try {
      return /^y(es)?$/iu.test((await terminal.question(question)).trim());
    } catch (error) {
      // Ctrl+D or Ctrl+C, after which the cursor still stands behind the question.
      if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
      process.stderr.write('\n');
      return false;
    } finally {
      terminal.close();
    }
  }

  /** All of a file, or of standard input for `-`; throws `not_found`, `unreadable` or `usage` (too long). */
  async readText(file: string, maxBytes: number): Promise<string> {
    return (await this.readBytes(file, maxBytes)).toString('utf8');
  }

  /** As {@link readText}, byte for byte. */
  async readBytes(file: string, maxBytes: number): Promise<Buffer> {
    if (file !== '-') return readFileBytes(file, maxBytes, this.folder);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.stdin) {
      const bytes = Buffer.from(chunk as Uint8Array);
      size += bytes.length;
      if (size > maxBytes) throw new AtlasError('usage', `Standard input is larger than ${maxBytes} bytes.`);
      chunks.push(bytes);
    }
    return Buffer.concat(chunks);
  }
}

/** All of a file; throws `not_found` or `unreadable`. */
async function readFileBytes(file: string, maxBytes: number, folder: string): Promise<Buffer> {
  const [{ NodeFileSystem }, { codeOf }] = await Promise.all([
    import('../system/files/nodeFileSystem'),
    import('../system/files/fileErrors'),
  ]);
  try {
    return Buffer.from(new NodeFileSystem().read(path.resolve(folder, file), maxBytes));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new AtlasError('not_found', `There is no file ${oneLine(file)}.`);
    throw new AtlasError('unreadable', `${oneLine(file)} could not be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Shows what went wrong beside the answer; the rest of the log is the editor's. */
function warningLog({ err }: Streams): Logger {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, data) => err(`atlas: warning: ${withData(message, data)}\n`),
    error: (message, data) => err(`atlas: error: ${withData(message, data)}\n`),
  };
}

function withData(message: string, data: Readonly<Record<string, unknown>> | undefined): string {
  const text = oneLine(message, 500);
  return data === undefined ? text : `${text} ${oneLine(JSON.stringify(data), 500)}`;
}
