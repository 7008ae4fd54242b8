import { sep } from 'node:path';
import { AtlasError, type Result, ok, unwrap } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { type SlotState, isOver, serializeContent } from '../../core/worker/slotContent';
import { definitionOf, recordOf } from '../../core/worker/slotSteps';
import { bytesAllowed } from '../../core/worker/limits';
import { fileError } from '../../system/files/fileErrors';
import { readForeignFile } from '../../system/files/foreignFile';
import { isOutput, outputsOf } from './evidence';
import { type Change, type ForgeBranches, type MadeCommit, type Publish, textFile } from '../git/forgeBranches';
import {
  type ForgeView,
  type SlotOnBranch,
  type NewRecords,
  type Work,
  noWorker,
  withRecords,
} from '../operations/forgeView';
import { authorOf } from '../git/gitObjects';
import { SLOT_FILES, type FolderContent, type FolderFile, holdsFile, readFolder } from './slotTree';

/** What a worker left, in its folder; where that was removed, what its branch has. */
export interface LeftBehind extends FolderContent {
  readonly there: boolean;
}

/** A hook with work on it. */
export interface HeldSlot extends SlotOnBranch {
  readonly held: Work;
}

/** A step of work that is to be recorded. */
export interface SlotStep {
  readonly view: ForgeView;
  readonly publish: Publish;
  readonly hook: HeldSlot;
  readonly left: LeftBehind;
}

/** Files by path; `undefined` removes one. */
export type SlotChanges = Map<string, FolderFile | undefined>;

/** The hook of a worker that has work. Fails with `not_found`, or with what is wrong with it. */
export function heldSlot(view: ForgeView, worker: string): HeldSlot {
  const hook = view.hooks.get(worker);
  if (hook === undefined)
    throw noWorker(worker, {
      hint: 'A worker is created when a task is assigned to it: atlas worker sling <task> <worker>',
    });
  const held = unwrap(hook.work);
  if (held === undefined)
    throw new AtlasError('not_found', `No task is assigned to ${worker}.`, {
      hint: 'Assign one with: atlas worker sling <task> <worker>',
    });
  return { ...hook, held };
}

/** What lies in a hook's folder now. */
export async function leftBehind(branches: ForgeBranches, { branch, commit }: SlotOnBranch): Promise<LeftBehind> {
  const { worktrees, ports } = branches;
  if (!worktrees.shows(branch.folder) && !worktrees.isDetached(branch.folder))
    return { files: await branches.readAll(commit), skipped: [], there: false };
  try {
    return { ...readFolder(ports.files, branch.folder), there: true };
  } catch (error) {
    if (error instanceof AtlasError && error.code === 'usage') throw error;
    throw fileError('unreadable', `${branch.folder} could not be read`, error);
  }
}

/** Whether a file is one that a worker left, be it a draft of its result. */
function isLeft(path: string): boolean {
  return path === SLOT_FILES.result || isOutput(path);
}

/** Whether a worker left anything that another can go on with. */
export function isPartial(left: LeftBehind, { resumePoint }: SlotState): boolean {
  return resumePoint !== undefined || [...left.files.keys()].some(isLeft);
}

/** What is seen of a hook without reading what its worker left. */
export interface SlotGlance {
  readonly partial: boolean;
  /** Whether the protocol's own files in its folder are other than its branch has them. */
  readonly differs: boolean;
}

/** What lies in a hook's folder: the protocol's own files, and whether there are others. */
export interface FolderScan {
  readonly own: ReadonlyMap<string, Uint8Array>;
  readonly left: boolean;
}

/** Looks into a hook's folder that is there. */
export function scanFolder(files: FileSystem, folder: string): Result<FolderScan> {
  const own = new Map<string, Uint8Array>();
  try {
    const names = files.list(folder);
    for (const name of SHOWN) {
      if (!names.includes(name)) continue;
      // Not `join`, which looks at each letter: there may be thousands.
      const read = readForeignFile(folder + sep + name, bytesAllowed(name));
      // More than that, or no file, is none of ours.
      if (read.ok) own.set(name, read.value);
    }
    return ok({ own, left: holdsFile(files, folder, names, isLeft) });
  } catch (error) {
    return { ok: false, error: fileError('unreadable', `${folder} could not be read`, error) };
  }
}

