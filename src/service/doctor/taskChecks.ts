import { join } from 'node:path';
import type { AtlasError } from '../../core/shared/errors';
import { foreignEdits } from '../../core/task/foreignEdits';
import { isInFlight, isTerminal } from '../../core/task/taskRecord';
import { count } from '../../core/shared/text';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import type { Finding } from '../../core/task/storedTask';
import { explain } from '../../core/shared/errors';
import { checkLock } from './lockChecks';
import { type Examination, FIX_IT } from './report';
import { type Pending, type TaskState, UNMADE, chainBreak, inspectTask } from './taskState';
import { checkTemporaries } from './temporaries';

const ASIDE = /^(?:hook\.json\.corrupt|journal\.jsonl\.torn)-/u;

/** Looks at every task: those that are open and those whose marker is wrong in full, the others at their journal. */
export async function checkTasks(exam: Examination): Promise<void> {
  const { catalog, workspaces } = exam.atlas;
  const wrong = new Map<string, TaskRef>();
  const { paths } = exam.atlas.ports;
  await exam.check('task', paths.workspaces, () =>
    catalog.sweep(
      (ref) => wrong.set(refKey(ref), ref),
      () => exam.aborted,
    ),
  );
  const marked = new Map(catalog.open().map((ref) => [refKey(ref), ref]));
  const looked = new Map([...marked, ...wrong]);
  for (const [key, ref] of looked) await exam.check('task', key, () => checkTask(exam, ref, marked.has(key)));
  let finished = 0;
  for (const workspace of workspaces.names()) {
    const ids = await exam.check('task', paths.workspace(workspace), () => workspaces.taskIds(workspace));
    for (const id of ids ?? []) {
      if (exam.aborted) return;
      const ref = { workspace, id };
      const whole = looked.has(refKey(ref));
      if (!whole) finished += 1;
      await exam.check('journal', refKey(ref), () => checkRecords(exam, ref, whole));
    }
  }
  exam.ok(
    'task',
    paths.workspaces,
    `Checked ${count(looked.size, 'open task')} and ${count(finished, 'finished task')}.`,
  );
}

async function checkTask(exam: Examination, ref: TaskRef, marked: boolean): Promise<void> {
  const { atlas } = exam;
  if (marked && atlas.ports.files.stat(atlas.ports.paths.task(ref)) === undefined) {
    await exam.repair('marker', refKey(ref), {
      wrong: 'It is marked as open, but the task does not exist.',
      done: 'The marker of a missing task was removed.',
      byHand: `Move ${atlas.ports.paths.marker(ref)} away.`,
      act: () => atlas.ports.files.unlink(atlas.ports.paths.marker(ref)),
    });
    return;
  }
  await checkLock(exam, refKey(ref), atlas.ports.paths.locks(ref));
  const state = inspectTask(atlas, ref, marked);
  await settle(exam, ref, state, marked);
  checkEdits(exam, ref);
  await checkOwners(exam, ref);
}

function checkEnded(exam: Examination, ref: TaskRef, names: readonly string[]): void {
  checkEdits(exam, ref);
  if (names.includes('task.json')) return;
  const { damage } = inspectTask(exam.atlas, ref, false);
  if (damage !== undefined) exam.problem('task', refKey(ref), damage.message, hintOf(exam, ref, damage));
}

/** An edit from outside is a problem until a human has said that it is none. */
function checkEdits(exam: Examination, ref: TaskRef): void {
  const read = exam.atlas.catalog.read(ref);
  const edits = read.ok ? foreignEdits(read.value.hook) : undefined;
  if (edits === undefined) return;
  exam.problem(
    'task',
    refKey(ref),
    `hook.json was changed by something other than Atlas (${count(edits.count, 'edit')}, the last found at ${edits.at}).`,
    'Check the task against git. If the edit was intended, run: atlas acknowledge',
  );
}

