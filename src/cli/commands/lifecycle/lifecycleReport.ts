import { type LifecycleHookLine, checkHooks } from '../../../agents/install/hookReport';
import { HOST_NAMES, type HostName } from '../../../agents/hosts/hosts';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import { count } from '../../../core/shared/text';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { roughAge, toMs } from '../../../core/shared/time';
import { table } from '../../render/table';

/** `lifecycle status`: which hooks are wired where, when each was called last, and what comes of it. */
export async function lifecycleStatus(context: CliContext): Promise<Result<Answer>> {
  const { lines, notes, now } = await reportOf(context, []);
  const rows = lines.map((line) => [line.host.name, line.event.key, ...cellsOf(line, now)]);
  const text = table(headOf([]), rows, context.streams.columns);
  const data: AnswerData<'lifecycle status'> = { hooks: lines.map((line) => dataOf(line)) };
  return ok({ exit: EXIT.done, text, wanted: true, data, notes });
}

/** `lifecycle doctor`: fires each installed hook as its host would, and says whether it works. */
export async function lifecycleDoctor(context: CliContext): Promise<Result<Answer>> {
  const { lines, notes, now } = await reportOf(context, HOST_NAMES);
  const broken = lines.flatMap(({ host, event, trial }) =>
    trial?.problem === undefined ? [] : [`${host.title}, ${event.key}: ${trial.problem}\n`],
  );
  const data: AnswerData<'lifecycle doctor'> = {
    hooks: lines.map((line) => ({ ...dataOf(line), ...trialData(line) })),
    problems: broken.length,
  };
  const rows = lines.map((line) => [line.host.name, line.event.key, worksText(line), ...cellsOf(line, now)]);
  const shown = table(headOf(['WORKS']), rows, context.streams.columns);
  const answer = { wanted: true, data } as const;
  if (broken.length > 0) {
    const error = new AtlasError('damaged', `${count(broken.length, 'lifecycle hook')} did not work.`, {
      hint: INSTALL_AGAIN,
    });
    const text = `${shown}\n${broken.join('')}${INSTALL_AGAIN}\n`;
    return ok({ ...answer, exit: EXIT.failed, text, notes, error });
  }
  const none = lines.every(({ installed }) => !installed);
  return ok({ ...answer, exit: EXIT.done, text: shown, notes: none ? [...notes, NONE_INSTALLED] : notes });
}

const INSTALL_AGAIN = 'Install the lifecycle hooks again: atlas lifecycle install --host <host>';
const NONE_INSTALLED =
  'No lifecycle hooks are installed here. Install them with: atlas lifecycle install --host <host>';

function trialData({ trial }: LifecycleHookLine): {
  works: boolean | null;
  took_ms: number | null;
  problem: string | null;
} {
  if (trial === undefined) return { works: null, took_ms: null, problem: null };
  const { problem, ms } = trial;
  return { works: problem === undefined, took_ms: Math.round(ms), problem: problem ?? null };
}

interface Look {
  readonly lines: readonly LifecycleHookLine[];
  readonly notes: readonly string[];
  readonly now: number;
}

async function reportOf(context: CliContext, fire: readonly HostName[]): Promise<Look> {
  const atlas = await context.atlas();
  const { worktree } = await atlas.locate(context.folder);
  const { env } = context;
  const report = await checkHooks({ ...atlas.ports, env, command: atlasCommand(env) }, worktree, fire);
  return { lines: report.lines, notes: [...report.problems, ...report.notes], now: atlas.ports.clock.now() };
}

function headOf(more: readonly string[]): { title: string }[] {
  const titles = ['HOST', 'EVENT', ...more, 'INSTALLED', 'LAST RUN', 'CAN INJECT', 'CAN BLOCK'];
  return titles.map((title) => ({ title }));
}

function cellsOf({ installed, lastFired, event }: LifecycleHookLine, now: number): string[] {
  const fired = lastFired === undefined ? (installed ? 'never' : '') : roughAge(toMs(lastFired), now);
  return [yes(installed), fired, yes(event.inject), yes(event.block)];
}

function worksText({ trial }: LifecycleHookLine): string {
  if (trial === undefined) return '';
  return trial.problem === undefined ? `${Math.round(trial.ms)} ms` : 'no';
}

function yes(is: boolean): string {
  return is ? 'yes' : 'no';
}

function dataOf({
  host,
  event,
  installed,
  lastFired,
}: LifecycleHookLine): AnswerData<'lifecycle status'>['hooks'][number] {
  return {
    host: host.name,
    event: event.event,
    key: event.key,
    installed,
    last_fired: lastFired ?? null,
    can_inject: event.inject,
    can_block: event.block,
  };
}
