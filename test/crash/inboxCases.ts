import { type Result, ok, unwrap } from '../../src/core/shared/errors';
import type { Wake } from '../../src/core/inbox/inbox';
import type { Atlas } from '../../src/service/atlas';
import type { Inbox, NextItem } from '../../src/service/inbox/inbox';

import { must } from '../support/fixtures/caseHelpers';
import type { CrashWorld } from '../support/faults/crashWorld';
import type { UseCase } from '../support/faults/useCase';

const WS = 'work';
const MINE = { sessionId: 'mine' };

/** Prepares a workspace with items of a trigger, of which the first is claimed. */
async function arranged(world: CrashWorld, items: number, claim = false): Promise<Inbox> {
  const atlas = world.process();
  unwrap(atlas.workspaces.ensure(world.stage.folder, undefined));
  const inbox = await atlas.inbox();
  for (let made = 1; made <= items; made += 1)
    unwrap(await inbox.add(WS, { content: `item ${made}`, triggerName: 'email' }));
  if (claim) unwrap(await inbox.next(WS, MINE));
  return inbox;
}

/** Every item with its status, after whatever was interrupted; none may be damaged. */
async function statuses(atlas: Atlas): Promise<Map<number, string>> {
  const { open, finished, findings } = unwrap((await atlas.inbox()).list(WS));
  must(findings.length === 0, `the inbox has findings: ${findings.map(({ error }) => error.message).join()}`);
  return new Map([...open, ...finished].map(({ id, status }) => [id, status]));
}

/** Whether an item waits to be completed; the days that the doctor lets pass, or a restart, end its claim. */
function isOpen(status: string | undefined): boolean {
  return status === 'processing' || status === 'pending';
}

async function taken(atlas: Atlas): Promise<readonly Wake[]> {
  const { wakes, findings } = unwrap(await (await atlas.inbox()).consumeWakes(WS));
  must(findings.length === 0, 'a wake is damaged');
  return wakes;
}

/**
 * Completes, from wherever it stands, what was asked of the item, and takes wakes until there is none: over all of it there
 * has to be one. `before`: those that were taken until now.
 */
async function comesToOneWake(atlas: Atlas, before: number): Promise<void> {
  const inbox = await atlas.inbox();
  const early = await taken(atlas);
  const status = (await statuses(atlas)).get(1);
  must(early.length === 0 || status === 'done', 'a session was woken before its item was done');
  unwrap(await inbox.complete(WS, 1, 'answer', MINE));
  unwrap(await inbox.complete(WS, 1, 'another', MINE));
  const wakes = [...early, ...(await taken(atlas)), ...(await taken(atlas))];
  must(before + wakes.length === 1, `${before + wakes.length} wakes came of one item`);
  must(
    wakes.every((wake) => wake.response_summary === 'answer'),
    'another answer was told than the first',
  );
  must((await statuses(atlas)).get(1) === 'done', 'the item is not done');
}

/** The inbox, each of its changes interrupted anywhere. What is checked here goes on from what was left. */
export const INBOX_CASES: readonly UseCase[] = [
  {
    name: 'inbox: add',
    arrange: async (world) => {
      await arranged(world, 1);
      return {
        // An error after the item was made is told as such, and no task is changed by it.
        ...{ removes: true, repeatable: true },
        act: async (atlas) => (await atlas.inbox()).add(WS, { content: 'new' }),
        check: async (atlas, outcome, told) => {
          const found = await statuses(atlas);
          must(found.get(1) === 'pending', 'an item that was there is lost');
          if (outcome === 'done') must(found.get((told as { id: number }).id) === 'pending', 'what was added is lost');
          const { id } = unwrap(await (await atlas.inbox()).add(WS, { content: 'one more' }));
          must(!found.has(id), `number ${id} was given twice`);
        },
      };
    },
  },
  {
    name: 'inbox: next',
    arrange: async (world) => {
      await arranged(world, 2);
      return {
        ...{ removes: true, repeatable: true },
        act: async (atlas) => (await atlas.inbox()).next(WS, MINE),
        check: async (atlas, outcome, told) => {
          const { open } = unwrap((await atlas.inbox()).list(WS));
          must(open.length === 2 && (await statuses(atlas)).size === 2, 'an item is lost');
          // By how often it was claimed: its time may be over by now.
          const claimed = open.filter(({ claims }) => claims > 0).map(({ id }) => id);
          must(claimed.length < 2, 'two items were claimed at once');
          // One that can't be read now does not keep the others from being claimed.
          const got = outcome === 'done' ? (told as NextItem).item?.id : claimed[0];
          must(got === claimed[0], 'what was claimed is not');
          const [first] = open.filter(({ status }) => status === 'processing');
          const next = unwrap(await (await atlas.inbox()).next(WS, MINE));
          must(next.item?.id === (first?.id ?? 1), 'the item that was claimed is not found again');
        },
      };
    },
  },
  {
    name: 'inbox: complete, and wake',
    arrange: async (world) => {
      await arranged(world, 1, true);
      return {
        ...{ removes: true, repeatable: true },
        act: async (atlas): Promise<Result<unknown>> => (await atlas.inbox()).complete(WS, 1, 'answer', MINE),
        check: async (atlas, outcome) => {
          const status = (await statuses(atlas)).get(1);
          if (outcome === 'done') must(status === 'done', 'what was completed is not');
          must(status === 'done' || isOpen(status), `the item is ${status ?? 'gone'}`);
          const { paths, files } = atlas.ports;
          // Whether the wake was taken by an earlier check of this very run.
          const note = `${paths.root}/taken`;
          await comesToOneWake(atlas, files.stat(note) === undefined ? 0 : 1);
          files.write(note, '', { sync: true });
        },
      };
    },
  },
  {
    name: 'inbox: cancel',
    arrange: async (world) => {
      await arranged(world, 2, true);
      return {
        ...{ removes: true, repeatable: true },
        act: async (atlas) => (await atlas.inbox()).cancel(WS, 1, 'no'),
        check: async (atlas, outcome) => {
          const found = await statuses(atlas);
          must(found.get(2) === 'pending', 'the other item is not as it was');
          const status = found.get(1);
          must(status === 'cancelled' || (outcome !== 'done' && isOpen(status)), `the item is ${status ?? 'gone'}`);
          must((await taken(atlas)).length === 0, 'a session is woken by what was cancelled');
        },
      };
    },
  },
  {
    name: 'inbox: take a wake',
    arrange: async (world) => {
      const inbox = await arranged(world, 1, true);
      unwrap(await inbox.complete(WS, 1, 'answer', MINE));
      return {
        ...{ removes: true, repeatable: true },
        act: async (atlas) => {
          const consumed = unwrap(await (await atlas.inbox()).consumeWakes(WS));
          const [finding] = consumed.findings;
          return finding === undefined ? ok(consumed.wakes.length) : { ok: false, error: finding.error };
        },
        check: async (atlas, outcome, told) => {
          const now = (await taken(atlas)).length;
          must(outcome !== 'done' || now === 0 || told === 0, 'a wake was given twice');
          unwrap(await (await atlas.inbox()).complete(WS, 1, 'again', MINE));
          must((await taken(atlas)).length === 0, 'completing again woke a second time');
          must((await statuses(atlas)).get(1) === 'done', 'the item is not done');
        },
      };
    },
  },
];
