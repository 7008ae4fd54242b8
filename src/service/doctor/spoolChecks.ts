import { join } from 'node:path';
import { count } from '../../core/shared/text';
import { toTimestamp } from '../../core/shared/time';
import { checkLock } from './lockChecks';
import type { Examination } from './report';

/** An event waits for a moment, or as long as a push takes; not this long (ms). */
const WAITS_MS = 20 * 60_000;
/** How long a drain may take here, ms. */
const DRAIN_MS = 30_000;
const EVENT = /^event\.\d/u;
const SHOWN = 5;

/** Looks at what git hooks wrote: events that nobody dealt with, and those that could not be used. */
export async function checkSpool(exam: Examination): Promise<void> {
  const { atlas, options } = exam;
  const { paths, files, clock } = atlas.ports;
  if (files.stat(paths.spool)?.kind !== 'folder') return;
  await checkLock(exam, paths.spool, join(paths.spool, 'locks'), true);
  const spool = await atlas.spool();
  const old = files.list(paths.spool).filter((name) => {
    const stat = EVENT.test(name) ? files.stat(join(paths.spool, name)) : undefined;
    return stat !== undefined && clock.now() - stat.mtimeMs > WAITS_MS;
  });
  if (old.length > 0) {
    await exam.repair('spool', paths.spool, {
      wrong: `${count(old.length, 'git hook event has', 'git hook events have')} not been processed for a long time.`,
      done: `${count(old.length, 'old git hook event was', 'old git hook events were')} processed.`,
      byHand: 'Run: atlas spool drain',
      act: async () => {
        const limits = [AbortSignal.timeout(DRAIN_MS), ...(options.signal === undefined ? [] : [options.signal])];
        const drained = await spool.drain({ signal: AbortSignal.any(limits) });
        if (!drained.ok) throw drained.error;
        if (old.some((name) => files.stat(join(paths.spool, name)) !== undefined))
          throw new Error('another process is handling them, or it could not be done');
      },
    });
  }
  await checkKept(exam);
}

async function checkKept(exam: Examination): Promise<void> {
  const { paths } = exam.atlas.ports;
  const spool = await exam.atlas.spool();
  const kept = spool.kept();
  if (kept.length === 0) return;
  const shown = kept.slice(-SHOWN).map(({ at, reason }) => `${toTimestamp(at)}: ${reason}`);
  const wrong = `${count(kept.length, 'git hook event')} could not be processed. ${shown.join(' ')}`;
  const byHand =
    'If you need one of them, record a checkpoint by hand: "Atlas: Record Checkpoint", or atlas checkpoint.';
  const question = `${wrong} Discard them?`;
  if (exam.fix && !(await exam.options.confirm(question))) {
    exam.problem('spool', paths.spool, wrong, byHand);
    return;
  }
  const done = `${count(kept.length, 'git hook event was', 'git hook events were')} discarded, as you confirmed.`;
  await exam.repair('spool', paths.spool, { wrong, done, byHand, act: () => void spool.discardKept() });
}
