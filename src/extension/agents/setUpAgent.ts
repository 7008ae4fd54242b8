import { basename, relative } from 'node:path';
import * as vscode from 'vscode';
import { HOSTS, HOST_NAMES, type Host } from '../../agents/hosts/hosts';
import { hookStart } from '../../agents/install/hookStart';
import { type FileChange, Installer } from '../../agents/install/installer';
import { checkHooks } from '../../agents/install/hookReport';
import type { ObserveHost } from '../../agents/install/observeInstall';
import { HOST_TITLES } from '../../core/session/sessionHost';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { launcherPath } from '../../system/launcher/launcher';
import { Cancelled, plain } from '../shared/messages';
import { chosen } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { setContext } from '../shared/contextKeys';
import { confirm, oneFolder } from '../shared/dialogs';
import { ObserveOffer, askedFor, tilde } from './observeAgent';

const REPORT = 'atlas-agent-hooks.txt';
const MAX_TEXT = 300;

/** A program that runs agents, in a folder: with hooks of the repository, sessions that can be observed, or both. */
interface Desk {
  readonly installer: Installer;
  readonly worktree: string;
  readonly title: string;
  readonly host: Host | undefined;
  readonly observed: ObserveHost | undefined;
  readonly offer: ObserveOffer;
}

type Wish = 'hooks' | 'hooksAndSection' | 'try' | 'remove' | 'observe' | 'stopObserving';

/** Atlas: Set Up Agent. Wires a host's hooks into its own settings file, and has its sessions observed; each change is shown first. */
export const setUpAgent: CommandHandler = async (context, argument) => {
  const worktree = await chooseFolder(context, argument);
  const desk = await chooseHost(context, worktree);
  const wish = await chooseWish(desk);
  if (wish === 'try') await tryHooks(context, desk);
  else await change(context, desk, wish);
  if (wish !== 'remove' && wish !== 'stopObserving') setContext('atlas.hasSetUpAgent', true);
};

/** The folder that is meant: the argument's, the only one of this window, or one that is asked for. */
async function chooseFolder({ session }: CommandContext, argument: unknown): Promise<string> {
  const named = (argument as { readonly folder?: unknown } | undefined)?.folder;
  const folders = session.ownPlaces.map(({ worktree }) => worktree);
  const none = new AtlasError('usage', vscode.l10n.t('No folder is open in this window.'), {
    hint: vscode.l10n.t('Open the folder in which the agent works.'),
  });
  const asked = folders.find((folder) => folder === named);
  return asked ?? oneFolder(folders, vscode.l10n.t('In which folder does the agent work?'), none);
}

async function chooseHost(context: CommandContext, worktree: string): Promise<Desk> {
  const installer = new Installer(context.session.atlas.ports, worktree);
  const offer = new ObserveOffer(context);
  const hosts = [...HOST_NAMES, 'opencode' as const].map((name) => {
    const host = name === 'opencode' ? undefined : HOSTS[name];
    return { host, observed: ObserveOffer.hostOf(name), title: host?.title ?? HOST_TITLES.opencode };
  });
  const items = await Promise.all(
    hosts.map(async (each) => {
      const { host, observed, title } = each;
      const isOn = observed !== undefined && (await offer.isOn(observed));
      const parts = [
        host === undefined ? '' : standing(installer, host),
        isOn ? vscode.l10n.t('sessions observed') : '',
      ];
      return {
        label: title,
        description: parts.filter((part) => part !== '').join(' · '),
        detail: host?.file ?? (observed === undefined ? '' : offer.fileOf(observed)),
        desk: { ...each, installer, worktree, offer },
      };
    }),
  );
  const title = vscode.l10n.t('Set Up Agent in {0}', plain(basename(worktree)));
  const placeHolder = vscode.l10n.t('Which program runs the agent?');
  // It may be asked for by a notification, while the panel of a new task opens.
  return chosen(await vscode.window.showQuickPick(items, { title, placeHolder, ignoreFocusOut: true })).desk;
}

function standing(installer: Installer, host: Host): string {
  const hooks = installer.installed(host);
  if (!hooks.ok) return vscode.l10n.t("its settings can't be read");
  const events = new Set(hooks.value.map(({ event }) => event)).size;
  if (events === 0) return '';
  return events === host.events.length
    ? vscode.l10n.t('set up')
    : vscode.l10n.t('{0} of {1} hooks', events, host.events.length);
}

interface WishItem extends vscode.QuickPickItem {
  readonly wish: Wish;
}

async function chooseWish(desk: Desk): Promise<Wish> {
  const items = [...hookWishes(desk), ...(await observeWishes(desk))];
  return chosen(await vscode.window.showQuickPick(items, { title: desk.title, ignoreFocusOut: true })).wish;
}

