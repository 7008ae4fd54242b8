import { AtlasError } from '../../core/shared/errors';
import type { ProcessIdentity } from '../../core/recovery/liveness';
import type { OpenAtlas } from '../../service/createAtlas';
import { CliContext } from '../context';

/** For whom a tool is called. */
export interface ToolCaller {
  readonly client: string;
  /** The client's wish to end it. */
  readonly signal: AbortSignal;
  /** What a tool is called by the client. */
  readonly nameOf: (name: string) => string;
}

/** What a command is run with that an agent calls as a tool: it is an agent's, nobody can be asked, nothing is printed. */
export class ToolContext extends CliContext {
  constructor(
    private readonly server: CliContext,
    private readonly client: ToolCaller,
    /** What standard input would hold. */
    private readonly input: string | undefined,
  ) {
    const streams = {
      ...server.streams,
      out: () => undefined,
      columns: undefined,
      errColumns: undefined,
      colors: false,
    };
    super({ env: server.env, folder: server.folder, stdin: server.stdin, streams }, true, true);
  }

  override get agent(): string {
    return this.client.client;
  }

  override get cancelled(): AbortSignal {
    return this.client.signal;
  }

  override toolNamed(name: string): string {
    return this.client.nameOf(name);
  }

  /** The server lives as long as the session that it serves. */
  override async worker(): Promise<ProcessIdentity> {
    return (await this.server.atlas()).ports.processes.self();
  }

  override get interactive(): boolean {
    return false;
  }

  /** One store for all calls. */
  override async atlas(): Promise<OpenAtlas> {
    return this.server.atlas();
  }

  override async readText(file: string): Promise<string> {
    if (file === '-' && this.input !== undefined) return Promise.resolve(this.input);
    return Promise.reject(new AtlasError('usage', "Tools can't read files."));
  }
}