const SHOWN = [SLOT_FILES.task, SLOT_FILES.context, SLOT_FILES.status, SLOT_FILES.result] as const;

/** What is to be seen of a hook by what lies in its folder; where that is not there, by its branch. */
export async function glanceAt(
  branches: ForgeBranches,
  hook: HeldSlot,
  scan: FolderScan | undefined,
): Promise<SlotGlance> {
  const hasPoint = hook.held.state.resumePoint !== undefined;
  if (scan === undefined) {
    const kept = await branches.objects.files(hook.commit);
    return { partial: hasPoint || [...kept.keys()].some(isLeft), differs: false };
  }
  const differs = [...ownFiles(hook.held)].some(
    ([path, file]) => file !== undefined && Buffer.compare(scan.own.get(path) ?? EMPTY, file.bytes) !== 0,
  );
  return { partial: hasPoint || scan.left, differs };
}

const EMPTY = new Uint8Array();

/** What takes a worker's files into its branch, and out of it what it removed. */
export async function keepOutputs(branches: ForgeBranches, hook: SlotOnBranch, left: LeftBehind): Promise<SlotChanges> {
  const before = new Map(outputsOf(await branches.readAll(hook.commit)));
  const now = new Map(outputsOf(left.files));
  const changes: SlotChanges = new Map();
  for (const path of before.keys()) if (!now.has(path)) changes.set(path, undefined);
  for (const [path, file] of now) {
    const same = before.get(path);
    const isSame = same?.executable === file.executable && Buffer.compare(same.bytes, file.bytes) === 0;
    if (!isSame) changes.set(path, file);
  }
  return changes;
}

/** The protocol's own files of work, with a new state or as its branch has them: whatever lies in the folder, these are shown. */
export function ownFiles({ bytes, state: held }: Work, state?: SlotState): SlotChanges {
  const file = (content: Uint8Array): FolderFile => ({ bytes: content, executable: false });
  return new Map<string, FolderFile | undefined>([
    [SLOT_FILES.task, file(bytes.task)],
    [SLOT_FILES.context, file(bytes.context)],
    [SLOT_FILES.status, state === undefined ? file(bytes.status) : textFile(serializeContent(state))],
    // Until work is over, its result is its worker's own draft.
    ...(state === undefined && isOver(held.status) && bytes.result !== undefined
      ? [[SLOT_FILES.result, file(bytes.result)] as const]
      : []),
  ]);
}

/** Whether a folder does not show the work that was hung on it and never begun: whoever slung it was killed in between. */
function isUnshown({ work }: SlotOnBranch, left: LeftBehind): boolean {
  const held = work.ok ? work.value : undefined;
  if (held?.state.status !== 'PENDING' || !left.there) return false;
  return Buffer.compare(left.files.get(SLOT_FILES.status)?.bytes ?? new Uint8Array(), held.bytes.status) !== 0;
}

/**
 * Has a hook's folder show its branch again: the protocol's own files; all, and nothing else, where it shows nothing of the work that
 * hangs there. What is not as its branch has it is kept aside. Throws file errors.
 */
export async function showAgain(branches: ForgeBranches, hook: SlotOnBranch): Promise<{ readonly added: boolean }> {
  const { branch, commit, work } = hook;
  const own = work.ok && work.value !== undefined ? ownFiles(work.value) : new Map<string, undefined>();
  if (!branches.worktrees.shows(branch.folder)) return branches.show(branch, commit, own);
  const left = await leftBehind(branches, hook);
  const kept = await branches.readAll(commit);
  const isAnew = isUnshown(hook, left);
  const isShown = (path: string): boolean =>
    isAnew || own.has(path) || (own.has(SLOT_FILES.result) && path.startsWith('evidence/') && !isOutput(path));
  const changes: SlotChanges = new Map();
  for (const path of [...left.files.keys(), ...kept.keys()].filter(isShown)) {
    const [now, wanted] = [left.files.get(path), kept.get(path)];
    if (now === undefined || wanted === undefined || Buffer.compare(now.bytes, wanted.bytes) !== 0)
      changes.set(path, wanted);
  }
  const edited = new Map([...left.files].filter(([path]) => changes.has(path)));
  branches.worktrees.keepAside(branch.folder, edited);
  return branches.show(branch, commit, changes);
}