function hookWishes({ installer, host }: Desk): WishItem[] {
  if (host === undefined) return [];
  const isThere = unwrap(installer.installed(host)).length > 0;
  const { instructions } = host;
  const section: WishItem = {
    label: vscode.l10n.t('Lifecycle hooks and a section in {0}', instructions),
    detail: vscode.l10n.t('The section tells agents to ask for their task, even if hooks are off.'),
    wish: 'hooksAndSection',
  };
  const hooks: WishItem = {
    label: isThere ? vscode.l10n.t('Update the lifecycle hooks') : vscode.l10n.t('Lifecycle hooks only'),
    detail: host.file,
    wish: 'hooks',
  };
  const fire: WishItem = {
    label: vscode.l10n.t('Test the lifecycle hooks'),
    detail: vscode.l10n.t('Run each as {0} would, and report whether it works.', host.title),
    wish: 'try',
  };
  const remove: WishItem = {
    label: vscode.l10n.t('Remove the lifecycle hooks'),
    detail: vscode.l10n.t('Restores the settings as they were.'),
    wish: 'remove',
  };
  return isThere ? [fire, hooks, section, remove] : [section, hooks];
}

async function observeWishes({ observed, offer }: Desk): Promise<WishItem[]> {
  if (observed === undefined) return [];
  if (await offer.isOn(observed))
    return [{ label: vscode.l10n.t('Stop observing sessions'), detail: offer.fileOf(observed), wish: 'stopObserving' }];
  return [
    {
      label: vscode.l10n.t('Observe sessions'),
      detail: vscode.l10n.t('Record what {0} does in all repositories. Atlas asks first.', HOST_TITLES[observed]),
      wish: 'observe',
    },
  ];
}

/** What the user wants of a host's sessions, with the change of its settings. */
interface Observing {
  readonly host: ObserveHost;
  readonly change: FileChange;
  readonly observe: boolean;
  readonly transcripts: boolean | undefined;
}

async function observingOf({ observed, offer }: Desk, wish: Wish, start: string): Promise<Observing | undefined> {
  if (observed === undefined || wish === 'try' || wish === 'remove') return undefined;
  const isOn = await offer.isOn(observed);
  if (wish === 'stopObserving')
    return { host: observed, change: offer.plan(observed, undefined), observe: false, transcripts: false };
  if (isOn) return undefined;
  const asked = wish === 'observe' ? await askedFor(offer, observed) : await offer.ask(observed);
  return asked === undefined
    ? undefined
    : { host: observed, change: offer.plan(observed, start), observe: true, ...asked };
}

async function change(context: CommandContext, desk: Desk, wish: Exclude<Wish, 'try'>): Promise<void> {
  const { installer, host, title, offer } = desk;
  const start = hookStart(process.env, [launcherPath(context.launcherFolder)]);
  const observing = await observingOf(desk, wish, start);
  const hooks = host === undefined ? [] : isChange(hookChanges(installer, host, wish, start));
  const changes = [...hooks, ...isChange(observing === undefined ? [] : [observing.change])];
  if (changes.length === 0 && observing === undefined) {
    await vscode.window.showInformationMessage(vscode.l10n.t('There is nothing to change for {0}.', title));
    return;
  }
  if (changes.length > 0) await agreeTo(context, desk, changes);
  await agreeToLeave(changes);
  if (observing !== undefined) await offer.carryOut(observing.host, observing.change, { ...observing, start });
  for (const each of hooks) unwrap(installer.apply(each));
  await tellChanged(context, desk, { wish, observing, isWired: hooks.length > 0 });
}

function hookChanges(installer: Installer, host: Host, wish: Wish, start: string): FileChange[] {
  if (wish === 'remove') return unwrap(installer.planUninstall(host));
  if (wish !== 'hooks' && wish !== 'hooksAndSection') return [];
  return unwrap(installer.planInstall(host, start, wish === 'hooksAndSection'));
}

function isChange(changes: readonly FileChange[]): FileChange[] {
  return changes.filter(({ before, after }) => before !== after);
}

async function tellChanged(
  context: CommandContext,
  desk: Desk,
  { wish, observing, isWired }: { wish: Wish; observing: Observing | undefined; isWired: boolean },
): Promise<void> {
  const { title, worktree, offer } = desk;
  if (wish === 'remove') {
    await vscode.window.showInformationMessage(vscode.l10n.t('The lifecycle hooks of {0} were removed.', title));
    return;
  }
  if (wish === 'stopObserving') {
    const message = vscode.l10n.t(
      '{0} sessions are no longer observed. Those that were recorded stay until you forget them.',
      title,
    );
    await vscode.window.showInformationMessage(message);
    return;
  }
  // Not awaited where another message follows: both stay until somebody sends them away.
  const observed = observing === undefined ? undefined : offer.tellDone(observing.host, worktree);
  if (isWired) {
    const tryThem = vscode.l10n.t('Test Them');
    const message = vscode.l10n.t(
      'The lifecycle hooks of {0} are installed. Restart open sessions to load them.',
      title,
    );
    if ((await vscode.window.showInformationMessage(message, tryThem)) === tryThem) await tryHooks(context, desk);
  }
  await observed;
}

