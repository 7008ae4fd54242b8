import { hookStart } from '../../../agents/install/hookStart';
import { HOSTS, HOST_NAMES, type Host, type HostName } from '../../../agents/hosts/hosts';
import {
  OBSERVE_HOSTS,
  type ObserveHost,
  ObserveInstaller,
  hasTranscripts,
  userPlaces,
} from '../../../agents/install/observeInstall';
import { setObserved } from '../../../agents/install/observing';
import { trackedSessions } from '../../../agents/sessions/trackedSessions';
import { HOST_TITLES } from '../../../core/session/sessionHost';
import type { SessionService } from '../../../service/sessions/sessionService';
import { type FileChange, Installer } from '../../../agents/install/installer';
import { textDiff } from '../../../agents/install/textDiff';
import { insideWorktree } from '../../../system/files/worktreePath';
import { AtlasError, type Result, unwrap } from '../../../core/shared/errors';
import { oneLine, sentenceList } from '../../../core/shared/text';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { atlasCommand } from '../maintenance/gitHooks';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';

/** A change with what makes it. */
interface Planned {
  readonly change: FileChange;
  readonly apply: () => Result<void>;
}

/** What is to be set up, and where. */
interface Desk {
  readonly title: string;
  readonly name: HostName | ObserveHost;
  readonly worktree: string;
  /** Hooks of the repository; none where a host only has them for all repositories. */
  readonly repository: { readonly installer: Installer; readonly host: Host } | undefined;
  /** What observes sessions; none where the host can't be observed, or nobody wants that here. */
  readonly observer: Observer | undefined;
}

interface Observer {
  readonly host: ObserveHost;
  readonly installer: ObserveInstaller;
  readonly service: SessionService;
}

async function deskOf(context: CliContext, call: Call): Promise<Desk> {
  const named = call.text('host');
  const name = HOST_NAMES.find((each) => each === named);
  const observed = OBSERVE_HOSTS.find((each) => each === named);
  if (name === undefined && observed === undefined)
    throw new AtlasError('usage', 'No host was named.', { hint: `Name one: --host ${HOST_NAMES.join('|')}|opencode` });
  const atlas = await context.atlas();
  const { worktree } = await atlas.locate(context.folder);
  const service = trackedSessions(atlas, context.env);
  const installer = new ObserveInstaller(atlas.ports, userPlaces(context.env), service.spool);
  const repository =
    name === undefined ? undefined : { installer: new Installer(atlas.ports, worktree), host: HOSTS[name] };
  return {
    name: name ?? observed ?? 'claude',
    title: name === undefined ? HOST_TITLES[observed ?? 'claude'] : HOSTS[name].title,
    worktree,
    repository,
    observer: observed === undefined || call.flag('hooksOnly') ? undefined : { host: observed, installer, service },
  };
}

/** Changes of a repository's files. */
function inRepository(installer: Installer, changes: Result<FileChange[]>): Planned[] {
  return unwrap(changes).map((change) => ({ change, apply: () => installer.apply(change) }));
}

/** `lifecycle install`: wires a host's hooks, beside what is there, and has its sessions observed. */
export const installLifecycle: Handler = async (context, call) => {
  const { repository, observer, ...desk } = await deskOf(context, call);
  const start = hookStart(context.env, atlasCommand(context.env));
  const hooks =
    repository === undefined
      ? []
      : inRepository(
          repository.installer,
          repository.installer.planInstall(repository.host, start, call.flag('section')),
        );
  const observes = observer === undefined ? [] : observing(observer, start);
  return carryOut(context, call, { ...desk, observer }, { hooks, observes, done: 'installed', start });
};

function observing({ host, installer }: Observer, start: string): Planned[] {
  const change = unwrap(installer.planInstall(host, start));
  return [{ change, apply: () => installer.apply(host, change) }];
}

/** `lifecycle uninstall`: takes out what `install` put in; everything else stays, byte for byte. */
export const uninstallLifecycle: Handler = async (context, call) => {
  const { repository, observer, ...desk } = await deskOf(context, call);
  const hooks =
    repository === undefined
      ? []
      : inRepository(repository.installer, repository.installer.planUninstall(repository.host));
  const change = observer === undefined ? undefined : unwrap(observer.installer.planUninstall(observer.host));
  const observes =
    observer === undefined || change === undefined
      ? []
      : [{ change, apply: () => observer.installer.apply(observer.host, change) }];
  return carryOut(context, call, { ...desk, observer }, { hooks, observes, done: 'removed', start: '' });
};

