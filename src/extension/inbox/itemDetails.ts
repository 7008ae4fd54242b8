import * as vscode from 'vscode';
import { ok } from '../../core/shared/errors';
import { type InboxItem, type InboxStatus, triggerOf } from '../../core/inbox/inbox';
import { capitalized, plainLines } from '../../core/shared/text';
import type { DetailsModel, DetailsSubject } from '../../protocol/detailsPanel';
import type { Details, DetailsAction, DetailsSource, DetailsSources } from '../details/detailsSource';
import { changesOfLook } from '../shared/panel';
import { STATUS_LABELS, isResumable, itemTitle } from './inboxRows';

type Subject = Extract<DetailsSubject, { kind: 'item' }>;

const LOOKS = {
  pending: 'waiting',
  processing: 'busy',
  done: 'good',
  cancelled: 'plain',
} as const satisfies Record<InboxStatus, NonNullable<DetailsModel['standing']>['look']>;

/** What the panel of a queue item shows. */
export function itemSource({ workspace, item: id }: Subject, { inbox }: DetailsSources): DetailsSource {
  return {
    changes: changesOfLook(async () => (await inbox()).model),
    read: async () => {
      const { model } = await inbox();
      const found = model.inbox.item(workspace, id);
      return found.ok ? ok(detailsOf(workspace, found.value)) : found;
    },
  };
}

function detailsOf(workspace: string, item: InboxItem): Details {
  const title = itemTitle(item);
  const status = STATUS_LABELS[item.status];
  const answer = item.response_summary;
  return {
    tab: vscode.l10n.t('Queue item: {0}', title),
    kindLabel: vscode.l10n.t('Queue item {0}', item.id),
    title,
    standing: { label: capitalized(status), look: LOOKS[item.status] },
    at: item.processed_at ?? item.created_at,
    notices: [],
    actions: vscode.workspace.isTrusted ? actionsOf(workspace, item) : [],
    facts: factsOf(item),
    texts: [
      { label: vscode.l10n.t('Content'), text: plainLines(item.content), isCode: false },
      ...(answer === undefined ? [] : [{ label: vscode.l10n.t('Answer'), text: plainLines(answer), isCode: false }]),
    ],
  };
}

function factsOf(item: InboxItem): Details['facts'] {
  const isClaimed = item.status === 'processing';
  const fact = (label: string, text: string | undefined): Details['facts'] =>
    text === undefined || text === '' ? [] : [{ label, text }];
  const time = (label: string, at: string | undefined): Details['facts'] =>
    at === undefined ? [] : [{ label, text: '', at }];
  return [
    ...fact(vscode.l10n.t('Channel'), item.channel),
    ...fact(vscode.l10n.t('Sender'), item.sender),
    ...time(vscode.l10n.t('Added'), item.created_at),
    ...fact(vscode.l10n.t('Claimed by'), isClaimed ? item.claim?.session_id : undefined),
    ...time(vscode.l10n.t('Claimed until'), isClaimed ? item.claim?.until : undefined),
    ...time(vscode.l10n.t('Finished'), item.processed_at),
    ...fact(vscode.l10n.t('Waiting for the answer'), triggerOf(item)),
    ...fact(vscode.l10n.t('Waiting session'), item.session_id),
  ];
}

function actionsOf(workspace: string, item: InboxItem): DetailsAction[] {
  const argument = { kind: 'item', workspace, id: item.id };
  const isOpen = item.status === 'pending' || item.status === 'processing';
  const action = (is: boolean, label: string, name: string, rank: DetailsAction['rank']): DetailsAction[] =>
    is ? [{ label, rank, command: `atlas.${name}`, argument }] : [];
  return [
    ...action(item.status === 'pending', vscode.l10n.t('Claim'), 'claimInboxItem', 'primary'),
    ...action(item.status === 'processing', vscode.l10n.t('Complete…'), 'completeInboxItem', 'primary'),
    ...action(isResumable(item), vscode.l10n.t('Resume Session'), 'resumeSession', 'primary'),
    ...action(isOpen, vscode.l10n.t('Cancel Item…'), 'cancelInboxItem', 'secondary'),
  ];
}
