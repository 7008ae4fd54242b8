import * as vscode from 'vscode';
import { AtlasError } from '../../core/shared/errors';
import { type ListedCheckpoint, snapshotOf, whyNoFiles } from '../../core/snapshot/snapshotEntry';
import type { StoredTask } from '../../core/task/storedTask';
import { ageOf } from '../shared/ages';
import { checkpointFrom, chosen, taskFor } from '../shared/arguments';
import type { CommandContext } from '../shared/context';
import { plain } from '../shared/messages';
import { taskPanelTexts } from '../tasks/panel/taskPanelTexts';
import { removed } from './checkpointDetails';

/** A checkpoint or restore point that a command is about, with its task. */
export interface ChosenCheckpoint {
  readonly task: StoredTask;
  readonly item: ListedCheckpoint;
}

/** What a checkpoint is called before its description. */
export function kindOf({ trigger }: ListedCheckpoint): string {
  return trigger === 'auto' ? vscode.l10n.t('Restore point') : taskPanelTexts().markKind(trigger);
}

/** The checkpoint that an argument names, or one that is asked for. */
export async function checkpointFor(
  context: CommandContext,
  argument: unknown,
  fits: (item: ListedCheckpoint) => boolean = () => true,
): Promise<ChosenCheckpoint> {
  const task = await taskFor(context.session, argument, ({ hook }) => hook.checkpoints.length > 0);
  const { files } = await context.session.atlas.snapshots();
  const listed = files.list(task);
  const named = checkpointFrom(argument);
  const found = listed.find(({ id }) => id === named);
  if (found !== undefined) return { task, item: found };
  if (named !== undefined) throw removed(named).error;
  const now = context.session.atlas.ports.clock.now();
  const items = listed
    .filter(fits)
    .reverse()
    .map((item) => ({
      label: plain(item.description, 100),
      description: [kindOf(item), item.checkpoint?.step_name, ageOf(item.createdAt, now)]
        .filter((part) => part !== undefined)
        .join(' · '),
      detail: item.id,
      item,
    }));
  if (items.length === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No checkpoint of this task keeps its files yet.'), {
      hint: vscode.l10n.t('Record one with "Atlas: Record Checkpoint…".'),
    });
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Which checkpoint?'),
    matchOnDetail: true,
  });
  return { task, item: chosen(picked).item };
}

/** As `checkpointFor`, for what needs the files that were kept. */
export async function checkpointWithFiles(context: CommandContext, argument: unknown): Promise<ChosenCheckpoint> {
  const chosenOne = await checkpointFor(context, argument, (item) => snapshotOf(item) !== undefined);
  if (snapshotOf(chosenOne.item) !== undefined) return chosenOne;
  const { message, hint } = whyNoFiles(chosenOne.item);
  throw new AtlasError(
    'not_found',
    vscode.l10n.t('"{0}" has no files. {1}', plain(chosenOne.item.description, 80), message),
    hint === undefined ? {} : { hint },
  );
}
