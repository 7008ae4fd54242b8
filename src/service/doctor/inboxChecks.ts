import { join } from 'node:path';
import { count } from '../../core/shared/text';
import { InboxFiles } from '../../store/inbox/inboxFiles';
import { WakeFiles } from '../../store/inbox/wakeFiles';
import { checkLock } from './lockChecks';
import type { Examination } from './report';
import { checkTemporaries } from './temporaries';

/** Looks at the inbox of a workspace: its folders and lock, files that can't be used, and sessions that were not woken. */
export async function checkInbox(exam: Examination, workspace: string): Promise<void> {
  const { ports } = exam.atlas;
  const folder = ports.paths.inbox(workspace);
  if (ports.files.stat(folder) === undefined) return;
  const files = new InboxFiles(ports);
  const safe = files.check(workspace);
  if (!safe.ok) {
    exam.failed('inbox', folder, safe.error, 'Replace it with the folder itself.');
    return;
  }
  for (const each of files.folders(workspace)) await checkTemporaries(exam, each);
  await checkLock(exam, `${workspace}/inbox`, files.locks(workspace));
  const numbers = files.numbers(workspace);
  const open = files.readAll(numbers.open, (id) => files.openPath(workspace, id));
  const finished = files.readAll(numbers.finished, (id) => files.finishedPath(workspace, id));
  const wrong = [...numbers.findings, ...open.findings, ...finished.findings];
  for (const { path, error } of wrong) exam.failed('inbox', path, error, 'Move it away. No other item needs it.');
  const done = new Set(finished.items.flatMap(({ id, status }) => (status === 'done' ? [id] : [])));
  await checkWakes(exam, workspace, (id) => done.has(id));
  if (wrong.length > 0) return;
  const total = `${count(open.items.length, 'open item')} and ${finished.items.length} finished.`;
  exam.ok('inbox', folder, `Checked ${total}`);
}

async function checkWakes(exam: Examination, workspace: string, isDone: (id: number) => boolean): Promise<void> {
  const { ports } = exam.atlas;
  const wakes = new WakeFiles(ports);
  const due = wakes.due(workspace).filter(isDone);
  for (const id of due) {
    const subject = join(ports.paths.inbox(workspace), 'finished', `${id}.json`);
    await exam.repair('inbox', subject, {
      wrong: 'Its item is done, but the session waiting for it was not woken.',
      done: 'The session waiting for its item will be woken.',
      byHand: `Run: atlas inbox complete ${id} "" --workspace ${workspace}`,
      act: () => wakes.publish(workspace, id),
    });
  }
}
