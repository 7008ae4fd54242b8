/*
 * Opens the Agent Queue view on a store in a process that has done nothing before, then again after an item went, and reports
 * the longest time (ms) that nothing else could run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EventEmitter } from 'vscode';
import { unwrap } from '../../../src/core/shared/errors';
import { InboxModel } from '../../../src/extension/inbox/inboxModel';
import { InboxTree } from '../../../src/extension/inbox/inboxTree';
import { createAtlas } from '../../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { type Held, HoldUps } from './holdUps';

/** What was measured, in ms. */
export interface InboxHeld extends Held {
  readonly lookMs: number;
  readonly rows: number;
}

const [root = '', workspace = '', ending = ''] = process.argv.slice(2);

const atlas = createAtlas(systemPorts(root, 'bench', silentLog));
const never = new EventEmitter<undefined>().event;
const session = {
  atlas,
  ownPlaces: [],
  ownWorkspaces: () => [workspace],
  onDidChange: never,
  onDidChangePlaces: never,
  locatePlaces: async () => Promise.resolve(),
};
const model = new InboxModel(session, await atlas.inbox());
const tree = new InboxTree(model);

async function draw(): Promise<number> {
  const groups = await tree.getChildren();
  const rows = (await Promise.all(groups.map(async (group) => tree.getChildren(group)))).flat();
  await Promise.all([...groups, ...rows].map(async (node) => tree.getTreeItem(node)));
  return groups.length + rows.length;
}

await sleep(200);
const holdUps = new HoldUps();
const began = performance.now();
await model.look();
const lookMs = performance.now() - began;
const rows = await draw();
await sleep(20);
unwrap(await model.inbox.cancel(workspace, Number(ending)));
await model.look();
await draw();
await sleep(20);
const measured: InboxHeld = { ...holdUps.end(), lookMs, rows };
console.log(JSON.stringify(measured));
tree.dispose();
model.dispose();
