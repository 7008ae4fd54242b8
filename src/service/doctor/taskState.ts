import { AtlasError, type Result } from '../../core/shared/errors';
import { type TaskRecord, isTerminal, serializeRecord } from '../../core/task/taskRecord';
import { recordDamage, serializeTask } from '../../core/task/task';
import { alignTask } from '../../core/task/taskAlignment';
import { count } from '../../core/shared/text';
import { parseRecord, readMarkdownSeq, readStateFile, sha256, stateFileHash } from '../../store/task/recordFile';
import { Journal, type JournalContent, type JournalTail } from '../../store/task/journal';
import { checkChain } from '../../store/task/journalChain';
import type { TaskRef } from '../../core/task/taskRef';
import { rebuildRecord, replayLine } from '../../store/task/rebuild';
import type { Atlas } from '../atlas';
import type { DoctorArea } from './report';

/** Something wrong with a task that can be fixed without a decision. */
export interface Pending {
  readonly area: DoctorArea;
  readonly message: string;
  /** The store writes it again without reporting that: HOOK.md or the marker. */
  readonly derived?: true;
}

/** How a task's files are: what could be fixed, and what keeps the task from being read or fixed. */
export interface TaskState {
  readonly pending: readonly Pending[];
  readonly damage: AtlasError | undefined;
  readonly hook: TaskRecord | undefined;
}

/** What is said of a task that there is no such thing as, since nobody was told that it had begun. */
export const UNMADE = 'Its creation was interrupted. The task does not exist, but is marked as open.';

/**
 * Says what opening a task for a change would fix, without the lock and without a write. The opening itself decides
 * anew under the lock; this is what a person is told before.
 */
export function inspectTask(atlas: Atlas, ref: TaskRef, marked: boolean): TaskState {
  const { paths, files } = atlas.ports;
  const pending: Pending[] = [];
  const read = atlas.store.read(ref);
  if (!read.ok && read.error.code !== 'damaged' && read.error.code !== 'not_found')
    return { pending, damage: read.error, hook: undefined };
  const journal = new Journal(files, paths.journal(ref));
  const task = atlas.store.readTask(ref);
  const tail = journal.tailBeside(() => stateFileHash(files, paths.hook(ref)));
  const lacksTask = !task.ok && task.error.code === 'not_found' && files.stat(paths.hook(ref)) !== undefined;
  const broken = [lacksTask ? read : task, tail].find((each) => !each.ok);
  if (!task.ok || !tail.ok)
    return { pending, damage: broken?.ok === false ? broken.error : undefined, hook: undefined };
  const { tornBytes } = tail.value;
  if (tornBytes > 0) {
    const message = `A write to the journal was interrupted. Its last ${count(tornBytes, 'byte was', 'bytes were')} never acknowledged.`;
    pending.push({ area: 'journal', message });
  }
  if (tail.value.last === undefined && !read.ok && read.error.code === 'not_found') {
    if (marked) pending.push({ area: 'marker', message: UNMADE });
    return { pending, damage: undefined, hook: undefined };
  }
  const settled = settledHook(atlas, ref, journal, tail.value, pending);
  if (!settled.ok) return { pending, damage: settled.error, hook: undefined };
  const hook = settled.value;
  const damage = recordDamage(hook, task.value, ref.id);
  if (damage.length > 0)
    return { pending, damage: new AtlasError('damaged', `${damage.join('; ')}.`), hook: undefined };
  if (serializeTask(alignTask(task.value, hook)) !== serializeTask(task.value))
    pending.push({ area: 'task', message: 'task.json disagrees with hook.json.' });
  if (readMarkdownSeq(files, paths.markdown(ref)) !== (tail.value.last?.seq ?? 0))
    pending.push({ area: 'task', message: 'HOOK.md is missing, or older than the last change.', derived: true });
  if (isTerminal(hook.state) === marked)
    pending.push({
      area: 'marker',
      message: marked ? 'It has ended, but is marked as open.' : 'It is open, but its marker is missing.',
      derived: true,
    });
  return { pending, damage: undefined, hook };
}

/** The hook as it is, or as the journal would make it. */
function settledHook(
  atlas: Atlas,
  ref: TaskRef,
  journal: Journal,
  tail: JournalTail,
  pending: Pending[],
): Result<TaskRecord> {
  const { paths, files } = atlas.ports;
  const bytes = readStateFile(files, paths.hook(ref));
  const hook = bytes.ok ? parseRecord(paths.hook(ref), bytes.value) : bytes;
  if (!hook.ok) {
    if (hook.error.code !== 'damaged' && hook.error.code !== 'not_found') return hook;
    const content = journal.readAll();
    const rebuilt: Result<TaskRecord> = content.ok ? rebuildRecord(content.value) : content;
    if (!rebuilt.ok) return { ok: false, error: both(hook.error, rebuilt.error) };
    pending.push({ area: 'task', message: `${hook.error.message} It can be rebuilt from the journal.` });
    return rebuilt;
  }
  const sha = bytes.ok ? sha256(bytes.value) : '';
  const { last } = tail;
  if (last?.hook_sha256 === sha) return hook;
  if (last !== undefined && last.void === undefined && last.base_sha256 === sha) {
    const applied = replayLine(hook.value, last);
    if (applied !== undefined && sha256(serializeRecord(applied)) === last.hook_sha256) {
      pending.push({ area: 'task', message: 'The last change was recorded, but is not in hook.json yet.' });
      return { ok: true, value: applied };
    }
  }
  const message = 'hook.json was changed by something other than Atlas. The change is not recorded yet.';
  pending.push({ area: 'task', message });
  return hook;
}

function both(hook: AtlasError, journal: AtlasError): AtlasError {
  const message = hook.message === journal.message ? hook.message : `${hook.message} ${journal.message}`;
  return new AtlasError('damaged', message, { cause: hook });
}

/** Where a journal's chain breaks. */
export type ChainBreak = NonNullable<JournalContent['brokenAt']>;

/**
 * Looks whether each line of a journal follows from the one before.
 * @param whole reads what the lines say too, which is worth its time for tasks that go on
 */
export function chainBreak(atlas: Atlas, ref: TaskRef, whole: boolean): Result<ChainBreak | undefined> {
  const { files, paths } = atlas.ports;
  if (!whole) return checkChain(files, paths.journal(ref));
  const journal = new Journal(files, paths.journal(ref));
  const content = journal.readAll();
  if (!content.ok) return content;
  const { brokenAt } = content.value;
  const tail = journal.tailBeside(() => stateFileHash(files, paths.hook(ref)));
  const isTorn = tail.ok && tail.value.tornBytes > 0 && brokenAt?.line === (tail.value.last?.seq ?? 0) + 1;
  return { ok: true, value: isTorn ? undefined : brokenAt };
}
