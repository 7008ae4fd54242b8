import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/shared/errors';
import { TrustFile } from '../../store/workspace/trustFile';
import { checkInbox } from './inboxChecks';
import { checkLock } from './lockChecks';
import type { Examination } from './report';
import { checkTemporaries } from './temporaries';

const OTHERS_WRITE = 0o022;

/** Looks at the root; `false` where there is nothing more to look at below it. */
export async function checkRoot(exam: Examination): Promise<boolean> {
  const { paths, files } = exam.atlas.ports;
  const { root } = paths;
  const stat = files.stat(root);
  if (stat === undefined) {
    exam.ok('store', root, 'There is no store yet. The first task creates it.');
    return false;
  }
  if (stat.kind !== 'folder' && stat.kind !== 'link') {
    exam.problem('store', root, 'The store must be a folder, but this is a file.', OTHER_HOME);
    return false;
  }
  let real = root;
  if (stat.kind === 'link') {
    const target = targetOf(exam, root);
    if (target === undefined) return false;
    real = target;
    exam.ok('store', root, `The store is a symbolic link to ${real}.`);
  }
  await checkModes(exam, real);
  let usable = true;
  for (const folder of [real, paths.workspaces, paths.open, paths.keys, paths.spool])
    usable = checkAccess(exam, folder) && usable;
  if (usable && exam.findings.every(({ level }) => level !== 'problem'))
    exam.ok('store', root, 'The store exists and is writable.');
  return files.stat(real)?.kind === 'folder' && canBe(real, constants.R_OK | constants.X_OK);
}

const OTHER_HOME = 'Move it away, or set ATLAS_HOME (or the setting atlas.home) to a folder.';

function targetOf(exam: Examination, root: string): string | undefined {
  const { files } = exam.atlas.ports;
  try {
    const real = files.realPath(root);
    if (files.stat(real)?.kind === 'folder') return real;
    exam.problem('store', root, `The store is a symbolic link to ${real}, which is not a folder.`, OTHER_HOME);
  } catch (error) {
    exam.problem('store', root, `The store is a broken symbolic link: ${messageOf(error)}`, LEADS_NOWHERE);
  }
  return undefined;
}

const LEADS_NOWHERE = 'Mount or create the folder it points to, or set ATLAS_HOME to another one.';

async function checkModes(exam: Examination, real: string): Promise<void> {
  const { files } = exam.atlas.ports;
  const mode = files.stat(real)?.mode ?? 0;
  if (process.platform === 'win32' || (mode & OTHERS_WRITE) === 0) return;
  await exam.repair('store', real, {
    wrong: `Other users can write to the store (mode ${mode.toString(8)}).`,
    done: 'Other users can no longer write to the store.',
    byHand: `Run as its owner: chmod go-w "${real}"`,
    act: () => files.chmod(real, mode & ~OTHERS_WRITE),
  });
}

function canBe(path: string, how: number): boolean {
  try {
    accessSync(path, how);
    return true;
  } catch {
    return false;
  }
}

function checkAccess(exam: Examination, folder: string): boolean {
  if (exam.atlas.ports.files.stat(folder) === undefined) return true;
  if (canBe(folder, constants.R_OK | constants.W_OK | constants.X_OK)) return true;
  const owner = ownerOf(folder);
  const another = process.getuid !== undefined && owner !== undefined && owner !== process.getuid();
  const whose = another ? ` It belongs to the user with ID ${owner}: a command may have run as root.` : '';
  const hint = another
    ? `Make your user its owner: sudo chown -R "$(id -un)" "${folder}"`
    : `Give your user permission: chmod u+rwx "${folder}"`;
  exam.problem('store', folder, `Your user can't read and write it.${whose}`, hint);
  return false;
}

function ownerOf(folder: string): number | undefined {
  try {
    return statSync(folder).uid;
  } catch {
    return undefined;
  }
}

/** Looks at what the store holds beside tasks: workspaces, locks, trust.json, files that were left over. */
export async function checkStore(exam: Examination): Promise<void> {
  const { paths } = exam.atlas.ports;
  const { root, open, keys, spool } = paths;
  for (const folder of [root, open, keys, join(keys, 'locks'), spool, join(spool, 'kept'), join(spool, 'locks')])
    await exam.check('store', folder, () => checkTemporaries(exam, folder));
  await exam.check('lock', paths.keys, () => checkLock(exam, paths.keys, join(paths.keys, 'locks')));
  await exam.check('trust', paths.trust, () => {
    const problem = new TrustFile(exam.atlas.ports).problem();
    if (problem === undefined) return;
    const hint = 'Move it away. You are then asked about each command again. Until then, no command is allowed.';
    exam.problem('trust', paths.trust, problem, hint);
  });
  for (const name of exam.atlas.workspaces.names())
    await exam.check('store', paths.workspace(name), () => checkWorkspace(exam, name));
}

async function checkWorkspace(exam: Examination, name: string): Promise<void> {
  const { paths, files } = exam.atlas.ports;
  const folder = paths.workspace(name);
  if (files.stat(folder)?.kind !== 'folder') {
    exam.problem('store', folder, 'This should be a folder of the store, but is not.', PUT_FOLDER);
    return;
  }
  for (const each of [folder, join(folder, 'locks'), paths.trees(name)]) await checkTemporaries(exam, each);
  await checkLock(exam, name, join(folder, 'locks'));
  await exam.check('inbox', paths.inbox(name), () => checkInbox(exam, name));
  const read = exam.atlas.workspaces.read(name);
  if (read.ok || (read.error.code === 'not_found' && exam.atlas.workspaces.taskIds(name).length === 0)) return;
  exam.failed(
    'store',
    folder,
    read.error,
    'Restore workspace.json from a backup. Until then these tasks are kept, but no repository finds them.',
  );
}

const PUT_FOLDER = 'Replace it with the folder itself. Links are not followed.';
