import type { ReceiptsPanelModel, ReceiptsPanelRequest } from '../../src/protocol/receiptsPanel';
import { requestButton, requestKey } from '../shared/buttons';
import { type Child, type VNode, h } from '../shared/dom';
import { failureViews } from '../shared/failure';
import { PAGE_ROWS, filled, isEmpty, matching } from './rows';
import { resultSign, standingSign, tableView } from './table';
import type { ReceiptsViewState } from './viewState';

/** The whole page; `data-do` carries the request or the local action of what can be clicked. */
export function receiptsView(state: ReceiptsViewState): Child[] {
  const { model } = state;
  const alerts = failureViews(state.unavailable, state.failure, model?.strings.dismiss);
  if (model === undefined) return alerts;
  return [
    header(model),
    ...alerts,
    actionsView(model, state.busy),
    h(
      'div',
      { key: 'about', class: 'about quiet' },
      h('p', {}, model.strings.promise),
      h('p', {}, `${model.strings.keys} `, h('span', { class: 'outside' }, model.keys)),
    ),
    ...(model.rows.length === 0 ? [h('p', { key: 'none' }, model.strings.none)] : listView(state, model)),
  ];
}

function header(model: ReceiptsPanelModel): VNode {
  return h(
    'header',
    { key: 'header' },
    h('h1', {}, model.title),
    h('p', { class: 'quiet place' }, model.place),
    h(
      'ul',
      { class: 'counts' },
      model.results
        .filter(({ count }) => count > 0)
        .map(({ result, label, count }) =>
          h('li', { key: result, class: `result ${result}` }, resultSign(result === 'failed'), `${label}: ${count}`),
        ),
      model.counts
        .filter(({ count }) => count > 0)
        .map(({ standing, label, count }) =>
          h('li', { key: standing, class: `standing ${standing}` }, standingSign(standing), `${label}: ${count}`),
        ),
      model.outdated === undefined ? undefined : h('li', { key: 'outdated' }, model.outdated),
    ),
  );
}

function actionsView(model: ReceiptsPanelModel, busy: ReadonlySet<string>): VNode {
  const { strings } = model;
  const button = (request: ReceiptsPanelRequest, label: string, rank: string, checking = false): VNode =>
    requestButton(request, {
      label,
      rank,
      working: request.kind === 'verifyAll' ? strings.checking : strings.working,
      busy: checking || busy.has(requestKey(request)),
    });
  const some = model.rows.length > 0;
  return h(
    'section',
    { key: 'actions', 'aria-label': strings.actions, class: 'actions', tabindex: '-1' },
    h(
      'div',
      { class: 'buttons' },
      some ? button({ kind: 'verifyAll' }, strings.verifyAll, 'primary', model.checking) : undefined,
      some ? button({ kind: 'export' }, strings.export, 'secondary') : undefined,
      button({ kind: 'openHookMd' }, strings.openHookMd, 'secondary'),
    ),
  );
}

function listView(state: ReceiptsViewState, model: ReceiptsPanelModel): VNode[] {
  const { strings, rows } = model;
  const found = matching(rows, state.filter);
  const rest = found.length - state.limit;
  return [
    filterView(state, model, found.length),
    h(
      'section',
      { key: 'list', class: 'list', tabindex: '-1', 'aria-label': strings.receipts },
      found.length === 0
        ? h('p', { key: 'empty' }, strings.noMatch)
        : tableView(found.slice(0, state.limit), state, model),
      rest <= 0
        ? undefined
        : h(
            'button',
            { key: 'more', type: 'button', class: 'secondary', 'data-do': 'more' },
            filled(strings.more, Math.min(rest, PAGE_ROWS)),
          ),
    ),
  ];
}

/** The controls' own state is set after the page is drawn: what a person has typed is no attribute. */
function filterView(
  state: ReceiptsViewState,
  { strings, rows, results, counts }: ReceiptsPanelModel,
  found: number,
): VNode {
  const offered = counts.filter(({ standing, count }) => count > 0 || standing === state.filter.standing);
  return h(
    'div',
    { key: 'filter', class: 'filter', role: 'search', 'aria-label': strings.filter },
    h('input', {
      type: 'search',
      'data-filter': 'text',
      'aria-label': strings.filterText,
      placeholder: strings.filterHint,
      maxlength: '1000',
      spellcheck: false,
    }),
    selectView('result', strings.columns.result, [
      ['all', strings.allResults],
      ...results.map(({ result, label }) => [result, label] as const),
    ]),
    selectView('standing', strings.columns.standing, [
      ['all', strings.allStandings],
      ...offered.map(({ standing, label }) => [standing, label] as const),
    ]),
    selectView('files', strings.columns.currency, [
      ['all', strings.allFiles],
      ['current', strings.currentFiles],
      ['outdated', strings.outdatedFiles],
    ]),
    isEmpty(state.filter)
      ? undefined
      : h('button', { key: 'clear', type: 'button', class: 'link', 'data-do': 'clear' }, strings.clearFilter),
    h('p', { class: 'shown', role: 'status' }, filled(strings.shown, found, rows.length)),
  );
}

function selectView(name: string, label: string, options: readonly (readonly [value: string, text: string])[]): VNode {
  return h(
    'select',
    { key: name, 'data-filter': name, 'aria-label': label },
    options.map(([value, text]) => h('option', { key: value, value }, text)),
  );
}
