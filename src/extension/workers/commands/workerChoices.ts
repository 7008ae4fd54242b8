import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { Ledger } from '../../../core/worker/ledger';
import { workerTaskTitle } from '../../../core/worker/taskTitle';
import { checkWorker } from '../../../core/worker/names';
import type { ForgeStatus, WorkerStatus } from '../../../workers/operations/workerStatus';
import { plain } from '../../shared/messages';
import { PROBLEM_LABELS, SHAPE_LABELS } from '../tree/looks';
import { type Ability, abilitiesOf, problemsOf, shapeOf } from '../tree/outline';
import { type LookedAt, type WorkersModel, repositoryName } from '../workersModel';
import {
  type Choice,
  type PickQuestion,
  type Question,
  type TextQuestion,
  askOne,
  pickQuestion,
  textQuestion,
} from '../../shared/questions';
import { field } from '../../shared/arguments';
import * as dialogs from '../../shared/dialogs';

/** A worker with the repository that it is in. */
export interface FoundWorker {
  readonly looked: LookedAt;
  readonly status: WorkerStatus;
}

/** Hooks and ledger of a repository; what makes them unreadable is thrown. */
export function statusIn({ status }: LookedAt): ForgeStatus {
  return unwrap(status);
}

/** The repository that an argument names, if it is one of this window's. Arguments come from anywhere. */
function namedRepository(model: WorkersModel, argument: unknown): LookedAt | undefined {
  const name = field(argument, 'repository');
  return typeof name === 'string' ? model.at(name) : undefined;
}

/** The worker that an argument names; `undefined` where it names none that is there. */
export function namedWorker(model: WorkersModel, argument: unknown): FoundWorker | undefined {
  const looked = namedRepository(model, argument);
  const name = field(argument, 'worker');
  if (looked === undefined || typeof name !== 'string') return undefined;
  const status = model.worker(looked.repository.main, name);
  return status === undefined ? undefined : { looked, status };
}

/** The task of the ledger that an argument names. */
export function namedTask(looked: LookedAt, argument: unknown): string | undefined {
  const task = field(argument, 'kind') === 'task' ? field(argument, 'task') : undefined;
  return typeof task === 'string' && statusIn(looked).ledger.tasks.last.has(task) ? task : undefined;
}

/** The repository that a command is about: its argument's, the only one, or one that is asked for. */
export async function repositoryFor(model: WorkersModel, argument: unknown, title: string): Promise<LookedAt> {
  const named = namedRepository(model, argument);
  if (named !== undefined) return named;
  const all = model.all();
  const [only] = all;
  if (only === undefined)
    throw new AtlasError('no_repository', vscode.l10n.t('No folder of this window is in a Git repository.'), {
      hint: vscode.l10n.t('Workers need Git. Open a repository, or create one with git init.'),
    });
  if (all.length === 1) return only;
  const items = all.map((value) => ({
    label: plain(repositoryName(value.repository.main)),
    description: value.repository.main,
    value,
  }));
  return askOne({ title, placeholder: vscode.l10n.t('In which repository?'), items });
}

/** Asks in a dialog that can wait; anything but the button ends the command without a word. */
export async function confirm(question: string, detail: string, title: string): Promise<void> {
  return dialogs.confirm(question, detail, title, vscode.l10n.t('Not Now'));
}

/** What a worker's row in a quick pick says. */
export function workerChoice(value: FoundWorker): Choice<FoundWorker> {
  const { status } = value;
  const said = [SHAPE_LABELS[shapeOf(status)], ...problemsOf(status).map((each) => PROBLEM_LABELS[each])];
  return {
    label: status.worker,
    description: plain([status.state?.taskId ?? '', ...said].filter((part) => part !== '').join(' · '), 300),
    value,
  };
}

/** The worker that a command is about: its argument's, or one that is asked for among those that it fits. */
export async function workerFor(
  model: WorkersModel,
  argument: unknown,
  title: string,
  ability: Ability | undefined,
): Promise<FoundWorker> {
  await model.look();
  const named = namedWorker(model, argument);
  if (named !== undefined) return named;
  const found = model
    .all()
    .flatMap((looked) => (looked.status.ok ? looked.status.value.workers.map((status) => ({ looked, status })) : []));
  const fitting = found.filter(
    ({ status }) => ability === undefined || abilitiesOf(status, model.isAlive(status)).includes(ability),
  );
  if (fitting.length === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No worker allows this now.'), {
      hint: vscode.l10n.t('Create a worker with "Atlas: Assign to Worker".'),
    });
  return askOne({ title, placeholder: vscode.l10n.t('Which worker?'), items: fitting.map(workerChoice) });
}

/** What is wrong with the name of a new worker, in words. */
export function workerNameProblem(name: string): string | undefined {
  const checked = checkWorker(name.trim());
  return checked.ok ? undefined : `${checked.error.message} ${checked.error.hint ?? ''}`;
}

const NEW = Symbol('new');

/** Asks for one of some by name, or for a new name, with a way back from the name to the others. */
export function knownOrNew(
  { items, ...question }: PickQuestion<string>,
  fresh: TextQuestion & { readonly label: string },
  keep: (name: string) => void,
): Question {
  const named = textQuestion(
    () => fresh,
    (name) => keep(name.trim()),
  );
  if (items.length === 0) return named;
  const all: Choice<string | typeof NEW>[] = [{ label: `$(add) ${fresh.label}`, value: NEW }, ...items];
  return async (step) => {
    for (;;) {
      const picked: (string | typeof NEW)[] = [];
      if (!(await pickQuestion({ ...question, items: all }, (value) => picked.push(value))(step))) return false;
      const [value = NEW] = picked;
      if (value !== NEW) {
        keep(value);
        return true;
      }
      // A step further, so that there is a way back.
      if (await named({ step: Math.max(2, step.step), totalSteps: Math.max(2, step.totalSteps) })) return true;
    }
  };
}

/** The tasks of a ledger by id, those that are to be done first. */
export function taskChoices(ledger: Ledger, ids: readonly string[], more: (id: string) => string): Choice<string>[] {
  return ids.flatMap((id): Choice<string>[] => {
    const record = ledger.tasks.last.get(id);
    return record === undefined
      ? []
      : [{ label: plain(workerTaskTitle(record.task)), description: plain(more(id), 300), value: id }];
  });
}
