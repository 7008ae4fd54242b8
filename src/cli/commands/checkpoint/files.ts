import { AtlasError, unwrap } from '../../../core/shared/errors';
import { count, oneLine, plainLines, sizeText } from '../../../core/shared/text';
import { roughAge, toMs } from '../../../core/shared/time';
import {
  type FileCounts,
  type ListedCheckpoint,
  checkpointBefore,
  snapshotOf,
  whyNoFiles,
} from '../../../core/snapshot/snapshotEntry';
import type { LeftOut } from '../../../core/snapshot/snapshotRecord';
import { quotePath } from '../../../core/snapshot/treePath';
import type { StoredTask } from '../../../core/task/storedTask';
import type { CheckpointFiles } from '../../../service/snapshots/checkpointFiles';
import type { FileContent, SnapshotChange } from '../../../snapshots/storage/contents';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { fields, table } from '../../render/table';
import { writeOutput } from '../outputFile';
import type { AnswerData, ListedCheckpointData } from '../schemas';
import { taskData, taskToShow } from '../task/taskAnswer';
import { pathsOf, typedPath } from './paths';

/** The most bytes of a file, and of a comparison, that are printed. */
const MAX_PRINTED = 64 * 1024 * 1024;
const MAX_LISTED = 30;

/** `+2 ~1 -0`: files added, modified and removed. */
function countsText(counts: FileCounts | undefined): string {
  return counts === undefined ? '' : `+${counts.added} ~${counts.modified} -${counts.removed}`;
}

/** What JSON says of a checkpoint or restore point with its files. */
export function listedData(item: ListedCheckpoint): ListedCheckpointData {
  const { id, trigger, description, createdAt, checkpoint, entry } = item;
  const snapshot = snapshotOf(item);
  return {
    checkpoint_id: id,
    created_at: createdAt,
    trigger,
    step_name: checkpoint?.step_name ?? null,
    attempt: checkpoint?.attempt ?? null,
    description,
    status: entry?.status ?? 'none',
    problem: snapshot === undefined ? whyNoFiles(item).message : null,
    files: snapshot?.files ?? null,
    changes: entry?.changes ?? null,
    left_out: snapshot?.left_out_total ?? 0,
    head: snapshot?.head ?? null,
    branch: snapshot?.branch ?? null,
    restores: entry?.safety_for ?? null,
    possibly_late: entry?.possibly_late === true,
  };
}

/** `checkpoint list`: checkpoints and restore points, with what changed. */
export const list: Handler = async (context, call) => {
  const { stored, notes } = await taskToShow(context, call);
  const atlas = await context.atlas();
  const { files } = await atlas.snapshots();
  const items = files.list(stored);
  const now = atlas.ports.clock.now();
  const text = table(
    ['CHECKPOINT', 'TIME', 'TRIGGER', { flexible: 'STEP' }, 'FILES', { flexible: 'DESCRIPTION' }],
    items.map((item) => [
      item.id,
      roughAge(toMs(item.createdAt), now),
      item.trigger === 'auto' ? 'restore point' : item.trigger,
      item.checkpoint?.step_name ?? '',
      filesText(item),
      item.entry?.possibly_late === true ? `${item.description} (possibly late)` : item.description,
    ]),
    context.streams.columns,
  );
  const data: AnswerData<'checkpoint list'> = { task: taskData(atlas, stored), checkpoints: items.map(listedData) };
  return { exit: EXIT.done, text: items.length === 0 ? 'No checkpoints yet.\n' : text, wanted: true, data, notes };
};

function filesText(item: ListedCheckpoint): string {
  if (item.entry?.status === 'pending') return 'capturing';
  const snapshot = snapshotOf(item);
  if (snapshot === undefined) return 'none';
  return item.entry?.changes === undefined ? count(snapshot.files, 'file') : countsText(item.entry.changes);
}

/** `checkpoint show`: what a checkpoint holds, or one of its files. */
export const show: Handler = async (context, call) => {
  const { stored, notes } = await taskToShow(context, call);
  const atlas = await context.atlas();
  const { files } = await atlas.snapshots();
  const item = unwrap(files.find(stored, call.operands[0] ?? ''));
  const path = call.operands[1];
  if (path !== undefined) return showFile(context, call, stored, item, path);
  const before = checkpointBefore(files.list(stored), item.id, 'with restore points');
  const changes =
    before === undefined || snapshotOf(item) === undefined
      ? undefined
      : unwrap(await files.diff(stored, before, item, { stat: true })).changes;
  const leftOut = snapshotOf(item)?.left_out ?? [];
  const data: AnswerData<'checkpoint show'> = {
    task: taskData(atlas, stored),
    checkpoint: listedData(item),
    compared_with: before?.id ?? null,
    changes: (changes ?? []).map(changeData),
    left_out: leftOut.map(({ path: name, reason, size }) => ({ path: name, reason, size: size ?? null })),
    file: null,
  };
  const text = holdsText(context, item, before, changes, leftOut);
  return { exit: EXIT.done, text, wanted: true, data, notes };
};

