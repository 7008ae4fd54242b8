import { relative } from 'node:path';
import { hookStart } from '../../../agents/install/hookStart';
import { HOSTS, HOST_NAMES, type Host } from '../../../agents/hosts/hosts';
import { type FileChange, Installer } from '../../../agents/install/installer';
import { textDiff } from '../../../agents/install/textDiff';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import { oneLine, sentenceList } from '../../../core/shared/text';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';

interface Desk {
  readonly installer: Installer;
  readonly worktree: string;
  readonly host: Host;
}

async function deskOf(context: CliContext, call: Call): Promise<Desk> {
  const name = HOST_NAMES.find((each) => each === call.text('host'));
  if (name === undefined)
    throw new AtlasError('usage', 'No host was named.', { hint: `Name one: --host ${HOST_NAMES.join('|')}` });
  const atlas = await context.atlas();
  const { worktree } = await atlas.locate(context.folder);
  return { installer: new Installer(atlas.ports, worktree), worktree, host: HOSTS[name] };
}

/** `lifecycle install`: wires a host's hooks, beside what is there. */
export const installLifecycle: Handler = async (context, call) => {
  const desk = await deskOf(context, call);
  const start = hookStart(context.env, atlasCommand(context.env));
  const changes = unwrap(desk.installer.planInstall(desk.host, start, call.flag('section')));
  return carryOut(context, call, desk, changes, 'installed');
};

/** `lifecycle uninstall`: takes out what `install` put in; everything else stays, byte for byte. */
export const uninstallLifecycle: Handler = async (context, call) => {
  const desk = await deskOf(context, call);
  return carryOut(context, call, desk, unwrap(desk.installer.planUninstall(desk.host)), 'removed');
};

async function carryOut(
  context: CliContext,
  call: Call,
  { installer, worktree, host }: Desk,
  changes: readonly FileChange[],
  done: 'installed' | 'removed',
): Promise<Answer> {
  const changed = changes.filter(({ before, after }) => before !== after);
  const diff = changed.map((each) => diffOf(worktree, each)).join('\n');
  const dry = call.flag('dryRun');
  const data: AnswerData<'lifecycle install'> = {
    host: host.name,
    dry_run: dry,
    changed: changed.length > 0,
    files: changed.map(({ path, leadsTo, before, after }) => ({
      path,
      leads_to: leadsTo ?? null,
      change: before === undefined ? 'made' : after === undefined ? 'removed' : 'changed',
    })),
    diff,
  };
  if (changed.length === 0)
    return {
      exit: EXIT.done,
      text: `Nothing to do: the lifecycle hooks of ${host.title} are already ${done}.\n`,
      data,
    };
  if (dry) return { exit: EXIT.done, text: `${diff}\nDry run: nothing was changed.\n`, wanted: true, data };
  if (!context.json && !context.quiet) context.streams.err(diff);
  const links = linksOut(changed);
  const sure = await context.confirm(`${links}Make this change for ${host.title}?`, call.flag('yes'));
  if (!sure) throw new AtlasError('cancelled', 'Nothing was changed.');
  for (const change of changed) unwrap(installer.apply(change));
  return { exit: EXIT.done, text: `${links}The lifecycle hooks of ${host.title} are ${done}.\n`, data };
}

/** Where links lead out of the repository: a yes to the change is a yes to them. */
function linksOut(changes: readonly FileChange[]): string {
  const targets = changes.flatMap(({ leadsTo, outside }) => (outside === true ? [oneLine(leadsTo ?? '', 300)] : []));
  return targets.length === 0 ? '' : `A symbolic link points outside this repository, to ${sentenceList(targets)}. `;
}

function diffOf(worktree: string, { path, leadsTo, outside, before, after }: FileChange): string {
  const what = before === undefined ? ' (new)' : after === undefined ? ' (removed)' : '';
  const where = outside === true ? ', outside this repository' : '';
  const link = leadsTo === undefined ? '' : ` (symbolic link to ${oneLine(leadsTo, 500)}${where})`;
  return `${relative(worktree, path)}${what}${link}\n${plain(textDiff(before ?? '', after ?? ''))}`;
}

/** What would move the cursor or hide something on a terminal is left out. */
function plain(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '');
}
