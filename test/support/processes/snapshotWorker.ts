/* A process of its own on the snapshots of a worktree: `node <bundle> <root> <worktree> <times> [<tree>]`. */
import { writeSync } from 'node:fs';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { openSnapshots } from '../../../src/snapshots/snapshots';
import { systemGit } from '../../../src/snapshots/storage/snapshotPorts';

const [root = '', worktree = '', times = '', target = ''] = process.argv.slice(2);
const MB = 1024 * 1024;

/** Captures so many times and says each snapshot; with a tree, restores that in between, too. */
async function main(): Promise<void> {
  const ports = { ...systemPorts(root, '0.0.0', silentLog), git: systemGit };
  const settings = { maxFileSize: MB, maxSize: 512 * MB };
  const snapshots = unwrap(await openSnapshots(ports, { root, worktree, settings, home: '/nowhere' }));
  for (let made = 0; made < Number(times); made += 1) {
    const { snapshot, leftOut } = unwrap(await snapshots.capture());
    writeSync(1, `${JSON.stringify({ tree: snapshot.tree, leftOut })}\n`);
    if (target === '') continue;
    const preview = unwrap(await snapshots.preview({ tree: target }));
    const restored = await snapshots.restore(preview);
    if (!restored.ok && restored.error.reason !== 'changed') throw restored.error;
  }
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exit(1);
});
