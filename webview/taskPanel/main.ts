import {
  type TaskPanelModel,
  type TaskPanelRequest,
  type ToTaskPanel,
  taskPanelRequestSchema,
  toTaskPanelSchema,
} from '../../src/protocol/taskPanel';
import type { PanelMessage } from '../../src/protocol/panel';
import { Page, emptyPage } from '../shared/page';
import { attachTimeline } from './timelineKeys';
import { type HookViewState, hookView } from './view';

const MIN_CHART_WIDTH = 220;

const page = new Page<TaskPanelModel, HookViewState, Exclude<ToTaskPanel, PanelMessage>, TaskPanelRequest>({
  initial: { ...emptyPage(), width: 600, language: document.documentElement.lang || 'en', currentMark: undefined },
  view: hookView,
  refuge: '.actions',
  messages: toTaskPanelSchema,
  requests: taskPanelRequestSchema,
  take: ({ model }) => {
    page.host.setState({ ref: model.ref });
    page.show({ model, unavailable: undefined });
  },
});

page.element.addEventListener('keydown', (event) => {
  const onMark = event.target instanceof SVGElement && event.target.dataset['mark'] !== undefined;
  if (onMark && (event.key === 'Enter' || event.key === ' ')) page.onClick(event);
});
attachTimeline(page.element, (currentMark) => {
  page.show({ currentMark });
});
new ResizeObserver(() => {
  const width = Math.max(MIN_CHART_WIDTH, Math.floor(page.element.clientWidth));
  if (width !== page.state.width) page.show({ width });
}).observe(page.element);

page.open();
