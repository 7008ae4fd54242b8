import { AtlasError } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import type { ConvoyStatus, ConvoyTask } from '../../../workers/ledger/convoys';
import { type Answer, EXIT } from '../../render/output';
import type { ConvoyData, WorkerAnswer } from './workerSchemas';

const WORDS: Readonly<Record<ConvoyTask['status'], string>> = {
  OPEN: 'open',
  PENDING: 'pending',
  IN_PROGRESS: 'in progress',
  COMPLETE: 'complete',
  FAILED: 'failed',
  UNKNOWN: 'unknown',
};

/** What JSON says of a convoy. */
export function convoyData({ id, title, at, tasks, ready, done }: ConvoyStatus): ConvoyData {
  return {
    id,
    title: title ?? null,
    at: at ?? null,
    ready: [...ready],
    done,
    tasks: tasks.map((task) => ({
      id: task.id,
      status: task.status,
      worker: task.worker ?? null,
      waits_for: [...task.waitsFor],
    })),
  };
}

/** What is said of convoys: of one with its tasks, of all a line each. Throws `not_found`. */
export function convoyAnswer(convoys: readonly ConvoyStatus[], id: string | undefined): Answer {
  const shown = id === undefined ? convoys : convoys.filter((each) => each.id === id);
  if (id !== undefined && shown.length === 0)
    throw new AtlasError('not_found', `There is no convoy ${JSON.stringify(oneLine(id))}.`, {
      hint: 'List the convoys with: atlas worker convoy status',
    });
  const data: WorkerAnswer<'worker convoy status'> = { convoys: shown.map(convoyData) };
  const text = shown.flatMap((convoy) => [summary(convoy), ...(id === undefined ? [] : convoy.tasks.map(taskLine))]);
  const lines = text.map((line) => `${line}\n`).join('');
  return { exit: EXIT.done, text: shown.length === 0 ? 'No convoys yet.\n' : lines, wanted: true, data };
}

function summary({ id, title, tasks, ready, done }: ConvoyStatus): string {
  const counts = Object.entries(WORDS).flatMap(([status, word]) => {
    const number = tasks.filter((task) => task.status === status).length;
    return number === 0 ? [] : [`${number} ${word}`];
  });
  const name = title === undefined ? id : `${id} (${oneLine(title, 100)})`;
  const open = ready.length === 0 ? 'no task is ready' : `ready: ${ready.join(', ')}`;
  return `${name}: ${count(tasks.length, 'task')}: ${counts.join(', ')}; ${done ? 'done' : open}`;
}

function taskLine({ id, status, worker, waitsFor }: ConvoyTask): string {
  const by = worker === undefined ? '' : `, ${worker}`;
  const waits = status === 'OPEN' && waitsFor.length > 0 ? `, waits for ${waitsFor.join(', ')}` : '';
  return `  ${id}: ${WORDS[status]}${by}${waits}`;
}
