import * as vscode from 'vscode';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import type { TaskRef } from '../../../core/task/taskRef';

import type { ReceiptsPanelParts } from './receiptsPanel';
import type { ReceiptsPanelCommands, ReceiptsPanelData, ReceiptsPanelSource } from './receiptsPanelSource';
import type { Verdicts } from '../verdicts';
import type { WindowTasks } from '../../windowTasks';

/** What the receipts panels are made of in a window. */
export function receiptsPanelParts(session: WindowTasks, verdicts: Verdicts): ReceiptsPanelParts {
  return { source: new SessionReceiptsSource(session, verdicts), commands: new ReceiptCommands(session, verdicts) };
}

/** Where the receipts panels have their data from: the window's verdicts on a task's receipts. */
class SessionReceiptsSource implements ReceiptsPanelSource {
  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {}

  readonly onDidChange: ReceiptsPanelSource['onDidChange'] = (listener) =>
    vscode.Disposable.from(this.session.onDidChange(listener), this.verdicts.onDidChange(listener));

  async load(ref: TaskRef): Promise<Result<ReceiptsPanelData>> {
    const read = this.session.atlas.catalog.read(ref);
    if (!read.ok) return read;
    const { hook, task } = read.value;
    const service = await this.session.atlas.receipts();
    const standings = this.verdicts.of(read.value);
    const { problem, checking } = this.verdicts.status(read.value);
    return ok({
      task: { title: task.description, workspace: ref.workspace, id: ref.id },
      items: hook.receipts.map((receipt) => {
        const standing = standings.get(receipt.receipt_id);
        return {
          receipt,
          report: standing?.report,
          currency: standing?.currency,
          kept: {
            stdout: service.files.isKept(ref, receipt.receipt_id, 'stdout'),
            stderr: service.files.isKept(ref, receipt.receipt_id, 'stderr'),
          },
        };
      }),
      keys: problem ?? service.publicKeysPath,
      checking,
    });
  }
}

/** What the receipts panels' buttons do: the same commands as everywhere. */
class ReceiptCommands implements ReceiptsPanelCommands {
  constructor(
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {}

  async verify(ref: TaskRef): Promise<Result<void>> {
    const read = this.session.atlas.catalog.read(ref);
    if (!read.ok) return read;
    await this.verdicts.refresh(read.value);
    return ok(undefined);
  }

  async verifyAll(ref: TaskRef): Promise<Result<void>> {
    return this.verify(ref);
  }

  async exportReceipts(ref: TaskRef): Promise<Result<void>> {
    return run('atlas.exportReceipts', ref);
  }

  async openHookMd(ref: TaskRef): Promise<Result<void>> {
    return run('atlas.openHookMd', ref);
  }

  async openOutput(ref: TaskRef, receiptId: string, stream: 'stdout' | 'stderr'): Promise<Result<void>> {
    const { files } = await this.session.atlas.receipts();
    const path = files.outputPath(ref, receiptId, stream);
    if (!path.ok) return path;
    if (!files.isKept(ref, receiptId, stream)) {
      return { ok: false, error: new AtlasError('not_found', vscode.l10n.t("The output wasn't kept.")) };
    }
    await vscode.window.showTextDocument(vscode.Uri.file(path.value), { preview: true });
    return ok(undefined);
  }
}

async function run(command: string, ref: TaskRef): Promise<Result<void>> {
  await vscode.commands.executeCommand(command, { kind: 'task', ref });
  return ok(undefined);
}