/** What lies in the folder of a hook whose work is to be claimed: of the work that hangs there, and of none before. */
export async function leftOfWork(branches: ForgeBranches, hook: SlotOnBranch): Promise<LeftBehind> {
  const left = await leftBehind(branches, hook);
  if (!isUnshown(hook, left)) return left;
  await showAgain(branches, hook);
  return leftBehind(branches, hook);
}

/** What empties a hook: all that its branch has or its folder shows. */
export async function emptied(branches: ForgeBranches, hook: SlotOnBranch, left: LeftBehind): Promise<SlotChanges> {
  const kept = await branches.readAll(hook.commit);
  const paths = [...kept.keys(), ...left.files.keys()].filter((path) => path !== '.gitattributes');
  return new Map(paths.map((path) => [path, undefined]));
}

/** Commits a hook's change and the ledger's together, so that neither is without the other. */
export async function commitBoth(
  branches: ForgeBranches,
  view: ForgeView,
  publish: Publish,
  hookCommit: MadeCommit,
  records: NewRecords,
): Promise<void> {
  const ledger = await withRecords(branches, view, records, hookCommit);
  // The hook first: where only that comes about, the ledger learns of it from the hook.
  await publish(ledger === undefined ? [hookCommit] : [hookCommit, ledger]);
}

/** Commits a step of work that goes on, with what its worker left until now and `more` files beside that. */
export async function commitStep(
  branches: ForgeBranches,
  { view, publish, hook, left }: SlotStep,
  state: SlotState,
  message: string,
  more: SlotChanges = new Map(),
): Promise<void> {
  const outputs = await keepOutputs(branches, hook, left);
  const changes = new Map([...outputs, ...ownFiles(hook.held, state), ...more]);
  const made = await branches.make(slotChange(hook, changes, message, outputs));
  const tasks = [recordOf(state, definitionOf(hook.held.task))];
  await commitBoth(branches, view, publish, made, { tasks });
}

/** A change of a worker's hook; `outputs` came from its folder and are not written there. */
export function slotChange(
  { worker, branch, commit }: SlotOnBranch,
  changes: Change['changes'],
  message: string,
  outputs: Change['changes'] = new Map(),
): Change {
  const shown = new Map([...changes].filter(([path]) => !outputs.has(path)));
  return { branch, from: commit, changes, shown, message, author: authorOf(worker) };
}

/** A commit of what lies in a hook's folder and no branch has; `undefined` where that is nothing. */
export async function keepAdded(
  branches: ForgeBranches,
  hook: SlotOnBranch,
  left: LeftBehind,
  message: string,
): Promise<MadeCommit | undefined> {
  const changes = await keepOutputs(branches, hook, left);
  const added = new Map([...changes].filter(([, file]) => file !== undefined));
  return added.size === 0 ? undefined : branches.make(slotChange(hook, added, message));
}

/** What empties a hook before it is used anew, on top of a commit that keeps what was put into its folder after its work was over. */
export async function vacated(
  branches: ForgeBranches,
  hook: SlotOnBranch,
): Promise<{ readonly changes: SlotChanges; readonly onto: MadeCommit | undefined }> {
  const left = await leftBehind(branches, hook);
  const onto = await keepAdded(branches, hook, left, `Keep what came late to ${hook.worker}`);
  return { changes: await emptied(branches, hook, left), onto };
}

/** Checks that a hook can take a task: nothing unfinished hangs on it. Fails with `illegal_transition`, or with what is damaged. */
export function checkFree({ worker, work }: SlotOnBranch): void {
  const state = unwrap(work)?.state;
  if (state === undefined || isOver(state.status)) return;
  throw new AtlasError('illegal_transition', `${worker} has unfinished work: ${state.taskId} is ${state.status}.`, {
    hint: 'Assign the task to another worker, or let this one finish.',
  });
}
