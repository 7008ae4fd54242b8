import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { launcherPath } from '../../system/launcher/launcher';
import { LINK_NAME, type MadeLink, linkLauncher, pathLines } from '../../system/launcher/launcherLink';
import { plain } from '../shared/messages';
import type { TextDocuments } from '../shared/textDocuments';
import { chosen } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';

/** Atlas: Install 'atlas' Command. Links the launcher into a folder of the user's, for shells outside of the editor. */
export function installAtlasCommand(documents: TextDocuments): CommandHandler {
  return async (context) => {
    const { platform } = process;
    for (let name = 'atlas'; ; name = await askName()) {
      const made = linkLauncher({
        launcher: launcherPath(context.launcherFolder),
        path: process.env['PATH'] ?? '',
        home: homedir(),
        name,
        platform,
      });
      if (made.ok) {
        await tell(documents, made.value, name);
        return;
      }
      if (made.error.code !== 'unsafe_path') throw made.error;
      const other = vscode.l10n.t('Choose Another Name');
      const message = plain(made.error.message, 500);
      if (chosen(await vscode.window.showWarningMessage(message, other)) !== other) return;
    }
  };
}

async function askName(): Promise<string> {
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t("Install 'atlas' Command"),
    prompt: vscode.l10n.t('Under which name?'),
    value: 'atlas-task',
    validateInput: (value) =>
      LINK_NAME.test(value) ? undefined : vscode.l10n.t('Letters, digits, dot, hyphen and underscore.'),
  });
  return chosen(name);
}

async function tell(documents: TextDocuments, made: MadeLink, name: string): Promise<void> {
  const path = plain(made.path, 500);
  if (made.shadowedBy !== undefined) {
    const other = plain(made.shadowedBy, 500);
    await vscode.window.showWarningMessage(
      vscode.l10n.t("The command is at {0}, but other shells find {1} first when '{2}' is typed.", path, other, name),
    );
    return;
  }
  if (made.onPath) {
    await vscode.window.showInformationMessage(
      vscode.l10n.t("Other shells have the command '{0}' now, at {1}.", name, path),
    );
    return;
  }
  const lines = pathLines(made.folder, homedir(), process.platform);
  const text = [
    vscode.l10n.t('The command is at {0}. Shells look for commands in the folders of their PATH,', made.path),
    vscode.l10n.t('and this one is not among them. To add it, run the line for your shell, then open a new one:'),
    '',
    ...lines.flatMap(({ shell, line }) => [`${shell}:`, `  ${line}`, '']),
  ].join('\n');
  await documents.show('atlas-command.txt', text);
  await vscode.window.showInformationMessage(
    vscode.l10n.t("The command '{0}' is at {1}; how to put that folder on your PATH is shown.", name, path),
  );
}
