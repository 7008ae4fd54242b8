import { join } from 'node:path';
import * as vscode from 'vscode';
import { fail, ok } from '../../core/shared/errors';
import { capitalized } from '../../core/shared/text';
import { serializeContent } from '../../core/worker/slotContent';
import { workerTaskTitle } from '../../core/worker/taskTitle';
import type { DetailsModel, DetailsSubject } from '../../protocol/detailsPanel';
import type { WorkerStatus } from '../../workers/operations/workerStatus';
import { SLOT_FILES } from '../../workers/slot/slotTree';
import type { Details, DetailsAction, DetailsSource, DetailsSources } from '../details/detailsSource';
import { changesOfLook } from '../shared/panel';
import { PROBLEM_LABELS, SHAPE_LABELS, problemText } from './tree/looks';
import { type Ability, type WorkerShape, abilitiesOf, needsHuman, problemsOf, shapeOf } from './tree/outline';

type Subject = Extract<DetailsSubject, { kind: 'worker' }>;

const LOOKS = {
  FREE: 'plain',
  PENDING: 'waiting',
  IN_PROGRESS: 'busy',
  COMPLETE: 'good',
  FAILED: 'bad',
  DAMAGED: 'bad',
  LOST: 'bad',
} as const satisfies Record<WorkerShape, NonNullable<DetailsModel['standing']>['look']>;

/** What the panel of a worker shows. */
export function workerSource({ repository, worker }: Subject, { workers }: DetailsSources): DetailsSource {
  return {
    changes: changesOfLook(async () => (await workers()).model),
    read: async () => {
      const { model } = await workers();
      if (model.at(repository) === undefined) await model.look();
      const status = model.worker(repository, worker);
      if (status === undefined)
        return fail('not_found', vscode.l10n.t('Worker {0} no longer exists.', worker), {
          hint: vscode.l10n.t('The Workers view lists those that do.'),
        });
      return ok(detailsOf(repository, status, abilitiesOf(status, model.isAlive(status))));
    },
  };
}

function detailsOf(repository: string, status: WorkerStatus, abilities: readonly Ability[]): Details {
  const { worker, state } = status;
  const shape = shapeOf(status);
  const label = SHAPE_LABELS[shape];
  const problems = problemsOf(status);
  const level = (problem: (typeof problems)[number]): 'info' | 'warning' =>
    problem === 'ledger_behind' ? 'info' : 'warning';
  return {
    tab: vscode.l10n.t('Worker: {0}', worker),
    kindLabel: vscode.l10n.t('Worker'),
    title: worker,
    standing: { label: capitalized(label), look: needsHuman(status) ? 'warning' : LOOKS[shape] },
    ...(state !== undefined && { at: state.updatedAt }),
    notices: problems.map((problem) => ({
      id: problem,
      level: level(problem),
      text: `${capitalized(PROBLEM_LABELS[problem])}. ${problemText(problem, status)}`,
    })),
    actions: vscode.workspace.isTrusted ? actionsOf(repository, status, abilities) : [],
    facts: factsOf(status),
    texts: textsOf(status),
  };
}

function factsOf({ state, task, result, plan, folder }: WorkerStatus): Details['facts'] {
  const fact = (label: string, text: string | undefined): Details['facts'] =>
    text === undefined || text === '' ? [] : [{ label, text }];
  const time = (label: string, at: string | undefined): Details['facts'] =>
    at === undefined ? [] : [{ label, text: '', at }];
  return [
    ...fact(vscode.l10n.t('Task'), task === undefined ? state?.taskId : workerTaskTitle(task)),
    ...fact(vscode.l10n.t('Type'), task?.type),
    ...fact(vscode.l10n.t('Attempts'), state === undefined ? undefined : String(state.attempts)),
    ...fact(vscode.l10n.t('Handed off'), state?.handoffReason),
    ...fact(vscode.l10n.t('Continues at'), state?.resumePoint),
    ...time(vscode.l10n.t('Deadline'), task?.timeout),
    ...fact(vscode.l10n.t('Error'), result?.error?.message),
    ...fact(vscode.l10n.t('Recovery'), plan === undefined || plan.action === 'nothing' ? undefined : plan.reason),
    ...fact(vscode.l10n.t('Folder'), folder),
  ];
}

/** What lies on the worker's branch, as its files have it. */
function textsOf({ task, context, result }: WorkerStatus): Details['texts'] {
  const parts = [
    [vscode.l10n.t('Result'), result],
    [vscode.l10n.t('Task'), task],
    [vscode.l10n.t('Context'), context],
  ] as const;
  return parts.flatMap(([label, content]) =>
    content === undefined ? [] : [{ label, text: serializeContent(content), isCode: true }],
  );
}

function actionsOf(
  repository: string,
  { worker, folder }: WorkerStatus,
  abilities: readonly Ability[],
): DetailsAction[] {
  const argument = { kind: 'worker', repository, worker };
  const can = (...any: readonly Ability[]): boolean => any.some((ability) => abilities.includes(ability));
  const offered = [
    [can('recover'), vscode.l10n.t('Recover Worker…'), 'atlas.recoverWorker'],
    [can('run'), vscode.l10n.t('Run Worker…'), 'atlas.runWorker'],
    [can('free'), vscode.l10n.t('Assign to Worker…'), 'atlas.slingTask'],
    [can('running'), vscode.l10n.t('Hand Off Work…'), 'atlas.handOffWork'],
    [can('held'), vscode.l10n.t('Complete Work…'), 'atlas.completeWork'],
    [can('held'), vscode.l10n.t('Mark Work as Failed…'), 'atlas.failWork'],
    [can('clear'), vscode.l10n.t('Clear Worker…'), 'atlas.clearWorker'],
    [true, vscode.l10n.t('Copy Path'), 'atlas.copyHookPath'],
  ] as const;
  const actions = offered
    .filter(([is]) => is)
    .map(([, label, command], index) => ({
      label,
      // What stands first is what a worker needs; where it needs nothing, no button stands out.
      rank: index === 0 && can('recover', 'run', 'free') ? ('primary' as const) : ('secondary' as const),
      command,
      argument,
    }));
  const inside = vscode.Uri.file(join(folder, SLOT_FILES.task));
  const reveal = { label: vscode.l10n.t('Reveal Folder'), command: 'revealInExplorer', argument: inside };
  return [...actions, { ...reveal, rank: 'secondary' }];
}
