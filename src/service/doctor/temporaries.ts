import { join } from 'node:path';
import type { Examination } from './report';

/** Ours only: a name, eight hex digits, `.tmp`; or twelve of them, as a lock's. */
const TEMPORARY = /(?:\.[0-9a-f]{8}|^[0-9a-f]{12})\.tmp$/u;
const OLD_MS = 24 * 3_600_000;

/** Looks for files that a writer who died left half made, long enough ago that nobody is still at it. */
export async function checkTemporaries(
  exam: Examination,
  folder: string,
  names: readonly string[] = namesIn(exam, folder),
): Promise<void> {
  const { files, clock } = exam.atlas.ports;
  for (const name of names) {
    if (!TEMPORARY.test(name)) continue;
    const path = join(folder, name);
    const stat = files.stat(path);
    if (stat?.kind !== 'file' || clock.now() - stat.mtimeMs < OLD_MS) continue;
    await exam.repair('store', path, {
      wrong: 'An interrupted write left this temporary file.',
      done: 'A temporary file of an interrupted write was removed.',
      byHand: 'Move it away. Nothing reads it.',
      act: () => files.unlink(path),
    });
  }
}

function namesIn(exam: Examination, folder: string): string[] {
  const { files } = exam.atlas.ports;
  return files.stat(folder)?.kind === 'folder' ? files.list(folder) : [];
}
