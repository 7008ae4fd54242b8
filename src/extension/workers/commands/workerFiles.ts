import { join } from 'node:path';
import * as vscode from 'vscode';
import { serializeContent } from '../../../core/worker/slotContent';
import { SLOT_FILES } from '../../../workers/slot/slotTree';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';
import { SLOT_PARTS, type SlotPart } from '../tree/nodes';
import type { CommandHandler } from '../../shared/context';
import { type Choice, askOne } from '../../shared/questions';
import { workerFor } from './workerChoices';

type Shown = SlotPart | 'status' | 'folder';

/** Atlas: Show Worker. What its branch holds, read-only, or its folder. */
export const showWorker: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const { status } = await workerFor(model, argument, vscode.l10n.t('Show Worker'), undefined);
  const part = SLOT_PARTS.find((each) => each === (argument as { part?: unknown } | undefined)?.part);
  const shown = part ?? (await askPart(status));
  const text = shown === 'folder' ? undefined : textOf(status, shown);
  if (shown === 'folder' || text === undefined) await openFolder(status);
  else await context.documents.show(`${status.worker}/${SLOT_FILES[shown]}`, text);
};

/** A file of a hook as its branch has it, by its schema. */
function textOf({ task, context, result, state }: WorkerStatus, shown: Exclude<Shown, 'folder'>): string | undefined {
  const content = { task, context, result, status: state }[shown];
  return content === undefined ? undefined : serializeContent(content);
}

async function askPart(status: WorkerStatus): Promise<Shown> {
  const there = (['task', 'context', 'result', 'status'] as const).filter((part) => textOf(status, part) !== undefined);
  if (there.length === 0) return 'folder';
  const items: Choice<Shown>[] = [
    ...there.map((value) => ({ label: `$(json) ${SLOT_FILES[value]}`, value })),
    { label: `$(folder-opened) ${vscode.l10n.t('Reveal Folder')}`, value: 'folder' },
  ];
  const title = vscode.l10n.t('Show Worker {0}', status.worker);
  return askOne({ title, placeholder: vscode.l10n.t('Select a file to open'), items });
}

async function openFolder({ folder }: WorkerStatus): Promise<void> {
  const inside = vscode.Uri.file(join(folder, SLOT_FILES.task));
  await vscode.commands.executeCommand('revealInExplorer', inside);
}
