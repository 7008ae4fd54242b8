import * as vscode from 'vscode';
import type { StoredTask } from '../../core/task/storedTask';
import type { WindowTasks } from '../windowTasks';

const ID = /\b(?:rcpt-[0-9a-f]{8}|ckpt-[0-9a-f]{8}|task-\d{8}-\d{6}(?:-\d+)?)\b/gu;

class IdLink extends vscode.TerminalLink {
  constructor(
    readonly id: string,
    at: number,
  ) {
    super(at, id.length, tooltipOf(id));
  }
}

/** Makes the ids of receipts, checkpoints and tasks in terminals lead to what they name. */
export function linkIds(session: WindowTasks): vscode.Disposable {
  return vscode.window.registerTerminalLinkProvider({
    provideTerminalLinks: ({ line }) =>
      [...line.matchAll(ID)].flatMap((match) => {
        const [id] = match;
        if (find(session, id) === undefined) return [];
        return [new IdLink(id, match.index)];
      }),
    handleTerminalLink: async ({ id }: IdLink) => {
      const found = find(session, id);
      if (found === undefined) return;
      const { ref } = found;
      if (id.startsWith('rcpt-')) await run('atlas.verifyReceipt', { kind: 'receipt', ref, id });
      else if (id.startsWith('ckpt-')) await run('atlas.showCheckpoint', { kind: 'checkpoint', ref, id });
      else await run('atlas.openHookMd', { kind: 'task', ref });
    },
  });
}

async function run(command: string, argument: unknown): Promise<void> {
  await vscode.commands.executeCommand(command, argument);
}

function tooltipOf(id: string): string {
  if (id.startsWith('rcpt-')) return vscode.l10n.t('Verify Receipt');
  return id.startsWith('ckpt-') ? vscode.l10n.t('Show Checkpoint') : vscode.l10n.t('Open HOOK.md');
}

/** The task of this window that has what an id names; open tasks only, since every line of a terminal asks. */
function find(session: WindowTasks, id: string): StoredTask | undefined {
  return session.ownTasks().find(({ ref, hook }) => {
    if (ref.id === id) return true;
    if (id.startsWith('rcpt-')) return hook.receipts.some((receipt) => receipt.receipt_id === id);
    return hook.checkpoints.some((checkpoint) => checkpoint.checkpoint_id === id);
  });
}
