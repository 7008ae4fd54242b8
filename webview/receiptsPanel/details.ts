import type {
  ReceiptDetails,
  ReceiptFact,
  ReceiptGroup,
  ReceiptRow,
  ReceiptsPanelRequest,
  ReceiptsPanelStrings,
} from '../../src/protocol/receiptsPanel';
import { age, localTime } from '../shared/ages';
import { requestButton, requestKey } from '../shared/buttons';
import { type Part, type VNode, h } from '../shared/dom';

/** What the details are drawn for beside the receipt. */
export interface DetailsLook {
  readonly strings: ReceiptsPanelStrings;
  readonly language: string;
  readonly busy: ReadonlySet<string>;
  readonly showsStatement: boolean;
}

/** A receipt line by line. */
export function detailsView(row: ReceiptRow, details: ReceiptDetails | undefined, look: DetailsLook): Part {
  const { strings } = look;
  if (details === undefined) return h('p', { class: 'quiet', 'aria-busy': 'true' }, strings.loading);
  return [
    h('h2', {}, strings.checks),
    checksView(details, look),
    h(
      'div',
      { class: 'buttons tools' },
      button({ kind: 'verify', key: row.key }, strings.verify, look),
      details.outputs.map((output) =>
        output.missing === undefined
          ? button({ kind: 'openOutput', key: row.key, stream: output.stream }, output.label, look)
          : missingOutput(output.label, output.missing),
      ),
    ),
    details.groups.map((group) => groupView(group, look)),
    details.statement === undefined ? undefined : statementView(row, details.statement, look),
  ];
}

function button(request: ReceiptsPanelRequest, label: string, { strings, busy }: DetailsLook): VNode {
  return requestButton(request, { label, rank: 'link', working: strings.working, busy: busy.has(requestKey(request)) });
}

/** It stays in the order of Tab, so that its reason is found there too. */
function missingOutput(label: string, reason: string): VNode {
  return h(
    'span',
    { key: label, class: 'missing' },
    h('button', { type: 'button', class: 'link', 'aria-disabled': 'true', title: reason }, label),
    h('span', { class: 'quiet' }, ` ${reason}`),
  );
}

function checksView(details: ReceiptDetails, { strings }: DetailsLook): Part {
  if (details.checks.length === 0) return h('p', { class: 'quiet' }, strings.notChecked);
  return [
    h(
      'ul',
      { class: 'checks' },
      details.checks.map((check) =>
        h(
          'li',
          { key: check.label, class: check.passed ? 'passed' : 'not-passed' },
          h('span', { class: 'sign', 'aria-hidden': 'true' }, check.passed ? '✓' : '✗'),
          h(
            'div',
            {},
            h('span', { class: 'hidden' }, `${check.passed ? strings.passed : strings.notPassed}: `),
            h('strong', {}, check.label),
            ' ',
            h('span', { class: 'outside' }, check.message),
            comparisonView(check, strings),
          ),
        ),
      ),
    ),
    details.notLookedAt === undefined ? undefined : h('p', { class: 'quiet' }, details.notLookedAt),
  ];
}

function comparisonView(check: ReceiptDetails['checks'][number], strings: ReceiptsPanelStrings): Part {
  const { expected, found, differences } = check;
  const facts: ReceiptFact[] = [
    ...(expected === undefined ? [] : [{ label: strings.expected, text: expected, look: 'block' as const }]),
    ...(found === undefined ? [] : [{ label: strings.found, text: found, look: 'block' as const }]),
  ];
  return [
    facts.length === 0 ? undefined : factsView(facts, ''),
    differences.length === 0 ? undefined : differencesView(differences, strings),
  ];
}

function differencesView(
  differences: ReceiptDetails['checks'][number]['differences'],
  strings: ReceiptsPanelStrings,
): VNode {
  const head = [strings.field, strings.expected, strings.found];
  return h(
    'div',
    { class: 'wide', tabindex: '0', role: 'group', 'aria-label': strings.differences },
    h(
      'table',
      { class: 'differences' },
      h('caption', {}, strings.differences),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head.map((label) => h('th', { scope: 'col' }, label)),
        ),
      ),
      h(
        'tbody',
        {},
        differences.map((each) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, h('code', {}, each.field)),
            h('td', {}, h('code', {}, each.expected)),
            h('td', {}, h('code', {}, each.found)),
          ),
        ),
      ),
    ),
  );
}

function groupView(group: ReceiptGroup, { language }: DetailsLook): VNode {
  return h(
    'div',
    { key: group.id, class: `group ${group.id}` },
    h('h2', {}, group.heading),
    factsView(group.facts, language),
    group.lists.map((list) =>
      h(
        'div',
        { key: list.label, class: 'files' },
        h('h3', {}, list.label),
        h(
          'ul',
          {},
          list.paths.map((path) => h('li', {}, h('code', {}, path))),
          list.more === undefined ? undefined : h('li', { class: 'quiet' }, list.more),
        ),
      ),
    ),
  );
}

function factsView(facts: readonly ReceiptFact[], language: string): VNode {
  return h(
    'dl',
    { class: 'lines' },
    facts.map((fact) => h('div', { key: fact.label }, h('dt', {}, fact.label), h('dd', {}, factText(fact, language)))),
  );
}

function factText({ label, text, look }: ReceiptFact, language: string): Part {
  switch (look) {
    case 'text':
      return h('span', { class: 'outside' }, text);
    case 'mono':
      return h('code', {}, text);
    case 'block':
      return scrolling(label, text);
    case 'time':
      return h('time', { datetime: text }, `${localTime(text, language)} (${text}), `, age(text));
  }
}

/** A long text scrolls by itself, with the keyboard too. */
function scrolling(label: string, text: string): VNode {
  return h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, text);
}

function statementView(row: ReceiptRow, statement: string, { strings, showsStatement }: DetailsLook): VNode {
  return h(
    'div',
    { key: 'statement', class: 'group statement' },
    h(
      'h2',
      {},
      h(
        'button',
        {
          type: 'button',
          class: 'link',
          'data-do': `statement:${row.key}`,
          'aria-expanded': String(showsStatement),
        },
        h('span', { 'aria-hidden': 'true' }, showsStatement ? '▾ ' : '▸ '),
        strings.statement,
      ),
    ),
    showsStatement ? scrolling(strings.statement, statement) : undefined,
  );
}
