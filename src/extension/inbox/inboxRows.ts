import * as vscode from 'vscode';
import type { AtlasError } from '../../core/shared/errors';
import { type InboxItem, type InboxStatus, isFinished, triggerOf } from '../../core/inbox/inbox';
import { plainLines } from '../../core/shared/text';
import { explain } from '../../core/shared/errors';
import { plain } from '../shared/messages';
import { ageOf } from '../shared/ages';
import { type Look, themeIcon } from '../shared/stateLook';
import { appendPlain, tooltipLines } from '../shared/tooltip';

/** What a row of the Inbox view stands for. Commands get these as arguments, and check them again. */
export type InboxNode =
  | { readonly kind: 'workspace'; readonly workspace: string }
  | { readonly kind: 'item'; readonly workspace: string; readonly id: number; readonly ended: boolean }
  | { readonly kind: 'damaged'; readonly workspace: string; readonly name: string }
  | { readonly kind: 'finished'; readonly workspace: string }
  | { readonly kind: 'more'; readonly workspace: string; readonly of: 'open' | 'finished'; readonly shown: number };

/** A stable id of a row, so that it stays open and selected over a refresh. */
export function nodeId(node: InboxNode): string {
  switch (node.kind) {
    case 'workspace':
    case 'finished':
      return `inbox:${node.kind}:${node.workspace}`;
    case 'item':
      return `inbox:item:${node.workspace}/${node.id}:${node.ended ? 'finished' : 'open'}`;
    case 'damaged':
      return `inbox:damaged:${node.workspace}/${node.name}`;
    case 'more':
      return `inbox:more:${node.workspace}:${node.of}:${node.shown}`;
  }
}

const LOOKS = {
  pending: { icon: 'mail' },
  processing: { icon: 'play-circle', color: 'charts.blue' },
  done: { icon: 'pass', color: 'charts.green' },
  cancelled: { icon: 'circle-slash' },
} as const satisfies Record<InboxStatus, Look>;

/** A status in words. */
export const STATUS_LABELS = {
  pending: vscode.l10n.t('pending'),
  processing: vscode.l10n.t('in progress'),
  done: vscode.l10n.t('done'),
  cancelled: vscode.l10n.t('cancelled'),
} satisfies Record<InboxStatus, string>;

/** The first line of what an item asks that says something, as plain text. */
export function itemTitle({ id, content }: Pick<InboxItem, 'id' | 'content'>, max = 200): string {
  for (const line of plainLines(content).split('\n', 50)) {
    const title = plain(line, max);
    if (title !== '') return title;
  }
  return vscode.l10n.t('Item {0}', id);
}

/** Where an item comes from and how it stands, as a description. */
export function itemDetails(item: InboxItem, now: number): string {
  const age = ageOf(item.processed_at ?? item.created_at, now);
  // A trigger's sender says no more than its channel, and a side bar is narrow.
  const from = item.sender === `trigger:${item.channel}` ? [item.channel] : [item.channel, item.sender];
  return plain([...from, age, STATUS_LABELS[item.status]].join(' · '));
}

/** Whether a session waits for an item's answer, and can be resumed with it. */
export function isResumable(item: InboxItem): boolean {
  return item.status === 'done' && item.session_id !== undefined && triggerOf(item) !== undefined;
}

function row(node: InboxNode, label: string, collapsible = vscode.TreeItemCollapsibleState.None): vscode.TreeItem {
  const item = new vscode.TreeItem(label, collapsible);
  item.id = nodeId(node);
  return item;
}

/** The row of an item. */
export function itemRow(node: InboxNode & { kind: 'item' }, item: InboxItem, now: number): vscode.TreeItem {
  const title = itemTitle(item);
  const shown = row(node, title);
  shown.description = itemDetails(item, now);
  shown.iconPath = themeIcon(LOOKS[item.status]);
  shown.contextValue = ['inboxItem', item.status, ...(isResumable(item) ? ['resumable'] : [])].join(' ');
  shown.command = { command: 'atlas.showInboxItem', title: vscode.l10n.t('Show Queue Item'), arguments: [node] };
  shown.accessibilityInformation = {
    label: plain([vscode.l10n.t('Item {0}', item.id), title, shown.description].join(', '), 500),
  };
  return shown;
}

/** The row of what can't be used: it is there, and says what to do. */
export function damagedRow(node: InboxNode & { kind: 'damaged' }, error: AtlasError): vscode.TreeItem {
  const shown = row(node, plain(node.name));
  shown.description = vscode.l10n.t('damaged');
  shown.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
  shown.contextValue = 'damagedInbox';
  shown.tooltip = explain(error);
  shown.command = { command: 'atlas.runDoctor', title: vscode.l10n.t('Run Doctor'), arguments: [node] };
  return shown;
}

/** The row of a workspace, of its finished items, or of more of a long list. */
export function groupRow(
  node: InboxNode & { kind: 'workspace' | 'finished' | 'more' },
  count: number,
): vscode.TreeItem {
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  if (node.kind === 'more') {
    const shown = row(node, vscode.l10n.t('Show {0} More…', count));
    shown.command = { command: 'atlas.showMoreInboxItems', title: vscode.l10n.t('Show More'), arguments: [node] };
    return shown;
  }
  if (node.kind === 'finished') {
    const shown = row(node, vscode.l10n.t('Finished'), Collapsed);
    shown.description = String(count);
    shown.iconPath = new vscode.ThemeIcon('archive');
    return shown;
  }
  const shown = row(node, plain(node.workspace), Expanded);
  shown.description = count === 0 ? '' : vscode.l10n.t('{0} pending', count);
  shown.iconPath = new vscode.ThemeIcon('repo');
  return shown;
}

/** As many characters of a content as a tooltip shows. */
const TOOLTIP = 1000;

/** The Markdown of an item's tooltip, made when it is asked for. Texts from outside are escaped. */
export function itemTooltip(item: InboxItem): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, false);
  appendPlain(text, item.content, TOOLTIP);
  text.appendMarkdown('\n\n');
  const line = tooltipLines(text);
  line(vscode.l10n.t('Item'), String(item.id));
  line(vscode.l10n.t('Status'), STATUS_LABELS[item.status]);
  line(vscode.l10n.t('Channel'), item.channel);
  line(vscode.l10n.t('Sender'), item.sender);
  line(vscode.l10n.t('Added'), item.created_at);
  line(vscode.l10n.t('Finished'), item.processed_at);
  line(vscode.l10n.t('Claimed until'), isFinished(item.status) ? undefined : item.claim?.until);
  line(vscode.l10n.t('Waiting for the answer'), triggerOf(item));
  line(vscode.l10n.t('Answer'), item.response_summary);
  return text;
}
