import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import type { BuiltCli, CliRun } from './cli';

/** What a tool said, and whether that is an error. */
export interface ToolSaid {
  readonly text: string;
  readonly failed: boolean;
}

/** An agent's host with `atlas mcp`, as the protocol's own client. */
export class McpAgent {
  private constructor(
    readonly client: Client,
    private readonly transport: StdioClientTransport,
  ) {}

  /** Starts a server in a folder, and signs in at it by a name. */
  static async open(
    cli: BuiltCli,
    { folder = cli.folder, env }: CliRun,
    name = 'test-agent',
    ...options: readonly string[]
  ): Promise<McpAgent> {
    const variables = Object.entries(cli.environment(env)).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [cli.entry, 'mcp', ...options],
      cwd: folder,
      env: Object.fromEntries(variables),
      stderr: 'pipe',
    });
    const client = new Client({ name, version: '1.0.0' });
    await client.connect(transport);
    return new McpAgent(client, transport);
  }

  /** The server's process. */
  get pid(): number {
    return this.transport.pid ?? 0;
  }

  /** Calls a tool. */
  async use(name: string, args: Record<string, unknown> = {}): Promise<ToolSaid> {
    const { content, isError } = CallToolResultSchema.parse(await this.client.callTool({ name, arguments: args }));
    const text = content.map((each) => (each.type === 'text' ? each.text : '')).join('');
    return { text, failed: isError === true };
  }

  /** Calls a tool, which has to do it. */
  async done(name: string, args?: Record<string, unknown>): Promise<string> {
    const { text, failed } = await this.use(name, args);
    expect(failed, `${name}: ${text}`).toBe(false);
    return text;
  }

  /** Calls a tool, which has to refuse. */
  async refused(name: string, args?: Record<string, unknown>): Promise<string> {
    const { text, failed } = await this.use(name, args);
    expect(failed, `${name}: ${text}`).toBe(true);
    return text;
  }

  /** Ends the server, as a host does. */
  async close(): Promise<void> {
    await this.client.close();
  }
}

/** What the tools need at least. */
export const NEEDED: Readonly<Record<string, Record<string, unknown>>> = {
  atlas_checkpoint: { description: 'again' },
  atlas_ask_human: { question: 'Which one?' },
  task_complete: { task_id: 1, response_summary: 'done' },
  inbox_add: { content: 'look' },
  atlas_show_session: { session: 'x' },
};
