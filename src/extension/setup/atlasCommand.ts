import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { launcherPath } from '../../system/launcher/launcher';
import { LINK_NAME, type MadeLink, linkLauncher, pathLines } from '../../system/launcher/launcherLink';
import { plain } from '../shared/messages';
import { chosen } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';

/** Atlas: Install 'atlas' Command. Links the launcher into a folder of the user's, for shells outside of the editor. */
export const installAtlasCommand: CommandHandler = async (context) => {
  const { platform } = process;
  for (let name = 'atlas'; ; name = await askName()) {
    const made = linkLauncher(context.session.atlas.ports, {
      launcher: launcherPath(context.launcherFolder),
      path: process.env['PATH'] ?? '',
      home: homedir(),
      name,
      platform,
    });
    if (made.ok) {
      await tell(context, made.value, name);
      return;
    }
    if (made.error.code !== 'unsafe_path') throw made.error;
    const other = vscode.l10n.t('Choose Another Name');
    const message = plain(made.error.message, 500);
    if (chosen(await vscode.window.showWarningMessage(message, other)) !== other) return;
  }
};

async function askName(): Promise<string> {
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t("Install 'atlas' Command"),
    prompt: vscode.l10n.t('Which name should the command have?'),
    value: 'atlas-task',
    ignoreFocusOut: true,
    validateInput: (value) =>
      LINK_NAME.test(value) ? undefined : vscode.l10n.t('Use letters, digits, dots, hyphens and underscores.'),
  });
  return chosen(name);
}

async function tell(context: CommandContext, made: MadeLink, name: string): Promise<void> {
  const path = plain(made.path, 500);
  if (made.shadowedBy !== undefined) {
    const other = plain(made.shadowedBy, 500);
    await vscode.window.showWarningMessage(
      vscode.l10n.t(
        "Installed the command at {0}, but your shells find {1} first when you type '{2}'.",
        path,
        other,
        name,
      ),
    );
    return;
  }
  if (made.onPath) {
    await vscode.window.showInformationMessage(
      vscode.l10n.t("Installed the command '{0}' for other shells, at {1}.", name, path),
    );
    return;
  }
  const lines = pathLines(made.folder, homedir(), process.platform);
  const text = [
    vscode.l10n.t("The command is at {0}. This folder isn't on your PATH.", made.path),
    vscode.l10n.t('To add it, run the line for your shell, then open a new terminal:'),
    '',
    ...lines.flatMap(({ shell, line }) => [`${shell}:`, `  ${line}`, '']),
  ].join('\n');
  await context.documents.show('atlas-command.txt', text);
  await vscode.window.showInformationMessage(
    vscode.l10n.t(
      "Installed the command '{0}' at {1}. The instructions show how to add this folder to your PATH.",
      name,
      path,
    ),
  );
}
