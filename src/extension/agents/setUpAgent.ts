import { basename, relative } from 'node:path';
import * as vscode from 'vscode';
import { HOSTS, type Host } from '../../agents/hosts/hosts';
import { hookStart } from '../../agents/install/hookStart';
import { type FileChange, Installer } from '../../agents/install/installer';
import { checkHooks } from '../../agents/install/hookReport';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { launcherPath } from '../../system/launcher/launcher';
import { Cancelled, plain } from '../shared/messages';
import { chosen } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { setContext } from '../shared/contextKeys';
import { confirm, oneFolder } from '../shared/dialogs';

const REPORT = 'atlas-agent-hooks.txt';
const MAX_TEXT = 300;

/** A host in a folder that is to be set up. */
interface Desk {
  readonly installer: Installer;
  readonly worktree: string;
  readonly host: Host;
}

type Wish = 'hooks' | 'hooksAndSection' | 'try' | 'remove';

/** Atlas: Set Up Agent. Wires a host's hooks into its own settings file; the change is shown before it is made. */
export const setUpAgent: CommandHandler = async (context, argument) => {
  const worktree = await chooseFolder(context, argument);
  const installer = new Installer(context.session.atlas.ports, worktree);
  const desk = { installer, worktree, host: await chooseHost(installer, worktree) };
  const wish = await chooseWish(desk);
  if (wish === 'try') await tryHooks(context, desk);
  else await change(context, desk, wish);
  if (wish !== 'remove') setContext('atlas.hasSetUpAgent', true);
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

async function chooseHost(installer: Installer, worktree: string): Promise<Host> {
  const items = Object.values(HOSTS).map((host) => ({
    label: host.title,
    description: standing(installer, host),
    detail: host.file,
    host,
  }));
  const title = vscode.l10n.t('Set Up Agent in {0}', plain(basename(worktree)));
  const placeHolder = vscode.l10n.t('Which program runs the agent?');
  return chosen(await vscode.window.showQuickPick(items, { title, placeHolder })).host;
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

async function chooseWish({ installer, host }: Desk): Promise<Wish> {
  const isThere = unwrap(installer.installed(host)).length > 0;
  const { instructions } = host;
  const section = {
    label: vscode.l10n.t('Lifecycle hooks and a section in {0}', instructions),
    detail: vscode.l10n.t('The section tells agents to ask for their task, even if hooks are off.'),
    wish: 'hooksAndSection' as const,
  };
  const hooks = {
    label: isThere ? vscode.l10n.t('Update the lifecycle hooks') : vscode.l10n.t('Lifecycle hooks only'),
    detail: host.file,
    wish: 'hooks' as const,
  };
  const fire = {
    label: vscode.l10n.t('Test the lifecycle hooks'),
    detail: vscode.l10n.t('Run each as {0} would, and report whether it works.', host.title),
    wish: 'try' as const,
  };
  const remove = {
    label: vscode.l10n.t('Remove'),
    detail: vscode.l10n.t('Restores the settings as they were.'),
    wish: 'remove' as const,
  };
  const items = isThere ? [fire, hooks, section, remove] : [section, hooks];
  return chosen(await vscode.window.showQuickPick<(typeof items)[number]>(items, { title: host.title })).wish;
}

async function change(context: CommandContext, desk: Desk, wish: Wish): Promise<void> {
  const { installer, host } = desk;
  const start = hookStart(process.env, [launcherPath(context.launcherFolder)]);
  const plan =
    wish === 'remove' ? installer.planUninstall(host) : installer.planInstall(host, start, wish === 'hooksAndSection');
  const changes = unwrap(plan).filter(({ before, after }) => before !== after);
  if (changes.length === 0) {
    await vscode.window.showInformationMessage(vscode.l10n.t('There is nothing to change for {0}.', host.title));
    return;
  }
  await agreeTo(context, desk, changes);
  await agreeToLeave(changes);
  for (const each of changes) unwrap(installer.apply(each));
  if (wish === 'remove') {
    await vscode.window.showInformationMessage(vscode.l10n.t('The lifecycle hooks of {0} were removed.', host.title));
    return;
  }
  const tryThem = vscode.l10n.t('Test Them');
  const message = vscode.l10n.t(
    'The lifecycle hooks of {0} are installed. Restart open sessions to load them.',
    host.title,
  );
  if ((await vscode.window.showInformationMessage(message, tryThem)) === tryThem) await tryHooks(context, desk);
}

/** Shows what changes, beside the question: a dialog would lie over it. */
async function agreeTo(
  context: CommandContext,
  { worktree, host }: Desk,
  changes: readonly FileChange[],
): Promise<void> {
  const files = changes.map(({ path, before, after }) => {
    const name = relative(worktree, path).replaceAll('\\', '/');
    const left = context.documents.hold(`before/${name}`, before ?? '');
    return { name, left, right: context.documents.hold(`after/${name}`, after ?? '') };
  });
  const title = vscode.l10n.t('What Atlas changes for {0}', host.title);
  const [first] = files;
  if (first !== undefined && files.length === 1)
    await vscode.commands.executeCommand('vscode.diff', first.left, first.right, `${title}: ${first.name}`);
  else
    await vscode.commands.executeCommand(
      'vscode.changes',
      title,
      files.map(({ name, left, right }) => [vscode.Uri.joinPath(vscode.Uri.file(worktree), name), left, right]),
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
    const called = lastFired ?? vscode.l10n.t('never called');
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
