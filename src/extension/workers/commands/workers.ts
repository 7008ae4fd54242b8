import { defined } from '../../../core/shared/defined';
import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { Ledger } from '../../../core/worker/ledger';
import { taskIdFor } from '../../../core/worker/taskTitle';
import { plain } from '../../shared/messages';
import { bucketCount } from '../tree/looks';
import { bucketOf, isSlingable, shapeOf } from '../tree/outline';
import type { LookedAt } from '../workersModel';
import { taskDetails } from '../tree/taskRows';
import { chosen } from '../../shared/arguments';
import type { CommandHandler } from '../../shared/context';
import { type Question, askInTurn, askOneText, textQuestion } from '../../shared/questions';
import {
  knownOrNew,
  namedTask,
  namedWorker,
  repositoryFor,
  statusIn,
  taskChoices,
  workerChoice,
  workerNameProblem,
} from './workerChoices';
import { showWorker } from './showWorker';
import { clearWorker, copyHookPath, endWork, handOffWork } from './workerSteps';
import { recoverWorker, runWorker } from './workerRuns';
import { repairWorkers, syncWorkers } from './workerSync';

/** What a person wrote as a task's input: a JSON object as it is, else a text. */
export function inputOf(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Readonly<Record<string, unknown>>;
  } catch {
    // Then it is a text.
  }
  return { description: text };
}

/** Atlas: Add Worker Task. */
const addWorkerTask: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  await model.look();
  const title = vscode.l10n.t('Add Worker Task');
  const looked = await repositoryFor(model, argument, title);
  const { ledger } = statusIn(looked);
  const answers = { title: '', input: '', type: 'task' };
  const ask = (
    name: keyof typeof answers,
    prompt: string,
    empty: string | undefined,
    check?: (text: string) => string | undefined,
  ): Question =>
    textQuestion(
      () => ({ title, prompt, value: answers[name], empty, ...defined({ check }) }),
      (text) => (answers[name] = text.trim()),
    );
  await askInTurn([
    ask(
      'title',
      vscode.l10n.t('What should the worker do?'),
      vscode.l10n.t('Say in a few words what the worker should do.'),
    ),
    ask('input', vscode.l10n.t('Add details as text or as a JSON object (optional).'), undefined),
    ask('type', vscode.l10n.t('Enter the type of the task.'), vscode.l10n.t('Enter a type.')),
  ]);
  const blockedBy = await askBlockers(ledger, title);
  const id = taskIdFor(answers.title, (each) => ledger.tasks.last.has(each));
  const task = { id, title: answers.title, type: answers.type, input: inputOf(answers.input) };
  unwrap(await looked.workers.slinging.addTasks([{ ...task, ...(blockedBy.length === 0 ? {} : { blockedBy }) }]));
  await model.look();
  vscode.window.setStatusBarMessage(vscode.l10n.t('Added the task "{0}".', plain(answers.title, 80)), 4000);
};

/** What has to be complete first; asked only where something is open. */
async function askBlockers(ledger: Ledger, title: string): Promise<string[]> {
  const open = [...ledger.tasks.last.values()].filter(({ status }) => status !== 'COMPLETE').map(({ id }) => id);
  if (open.length === 0) return [];
  const picked = await vscode.window.showQuickPick(taskChoices(ledger, open, kindOf(ledger)), {
    title,
    placeHolder: vscode.l10n.t('Select prerequisites (optional).'),
    canPickMany: true,
    ignoreFocusOut: true,
  });
  return chosen(picked).map(({ value }) => value);
}

function kindOf(ledger: Ledger): (id: string) => string {
  return (id) => {
    const record = ledger.tasks.last.get(id);
    return record === undefined ? '' : `${record.task.type} · ${bucketCount(bucketOf(ledger, record), 1)}`;
  };
}

/** Atlas: Assign to Worker. */
const slingTask: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  await model.look();
  const title = vscode.l10n.t('Assign to Worker');
  const looked = await repositoryFor(model, argument, title);
  const named = namedWorker(model, argument)?.status;
  const answers: { task: string | undefined; worker: string | undefined; title?: string } = {
    task: namedTask(looked, argument),
    worker: named?.worker,
  };
  const now = context.session.atlas.ports.clock.now();
  const questions = [
    ...(answers.task === undefined
      ? [taskQuestion(looked, title, now, (task, text) => Object.assign(answers, { task, title: text }))]
      : []),
    ...(answers.worker === undefined ? [workerQuestion(looked, title, (worker) => (answers.worker = worker))] : []),
  ];
  await askInTurn(questions);
  const { task = '', worker = '' } = answers;
  const slung = unwrap(
    await looked.workers.slinging.sling({ worker, task: { id: task, ...defined({ title: answers.title }) } }),
  );
  await model.look();
  vscode.window.setStatusBarMessage(vscode.l10n.t('Assigned {0} to {1}.', plain(slung.task.id), slung.worker), 4000);
};

