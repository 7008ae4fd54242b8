import { type HookPanelRequest, hookPanelRequestSchema, toHookPanelSchema } from '../../src/protocol/hookPanel';
import { showAges, tickAges } from '../shared/ages';
import { RequestError, Requests, hostApi } from '../shared/connection';
import { patch } from '../shared/dom';
import './hook.css';
import { attachTimeline } from './timelineKeys';
import { type HookViewState, hookView, keyOf } from './view';

const MIN_CHART_WIDTH = 220;
const NO_ANSWER = 'The extension does not answer.';

const host = hostApi();
const page = document.createElement('main');
const live = document.createElement('div');
live.className = 'hidden';
live.setAttribute('role', 'status');
document.querySelector('#root')?.append(live, page);

let state: HookViewState = {
  model: undefined,
  unavailable: undefined,
  failure: undefined,
  busy: new Set(),
  width: 600,
  language: document.documentElement.lang || 'en',
  currentMark: undefined,
};

const requests = new Requests<HookPanelRequest>(
  (message) => host.postMessage(message),
  () => state.model?.strings.timedOut ?? NO_ANSWER,
);

function show(change: Partial<HookViewState>): void {
  const focused = document.activeElement;
  const hadFocus = focused instanceof HTMLElement && page.contains(focused);
  const before = state.model?.announcement;
  state = { ...state, ...change };
  patch(page, hookView(state));
  showAges();
  // A button that had the focus and is gone: the next Tab goes on from where it was, not from the top.
  if (hadFocus && !page.contains(focused)) page.querySelector<HTMLElement>('.actions')?.focus({ preventScroll: true });
  const now = state.model?.announcement;
  if (before !== undefined && now !== undefined && before !== now) live.textContent = now;
}

function send(request: HookPanelRequest): void {
  const key = keyOf(request);
  if (state.busy.has(key)) return;
  show({ busy: new Set([...state.busy, key]), failure: undefined });
  const settled = (failure?: HookViewState['failure']): void => {
    show({ busy: new Set([...state.busy].filter((each) => each !== key)), ...(failure && { failure }) });
  };
  requests.send(request).then(
    () => {
      settled();
    },
    (error: unknown) => {
      settled(error instanceof RequestError ? error : { message: NO_ANSWER, mend: undefined });
    },
  );
}

function act(name: string): void {
  if (name === 'dismiss') {
    show({ failure: undefined });
    return;
  }
  const request = hookPanelRequestSchema.safeParse(JSON.parse(name));
  if (request.success) send(request.data);
}

/** Clicks on links end here: the host opens them, and the editor's own handling would open them twice. */
function onClick(event: Event): void {
  const target = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-do]') : null;
  const name = target?.dataset['do'];
  if (name === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  act(name);
}

page.addEventListener('click', onClick);
page.addEventListener('auxclick', onClick);
page.addEventListener('keydown', (event) => {
  const onMark = event.target instanceof SVGElement && event.target.dataset['mark'] !== undefined;
  if (onMark && (event.key === 'Enter' || event.key === ' ')) onClick(event);
});
attachTimeline(page, (currentMark) => {
  show({ currentMark });
});

window.addEventListener('message', (event: MessageEvent<unknown>) => {
  const message = toHookPanelSchema.safeParse(event.data);
  if (!message.success) return;
  switch (message.data.type) {
    case 'model':
      host.setState({ ref: message.data.model.ref });
      show({ model: message.data.model, unavailable: undefined });
      break;
    case 'unavailable':
      show({ unavailable: { message: message.data.message, mend: message.data.mend } });
      break;
    case 'response':
      requests.settle(message.data.response);
  }
});

new ResizeObserver(() => {
  const width = Math.max(MIN_CHART_WIDTH, Math.floor(page.clientWidth));
  if (width !== state.width) show({ width });
}).observe(page);

tickAges();
host.postMessage({ type: 'ready' });
