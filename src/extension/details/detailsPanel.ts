import * as vscode from 'vscode';
import { type Result, ok } from '../../core/shared/errors';
import {
  type DetailsModel,
  type DetailsRequest,
  type DetailsSubject,
  type ToDetailsPanel,
  detailsStateSchema,
  fromDetailsPanelSchema,
} from '../../protocol/detailsPanel';
import { restoreSource } from '../checkpoints/restoreDetails';
import { checkpointSource } from '../checkpoints/checkpointDetails';
import { itemSource } from '../inbox/itemDetails';
import { type Filling, NOT_SHOWN, Panel, type PanelHost, type PanelKind, Panels, tabTitle } from '../shared/panel';
import { workerSource } from '../workers/workerDetails';
import type { Details, DetailsSource, DetailsSources } from './detailsSource';

const KIND: PanelKind<DetailsRequest> = { page: 'detailsPanel', name: 'Details', messages: fromDetailsPanelSchema };

/** All open details panels. */
export type DetailsPanels = Panels<DetailsSubject, DetailsPanel>;

/** Makes the keeper of the details panels. */
export function detailsPanels(viewType: string, host: PanelHost, sources: DetailsSources): DetailsPanels {
  const subjects = {
    viewType,
    title: vscode.l10n.t('Atlas: Details'),
    keyOf: (subject: DetailsSubject) => JSON.stringify(Object.values(subject)),
    kept: (state: unknown) => detailsStateSchema.safeParse(state).data?.subject,
  };
  return new Panels(subjects, (subject, panel) => new DetailsPanel(subject, panel, host, sourceOf(subject, sources)));
}

function sourceOf(subject: DetailsSubject, sources: DetailsSources): DetailsSource {
  switch (subject.kind) {
    case 'checkpoint':
      return checkpointSource(subject, sources);
    case 'restore':
      return restoreSource(subject, sources);
    case 'item':
      return itemSource(subject, sources);
    case 'worker':
      return workerSource(subject, sources);
  }
}

/** The panel of one checkpoint, queue item or worker. Its buttons run the same commands as everywhere. */
class DetailsPanel extends Panel<ToDetailsPanel, DetailsRequest> {
  private shown: Details | undefined;

  constructor(
    private readonly subject: DetailsSubject,
    panel: vscode.WebviewPanel,
    host: PanelHost,
    private readonly source: DetailsSource,
  ) {
    super(panel, KIND, host, source.changes);
  }

  protected async load(): Promise<Result<Filling<ToDetailsPanel>>> {
    const read = await this.source.read();
    if (!read.ok) return read;
    this.shown = read.value;
    const model = modelOf(this.subject, read.value);
    return ok({ title: tabTitle(read.value.tab), messages: [{ type: 'model', model }] });
  }

  protected async perform(request: DetailsRequest): Promise<Result<void>> {
    if (request.kind === 'openFile') {
      const open = this.shown?.files?.rows.find(({ path }) => path === request.path)?.open;
      if (open === undefined) return NOT_SHOWN;
      await open();
      return ok(undefined);
    }
    const action = this.shown?.actions.find(({ command }) => command === request.action);
    if (action === undefined) return NOT_SHOWN;
    if (action.run === undefined) await vscode.commands.executeCommand(action.command, action.argument);
    else await action.run();
    this.refresh();
    return ok(undefined);
  }
}

function modelOf(subject: DetailsSubject, details: Details): DetailsModel {
  const { tab: _, actions, files, ...shown } = details;
  const rows = files?.rows.map(({ path, detail, open }) => ({ path, detail, opens: open !== undefined }));
  return {
    ...shown,
    subject,
    announcement: [details.title, details.standing?.label ?? ''].filter((part) => part !== '').join(': '),
    actions: actions.map(({ command, label, hint, rank }) => ({ id: command, label, hint: hint ?? '', rank })),
    ...(files !== undefined && rows !== undefined && { files: { ...files, rows } }),
    strings: {
      actions: vscode.l10n.t('Actions'),
      notices: vscode.l10n.t('Notices'),
      openFile: vscode.l10n.t('Open file'),
      dismiss: vscode.l10n.t('Dismiss'),
      working: vscode.l10n.t('Working…'),
      timedOut: vscode.l10n.t("The extension doesn't answer. If this continues, reload the window."),
    },
  };
}
