import { type LifecycleHookLine, checkHooks } from '../../../agents/install/hookReport';
import { HOST_NAMES, type HostName } from '../../../agents/hosts/hosts';
import { AtlasError } from '../../../core/shared/errors';
import { count } from '../../../core/shared/text';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { roughAge, toMs } from '../../../core/shared/time';
import { table } from '../../render/table';

/** `lifecycle status`: which hooks are wired where, when each was called last, and what comes of it. */
export const lifecycleStatus: Handler = async (context) => {
  const { lines, notes, now } = await reportOf(context, []);
  const rows = lines.map((line) => [line.host.name, line.event.key, ...cellsOf(line, now)]);
  const text = table(['HOST', 'EVENT', ...CELLS], rows, context.streams.columns);
  const data: AnswerData<'lifecycle status'> = { hooks: lines.map(dataOf) };
  return { exit: EXIT.done, text, wanted: true, data, notes };
};

/** `lifecycle doctor`: fires each installed hook as its host would, and says whether it works. */
export const lifecycleDoctor: Handler = async (context) => {
  const { lines, notes, now } = await reportOf(context, HOST_NAMES);
  const broken = lines.flatMap(({ host, event, trial }) =>
    trial?.problem === undefined ? [] : [`${host.title}, ${event.key}: ${trial.problem}\n`],
  );
  const data: AnswerData<'lifecycle doctor'> = {
    hooks: lines.map((line) => ({
      ...dataOf(line),
      works: line.trial === undefined ? null : line.trial.problem === undefined,
      took_ms: line.trial === undefined ? null : Math.round(line.trial.ms),
      problem: line.trial?.problem ?? null,
    })),
    problems: broken.length,
  };
  const rows = lines.map((line) => [line.host.name, line.event.key, worksText(line), ...cellsOf(line, now)]);
  const shown = table(['HOST', 'EVENT', 'WORKS', ...CELLS], rows, context.streams.columns);
  const answer = { wanted: true, data } as const;
  if (broken.length > 0) {
    const error = new AtlasError('damaged', `${count(broken.length, 'lifecycle hook')} did not work.`, {
      hint: INSTALL_AGAIN,
    });
    const text = `${shown}\n${broken.join('')}${INSTALL_AGAIN}\n`;
    return { ...answer, exit: EXIT.failed, text, notes, error };
  }
  const none = lines.every(({ installed }) => !installed);
  return { ...answer, exit: EXIT.done, text: shown, notes: none ? [...notes, NONE_INSTALLED] : notes };
};

const INSTALL_AGAIN = 'Install the lifecycle hooks again: atlas lifecycle install --host <host>';
const NONE_INSTALLED =
  'No lifecycle hooks are installed here. Install them with: atlas lifecycle install --host <host>';

async function reportOf(
  context: CliContext,
  fire: readonly HostName[],
): Promise<{ lines: readonly LifecycleHookLine[]; notes: readonly string[]; now: number }> {
  const atlas = await context.atlas();
  const { worktree } = await atlas.locate(context.folder);
  const { env } = context;
  const report = await checkHooks({ ...atlas.ports, env, command: atlasCommand(env) }, worktree, fire);
  return { lines: report.lines, notes: [...report.problems, ...report.notes], now: atlas.ports.clock.now() };
}

const CELLS = ['INSTALLED', 'LAST RUN', 'CAN INJECT', 'CAN BLOCK'];

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

function dataOf({ host, event, ...line }: LifecycleHookLine): AnswerData<'lifecycle status'>['hooks'][number] {
  return {
    host: host.name,
    event: event.event,
    key: event.key,
    installed: line.installed,
    last_fired: line.lastFired ?? null,
    can_inject: event.inject,
    can_block: event.block,
  };
}
