import type { PanelMessage } from '../../src/protocol/panel';
import {
  MAX_OPEN_RECEIPTS,
  type ReceiptDetails,
  type ReceiptsFilter,
  type ReceiptsPanelModel,
  type ReceiptsPanelRequest,
  type ReceiptsPanelState,
  type ToReceiptsPanel,
  receiptsFilterSchema,
  receiptsPanelRequestSchema,
  receiptsPanelStateSchema,
  toReceiptsPanelSchema,
} from '../../src/protocol/receiptsPanel';
import { Page, emptyPage } from '../shared/page';
import { NO_FILTER, PAGE_ROWS, elementId, limitFor, matching } from './rows';
import { receiptsView } from './view';
import type { ReceiptsViewState } from './viewState';

type OwnMessage = Exclude<ToReceiptsPanel, PanelMessage>;

const page = new Page<ReceiptsPanelModel, ReceiptsViewState, OwnMessage, ReceiptsPanelRequest>({
  initial: {
    ...emptyPage(),
    filter: NO_FILTER,
    open: [],
    details: new Map(),
    statements: new Set(),
    limit: PAGE_ROWS,
    language: document.documentElement.lang || 'en',
  },
  view: receiptsView,
  refuge: '.list, .actions',
  messages: toReceiptsPanelSchema,
  requests: receiptsPanelRequestSchema,
  take,
  local,
  drawn: () => {
    fillControls(page.state.filter);
    keep();
  },
});

function take(message: OwnMessage): void {
  switch (message.type) {
    case 'model':
      takeModel(message.model, message.details);
      break;
    case 'details':
      page.show({ details: byKey(message.details) });
      break;
    case 'reveal':
      reveal(message.key);
  }
}

function byKey(details: readonly ReceiptDetails[]): ReadonlyMap<string, ReceiptDetails> {
  return new Map(details.map((each) => [each.key, each]));
}

function takeModel(model: ReceiptsPanelModel, details: readonly ReceiptDetails[]): void {
  const before = page.state.model;
  const keys = new Set(model.rows.map((row) => row.key));
  const open = page.state.open.filter((key) => keys.has(key));
  // What is new stands above: what was drawn stays drawn.
  const added = before === undefined ? 0 : Math.max(0, model.rows.length - before.rows.length);
  const limit = before === undefined ? limitFor(matching(model.rows, page.state.filter), open) : page.state.limit;
  page.show({ model, details: byKey(details), unavailable: undefined, open, limit: limit + added });
  if (open.some((key) => !page.state.details.has(key))) askForDetails();
}

function askForDetails(): void {
  page.send({ kind: 'show', keys: [...page.state.open] });
}

function setOpen(open: readonly string[]): void {
  page.show({ open: open.slice(-MAX_OPEN_RECEIPTS) });
  askForDetails();
}

function reveal(key: string): void {
  const { model, filter, open, limit } = page.state;
  if (model?.rows.some((row) => row.key === key) !== true) return;
  const hidden = !matching(model.rows, filter).some((row) => row.key === key);
  const shown = hidden ? NO_FILTER : filter;
  page.show({ filter: shown, limit: Math.max(limit, limitFor(matching(model.rows, shown), [key])) });
  setOpen([...open.filter((each) => each !== key), key]);
  const toggle = document.getElementById(elementId('toggle', key));
  toggle?.closest('tr')?.scrollIntoView({ block: 'start' });
  toggle?.focus({ preventScroll: true });
}

function local(name: string): boolean {
  const [, what = '', key = ''] = /^([a-z]+):?(.*)$/su.exec(name) ?? [];
  switch (what) {
    case 'toggle':
      toggleRow(key);
      return true;
    case 'statement': {
      const { statements } = page.state;
      const others = [...statements].filter((each) => each !== key);
      page.show({ statements: new Set(statements.has(key) ? others : [...others, key]) });
      return true;
    }
    case 'clear':
      page.show({ filter: NO_FILTER });
      page.element.querySelector<HTMLElement>('[data-filter="text"]')?.focus();
      return true;
    case 'more':
      showMore();
      return true;
    default:
      return false;
  }
}

function toggleRow(key: string): void {
  // Who selects text in a row does not want to open it.
  if (getSelection()?.isCollapsed === false) return;
  const { open } = page.state;
  setOpen(open.includes(key) ? open.filter((each) => each !== key) : [...open, key]);
}

/** The focus goes to the first row that is new: there reading goes on. */
function showMore(): void {
  const drawn = page.element.querySelectorAll('.chevron').length;
  page.show({ limit: page.state.limit + PAGE_ROWS });
  page.element.querySelectorAll<HTMLElement>('.chevron')[drawn]?.focus();
}

function controls(): (HTMLInputElement | HTMLSelectElement)[] {
  return [...page.element.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[data-filter]')];
}

function fillControls(filter: ReceiptsFilter): void {
  for (const control of controls()) {
    const value = filter[control.dataset['filter'] as keyof ReceiptsFilter];
    if (control instanceof HTMLInputElement && typeof value === 'boolean') control.checked = value;
    else if (typeof value === 'string' && control.value !== value) control.value = value;
  }
}

page.element.addEventListener('input', () => {
  const given = controls().map((control) => [
    control.dataset['filter'],
    control instanceof HTMLInputElement && control.type === 'checkbox' ? control.checked : control.value,
  ]);
  const filter = receiptsFilterSchema.safeParse(Object.fromEntries(given));
  if (filter.success) page.show({ filter: filter.data, limit: PAGE_ROWS });
});

let kept: readonly unknown[] = [];

function keep(): void {
  const { model, filter, open } = page.state;
  if (model === undefined || (kept[0] === filter && kept[1] === open)) return;
  kept = [filter, open];
  page.host.setState({ ref: model.ref, filter, open: [...open] } satisfies ReceiptsPanelState);
}

const restored = receiptsPanelStateSchema.safeParse(page.host.getState());
if (restored.success) page.show({ filter: restored.data.filter, open: restored.data.open });
page.open();
