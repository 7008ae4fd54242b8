import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import type { ValidationReceipt } from '../../core/task/taskRecord';
import { VERDICTS, type Verdict } from '../../core/receipt/receipt';
import { failedCheck } from '../../core/receipt/receiptReport';
import { refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import { Cancelled, plain } from '../shared/messages';
import { statusDetail, statusLabel, verdictLabel } from './standingText';
import { ageOf } from '../shared/ages';
import { chosen, receiptFrom, refFrom, taskFor } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { askTarget, withNotice } from '../shared/dialogs';

const hasReceipts = ({ hook }: StoredTask): boolean => hook.receipts.length > 0;

/** Atlas: Open Receipts. */
export const openReceipts: CommandHandler = async (context, argument) =>
  context.panels.openReceipts((await taskFor(context.session, argument)).ref);

/** Atlas: Verify Receipt. Looks again, shows each check, and says the verdict. */
export const verifyReceipt: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, hasReceipts);
  const receipt = await receiptOf(context, task, argument);
  context.panels.openReceipts(task.ref, receipt.receipt_id);
  const standings = await context.verdicts.refresh(task);
  const { problem } = context.verdicts.status(task);
  if (problem !== undefined) throw new AtlasError('verification_failed', problem);
  const standing = standings.get(receipt.receipt_id);
  const text = vscode.l10n.t(
    '{0}: {1}. {2}',
    plain(receipt.command, 100),
    statusLabel(receipt, standing),
    plain(statusDetail(standing), 400),
  );
  if (standing?.report.verdict === 'valid' && receipt.exit_code === 0) void vscode.window.showInformationMessage(text);
  else void vscode.window.showWarningMessage(text);
};

/** The receipt that an argument names, the task's only one, or one that is asked for. */
async function receiptOf(context: CommandContext, task: StoredTask, argument: unknown): Promise<ValidationReceipt> {
  const { receipts } = task.hook;
  const named = receiptFrom(argument);
  const found = receipts.find(({ receipt_id: id }) => id === named);
  if (found !== undefined) return found;
  if (named !== undefined || receipts.length === 0) {
    throw new AtlasError('not_found', vscode.l10n.t("The task doesn't have this receipt."), {
      hint: vscode.l10n.t('Make one with "Atlas: Run Validation".'),
    });
  }
  const now = context.session.atlas.ports.clock.now();
  const standings = context.verdicts.of(task);
  const items = [...receipts].reverse().map((receipt) => ({
    label: plain(receipt.command, 100),
    description: `${statusLabel(receipt, standings.get(receipt.receipt_id))} · ${ageOf(receipt.completed_at, now)}`,
    detail: plain(`${receipt.receipt_id} · ${receipt.step_name}`),
    receipt,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t('Which receipt?'),
    matchOnDetail: true,
  });
  return chosen(picked).receipt;
}

/** Atlas: Verify All Receipts. Of the named task, or of all tasks of this window; says which are not valid. */
export const verifyAllReceipts: CommandHandler = async (context, argument) => {
  const tasks = namedTask(context, argument) ?? allTasks(context);
  const total = tasks.reduce((sum, { hook }) => sum + hook.receipts.length, 0);
  if (total === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No receipt yet. Make one with "Atlas: Run Validation".'));
  const lines: string[] = [];
  const counts = new Map<Verdict, number>();
  const service = await context.session.atlas.receipts();
  await withNotice(vscode.l10n.t('Verifying receipts ({0})', total), async (signal, progress) => {
    for (const task of tasks) {
      const reports = await service.reports(task, { signal });
      if (!reports.ok && reports.error.code === 'cancelled') throw new Cancelled();
      for (const report of unwrap(reports).values()) {
        const { verdict, receiptId } = report;
        counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
        if (verdict === 'valid') continue;
        const why = failedCheck(report)?.message ?? '';
        lines.push(plain(`${refKey(task.ref)} ${receiptId}: ${verdictLabel(verdict)}. ${why}`, 500));
      }
      progress.report({ increment: (100 * unwrap(reports).size) / total, message: task.ref.id });
    }
  });
  const said = VERDICTS.flatMap((verdict) => {
    const count = counts.get(verdict);
    return count === undefined ? [] : [vscode.l10n.t('{0}: {1}', verdictLabel(verdict), count)];
  }).join(', ');
  const failed = tasks.flatMap(({ hook }) => hook.receipts).filter(({ exit_code: code }) => code !== 0).length;
  const ended = [
    vscode.l10n.t('{0}: {1}', vscode.l10n.t('Passed'), total - failed),
    ...(failed === 0 ? [] : [vscode.l10n.t('{0}: {1}', vscode.l10n.t('Failed'), failed)]),
  ].join(', ');
  const show = vscode.l10n.t('Show');
  const what = total === 1 ? vscode.l10n.t('1 receipt') : vscode.l10n.t('{0} receipts', total);
  const where = tasks.length === 1 ? vscode.l10n.t('1 task') : vscode.l10n.t('{0} tasks', tasks.length);
  const text = vscode.l10n.t('{0} of {1}. {2}. {3}.', what, where, ended, said);
  const bad = total - (counts.get('valid') ?? 0);
  const tell = bad === 0 ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
  void tell(text, ...(bad === 0 ? [] : [show])).then(async (answer) => {
    if (answer === show) await context.documents.show('atlas-receipts.txt', `${text}\n\n${lines.join('\n')}\n`);
  });
};

function namedTask({ session }: CommandContext, argument: unknown): StoredTask[] | undefined {
  const ref = refFrom(argument);
  return ref === undefined ? undefined : [unwrap(session.atlas.catalog.read(ref))];
}

function allTasks({ session }: CommandContext): StoredTask[] {
  const { catalog } = session.atlas;
  return session.ownWorkspaces().flatMap((workspace) =>
    [...catalog.open(workspace), ...catalog.finished(workspace)].flatMap((ref) => {
      const read = catalog.read(ref);
      return read.ok && hasReceipts(read.value) ? [read.value] : [];
    }),
  );
}

/** Atlas: Export Receipts. */
export const exportReceipts: CommandHandler = async (context, argument) => {
  const task = await taskFor(context.session, argument, hasReceipts);
  if (!hasReceipts(task)) throw new AtlasError('not_found', vscode.l10n.t('The task has no receipts to export.'));
  const { exportBundle } = await import('../../service/receipts/receiptBundle');
  const target = await askTarget(context, `${task.ref.id}.receipts.json`);
  const bundle = await withNotice(vscode.l10n.t('Exporting receipts'), async (signal) => {
    const service = await context.session.atlas.receipts();
    const made = await exportBundle(service, context.session.atlas.ports.clock, task);
    if (signal.aborted) throw new AtlasError('cancelled', vscode.l10n.t('The export was cancelled.'));
    return made;
  });
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(unwrap(bundle)));
  const open = vscode.l10n.t('Open');
  const answer = await vscode.window.showInformationMessage(
    vscode.l10n.t(
      'Exported the receipts ({0}). Anyone can verify them with: atlas receipts verify',
      task.hook.receipts.length,
    ),
    open,
  );
  if (answer === open) await vscode.window.showTextDocument(target);
};
