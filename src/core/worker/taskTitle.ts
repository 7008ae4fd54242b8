import { oneLine } from '../shared/text';

/** An id derived from a title is at most this long, so that branch and folder names stay readable. */
const MAX_ID = 40;

/** What people call a worker's task: its title, or its id where whoever added it gave none. */
export function workerTaskTitle(task: { readonly id: string; readonly title?: unknown }): string {
  const title = typeof task.title === 'string' ? oneLine(task.title, 200) : '';
  return title === '' ? task.id : title;
}

/** An id for a task with a title: its words in lower case, with a number where `isTaken` says that it is taken. */
export function taskIdFor(title: string, isTaken: (id: string) => boolean): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, '-')
    .slice(0, MAX_ID)
    .replace(/^-+|-+$/gu, '');
  const base = words === '' ? 'task' : words;
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!isTaken(id)) return id;
  }
}
