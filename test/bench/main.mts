/* `npm run bench`: what costs time, each beside the floor that the same machine reaches in the same run. Trust the ratios. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { checkpointRows, lockRow } from './checkpoints';
import { commandRows } from './command';
import { stopRows } from './gate';
import { gitHookRows } from './gitHooks';
import { gitStateRows } from './gitState';
import { hostRows } from './host';
import { inboxRows } from './inbox';
import { manyTaskRows } from './manyTasks';
import { receiptRows } from './receipts';
import { type Row, print } from './rows';
import { sessionRows } from './sessions';
import { snapshotRows } from './snapshots';
import { verifyRows } from './verify';
import { workerRows } from './workers';
import { writerRows } from './writers';

const TMPFS = 0x01021994;

/** What can be measured by itself: `npm run bench checkpoints writers`. */
const PARTS: Readonly<Record<string, (folder: string) => Promise<readonly Row[]>>> = {
  checkpoints: async (folder) => [
    await lockRow(folder),
    ...(await checkpointRows(folder)),
    ...(await snapshotRows(folder)),
  ],
  snapshots: snapshotRows,
  writers: writerRows,
  workers: workerRows,
  tasks: manyTaskRows,
  inbox: inboxRows,
  git: gitStateRows,
  command: commandRows,
  hooks: gitHookRows,
  receipts: receiptRows,
  sessions: sessionRows,
  gate: stopRows,
  verify: verifyRows,
  host: hostRows,
};

/** Ends before anything is measured. */
function refuse(why: string): never {
  console.error(why);
  process.exit(1);
}

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0)
  refuse(`There is no part ${unknown.join(', ')}; name some of: ${Object.keys(PARTS).join(', ')}`);
const disk = process.env['BENCH_FOLDER'] ?? os.tmpdir();
const { type } = statfsSync(disk);
if (type === TMPFS) refuse(`${disk} lies in memory, where a sync costs nothing: name another folder in BENCH_FOLDER.`);
const root = realpathSync(mkdtempSync(path.join(disk, 'atlas-bench-')));
// What is made on the way lies on the same disk.
for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = root;
const rows: Row[] = [];
try {
  console.log(`file system type 0x${type.toString(16)}; medians; load ${os.loadavg()[0]?.toFixed(1) ?? ''}`);
  for (const [name, measure] of Object.entries(PARTS)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const folder = path.join(root, name);
    mkdirSync(folder);
    rows.push(...(await measure(folder)));
  }
} finally {
  // What was measured before something failed took its time too.
  print(rows);
  rmSync(root, { recursive: true, force: true });
}