const LEFT_OUT: Readonly<Record<LeftOut['reason'], string>> = {
  too_large: 'larger than snapshots.max_file_size',
  repository: 'a repository of its own',
  submodule: 'a submodule',
  special: 'not a file',
  unreadable: 'not readable',
  unstable: 'it changed while it was read',
  name: 'a name that some systems take for .git',
};

function holdsText(
  { streams }: CliContext,
  item: ListedCheckpoint,
  before: ListedCheckpoint | undefined,
  changes: readonly SnapshotChange[] | undefined,
  leftOut: readonly LeftOut[],
): string {
  const snapshot = snapshotOf(item);
  const why = whyNoFiles(item);
  const facts = fields(
    [
      ['Checkpoint', `${item.id}  ${oneLine(item.description, 200)}`],
      ['Recorded', item.createdAt],
      ['Trigger', item.trigger === 'auto' ? 'restore point' : item.trigger],
      ['Step', item.checkpoint?.step_name],
      ['Files', snapshot === undefined ? `none. ${why.message}` : count(snapshot.files, 'file')],
      ['Branch', [snapshot?.branch, snapshot?.head?.slice(0, 12)].filter((part) => part !== undefined).join(' · ')],
      [
        'Captured',
        item.entry?.possibly_late === true ? 'possibly after the command had changed files already' : undefined,
      ],
      ['Restores', item.entry?.safety_for === undefined ? undefined : `undoes the restore of ${item.entry.safety_for}`],
    ],
    streams.columns,
  );
  const changed =
    changes === undefined
      ? []
      : ['', `Changed since ${before?.id ?? ''}:`, ...changeLines(changes.slice(0, MAX_LISTED)), ...moreLine(changes)];
  const left = leftOut.map(
    ({ path, reason, size }) => `  ${path} (${LEFT_OUT[reason]}${size === undefined ? '' : `, ${sizeText(size)}`})`,
  );
  const total = snapshot?.left_out_total ?? 0;
  const more = total > leftOut.length ? [`  ${total - leftOut.length} more`] : [];
  return [facts.trimEnd(), ...changed, ...(total === 0 ? [] : ['', 'Left out:', ...left, ...more]), ''].join('\n');
}

function moreLine(changes: readonly SnapshotChange[]): string[] {
  return changes.length > MAX_LISTED ? [`  ${changes.length - MAX_LISTED} more`] : [];
}

const KINDS: Readonly<Record<SnapshotChange['kind'], string>> = {
  added: 'A',
  modified: 'M',
  removed: 'D',
  mode: 'M',
  type: 'T',
};

function changeLines(changes: readonly SnapshotChange[]): string[] {
  if (changes.length === 0) return ['  Nothing.'];
  return changes.map(({ path, kind, additions, deletions, binary }) => {
    const lines = binary === true ? '  binary' : additions === undefined ? '' : `  +${additions} -${deletions ?? 0}`;
    return `  ${KINDS[kind]} ${quotePath(path)}${kind === 'mode' ? '  permissions' : lines}`;
  });
}

/** What JSON says of a file that differs. */
function changeData({
  path,
  kind,
  additions,
  deletions,
  binary,
}: SnapshotChange): AnswerData<'checkpoint diff'>['changes'][number] {
  return {
    path: quotePath(path),
    change: kind,
    added: additions ?? null,
    removed: deletions ?? null,
    binary: binary ?? false,
  };
}

async function showFile(
  context: CliContext,
  call: Call,
  stored: StoredTask,
  item: ListedCheckpoint,
  typed: string,
): Promise<Answer> {
  const atlas = await context.atlas();
  const { files } = await atlas.snapshots();
  const path = typedPath(context, stored, typed);
  const found = unwrap(await files.read(item, path, MAX_PRINTED));
  if (found === undefined) throw await noFile(files, item, path);
  if (found.size > MAX_PRINTED)
    throw new AtlasError('usage', `${quotePath(path)} has ${sizeText(found.size)}, which is too much to print.`, {
      hint: `Restore it instead: atlas checkpoint restore ${item.id} ${quotePath(path)}`,
    });
  const text = textOf(found);
  const output = call.text('output');
  const data: AnswerData<'checkpoint show'> = {
    ...{ task: taskData(atlas, stored), checkpoint: listedData(item), compared_with: null, changes: [], left_out: [] },
    file: {
      path: quotePath(path),
      kind: found.kind,
      executable: found.executable,
      size: found.size,
      text: output === undefined ? (text ?? null) : null,
      base64: output === undefined && text === undefined ? found.bytes.toString('base64') : null,
    },
  };
  if (output !== undefined) {
    const target = writeOutput(atlas.ports.files, context, call, output, found.bytes);
    return {
      exit: EXIT.done,
      text: `${quotePath(path)} of ${item.id} was written to ${oneLine(target, 2000)}\n`,
      data,
    };
  }
  if (text === undefined && !context.json)
    throw new AtlasError('usage', `${quotePath(path)} is not a text file.`, {
      hint: 'Write it to a file: --output <file>',
    });
  // A terminal would act on what an agent may have put into a file.
  const shown = context.streams.columns === undefined ? (text ?? '') : plainLines(text ?? '');
  return { exit: EXIT.done, text: shown, wanted: true, data };
}

