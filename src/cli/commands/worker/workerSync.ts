import { defined } from '../../../core/shared/defined';
import { unwrap } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import type { RepairItem } from '../../../workers/operations/repairPlan';
import type { SyncReport } from '../../../workers/operations/remoteSync';
import type { Handler } from '../../parse/commandLine';
import { type Answer, EXIT, exitOf } from '../../render/output';
import { problemData, refusedLines, unusableLines } from './branchText';
import { openWorkers } from './worker';
import type { WorkerAnswer } from './workerSchemas';

/** `worker sync [remote]`: brings hooks and ledger here and at a remote to the same state. */
export const sync: Handler = async (context, call) => {
  const opened = await openWorkers(context);
  const report = unwrap(await opened.workers.sharing.sync(call.operands[0]));
  const data: WorkerAnswer<'worker sync'> = {
    remote: report.remote,
    received: [...report.received],
    sent: [...report.sent],
    ledger_merged: report.ledgerMerged,
    superseded: report.superseded.map((each) => ({ ...each })),
    clashing: report.clashing.map((each) => ({ ...each })),
    conflicts: report.conflicts.map(({ id, sides }) => ({ id, sides: sides.map((side) => ({ ...side })) })),
    unusable: report.unusable.map(problemData),
    refused: report.refused.map(({ branch, count: of, files }) => ({
      branch,
      count: of,
      files: files.map((file) => ({ ...file })),
    })),
  };
  // Without its ledger, the other branches are shared, and nothing can be claimed.
  const error = report.ledgerDamage;
  const exit = error === undefined ? EXIT.done : exitOf(error.code);
  const { superseded, clashing, conflicts, unusable, refused } = data;
  // What needs somebody is said with --quiet, too.
  const wanted = [superseded, clashing, conflicts, unusable, refused].some((found) => found.length > 0);
  return { exit, text: syncText(report), data, ...defined({ error, wanted: wanted ? (true as const) : undefined }) };
};

function syncText(report: SyncReport): string {
  const { remote, received, sent, superseded, clashing, conflicts, ledgerMerged } = report;
  const lines = [
    received.length === 0 ? `Nothing new from ${remote}.` : `From ${remote}: ${received.join(', ')}.`,
    sent.length === 0 ? `${remote} has everything.` : `To ${remote}: ${sent.map(branchName).join(', ')}.`,
    ...(ledgerMerged ? ['The ledgers were merged: each had records that the other lacked.'] : []),
    ...superseded.map(
      ({ worker, counts }) =>
        `${worker} was worked on in two clones. ${counts === 'ours' ? "This clone's" : "The other clone's"} work counts; the other is kept in its history.`,
    ),
    ...clashing.map(
      ({ ours, theirs }) =>
        `${ours} exists here and ${theirs} there. A pool and a worker can't have the same name, so neither was shared.`,
    ),
    ...conflicts.flatMap(({ id, sides }) => [
      `Conflict about ${id}. The first counts:`,
      ...sides.map((side) => `  ${oneLine(JSON.stringify(side), 400)}`),
    ]),
    ...report.refused.flatMap(refusedLines),
    ...unusableLines(report.unusable),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function branchName(ref: string): string {
  return ref.replace(/^refs\/heads\//u, '');
}

/** `worker repair [--yes]`: says what is not as it should be, and fixes it where that is wanted. */
export const repair: Handler = async (context, call) => {
  const opened = await openWorkers(context);
  const { repairs } = opened.workers;
  if (!call.flag('yes')) {
    const plan = unwrap(await repairs.plan());
    return repairAnswer(plan, { applied: false, items: [...plan], left: [], failed: [] });
  }
  const { done, left, failed } = unwrap(await repairs.apply());
  const told = failed.map(({ item, why }) => ({ item, why }));
  const answer = repairAnswer(done, { applied: true, items: [...done], left: [...left], failed: told });
  return failed.length > 0 ? { ...answer, exit: EXIT.failed } : answer;
};

function itemLine({ subject, found, does }: RepairItem): string {
  return `${oneLine(subject, 300)}: ${oneLine(found, 300)} ${oneLine(does, 300)}`;
}

function repairAnswer(items: readonly RepairItem[], data: WorkerAnswer<'worker repair'>): Answer {
  const lines: string[] = [];
  if (items.length + data.left.length + data.failed.length === 0) lines.push('Nothing to repair.');
  lines.push(...items.map(itemLine));
  const isPlan = !data.applied && items.some(({ action }) => action !== 'by_hand');
  if (isPlan)
    lines.push(`${count(items.length, 'inconsistency', 'inconsistencies')}. To repair, run: atlas worker repair --yes`);
  lines.push(...data.left.map((item) => `By hand: ${itemLine(item)}`));
  for (const { item, why } of data.failed)
    lines.push(`Not repaired: ${oneLine(item.subject, 300)}: ${oneLine(why, 300)}`);
  return { exit: EXIT.done, text: lines.map((line) => `${line}\n`).join(''), wanted: true, data };
}
