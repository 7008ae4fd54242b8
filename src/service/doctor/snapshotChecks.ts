import { join } from 'node:path';
import { NO_LIMIT } from '../../core/config/unreadConfig';
import { count, sizeText } from '../../core/shared/text';
import { refKey } from '../../core/task/taskRef';
import type { FileRestores } from '../snapshots/fileRestores';
import type { HeldSnapshot } from '../snapshots/snapshotRoom';
import type { Examination } from './report';

/** So many damaged checkpoints are named. */
const SHOWN = 5;

/** Looks at the files of checkpoints: what they take, which of them lost files, and restores that were cut short. */
export async function checkSnapshots(exam: Examination): Promise<void> {
  const { atlas } = exam;
  const restores = await atlas.snapshots();
  await checkRestores(exam, restores);
  const root = atlas.ports.paths.snapshotDatabases;
  const databases = restores.files.databases();
  const all = await restores.files.room.allSnapshots().catch(() => undefined);
  // Tasks that can't be listed may need any of them; that they can't is reported with them.
  if (all === undefined) return;
  const { config } = await atlas.configs.forWorktree(undefined);
  for (const { name, path, upkeep } of databases) {
    if (exam.aborted) return;
    const held = all.filter(({ entry }) => entry.snapshot?.database === name);
    const folder = join(root, name);
    const { bytes } = upkeep.sizes();
    if (held.length === 0) {
      await checkUnused(exam, folder, path, bytes);
      continue;
    }
    const limit = config.snapshots.maxSize;
    const most = limit === NO_LIMIT ? '' : ` of ${sizeText(limit)}`;
    const used = `The files of ${count(held.length, 'checkpoint')} take ${sizeText(bytes)}${most} for ${path}.`;
    if (bytes > limit)
      exam.problem('snapshots', folder, used, 'Raise snapshots.max_size in config.yaml, or run: atlas cleanup --hooks');
    else exam.ok('snapshots', folder, used);
    const damaged = await upkeep.verify([...new Set(held.map(({ tree }) => tree))], true);
    if (!damaged.ok) exam.failed('snapshots', folder, damaged.error, 'Run the doctor again in a moment.');
    else await checkDamaged(exam, folder, held, new Set(damaged.value.map(({ tree }) => tree)));
  }
  const known = new Set(databases.map(({ name }) => name));
  const lost = all.filter(({ entry }) => !known.has(entry.snapshot?.database ?? ''));
  await checkDamaged(exam, root, lost, new Set(lost.map(({ tree }) => tree)));
}

/** A restore whose process died is finished or undone by whoever comes next: that is the doctor here. */
async function checkRestores(exam: Examination, restores: FileRestores): Promise<void> {
  for (const stored of exam.atlas.catalog.openTasks()) {
    const snapshots = await restores.files.snapshotsOf(stored);
    if (!snapshots.ok || !snapshots.value.hasUnfinished()) continue;
    await exam.repair('snapshots', snapshots.value.place.worktree, {
      wrong: 'A restore of files was interrupted.',
      done: 'The interrupted restore of files was finished or undone.',
      byHand: 'Close what has its files open, then run the doctor again.',
      act: async () => {
        const recovered = await restores.recoverIn(stored);
        if (!recovered.ok) throw recovered.error;
      },
    });
  }
}

/** What no task needs any more: its tasks were cleaned up or destroyed. */
async function checkUnused(exam: Examination, folder: string, path: string, bytes: number): Promise<void> {
  const { files } = exam.atlas.ports;
  await exam.repair('snapshots', folder, {
    wrong: `No checkpoint needs these files of ${path} (${sizeText(bytes)}) any more.`,
    done: `The files of ${path} that no checkpoint needs were deleted (${sizeText(bytes)}).`,
    byHand: `Delete the folder ${folder}.`,
    act: () => files.removeFolder(folder),
  });
}

async function checkDamaged(
  exam: Examination,
  folder: string,
  held: readonly HeldSnapshot[],
  damaged: ReadonlySet<string>,
): Promise<void> {
  const lost = held.filter(({ tree }) => damaged.has(tree));
  if (lost.length === 0) return;
  await exam.repair('snapshots', folder, {
    wrong: `${count(lost.length, 'checkpoint')} lost files: ${named(lost)}. The others are whole.`,
    done: `${count(lost.length, 'checkpoint')} that lost files ${lost.length === 1 ? 'is' : 'are'} marked: ${named(lost)}.`,
    byHand: 'Nothing can bring the files back. The next checkpoints are whole.',
    act: async () => {
      const { files } = await exam.atlas.snapshots();
      for (const { ref, entry } of lost) files.entries.write(ref, { ...entry, status: 'none', problem: LOST });
    },
  });
}

function named(lost: readonly HeldSnapshot[]): string {
  const shown = lost.slice(0, SHOWN).map(({ ref, entry }) => `${entry.checkpoint_id} of ${refKey(ref)}`);
  return [...shown, ...(lost.length > SHOWN ? [`${lost.length - SHOWN} more`] : [])].join(', ');
}

const LOST = {
  reason: 'lost',
  message: 'The database of snapshots lost its files.',
  hint: 'Choose another checkpoint.',
} as const;