/** Which task; a new one is known by its title, from which its id is made. */
function taskQuestion(
  looked: LookedAt,
  title: string,
  now: number,
  keep: (task: string, title?: string) => void,
): Question {
  const { ledger } = statusIn(looked);
  const ids = [...ledger.tasks.last.values()].filter((record) => isSlingable(ledger, record)).map(({ id }) => id);
  const details = (id: string): string => {
    const record = ledger.tasks.last.get(id);
    return record === undefined ? '' : taskDetails(ledger, record, now);
  };
  const pick = { title, placeholder: vscode.l10n.t('Which task?'), items: taskChoices(ledger, ids, details) };
  const fresh = {
    title,
    label: vscode.l10n.t('New Task…'),
    prompt: vscode.l10n.t('What should the worker do?'),
    value: '',
    empty: vscode.l10n.t('Say in a few words what the worker should do.'),
  };
  const isTaken = (id: string): boolean => ledger.tasks.last.has(id);
  return knownOrNew(pick, fresh, (answer) => {
    if (ids.includes(answer)) keep(answer);
    else keep(taskIdFor(answer, isTaken), answer.trim());
  });
}

function workerQuestion(looked: LookedAt, title: string, keep: (worker: string) => void): Question {
  const free = statusIn(looked).workers.filter((status) => ['FREE', 'COMPLETE', 'FAILED'].includes(shapeOf(status)));
  const items = free.map((status) => ({ ...workerChoice({ looked, status }), value: status.worker }));
  const pick = { title, placeholder: vscode.l10n.t('Which worker?'), items };
  const fresh = {
    title,
    label: vscode.l10n.t('New Worker…'),
    prompt: vscode.l10n.t('Enter a name for the new worker: <worker>, or <pool>/<worker>.'),
    value: '',
    empty: vscode.l10n.t('Enter a name.'),
    check: workerNameProblem,
  };
  return knownOrNew(pick, fresh, keep);
}

/** Atlas: Create Batch. */
const createConvoy: CommandHandler = async (context, argument) => {
  const { model } = await context.workers();
  await model.look();
  const title = vscode.l10n.t('Create Batch');
  const looked = await repositoryFor(model, argument, title);
  const { ledger } = statusIn(looked);
  const ids = [...ledger.tasks.last.keys()];
  if (ids.length === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No task to group yet.'), {
      hint: vscode.l10n.t('Add some with "Atlas: Add Worker Task".'),
    });
  const name = (
    await askOneText({
      title,
      prompt: vscode.l10n.t('What is the batch for?'),
      value: '',
      empty: vscode.l10n.t('Enter a title for the batch.'),
    })
  ).trim();
  const id = taskIdFor(name, (each) => ledger.convoys.last.has(each));
  const named = namedTask(looked, argument);
  const items = taskChoices(ledger, ids, kindOf(ledger)).map((each) => ({ ...each, picked: each.value === named }));
  const picked = chosen(
    await vscode.window.showQuickPick(items, {
      title,
      placeHolder: vscode.l10n.t('Select the tasks of the batch.'),
      canPickMany: true,
      ignoreFocusOut: true,
    }),
  );
  if (picked.length === 0) return;
  unwrap(await looked.workers.slinging.createConvoy({ id, title: name, tasks: picked.map(({ value }) => value) }));
  await model.look();
};

/** Atlas: Refresh Workers. */
const refreshWorkers: CommandHandler = async (context) => {
  await (await context.workers()).model.look();
};

/** Shows one page more of a list. */
const showMoreWorkers: CommandHandler = async (context, argument) => {
  const under = (argument as { under?: unknown } | undefined)?.under;
  if (typeof under !== 'string') throw new AtlasError('usage', vscode.l10n.t('Choose the row in the Workers view.'));
  (await context.workers()).tree.showMore(under);
};

/** The commands of the workers by their names. */
export const WORKER_COMMANDS = {
  addWorkerTask,
  slingTask,
  runWorker,
  recoverWorker,
  handOffWork,
  completeWork: endWork('complete'),
  failWork: endWork('fail'),
  clearWorker,
  createConvoy,
  showWorker,
  copyHookPath,
  syncWorkers,
  repairWorkers,
  refreshWorkers,
  showMoreWorkers,
};
