import * as vscode from 'vscode';
import { HOSTS } from '../../agents/hosts/hosts';
import { Installer } from '../../agents/install/installer';
import type { CommandContext } from '../shared/context';

const OFFERED = 'atlas.offeredSetUpAgent';

/** After the first task, and once: offers to set up the agent of a worktree where none is yet. */
export async function offerSetUp({ session, memory }: CommandContext, worktree: string): Promise<void> {
  if (memory.get(OFFERED) === true) return;
  const installer = new Installer(session.atlas.ports, worktree);
  const isSetUp = Object.values(HOSTS).some((host) => {
    const hooks = installer.installed(host);
    return hooks.ok && hooks.value.length > 0;
  });
  if (isSetUp) return;
  await memory.update(OFFERED, true);
  const setUp = vscode.l10n.t('Set Up Agent…');
  const message = vscode.l10n.t(
    'Set up your agent so that it reads HOOK.md when it starts, and tells Atlas when it works, waits or finishes.',
  );
  if ((await vscode.window.showInformationMessage(message, setUp)) !== setUp) return;
  await vscode.commands.executeCommand('atlas.setUpAgent', { folder: worktree });
}