function textOf({ bytes }: FileContent): string | undefined {
  try {
    return bytes.includes(0) ? undefined : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

async function noFile(files: CheckpointFiles, item: ListedCheckpoint, path: string): Promise<AtlasError> {
  const left = snapshotOf(item)?.left_out.find((each) => each.path === quotePath(path));
  if (left !== undefined)
    return new AtlasError('not_found', `${quotePath(path)} was left out of ${item.id}: ${LEFT_OUT[left.reason]}.`);
  const below = await files.files(item, [path]);
  const inside = below.ok ? below.value.length : 0;
  return inside > 0
    ? new AtlasError('usage', `${quotePath(path)} is a folder with ${count(inside, 'file')}.`, {
        hint: 'Name one of its files.',
      })
    : new AtlasError('not_found', `${item.id} has no file ${quotePath(path)}.`, {
        hint: 'It may not have existed then, or be ignored by git.',
      });
}

/** `checkpoint diff`: how files differ from those of a checkpoint. */
export const diff: Handler = async (context, call) => {
  const { stored, notes } = await taskToShow(context, call);
  const atlas = await context.atlas();
  const { files } = await atlas.snapshots();
  const ids = call.rest
    .slice(0, 2)
    .filter((each, at) => each.startsWith('ckpt-') && (at === 0 || call.rest[0]?.startsWith('ckpt-') === true));
  const paths = await pathsOf(context, call, stored, call.rest.slice(ids.length));
  const from = ids[0] === undefined ? lastWithFiles(files, stored) : unwrap(files.find(stored, ids[0]));
  const to = ids[1] === undefined ? 'now' : unwrap(files.find(stored, ids[1]));
  const names = call.flag('nameOnly');
  const { changes, unknown } = unwrap(await files.diff(stored, from, to, { stat: !names, paths }));
  const data: AnswerData<'checkpoint diff'> = {
    task: taskData(atlas, stored),
    from: from.id,
    to: to === 'now' ? null : to.id,
    changes: changes.map(changeData),
    unknown: [...unknown],
  };
  const unknownNotes =
    unknown.length === 0
      ? []
      : [`${count(unknown.length, 'path')} could not be compared: ${unknown.slice(0, 5).join(', ')}`];
  const answer = { exit: EXIT.done, wanted: true, data, notes: [...notes, ...unknownNotes] } as const;
  if (names) return { ...answer, text: changes.map(({ path }) => `${quotePath(path)}\n`).join('') };
  if (call.flag('stat') || context.json) return { ...answer, text: statText(changes) };
  const patch = unwrap(await files.patch(stored, from, to, MAX_PRINTED, { paths }));
  const decoded = Buffer.from(patch.text, 'latin1').toString('utf8');
  const text = context.streams.columns === undefined ? decoded : plainLines(decoded);
  return { ...answer, text: patch.isCut ? `${text}\n(cut: use --stat)\n` : text };
};

function statText(changes: readonly SnapshotChange[]): string {
  if (changes.length === 0) return 'No file differs.\n';
  const sum = (key: 'additions' | 'deletions'): number => changes.reduce((all, each) => all + (each[key] ?? 0), 0);
  return [
    ...changeLines(changes),
    `${count(changes.length, 'file')}, +${sum('additions')} -${sum('deletions')} lines`,
    '',
  ].join('\n');
}

function lastWithFiles(files: CheckpointFiles, stored: StoredTask): ListedCheckpoint {
  const found = files.list(stored).findLast((each) => each.trigger !== 'auto' && snapshotOf(each) !== undefined);
  if (found !== undefined) return found;
  throw new AtlasError('not_found', `No checkpoint of task ${stored.ref.id} has files yet.`, {
    hint: 'Record one: atlas checkpoint "<what is done>"',
  });
}
