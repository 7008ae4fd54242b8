import { delimiter, join } from 'node:path';
import * as vscode from 'vscode';
import type { Logger } from '../../core/shared/ports';
import { writeLauncher } from '../../system/launcher/launcher';
import { NodeFileSystem } from '../../system/files/nodeFileSystem';
import { systemIds } from '../../system/systemPorts';

/**
 * Tells the terminals the store, writes the launcher of this version and puts it on their PATH; a failure only costs the
 * command.
 */
export function offerCommand(extension: vscode.ExtensionContext, folder: string, root: string, log: Logger): void {
  extension.environmentVariableCollection.replace('ATLAS_HOME', root);
  const ports = { files: new NodeFileSystem(), ids: systemIds };
  const cli = join(extension.extensionPath, 'dist', 'cli.js');
  const written = writeLauncher(ports, { folder, cli, node: process.execPath });
  if (!written.ok) {
    log.warn("The 'atlas' command can't be offered in terminals.", { error: written.error.message });
    return;
  }
  if (written.value) log.info("The launcher of the 'atlas' command was written.", { folder });
  const environment = extension.environmentVariableCollection;
  environment.description = vscode.l10n.t("The 'atlas' command and its store");
  // Once more after a login shell's profile, which may make the PATH anew.
  const applied = { applyAtProcessCreation: true, applyAtShellIntegration: true };
  environment.prepend('PATH', `${folder}${delimiter}`, applied);
}
