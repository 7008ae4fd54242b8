import { join } from 'node:path';
import * as vscode from 'vscode';
import { createAtlas } from '../service/createAtlas';
import { systemPorts } from '../service/ports';
import { BackgroundCaptures, capturesUnasked } from '../service/snapshots/backgroundCaptures';
import { resolveRoot } from '../system/storeRoot';
import { type AtlasApi, createApi } from './api';
import { registerCommands } from './shared/register';
import { watchMilestones } from './setup/milestones';
import { offerSnapshotFiles } from './checkpoints/snapshotProvider';
import type { GitBridge } from './gitHooks/gitBridge';
import { watchTasks } from './tasks/notifications';
import { LatePanels } from './panels';
import { lazy } from '../core/shared/lazy';
import { setting } from './shared/config';
import { setContext } from './shared/contextKeys';
import { LateTree } from './shared/tree/lateTree';
import { ChannelLogger } from './shared/log';
import { showFailure } from './shared/messages';
import { TextDocuments } from './shared/textDocuments';
import { Verdicts } from './receipts/verdicts';
import { needsPerson } from '../core/task/urgency';
import { WindowTasks, rankedView } from './windowTasks';
import { StatusBar } from './tasks/statusBar';
import type { TasksTree } from './tasks/tree/tasksTree';
import type { TreeNode } from './tasks/tree/nodes';
import { openFolders, watchWindow } from './setup/windowEvents';

/** Composes the extension in a window, and says who disposes of what. */
export function openWindow(extension: vscode.ExtensionContext): AtlasApi {
  const log = new ChannelLogger();
  const root = resolveRoot(process.env['ATLAS_HOME'], setting('home'));
  const session = sessionOf(extension, root, log);
  const verdicts = new Verdicts(session);
  const tasks = new LateTree<TreeNode, TasksTree>(
    async () => new (await import('./tasks/tree/tasksTree')).TasksTree(session, verdicts),
  );
  const git = lateGit(session, extension, log);
  const startGit = async (): Promise<void> => (await git()).start();
  const documents = new TextDocuments();
  const inbox = lazy(async () => (await import('./inbox/inboxWindow')).openInbox(session, extension));
  const home = lazy(async () => (await import('./workers/workersHome')).openWorkersHome(session, extension));
  const workers = async () => (await home()).open();
  const launcherFolder = join(extension.globalStorageUri.fsPath, 'bin');
  const sessionsHome = lazy(async () =>
    (await import('./sessions/sessionsHome')).openSessionsHome(session, extension, launcherFolder),
  );
  const sessions = async () => (await sessionsHome()).open();
  const host = { extensionUri: extension.extensionUri, log };
  const panels = new LatePanels(host, session, verdicts, { session, inbox, workers });
  const shown = { session, tree: tasks.tree, log, git, verdicts, panels, documents };
  const memory = extension.globalState;
  const context = { ...shown, memory, inbox, workers, sessions, launcherFolder, terminals: new Map() };
  const launcher = import('./setup/launcherSetup').then((setup) =>
    setup.offerCommand(extension, launcherFolder, root, log),
  );
  // An editor that starts us for a tool's sake expects it when we are started.
  void import('./agents/offer').then((tools) => tools.offerAgentTools(extension, session, log));
  extension.subscriptions.push(
    session,
    log.channel,
    verdicts,
    tasks,
    documents,
    panels,
    new StatusBar(session),
    watchMilestones(session),
    offerSnapshotFiles(session),
    watchTasks(session, extension.globalState),
    watchWindow(session, startGit),
    ...tasksView(session, tasks),
    ...registerCommands(context),
  );
  const editorParts = async () => (await import('./setup/editorParts')).openEditorParts(session, verdicts, extension);
  const ready = session
    .start(openFolders())
    .then(startGit)
    .then(editorParts)
    .then(inbox)
    .then(home)
    .then(sessionsHome)
    .then(() => launcher)
    .catch((error: unknown) => {
      setContext('atlas.storeDamaged', true);
      return showFailure(error, log);
    });
  return createApi(session, verdicts, ready);
}

function lateGit(
  session: WindowTasks,
  extension: vscode.ExtensionContext,
  log: ChannelLogger,
): () => Promise<GitBridge> {
  return lazy(async () => {
    const { GitBridge: Bridge } = await import('./gitHooks/gitBridge');
    const bridge = new Bridge(session, log);
    extension.subscriptions.push(bridge);
    return bridge;
  });
}

/** The Tasks view, whose badge counts the tasks that need a person. */
function tasksView(session: WindowTasks, tree: vscode.TreeDataProvider<TreeNode>): vscode.Disposable[] {
  const view = vscode.window.createTreeView('atlas.tasks', { treeDataProvider: tree, showCollapseAll: true });
  const count = (): void => {
    const open = session.ownWorkspaces().flatMap((workspace) => session.atlas.catalog.open(workspace));
    setContext('atlas.hasOpenTask', open.length > 0);
    const value = session.ranked().filter((each) => needsPerson(rankedView(each))).length;
    const tooltip = value === 1 ? vscode.l10n.t('1 task needs you') : vscode.l10n.t('{0} tasks need you', value);
    if (view.badge?.value !== (value === 0 ? undefined : value))
      view.badge = value === 0 ? undefined : { value, tooltip };
  };
  return [view, session.onDidChange(count)];
}

function sessionOf(extension: vscode.ExtensionContext, root: string, log: ChannelLogger): WindowTasks {
  const { version } = extension.extension.packageJSON as { version: string };
  // What changes a task is told before the window's own object is there to hear of it.
  const captures = new BackgroundCaptures(
    () => atlas,
    (ref) => session.changed(ref),
  );
  const ports = systemPorts(root, version, log);
  const atlas = createAtlas(capturesUnasked(process.env) ? { ...ports, recorded: captures.recorded } : ports);
  const session = new WindowTasks(atlas);
  extension.subscriptions.push({ dispose: () => captures.end() });
  return session;
}