/** Shows what changes, beside the question: a dialog would lie over it. */
async function agreeTo(
  context: CommandContext,
  { worktree, title: agent }: Desk,
  changes: readonly FileChange[],
): Promise<void> {
  const files = changes.map(({ path, before, after }) => {
    const inside = relative(worktree, path).replaceAll('\\', '/');
    const name = inside.startsWith('..') ? tilde(path) : inside;
    const left = context.documents.hold(`before/${name}`, before ?? '');
    return { path, name, left, right: context.documents.hold(`after/${name}`, after ?? '') };
  });
  const title = vscode.l10n.t('What Atlas changes for {0}', agent);
  const [first] = files;
  if (first !== undefined && files.length === 1)
    await vscode.commands.executeCommand('vscode.diff', first.left, first.right, `${title}: ${first.name}`);
  else
    await vscode.commands.executeCommand(
      'vscode.changes',
      title,
      files.map(({ path, left, right }) => [vscode.Uri.file(path), left, right]),
    );
  const make = {
    label: `$(check) ${vscode.l10n.t('Apply this change')}`,
    detail: files.map(({ name }) => plain(name)).join(', '),
  };
  const leave = { label: `$(close) ${vscode.l10n.t('Cancel')}` };
  // It stays while the change is read and scrolled.
  const answer = await vscode.window.showQuickPick([make, leave], { title, ignoreFocusOut: true });
  await closeDiff(files.flatMap(({ left, right }) => [left, right]));
  if (answer !== make) throw new Cancelled();
}

/** A link out of the repository is followed only where somebody who saw it says so. */
async function agreeToLeave(changes: readonly FileChange[]): Promise<void> {
  const outside = changes.filter((each) => each.outside === true);
  if (outside.length === 0) return;
  const detail = outside.map(({ path, leadsTo }) => `${plain(path, MAX_TEXT)} → ${plain(leadsTo ?? '', MAX_TEXT)}`);
  const question = vscode.l10n.t('A link leads out of this repository.');
  await confirm(question, detail.join('\n'), vscode.l10n.t('Follow the Link'));
}

async function closeDiff(shown: readonly vscode.Uri[]): Promise<void> {
  const names = new Set(shown.map((uri) => uri.toString()));
  const tabs = vscode.window.tabGroups.all.flatMap(({ tabs: all }) => all);
  const ours = tabs.filter(({ input }) => {
    if (input instanceof vscode.TabInputTextDiff) return names.has(input.original.toString());
    // The API has no type for a tab with several files.
    const several = (input as { textDiffs?: readonly vscode.TabInputTextDiff[] } | undefined)?.textDiffs ?? [];
    return several.some(({ original }) => names.has(original.toString()));
  });
  await vscode.window.tabGroups.close(ours);
}

async function tryHooks(context: CommandContext, { worktree, host }: Desk): Promise<void> {
  if (host === undefined) return;
  const { ports } = context.session.atlas;
  const command = [launcherPath(context.launcherFolder)];
  const location = vscode.ProgressLocation.Notification;
  const title = vscode.l10n.t('Atlas: testing the lifecycle hooks of {0}', host.title);
  const { lines } = await vscode.window.withProgress({ location, title }, async () =>
    checkHooks({ ...ports, command, env: process.env }, worktree, [host.name]),
  );
  const own = lines.filter((line) => line.host === host);
  const broken = own.filter(({ trial }) => trial?.problem !== undefined);
  const rows = own.map(({ event, installed, trial, lastFired }) => {
    const works =
      trial === undefined
        ? installed
          ? vscode.l10n.t("asks a model; can't be tested")
          : vscode.l10n.t('not installed')
        : (trial.problem ?? vscode.l10n.t('works ({0} ms)', Math.round(trial.ms)));
    const called =
      lastFired === undefined
        ? vscode.l10n.t('{0} has not called it yet', host.title)
        : vscode.l10n.t('last called by {0} at {1}', host.title, lastFired);
    return `${trial?.problem === undefined ? '✓' : '!'} ${event.key}: ${oneLine(works, MAX_TEXT)}\n    ${called}`;
  });
  await context.documents.show(REPORT, `${host.title}: ${host.file}\n\n${rows.join('\n')}\n`);
  if (broken.length === 0)
    await vscode.window.showInformationMessage(vscode.l10n.t('All lifecycle hooks of {0} work.', host.title));
  else
    await vscode.window.showWarningMessage(
      vscode.l10n.t(
        "Lifecycle hooks of {1} that don't work: {0}. The report has the reasons.",
        broken.length,
        host.title,
      ),
    );
}
