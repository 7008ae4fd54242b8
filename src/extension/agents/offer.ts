import * as vscode from 'vscode';
import { messageOf } from '../../core/shared/errors';
import type { Logger } from '../../core/shared/ports';
import type { Session } from '../windowTasks';
import { AgentTool, ToolHost } from './agentTool';
import { McpDefinitions } from './mcpDefinitions';
import { MCP_PROVIDER, serverProgram } from './serverProgram';

/** What is read of our own manifest. */
interface Manifest {
  readonly version: string;
  readonly contributes: { readonly languageModelTools: readonly { readonly name: string }[] };
}

/** Registers what the manifest promises to agents: a server of the protocol for each folder, and the same tools directly. */
export function offerAgentTools(
  { extension, subscriptions }: Pick<vscode.ExtensionContext, 'extension' | 'subscriptions'>,
  session: Session,
  log: Logger,
): void {
  const { version, contributes } = extension.packageJSON as Manifest;
  const program = serverProgram(extension.extensionPath, version, session.atlas.ports.paths.root);
  const definitions = new McpDefinitions(program);
  const host = new ToolHost(session, program, log);
  subscriptions.push(definitions, host);
  try {
    subscriptions.push(vscode.lm.registerMcpServerDefinitionProvider(MCP_PROVIDER, definitions));
    for (const { name } of contributes.languageModelTools)
      subscriptions.push(vscode.lm.registerTool(name, new AgentTool(name, host)));
  } catch (error) {
    log.warn("Atlas's tools can't be offered to the agents of this editor.", { error: messageOf(error) });
  }
}
