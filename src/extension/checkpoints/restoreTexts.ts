import { l10n } from 'vscode';
import type { PlanReason, PlannedPath } from '../../core/snapshot/restorePlan';
import { quotePath } from '../../core/snapshot/treePath';

const reasons = (): Readonly<Record<PlanReason, string>> => ({
  ignored_then: l10n.t('git ignored it then'),
  ignored_now: l10n.t('git ignores it now'),
  left_out_then: l10n.t('the checkpoint left it out'),
  not_checked_out_then: l10n.t('it was not checked out then'),
  in_the_way: l10n.t('something that could not be brought back is in the way'),
  repository: l10n.t('it belongs to another repository'),
  link_above: l10n.t('a folder above it is a link'),
  special: l10n.t('it is not a file'),
  unsafe_name: l10n.t('its name must not be written'),
  unreadable: l10n.t("it can't be read, so it could not be brought back"),
  changed: l10n.t('it changed while this was planned'),
});

function whatHappens({ action, exists }: PlannedPath): string {
  switch (action) {
    case 'write':
      return exists ? l10n.t('replace') : l10n.t('create');
    case 'remove':
      return l10n.t('remove');
    case 'mode':
      return l10n.t('set permissions');
    case 'keep':
      return l10n.t('stays');
    case 'blocked':
      return l10n.t("can't be restored");
  }
}

/** What a restore would do with a path, and why. */
export function planText(path: PlannedPath): string {
  const { reason, by, recent, exists } = path;
  if (reason !== undefined) {
    const other = by === undefined || by === path.path ? '' : ` (${quotePath(by)})`;
    return l10n.t('{0}: {1}', whatHappens(path), `${reasons()[reason]}${other}`);
  }
  return recent && exists ? l10n.t('{0}, changed within the last minute', whatHappens(path)) : whatHappens(path);
}

/** Why a path was left as it is, by the reason that the restore gives. */
export function skippedText(reason: PlanReason | 'denied'): string {
  return reason === 'denied' ? l10n.t('the system refused it') : reasons()[reason];
}
