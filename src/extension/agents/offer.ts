import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import type { WindowTasks } from '../windowTasks';
import { McpDefinitions } from './mcpDefinitions';
import { MCP_PROVIDER, serverProgram } from './serverProgram';

/** Registers what the manifest promises to agents: an MCP server for each folder. */
export function offerAgentTools(
  { extension, subscriptions }: Pick<vscode.ExtensionContext, 'extension' | 'subscriptions'>,
  session: WindowTasks,
  log: Logger,
): void {
  const { version } = extension.packageJSON as { readonly version: string };
  const definitions = new McpDefinitions(
    serverProgram(extension.extensionPath, version, session.atlas.ports.paths.root),
  );
  subscriptions.push(definitions);
  try {
    subscriptions.push(vscode.lm.registerMcpServerDefinitionProvider(MCP_PROVIDER, definitions));
  } catch (error) {
    log.warn("Atlas's tools can't be offered to the agents of this editor.", { error: messageOf(error) });
  }
}