/** Fixes what can be, or says what could be. */
async function settle(exam: Examination, ref: TaskRef, state: TaskState, marked: boolean): Promise<void> {
  const key = refKey(ref);
  const { pending, damage } = state;
  if (damage !== undefined) {
    exam.problem('task', key, damage.message, hintOf(exam, ref, damage));
    return;
  }
  if (pending.length === 0) return;
  if (!exam.fix) {
    for (const { area, message } of pending)
      exam.findings.push({ area, level: 'problem', subject: key, message, hint: FIX_IT, fixable: true });
    return;
  }
  const result = marked ? await exam.atlas.reconcile(ref) : await exam.atlas.reconcileLost(ref);
  if (!result.ok && result.error.code === 'not_found' && pending.some(({ message }) => message === UNMADE)) {
    exam.fixed('marker', key, 'The marker of a task whose creation was interrupted was removed.');
    return;
  }
  if (!result.ok) {
    exam.problem('task', key, explain(result.error), hintOf(exam, ref, result.error));
    return;
  }
  for (const finding of result.value.findings) exam.fixed(areaOf(finding), key, finding.message);
  const left = inspectTask(exam.atlas, ref, !isTerminal(result.value.hook.state));
  const derived = pending.filter((each) => each.derived === true);
  for (const each of derived) {
    if (left.pending.some(({ message }) => message === each.message))
      exam.problem(each.area, key, each.message, 'The log shows why it could not be written.');
    else exam.fixed(each.area, key, `${each.message} This was fixed.`);
  }
}

function areaOf({ kind }: Finding): Pending['area'] {
  return kind === 'torn_line' ? 'journal' : 'task';
}

/** A damaged task is never written over; whoever has a backup can put it back. */
function hintOf(exam: Examination, ref: TaskRef, error: AtlasError): string {
  if (error.hint !== undefined && error.code !== 'damaged') return error.hint;
  const folder = exam.atlas.ports.paths.task(ref);
  return `Restore the file from a backup of ${folder}, or move that folder out of the store. Nothing was changed, and no other task is affected.`;
}

/** Owners tell of crashes while a step is in flight; on a task that isn't, those of dead processes are left over. */
async function checkOwners(exam: Examination, ref: TaskRef): Promise<void> {
  const { atlas } = exam;
  const key = refKey(ref);
  const read = atlas.store.read(ref);
  if (!read.ok) return;
  const { config } = await atlas.configs.forTask(read.value.task);
  if (isInFlight(read.value.hook.state)) {
    const diagnosis = atlas.diagnose(read.value, config.staleThresholdMs);
    if (diagnosis.kind === 'crashed')
      exam.problem('owner', key, 'The task was interrupted.', 'Run "Atlas: Recover Task" on it, or: atlas recover');
    return;
  }
  const dead = atlas.owners.list(ref).filter(({ vitality }) => vitality === 'dead' || vitality === 'rebooted');
  const left = dead.filter(({ file }) => file.signed_off_at === undefined);
  if (left.length === 0) return;
  await exam.repair('owner', key, {
    wrong: 'A process that has exited is still recorded as working on it.',
    done: 'The record of a process that has exited was removed.',
    byHand: `Check the permissions of ${atlas.ports.paths.owners(ref)}.`,
    act: () => atlas.owners.removeDead(ref),
  });
}

/** What every task is looked at for, finished ones too: the journal's chain and files that were left over. */
async function checkRecords(exam: Examination, ref: TaskRef, whole: boolean): Promise<void> {
  const { paths, files } = exam.atlas.ports;
  const folder = paths.task(ref);
  if (files.stat(folder)?.kind !== 'folder') return;
  const names = files.list(folder);
  if (names.includes('journal.jsonl')) checkChain(exam, ref, whole);
  if (!whole && names.includes('hook.json')) checkEnded(exam, ref, names);
  for (const name of names.filter((each) => ASIDE.test(each)))
    exam.ok('task', refKey(ref), `${join(folder, name)} was found damaged and set aside. It is no longer used.`);
  await checkTemporaries(exam, folder, names);
  for (const inner of [paths.locks(ref), paths.owners(ref), paths.receipts(ref)]) await checkTemporaries(exam, inner);
}

function checkChain(exam: Examination, ref: TaskRef, whole: boolean): void {
  const key = refKey(ref);
  const broken = chainBreak(exam.atlas, ref, whole);
  if (!broken.ok) {
    exam.failed('journal', key, broken.error, hintOf(exam, ref, broken.error));
    return;
  }
  if (broken.value === undefined) return;
  const { line, why } = broken.value;
  exam.problem(
    'journal',
    key,
    `The journal's chain is broken at line ${line}: ${why}. The file was edited, or the disk is faulty.`,
    `Restore ${exam.atlas.ports.paths.journal(ref)} from a backup. Until then, receipts of this task prove less and hook.json can't be rebuilt.`,
  );
}
