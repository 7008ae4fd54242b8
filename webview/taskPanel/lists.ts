import type { PanelActivity, PanelCheck, TaskPanelModel } from '../../src/protocol/taskPanel';
import { age, localTime } from '../shared/ages';
import { requestKey } from '../shared/buttons';
import { h, type Child, type VNode } from '../shared/dom';

const EVENT_SIGNS: Readonly<Record<PanelActivity['level'], string>> = { info: '·', warning: '⚠', error: '✗' };

/** How much of what happened is shown without a click. */
const ACTIVITY_SHOWN = 8;

/** What the agent said last, beside the last run of each check: result, receipt and files. */
export function checksView(model: TaskPanelModel): Child[] {
  const { agentSaid, strings } = model;
  if (agentSaid === undefined) return [runsView(model)];
  return [h('p', { class: 'agent-said' }, `${strings.agentSaid} `, h('q', {}, agentSaid)), runsView(model)];
}

function runsView({ checks, strings }: TaskPanelModel): VNode {
  if (checks.length === 0) return h('p', { class: 'quiet' }, strings.noChecks);
  return h(
    'ul',
    { class: 'check-list' },
    checks.map((check) => checkView(check, strings)),
  );
}

function checkView(check: PanelCheck, strings: TaskPanelModel['strings']): VNode {
  return h(
    'li',
    { key: check.receiptId, class: `${check.passed ? 'passed' : 'failed'} ${check.isProven ? 'proven' : 'unproven'}` },
    h('span', { class: 'sign', 'aria-hidden': 'true' }, check.passed ? '✓' : '✗'),
    h(
      'button',
      {
        type: 'button',
        class: 'link command',
        title: strings.showReceipt,
        'data-do': requestKey({ kind: 'showReceipt', id: check.receiptId }),
      },
      check.command,
    ),
    h(
      'span',
      { class: 'check-facts' },
      check.facts.map(({ label, text, look }) =>
        h(
          'span',
          { key: label, class: `fact ${look}`, title: label === '' ? undefined : label },
          label === '' ? undefined : h('span', { class: 'hidden' }, `${label}: `),
          text,
        ),
      ),
      age(check.at),
    ),
    check.output === undefined
      ? undefined
      : h(
          'details',
          { class: 'check-output' },
          h('summary', {}, strings.output),
          h('pre', { tabindex: '0' }, check.output),
        ),
  );
}

/** What happened, newest first; `more` names the button that shows all of it. */
export function activityView(
  { activity, strings }: TaskPanelModel,
  { showsAll, language }: { readonly showsAll: boolean; readonly language: string },
  more: string,
): Child[] {
  const shown = showsAll ? activity : activity.slice(0, ACTIVITY_SHOWN);
  return [
    h(
      'ul',
      { class: 'activity-list' },
      shown.map((each) => eventView(each, language)),
    ),
    shown.length === activity.length
      ? undefined
      : h('button', { type: 'button', class: 'link', 'data-do': more }, strings.earlier),
  ];
}

function eventView({ id, at, text, level }: PanelActivity, language: string): VNode {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  const short = localTime(at, language, 'time');
  return h(
    'li',
    { key: id, class: level },
    h(
      'time',
      { datetime: at, title: localTime(at, language) },
      isToday ? short : `${localTime(at, language, 'day')}, ${short}`,
    ),
    h('span', { class: 'sign', 'aria-hidden': 'true' }, EVENT_SIGNS[level]),
    h('span', { dir: 'auto' }, text),
  );
}
