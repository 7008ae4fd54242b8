import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { RepairItem } from '../../../workers/operations/repairPlan';
import type { SyncReport } from '../../../workers/operations/remoteSync';
import { plain } from '../../shared/messages';
import type { LookedAt } from '../workersModel';
import type { CommandHandler } from '../../shared/context';
import { askOne } from '../../shared/questions';
import { confirm, repositoryFor } from './workerChoices';

/** How many findings a dialog lists; the rest is counted. */
const MAX_LISTED = 10;

/** Atlas: Sync Workers. The first time it makes the work of this repository public to all who read the remote, so it asks. */
export const syncWorkers: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const title = vscode.l10n.t('Sync Workers');
  const looked = await repositoryFor(model, argument, title);
  const { sharing } = looked.workers;
  const known = unwrap(await sharing.remoteName());
  const remote = known ?? (await firstRemote(looked, title));
  const progress = vscode.l10n.t('Syncing workers with {0}…', plain(remote));
  const report = unwrap(
    await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: progress }, async () =>
      sharing.sync(remote),
    ),
  );
  await model.look();
  const text = syncText(report);
  if (report.conflicts.length + report.clashing.length + report.superseded.length === 0)
    void vscode.window.showInformationMessage(text);
  else void vscode.window.showWarningMessage(text);
};

async function firstRemote({ workers }: LookedAt, title: string): Promise<string> {
  const names = unwrap(await workers.sharing.remotes());
  const [only, ...more] = names;
  if (only === undefined)
    throw new AtlasError(
      'not_found',
      vscode.l10n.t('The repository has no remote through which workers can be shared.'),
      { hint: vscode.l10n.t('Add one: git remote add origin <url>') },
    );
  const items = names.map((name) => ({ label: plain(name), value: name }));
  const placeholder = vscode.l10n.t('Through which remote should workers be shared?');
  const remote = more.length === 0 ? only : await askOne({ title, placeholder, items });
  const question = vscode.l10n.t('Share the workers of this repository through {0}?', plain(remote));
  const detail = vscode.l10n.t(
    'Atlas pushes the branches forge/* there: tasks, contexts and results. From then on, a claim counts once the remote accepted it.',
  );
  await confirm(question, detail, vscode.l10n.t('Share'));
  return remote;
}

function syncText({ remote, received, sent, superseded, clashing, conflicts }: SyncReport): string {
  const name = plain(remote);
  const isQuiet = received.length + sent.length === 0;
  return [
    isQuiet
      ? vscode.l10n.t('Workers are in sync with {0}.', name)
      : vscode.l10n.t(
          'Synced workers with {1}. Branches sent: {0}. Workers received: {2}.',
          sent.length,
          name,
          received.length,
        ),
    ...superseded.map(({ worker, counts }) =>
      counts === 'ours'
        ? vscode.l10n.t("Two clones worked on {0}. This clone's result counts.", worker)
        : vscode.l10n.t("Two clones worked on {0}. The other clone's result counts; yours is in the history.", worker),
    ),
    ...clashing.map(({ ours, theirs }) =>
      vscode.l10n.t('{0} is here and {1} there. A pool and a worker need different names.', ours, theirs),
    ),
    ...(conflicts.length === 0
      ? []
      : [vscode.l10n.t('Conflicts: {0}. The Workers view shows both sides.', conflicts.length)]),
  ].join(' ');
}

/** Atlas: Repair Workers. Shows what was found and what becomes of it, and does it where that is wanted. */
export const repairWorkers: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  const looked = await repositoryFor(model, argument, vscode.l10n.t('Repair Workers'));
  const { repairs } = looked.workers;
  const plan = unwrap(await repairs.plan());
  const todo = plan.filter(({ action }) => action !== 'by_hand');
  const byHand = plan.filter(({ action }) => action === 'by_hand');
  if (plan.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t('No problems found in the workers.'));
    return;
  }
  if (todo.length === 0) {
    void vscode.window.showWarningMessage(vscode.l10n.t('Only you can repair this: {0}', listed(byHand)));
    return;
  }
  const question = vscode.l10n.t('Repair the workers of this repository?');
  await confirm(question, listed(plan), vscode.l10n.t('Repair'));
  const { done, left, failed } = unwrap(await repairs.apply());
  await model.look();
  const [first] = failed;
  if (first !== undefined)
    throw new AtlasError('write_failed', vscode.l10n.t("{0} couldn't be repaired: {1}", first.item.subject, first.why));
  const text = vscode.l10n.t('Repaired: {0}.', done.length);
  void vscode.window.showInformationMessage([text, ...(left.length === 0 ? [] : [listed(left)])].join(' '));
};

function listed(items: readonly RepairItem[]): string {
  const lines = items
    .slice(0, MAX_LISTED)
    .map(({ subject, found, does }) => plain(`${subject}: ${found} ${does}`, 400));
  const more = items.length - lines.length;
  return [...lines, ...(more > 0 ? [vscode.l10n.t('and {0} more', more)] : [])].join('\n');
}
