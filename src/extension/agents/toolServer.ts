import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import * as z from 'zod/mini';
import type { Logger } from '../../core/shared/ports';
import { AtlasError, messageOf } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { ServerProgram } from './serverProgram';

/** The protocol that is spoken, https://modelcontextprotocol.io/specification/2025-06-18; a server may answer with another. */
const PROTOCOL = '2025-06-18';

const messageSchema = z.looseObject({
  id: z.optional(z.number()),
  result: z.optional(z.unknown()),
  error: z.optional(z.looseObject({ message: z.string() })),
});
const toolResultSchema = z.looseObject({ content: z.array(z.looseObject({ text: z.optional(z.string()) })) });

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A running `atlas mcp`, and what it was asked. */
class Connection {
  /** Resolves when it may be asked for tools. */
  readonly ready: Promise<void>;
  private readonly pending = new Map<number, Pending>();
  // The protocol's own library can't cancel a request with number 0.
  private asked = 0;
  private over: string | undefined;

  constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    version: string,
    private readonly log: Logger,
  ) {
    createInterface({ input: child.stdout }).on('line', (line) => this.take(line));
    createInterface({ input: child.stderr }).on('line', (line) => log.warn(line));
    child.stdin.on('error', () => undefined); // its end is heard of below
    child.once('error', (error) => this.end(error.message));
    child.once('exit', (code, signal) => this.end(`it ended with ${signal ?? `exit code ${code ?? 'unknown'}`}`));
    this.ready = this.signIn(version);
    this.ready.catch((error: unknown) => {
      this.end(messageOf(error));
      this.close();
    });
  }

  private async signIn(version: string): Promise<void> {
    const clientInfo = { name: vscode.env.appName, version };
    await this.request('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    this.send({ method: 'notifications/initialized' });
  }

  get isOver(): boolean {
    return this.over !== undefined;
  }

  /** Asks for something. A caller that gives it up is told so at once, and the server ends what it does. */
  async request(method: string, params: object, token?: vscode.CancellationToken): Promise<unknown> {
    if (this.over !== undefined) throw gone(this.over);
    this.asked += 1;
    const id = this.asked;
    const answer = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }));
    const giveUp = token?.onCancellationRequested(() => {
      this.send({ method: 'notifications/cancelled', params: { requestId: id, reason: 'cancelled by the user' } });
      this.pending.get(id)?.reject(new vscode.CancellationError());
    });
    this.send({ id, method, params });
    try {
      return await answer;
    } finally {
      giveUp?.dispose();
      this.pending.delete(id);
    }
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** The server ends by itself when nothing more can come, and cancels what it still does. */
  close(): void {
    this.child.stdin.end();
  }

  private take(line: string): void {
    try {
      const { id, result, error } = messageSchema.parse(JSON.parse(line));
      const pending = id === undefined ? undefined : this.pending.get(id);
      if (error === undefined) pending?.resolve(result);
      else pending?.reject(new AtlasError('unreadable', error.message));
    } catch (error) {
      this.log.warn('The server of the tools said something that is no message.', { error: messageOf(error) });
    }
  }

  private end(why: string): void {
    this.over ??= why;
    for (const { reject } of this.pending.values()) reject(gone(why));
  }
}

function gone(why: string): AtlasError {
  return new AtlasError('unreadable', `The server of Atlas's tools is gone: ${oneLine(why)}.`, {
    mend: 'Call the tool again; if that fails too, tell the human to look at the log of Atlas.',
  });
}

/**
 * One `atlas mcp` for each folder in which tools were called. It lives until the window closes: what an agent claimed from
 * an inbox is its process's.
 */
export class ToolServers implements vscode.Disposable {
  private readonly connections = new Map<string, Connection>();

  constructor(
    private readonly program: ServerProgram,
    private readonly log: Logger,
  ) {}

  /** Calls a tool in a folder, and gives what it says: its result, or what is wrong and how that is mended. */
  async call(folder: string, name: string, input: object, token: vscode.CancellationToken): Promise<string> {
    const connection = this.connection(folder);
    await connection.ready;
    if (token.isCancellationRequested) throw new vscode.CancellationError();
    const result = await connection.request('tools/call', { name, arguments: input }, token);
    const { content } = toolResultSchema.parse(result);
    return content.map(({ text = '' }) => text).join('');
  }

  /** One that ended is followed by another. */
  private connection(folder: string): Connection {
    const known = this.connections.get(folder);
    if (known?.isOver === false) return known;
    const { command, args, env, version } = this.program;
    const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, windowsHide: true });
    const connection = new Connection(child, version, this.log);
    this.connections.set(folder, connection);
    return connection;
  }

  dispose(): void {
    for (const connection of this.connections.values()) connection.close();
  }
}
