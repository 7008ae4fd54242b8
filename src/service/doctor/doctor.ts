import type { Atlas } from '../atlas';
import { checkConfig } from './configChecks';
import { checkGitHooks } from './gitHookChecks';
import { checkKeys } from './keyChecks';
import { type DoctorFinding, type DoctorOptions, Examination } from './report';
import { checkSnapshots } from './snapshotChecks';
import { checkSpool } from './spoolChecks';
import { checkRoot, checkStore } from './storeChecks';
import { checkTasks } from './taskChecks';

export type { DoctorFinding, DoctorOptions } from './report';

/**
 * Looks at the whole store and at what Atlas set up in some folders: the one doctor of editor and command. It works in
 * slices and never throws for what it finds. Without `fix` not a byte is written.
 */
export async function examine(atlas: Atlas, options: DoctorOptions): Promise<readonly DoctorFinding[]> {
  const exam = new Examination(atlas, options);
  const { paths } = atlas.ports;
  const usable = await exam.check('store', paths.root, () => checkRoot(exam));
  await checkConfig(exam);
  if (usable === true) {
    await exam.check('store', paths.root, () => checkStore(exam));
    await exam.check('keys', paths.keys, () => checkKeys(exam));
    await exam.check('task', paths.workspaces, () => checkTasks(exam));
    await exam.check('spool', paths.spool, () => checkSpool(exam));
    await exam.check('snapshots', paths.snapshotDatabases, () => checkSnapshots(exam));
  }
  await exam.check('git_hooks', paths.root, () => checkGitHooks(exam));
  for (const look of options.also ?? []) await exam.check('store', paths.root, () => look(exam));
  return exam.findings;
}
