import {
  type DetailsModel,
  type DetailsRequest,
  type ToDetailsPanel,
  detailsRequestSchema,
  toDetailsPanelSchema,
} from '../../src/protocol/detailsPanel';
import type { PanelMessage } from '../../src/protocol/panel';
import { Page, emptyPage } from '../shared/page';
import { type DetailsViewState, detailsView } from './view';

const page = new Page<DetailsModel, DetailsViewState, Exclude<ToDetailsPanel, PanelMessage>, DetailsRequest>({
  initial: { ...emptyPage(), language: document.documentElement.lang || 'en' },
  view: detailsView,
  refuge: '.actions',
  messages: toDetailsPanelSchema,
  requests: detailsRequestSchema,
  take: ({ model }) => {
    page.host.setState({ subject: model.subject });
    page.show({ model, unavailable: undefined });
  },
});

page.open();
