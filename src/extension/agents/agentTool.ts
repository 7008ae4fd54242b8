import * as vscode from 'vscode';
import { AtlasError, messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import type { Session } from '../windowTasks';
import type { WindowFolders } from './mcpDefinitions';
import type { ServerProgram } from './serverProgram';
import type { ToolServers } from './toolServer';

/** What the tools act on; what does the work is loaded with the first call. */
export class ToolHost implements vscode.Disposable {
  private servers: ToolServers | undefined;
  private disposed = false;

  constructor(
    readonly session: Pick<Session, 'atlas' | 'ownTasks'>,
    private readonly program: ServerProgram,
    private readonly log: Logger,
    private readonly window: WindowFolders = vscode.workspace,
  ) {}

  /** Runs a tool, and gives what it says. */
  async run(name: string, input: object, token: vscode.CancellationToken): Promise<string> {
    if (!this.window.isTrusted) {
      throw new AtlasError('human_only', 'The human has not trusted this folder, so Atlas does nothing here.', {
        mend: 'Ask the human to trust the folder in the editor.',
      });
    }
    const [{ folderFor, isAboutTask }, { ToolServers }] = await Promise.all([
      import('./toolFolder'),
      import('./toolServer'),
    ]);
    const folders = (this.window.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
    const paths = folders.map(({ uri }) => uri.fsPath);
    const folder = await folderFor(this.session.atlas, paths, input, isAboutTask(name));
    if (!folder.ok) throw folder.error;
    if (this.disposed) throw new vscode.CancellationError();
    this.servers ??= new ToolServers(this.program, this.log);
    return this.servers.call(folder.value, name, input, token);
  }

  dispose(): void {
    this.disposed = true;
    this.servers?.dispose();
  }
}

/** A tool of `atlas mcp` for the models of the editor. What it says is always a text, which tells a model what to do. */
export class AgentTool implements vscode.LanguageModelTool<object> {
  constructor(
    private readonly name: string,
    private readonly host: ToolHost,
  ) {}

  async prepareInvocation({
    input,
  }: vscode.LanguageModelToolInvocationPrepareOptions<object>): Promise<vscode.PreparedToolInvocation> {
    const { prepared } = await import('./confirmations');
    return prepared(this.name, input, this.host.session);
  }

  async invoke(
    { input }: vscode.LanguageModelToolInvocationOptions<object>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(await this.said(input, token))]);
  }

  private async said(input: object, token: vscode.CancellationToken): Promise<string> {
    try {
      return await this.host.run(this.name, input, token);
    } catch (error) {
      if (error instanceof vscode.CancellationError) throw error;
      const known = error instanceof AtlasError ? error : new AtlasError('unreadable', messageOf(error));
      return [`${known.code}: ${known.message}`, ...(known.mend === undefined ? [] : [known.mend])].join('\n');
    }
  }
}
