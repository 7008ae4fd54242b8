import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { type InboxItem, MAX_ITEM_ID, MAX_LEASE_MS, triggerOf } from '../../core/inbox/inbox';
import { ensureWorkspace } from '../../service/tasks/ensureWorkspace';
import type { InboxModel } from './inboxModel';
import { isResumable, itemDetails, itemTitle } from './inboxRows';
import { resumeInTerminal } from './resume';
import { plain } from '../shared/messages';
import { field, workspaceFrom } from '../shared/arguments';
import type { CommandHandler } from '../shared/context';
import { confirm } from '../shared/dialogs';
import {
  type PickQuestion,
  type TextQuestion,
  askInTurn,
  askOne,
  folderQuestion,
  pickQuestion,
  textQuestion,
} from '../shared/questions';

/** An item with where it is. */
interface Found {
  readonly workspace: string;
  readonly item: InboxItem;
}

const isPending = ({ item }: Found): boolean => item.status === 'pending';
const isProcessing = ({ item }: Found): boolean => item.status === 'processing';
const isOpen = (found: Found): boolean => isPending(found) || isProcessing(found);

/** The item that an argument names: a row, or a reference. Arguments come from anywhere. */
function namedItem(model: InboxModel, argument: unknown): Found | undefined {
  const workspace = workspaceFrom(argument);
  const id = (argument as { id?: unknown } | undefined)?.id;
  if (workspace === undefined || typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > MAX_ITEM_ID)
    return undefined;
  return { workspace, item: unwrap(model.inbox.item(workspace, id)) };
}

/** What may be chosen where no row was: what is open, and the newest of what is finished. */
function everyItem(model: InboxModel): Found[] {
  const ended = model.workspaces().flatMap((workspace) => {
    const read = model.finished(workspace, 50);
    return read.ok ? read.value.items.map((item) => ({ workspace, item })) : [];
  });
  return [...model.open(), ...ended];
}

/** Which item is meant, of those that a command can act on. */
async function whichItem(
  model: InboxModel,
  title: string,
  fits: (found: Found) => boolean,
): Promise<PickQuestion<Found>> {
  await model.look();
  const fitting = everyItem(model).filter(fits);
  if (fitting.length === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No item of the agent queue allows this now.'), {
      hint: vscode.l10n.t('Add one with "Atlas: Add to Agent Queue".'),
    });
  const now = model.session.atlas.ports.clock.now();
  const several = new Set(fitting.map(({ workspace }) => workspace)).size > 1;
  const items = fitting.map((value) => ({
    label: itemTitle(value.item, 100),
    description: `#${value.item.id} · ${itemDetails(value.item, now)}`,
    ...(several ? { detail: plain(value.workspace) } : {}),
    value,
  }));
  return { title, placeholder: vscode.l10n.t('Which item?'), items };
}

/** The item that a command is about: its argument's, or one that is asked for. */
async function itemFor(
  model: InboxModel,
  argument: unknown,
  title: string,
  fits: (found: Found) => boolean,
): Promise<Found> {
  return namedItem(model, argument) ?? askOne(await whichItem(model, title, fits));
}

/** Atlas: Add to Agent Queue. */
const addInboxItem: CommandHandler = async (context) => {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const title = vscode.l10n.t('Add to Agent Queue');
  let folder = folders[0]?.uri.fsPath;
  let content = '';
  if (folder === undefined)
    throw new AtlasError('usage', vscode.l10n.t('Open a folder first. Each folder has its own agent queue.'));
  const prompt = vscode.l10n.t('What should an agent do? The next session that asks for work gets this item.');
  const empty = vscode.l10n.t('Enter a description.');
  const askFolder = folderQuestion(title, (chosen) => (folder = chosen));
  const askContent = textQuestion(
    () => ({ title, prompt, value: content, empty }),
    (text) => (content = text),
  );
  await askInTurn(folders.length > 1 ? [askFolder, askContent] : [askContent]);
  const { model } = await context.inbox();
  const workspace = unwrap(await ensureWorkspace(context.session.atlas, folder));
  const added = unwrap(await model.inbox.add(workspace, { content }));
  // A folder gets its workspace with its first task or item.
  if (!context.session.ownWorkspaces().includes(workspace)) await context.session.locatePlaces();
  await model.look();
  vscode.window.setStatusBarMessage(vscode.l10n.t('Added item {0} to the agent queue.', added.id), 4000);
};

/** Atlas: Claim Queue Item. It is this window's until that ends, for a day at most. */
const claimInboxItem: CommandHandler = async (context, argument) => {
  const { model } = await context.inbox();
  const { workspace, item } = await itemFor(model, argument, vscode.l10n.t('Claim Queue Item'), isPending);
  const owner = { process: context.session.atlas.ports.processes.self() };
  const claimed = unwrap(await model.inbox.claim(workspace, item.id, owner, MAX_LEASE_MS));
  await model.look();
  context.panels.openDetails({ kind: 'item', workspace, item: claimed.id });
};

