import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import { newItem } from '../../src/core/inbox/inbox';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { InboxFiles } from '../../src/store/inbox/inboxFiles';
import { run } from '../support/drivers/run';
import { type Row, medianOf } from './rows';
import { buildWorkers } from './workers/build';
import type { InboxHeld } from './workers/inbox';

/** As many as may be open at once. */
const ITEMS = 10_000;
const PROCESSES = 5;

/** The Agent Queue view of a window whose queue is full. */
export async function inboxRows(root: string): Promise<Row[]> {
  const store = path.join(root, 'store');
  const atlas = createAtlas(systemPorts(store, 'bench', silentLog));
  const workspace = unwrap(atlas.workspaces.ensure(root, undefined));
  const files = new InboxFiles(atlas.ports);
  const draft = { content: 'Add up the invoices of this month' };
  for (let id = 1; id <= ITEMS; id += 1) files.create(workspace, newItem(id, draft, atlas.ports.clock.now()));
  const worker = (await buildWorkers(path.join(root, 'workers'), ['inbox']))('inbox');
  const held: InboxHeld[] = [];
  for (let count = 0; count < PROCESSES; count += 1)
    held.push(JSON.parse(await run(process.execPath, [worker, store, workspace, String(count + 1)])) as InboxHeld);
  const lookMs = medianOf(held.map((each) => each.lookMs));
  const row = (how: string, amount: number): Row => ({
    what: `longest hold-up while a queue of ${ITEMS.toLocaleString('en')} open items is looked at and drawn${how}`,
    amount,
    beside: { what: 'the whole look', amount: lookMs, ratio: 'times' },
    bar: { text: 'under 50 ms', met: amount < 50 },
  });
  return [
    row('', medianOf(held.map((each) => each.longest))),
    row(', without what other programs took', medianOf(held.map((each) => each.longestOnProcessor))),
  ];
}
