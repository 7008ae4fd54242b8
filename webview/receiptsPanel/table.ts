import type {
  ReceiptRow,
  ReceiptStanding,
  ReceiptsPanelModel,
  ReceiptsPanelStrings,
} from '../../src/protocol/receiptsPanel';
import { age, localTime } from '../shared/ages';
import { type Part, type VNode, h } from '../shared/dom';
import { detailsView } from './details';
import { elementId, filled } from './rows';
import type { ReceiptsViewState } from './viewState';

/** Each standing has a sign of its own beside its word. A tick or a cross says how the command ended, never this. */
const STANDING_SIGNS: Readonly<Record<ReceiptStanding, string>> = {
  valid: '◆',
  valid_short: '◇',
  invalid: '!',
  unsigned: '–',
  unknown_key: '?',
  unchecked: '…',
};

const CURRENCY_SIGNS: Readonly<Record<ReceiptRow['currency'], string>> = {
  current: '=',
  outdated: '≠',
  unknown: '?',
  unchecked: '…',
};

function sign(text: string): VNode {
  return h('span', { class: 'sign', 'aria-hidden': 'true' }, text);
}

/** The sign of how a command ended; the word has to stand beside it. */
export function resultSign(failed: boolean): VNode {
  return sign(failed ? '✗' : '✓');
}

/** The sign of a standing; the word has to stand beside it. */
export function standingSign(standing: ReceiptStanding): VNode {
  return sign(STANDING_SIGNS[standing]);
}

/** The receipts as a table. Roles are spelled out: the narrow layout would take them from the elements. */
export function tableView(rows: readonly ReceiptRow[], state: ReceiptsViewState, model: ReceiptsPanelModel): VNode {
  const { strings } = model;
  const { details, ...columns } = strings.columns;
  return h(
    'table',
    { key: 'table', class: 'receipts', role: 'table' },
    h('caption', { class: 'hidden' }, strings.receipts),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        h('th', { role: 'columnheader', scope: 'col', class: 'toggle' }, h('span', { class: 'hidden' }, details)),
        Object.entries(columns).map(([name, label]) =>
          h('th', { key: name, role: 'columnheader', scope: 'col', class: name }, label),
        ),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.flatMap((row) => {
        const isOpen = state.open.includes(row.key);
        return [drawnRow(row, isOpen, state, model), ...(isOpen ? [detailsRow(row, state, model)] : [])];
      }),
    ),
  );
}

/** A row is the same for as long as its model is: of a thousand, only those that changed are looked into. */
const drawn = new WeakMap<ReceiptRow, { readonly isOpen: boolean; readonly view: VNode }>();

function drawnRow(row: ReceiptRow, isOpen: boolean, state: ReceiptsViewState, model: ReceiptsPanelModel): VNode {
  const known = drawn.get(row);
  if (known?.isOpen === isOpen) return known.view;
  const view = rowView(row, isOpen, state, model);
  drawn.set(row, { isOpen, view });
  return view;
}

function rowView(row: ReceiptRow, isOpen: boolean, state: ReceiptsViewState, { strings }: ReceiptsPanelModel): VNode {
  const { columns } = strings;
  const cell = (name: keyof typeof columns, content: Part, title?: string, look = ''): VNode =>
    h('td', { role: 'cell', class: `${name} ${look}`, 'data-label': columns[name], title }, content);
  return h(
    'tr',
    {
      key: row.key,
      role: 'row',
      class: `receipt ${row.failed ? 'failed' : 'ended'} ${row.standing === 'valid' ? 'proven' : 'unproven'} ${isOpen ? 'open' : 'closed'}`,
      'data-do': toggleAction(row),
    },
    toggleCell(row, isOpen, strings),
    cell('result', [resultSign(row.failed), h('span', {}, row.result)]),
    cell('standing', [standingSign(row.standing), h('span', {}, row.standingLabel)], row.why, row.standing),
    cell(
      'currency',
      [sign(CURRENCY_SIGNS[row.currency]), h('span', {}, row.currencyLabel)],
      row.currencyHint,
      row.currency,
    ),
    cell('step', [
      h('span', { class: 'outside' }, row.step),
      row.attempt === undefined ? undefined : [' ', h('span', { class: 'quiet attempt' }, row.attempt)],
    ]),
    h(
      'th',
      { role: 'rowheader', scope: 'row', class: 'command', 'data-label': columns.command, title: row.command },
      h('code', {}, row.command),
    ),
    cell('duration', row.duration),
    cell(
      'completed',
      h('time', { datetime: row.completedAt }, age(row.completedAt)),
      `${localTime(row.completedAt, state.language)} (${row.completedAt})`,
    ),
  );
}

function toggleAction(row: ReceiptRow): string {
  return `toggle:${row.key}`;
}

function toggleCell(row: ReceiptRow, isOpen: boolean, strings: ReceiptsPanelStrings): VNode {
  return h(
    'td',
    { role: 'cell', class: 'toggle' },
    h(
      'button',
      {
        type: 'button',
        id: elementId('toggle', row.key),
        class: 'chevron',
        'data-do': toggleAction(row),
        'aria-label': filled(strings.detailsOf, row.id, row.command),
        'aria-expanded': String(isOpen),
        'aria-controls': isOpen ? elementId('details', row.key) : undefined,
      },
      h('span', { 'aria-hidden': 'true' }, isOpen ? '▾' : '▸'),
    ),
  );
}

function detailsRow(row: ReceiptRow, state: ReceiptsViewState, { strings }: ReceiptsPanelModel): VNode {
  const id = elementId('details', row.key);
  const label = filled(strings.detailsOf, row.id, row.command);
  return h(
    'tr',
    { key: `${row.key}/details`, role: 'row', class: 'details' },
    h(
      'td',
      { role: 'cell', colspan: String(Object.keys(strings.columns).length) },
      h(
        'div',
        { id, class: 'sheet', role: 'group', 'aria-label': label },
        detailsView(row, state.details.get(row.key), {
          strings,
          language: state.language,
          busy: state.busy,
          showsStatement: state.statements.has(row.key),
        }),
      ),
    ),
  );
}
