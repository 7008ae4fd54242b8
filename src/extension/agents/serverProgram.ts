import { join } from 'node:path';

/** The id of the servers that are offered to the editor; package.json says the same. */
export const MCP_PROVIDER = 'atlas.mcp';

/** How `atlas mcp` is started with the editor's own Node. In a remote window that is a plain Node, which ignores the variable. */
export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** Beside what the extension host has. */
  readonly env: Readonly<Record<string, string>>;
  readonly version: string;
}

/** The program of this version, for a store. */
export function serverProgram(extensionPath: string, version: string, root: string): ServerProgram {
  return {
    command: process.execPath,
    args: [join(extensionPath, 'dist', 'cli.js'), 'mcp', '--prefixed'],
    env: { ELECTRON_RUN_AS_NODE: '1', ATLAS_HOME: root },
    version,
  };
}
