/*
 * Opens the Tasks tree on a store, every row expanded, in a process that has done nothing before, and reports the longest
 * time (ms) that nothing else could run until all receipts were verified and drawn with their verdicts, and the longest
 * time that one row more, asked for meanwhile, took.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Verdicts } from '../../../src/extension/receipts/verdicts';
import { WindowTasks } from '../../../src/extension/windowTasks';
import type { TreeNode } from '../../../src/extension/tasks/tree/nodes';
import { TasksTree } from '../../../src/extension/tasks/tree/tasksTree';
import { createAtlas } from '../../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { HoldUps } from './holdUps';

const [root = ''] = process.argv.slice(2);
/** Nothing more is drawn after so long without a change, in ms. */
const QUIET_MS = 1000;

/** What was measured, times in ms. */
export interface Opened {
  readonly longest: number;
  readonly longestOnProcessor: number;
  readonly wait: number;
  readonly rows: number;
  readonly valid: number;
  readonly outdated: number;
  readonly blocks: unknown;
  readonly ms: number;
}

/** The window's own object, before it began: nothing is watched, and every workspace is this window's. */
class AllTasks extends WindowTasks {
  override ownWorkspaces(): string[] {
    return this.atlas.workspaces.names();
  }
}

/** Asks for rows as the editor does: level by level, all rows of a level without a pause. */
async function draw(tree: TasksTree): Promise<number> {
  let count = 0;
  let level: TreeNode[] = await tree.getChildren();
  while (level.length > 0) {
    await Promise.all(level.map(async (node) => tree.getTreeItem(node)));
    count += level.length;
    await nextTurn();
    const open = level.filter(({ kind }) => kind !== 'history');
    level = (await Promise.all(open.map(async (node) => tree.getChildren(node)))).flat();
  }
  return count;
}

const session = new AllTasks(createAtlas(systemPorts(root, 'bench', silentLog)));
await sleep(200);
const holdUps = new HoldUps();
const started = performance.now();
await session.atlas.catalog.warm(session.atlas.workspaces.names());
const verdicts = new Verdicts(session);
const tree = new TasksTree(session, verdicts);
let [drawnAt, drawing] = [0, Promise.resolve(0)];
tree.onDidChangeTreeData(() => {
  drawing = drawing.then(async () => draw(tree));
  drawnAt = performance.now();
});
drawing = draw(tree);
const rows = await drawing;
const isChecking = (): boolean => session.ownTasks().some((stored) => verdicts.status(stored).checking);
const [first] = await tree.getChildren();
if (first === undefined) throw new Error('no task is drawn');
let [busy, wait] = [started, 0];
while (performance.now() - Math.max(drawnAt, busy) < QUIET_MS) {
  await sleep(20);
  if (!isChecking()) continue;
  const asked = performance.now();
  await tree.getTreeItem(first);
  busy = performance.now();
  wait = Math.max(wait, busy - asked);
}
await drawing;
const { longest, longestOnProcessor, blocks } = holdUps.end();
const standings = session.ownTasks().flatMap((stored) => [...verdicts.of(stored).values()]);
const valid = standings.filter(({ report }) => report.verdict === 'valid').length;
const outdated = standings.filter(({ currency }) => currency?.kind === 'outdated').length;
const opened: Opened = { longest, longestOnProcessor, wait, rows, valid, outdated, blocks, ms: drawnAt - started };
console.log(JSON.stringify(opened));
verdicts.dispose();
tree.dispose();
session.dispose();
