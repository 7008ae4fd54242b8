import {
  type TaskPanelModel,
  type TaskPanelRequest,
  type ToTaskPanel,
  taskPanelRequestSchema,
  toTaskPanelSchema,
} from '../../src/protocol/taskPanel';
import type { PanelMessage } from '../../src/protocol/panel';
import { Page, emptyPage } from '../shared/page';
import { attachMarks } from './markKeys';
import { type HookViewState, SHOW_EARLIER, hookView } from './view';

const page = new Page<TaskPanelModel, HookViewState, Exclude<ToTaskPanel, PanelMessage>, TaskPanelRequest>({
  initial: { ...emptyPage(), language: document.documentElement.lang || 'en', currentMark: undefined, showsAll: false },
  view: hookView,
  refuge: '.actions',
  messages: toTaskPanelSchema,
  requests: taskPanelRequestSchema,
  local: (name) => {
    if (name !== SHOW_EARLIER) return false;
    page.show({ showsAll: true });
    return true;
  },
  take: ({ model }) => {
    page.host.setState({ ref: model.ref });
    page.show({ model, unavailable: undefined });
  },
});

attachMarks(page.element, (currentMark) => {
  page.show({ currentMark });
});

page.open();