/** Atlas: Complete Queue Item. A person may, whoever claimed it. */
const completeInboxItem: CommandHandler = async (context, argument) => {
  const { model } = await context.inbox();
  const title = vscode.l10n.t('Complete Queue Item');
  let found = namedItem(model, argument);
  let summary = '';
  const askItem =
    found === undefined
      ? [pickQuestion(await whichItem(model, title, isProcessing), (chosen) => (found = chosen))]
      : [];
  const question = (): TextQuestion => {
    const asked = found === undefined ? '' : itemTitle(found.item, 60);
    const prompt = vscode.l10n.t('What is the result of "{0}"? The waiting session gets this answer.', asked);
    return { title, prompt, value: summary, empty: vscode.l10n.t('Enter the result.') };
  };
  await askInTurn([...askItem, textQuestion(question, (text) => (summary = text))]);
  if (found === undefined) return;
  const { workspace, item } = found;
  const { changed } = unwrap(await model.inbox.complete(workspace, item.id, summary));
  await model.look();
  if (!changed) await vscode.window.showInformationMessage(vscode.l10n.t('Item {0} was already done.', item.id));
};

/** Atlas: Cancel Queue Item. */
const cancelInboxItem: CommandHandler = async (context, argument) => {
  const { model } = await context.inbox();
  const { workspace, item } = await itemFor(model, argument, vscode.l10n.t('Cancel Queue Item'), isOpen);
  const question = vscode.l10n.t('Cancel the item "{0}"?', itemTitle(item, 80));
  // The editor's own button for closing is called "Cancel".
  await confirm(question, cancelDetail(item), vscode.l10n.t('Cancel Item'), vscode.l10n.t('Keep Item'));
  unwrap(await model.inbox.cancel(workspace, item.id));
  await model.look();
};

function cancelDetail(item: InboxItem): string {
  const working =
    item.status === 'processing'
      ? vscode.l10n.t('A session is working on it, and is told so when it completes the item.')
      : '';
  const waiting =
    triggerOf(item) === undefined ? '' : vscode.l10n.t("The session that is waiting for the answer won't get one.");
  return [working, waiting, vscode.l10n.t("You can't undo this.")].filter((part) => part !== '').join(' ');
}

/** Atlas: Show Queue Item. */
const showInboxItem: CommandHandler = async (context, argument) => {
  const { model } = await context.inbox();
  const { workspace, item } = await itemFor(model, argument, vscode.l10n.t('Show Queue Item'), () => true);
  context.panels.openDetails({ kind: 'item', workspace, item: item.id });
};

/** Atlas: Resume Session. An observed one, that of an item whose answer it waits for, or the one that an offer names. */
const resumeSession: CommandHandler = async (context, argument) => {
  const { model } = await context.inbox();
  await model.look();
  const isQueue = everyItem(model).some(({ item }) => isResumable(item));
  if (field(argument, 'kind') === 'session' || (argument === undefined && !isQueue)) {
    const { resumeObserved } = await import('../sessions/sessionCommands');
    await resumeObserved(context, argument);
    return;
  }
  const offered = offeredSession(argument);
  if (offered !== undefined) {
    await resumeInTerminal(context.session, offered);
    return;
  }
  const fits = ({ item }: Found): boolean => isResumable(item);
  const { workspace, item } = await itemFor(model, argument, vscode.l10n.t('Resume Session'), fits);
  const trigger = triggerOf(item) ?? item.channel;
  await resumeInTerminal(context.session, { workspace, sessionId: item.session_id, trigger });
};

function offeredSession(argument: unknown): { workspace: string; sessionId: string; trigger: string } | undefined {
  const workspace = workspaceFrom(argument);
  const { sessionId, trigger } = (argument ?? {}) as { sessionId?: unknown; trigger?: unknown };
  if (workspace === undefined || typeof sessionId !== 'string' || typeof trigger !== 'string') return undefined;
  return { workspace, sessionId, trigger };
}

/** Shows one page more of an inbox. */
const showMoreInboxItems: CommandHandler = async (context, argument) => {
  const workspace = workspaceFrom(argument);
  if (workspace === undefined) throw new AtlasError('usage', vscode.l10n.t('Choose the row in the Agent Queue view.'));
  const of = (argument as { of?: unknown }).of === 'open' ? 'open' : 'finished';
  (await context.inbox()).tree.showMore(workspace, of);
};

/** The commands of the inbox by their names. */
export const INBOX_COMMANDS = {
  addInboxItem,
  claimInboxItem,
  completeInboxItem,
  cancelInboxItem,
  showInboxItem,
  showMoreInboxItems,
  resumeSession,
};