interface Plan {
  readonly hooks: readonly Planned[];
  readonly observes: readonly Planned[];
  readonly done: 'installed' | 'removed';
  /** How `atlas` is started, as a shell's words. */
  readonly start: string;
}

const isChange = ({ change: { before, after } }: Planned): boolean => before !== after;

async function carryOut(
  context: CliContext,
  call: Call,
  desk: Omit<Desk, 'repository'>,
  { hooks, observes, done, start }: Plan,
): Promise<Answer> {
  const { title, worktree, observer } = desk;
  const changed = [...hooks, ...observes].filter(isChange).map(({ change }) => change);
  const consent = await consentOf(call, observer, done);
  const diff = changed.map((each) => diffOf(worktree, each)).join('\n');
  const dry = call.flag('dryRun');
  const data: AnswerData<'lifecycle install'> = {
    host: desk.name,
    dry_run: dry,
    changed: changed.length > 0,
    files: changed.map(({ path, leadsTo, before, after }) => ({
      path,
      leads_to: leadsTo ?? null,
      change: before === undefined ? 'made' : after === undefined ? 'removed' : 'changed',
    })),
    diff,
  };
  if (changed.length === 0 && !consent.isNew)
    return { exit: EXIT.done, text: `Nothing to do: the lifecycle hooks of ${title} are already ${done}.\n`, data };
  if (dry) return { exit: EXIT.done, text: `${diff}\nDry run: nothing was changed.\n`, wanted: true, data };
  if (!context.json && !context.quiet) context.streams.err(diff);
  const links = linksOut(changed);
  const sure = await context.confirm(`${links}Make this change for ${title}?`, call.flag('yes'));
  if (!sure) throw new AtlasError('cancelled', 'Nothing was changed.');
  const tracks = observer !== undefined && (done === 'removed' || (await isObserved(context, call, observer)));
  // A config.yaml that can't be changed is told before anything else is.
  if (tracks) await settle(context, call, observer, { done, start });
  for (const planned of [...hooks, ...(tracks ? observes : [])].filter(isChange)) unwrap(planned.apply());
  const notes = tracks && done === 'installed' ? observer.installer.notes(observer.host) : [];
  return { exit: EXIT.done, text: `${links}The lifecycle hooks of ${title} are ${done}.\n`, data, notes };
}

/** Whether a setting has to change although the files are as they should be. */
async function consentOf(
  call: Call,
  observer: Observer | undefined,
  done: Plan['done'],
): Promise<{ readonly isNew: boolean }> {
  if (observer === undefined) return { isNew: false };
  const { track, readTranscripts } = await observer.service.config();
  const reads = readTranscripts.some((each) => each === observer.host);
  if (done === 'removed') return { isNew: reads };
  return { isNew: !track || (call.flag('transcripts') && !reads && hasTranscripts(observer.host)) };
}

/** Asks whether sessions may be observed: what is kept, where, and what it needs. */
async function isObserved(context: CliContext, call: Call, { host, installer }: Observer): Promise<boolean> {
  if (call.flag('yes')) return true;
  const what = `Observe ${HOST_TITLES[host]} sessions in all repositories? Requests, commands, names of changed files and last messages are kept in ${context.root}, without known kinds of secrets.`;
  return context.ask(`${[what, ...installer.needs(host)].join('\n')}\n[y/N] `);
}

/** Turns observing on or off, and asks about transcripts. */
async function settle(
  context: CliContext,
  call: Call,
  { host, installer, service }: Observer,
  { done, start }: Pick<Plan, 'done' | 'start'>,
): Promise<void> {
  const { ports } = await context.atlas();
  const transcripts = done === 'removed' ? false : await mayRead(context, call, host);
  const wish = { observe: done === 'installed', transcripts, start };
  unwrap(await setObserved({ ports, installer, service }, host, wish));
}

async function mayRead(context: CliContext, call: Call, host: ObserveHost): Promise<boolean | undefined> {
  if (!hasTranscripts(host)) return false;
  if (call.flag('transcripts')) return true;
  if (call.flag('yes') || !context.interactive) return undefined;
  return context.ask(
    `Also read ${HOST_TITLES[host]}'s transcripts, for what its hooks don't tell (exit codes, its last message)? [y/N] `,
  );
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
  return `${insideWorktree(worktree, path) ?? path}${what}${link}\n${plain(textDiff(before ?? '', after ?? ''))}`;
}

/** What would move the cursor or hide something on a terminal is left out. */
function plain(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '');
}
