import type { HookPanelModel, HookPanelNotice, HookPanelRequest } from '../../src/protocol/hookPanel';
import { age } from '../shared/ages';
import { h, type Child, type VNode } from '../shared/dom';
import { documentView } from '../shared/documentView';
import { timelineView } from './timeline';

/** A text that went wrong, for a person. */
export interface Failure {
  readonly message: string;
  readonly mend: string | undefined;
}

/** What the page is drawn from. */
export interface HookViewState {
  readonly model: HookPanelModel | undefined;
  /** Why the task can't be read now. */
  readonly unavailable: Failure | undefined;
  /** Why the last request came to nothing. */
  readonly failure: Failure | undefined;
  /** The requests that are under way, by `keyOf`. */
  readonly busy: ReadonlySet<string>;
  readonly width: number;
  readonly language: string;
  readonly currentMark: string | undefined;
}

/** A request's name, so that the same one is not sent twice at a time. */
export function keyOf(request: HookPanelRequest): string {
  return JSON.stringify(request);
}

/** The whole page; `data-do` carries the request of what can be clicked. */
export function hookView(state: HookViewState): Child[] {
  const { model, unavailable } = state;
  const alerts = [failureView(unavailable, undefined), failureView(state.failure, model?.strings.dismiss)];
  if (model === undefined) return alerts.filter((alert) => alert !== undefined);
  const { strings } = model;
  return [
    header(model),
    ...alerts.filter((alert) => alert !== undefined),
    noticesView(model),
    actionsView(model, state.busy),
    section(
      'timeline',
      strings.timeline,
      timelineView(model, {
        width: state.width,
        language: state.language,
        current: state.currentMark,
        act: (mark) => keyOf({ kind: 'showCheckpoint', id: mark.id }),
      }),
    ),
    section('files', strings.files, [filesView(model)]),
    section('document', strings.document, [
      h(
        'article',
        { class: 'document' },
        documentView(model.document, (href) => keyOf({ kind: 'openLink', href })),
      ),
    ]),
  ];
}

function section(id: string, heading: string, children: readonly Child[]): VNode {
  return h(
    'section',
    { key: id, class: id, 'aria-labelledby': `${id}-heading` },
    h('h2', { id: `${id}-heading` }, heading),
    children,
  );
}

function header(model: HookPanelModel): VNode {
  return h(
    'header',
    { key: 'header' },
    h('h1', {}, model.title),
    h(
      'p',
      { class: 'standing' },
      h('span', { class: `state ${model.state}` }, model.stateLabel),
      h(
        'span',
        { class: 'quiet' },
        `${model.strings.updated} `,
        h('time', { datetime: model.updatedAt }, age(model.updatedAt)),
      ),
    ),
    h(
      'dl',
      { class: 'facts' },
      model.facts.map((fact) => h('div', { key: fact.label }, h('dt', {}, fact.label), h('dd', {}, fact.text))),
    ),
  );
}

function failureView(failure: Failure | undefined, dismiss: string | undefined): VNode | undefined {
  if (failure === undefined) return undefined;
  return h(
    'div',
    { key: dismiss === undefined ? 'unavailable' : 'failure', class: 'notice error', role: 'alert' },
    h('p', {}, failure.message, failure.mend === undefined ? undefined : ` ${failure.mend}`),
    dismiss === undefined
      ? undefined
      : h('button', { type: 'button', class: 'secondary', 'data-do': 'dismiss' }, dismiss),
  );
}

const SIGNS: Readonly<Record<HookPanelNotice['level'], string>> = { info: 'ℹ', warning: '⚠', error: '✖' };

function noticesView(model: HookPanelModel): VNode {
  return h(
    'section',
    { key: 'notices', 'aria-label': model.strings.notices, class: 'notices' },
    model.notices.map((notice) =>
      h(
        'div',
        { key: notice.id, class: `notice ${notice.level}` },
        h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[notice.level]),
        h('p', {}, notice.text, notice.at === undefined ? undefined : [' (', age(notice.at), ')']),
      ),
    ),
  );
}

function actionsView(model: HookPanelModel, busy: ReadonlySet<string>): VNode {
  const { strings } = model;
  const button = (request: HookPanelRequest, label: string, rank: string, hint?: string): VNode => {
    const key = keyOf(request);
    const running = busy.has(key);
    return h(
      'button',
      {
        key,
        type: 'button',
        class: rank,
        title: hint,
        'data-do': key,
        'aria-disabled': running ? 'true' : undefined,
        'aria-busy': running ? 'true' : undefined,
      },
      running ? strings.working : label,
    );
  };
  return h(
    'section',
    { key: 'actions', 'aria-label': strings.actions, class: 'actions', tabindex: '-1' },
    h(
      'div',
      { class: 'buttons' },
      model.actions.map(({ action, recovery, label, hint, rank }) =>
        button(recovery === undefined ? { kind: 'run', action } : { kind: 'run', action, recovery }, label, rank, hint),
      ),
    ),
    h(
      'div',
      { class: 'buttons tools' },
      button({ kind: 'openSource' }, strings.openSource, 'link'),
      button({ kind: 'copy', what: 'synopsis' }, strings.copySynopsis, 'link'),
      button({ kind: 'copy', what: 'path' }, strings.copyPath, 'link'),
    ),
  );
}

function filesView(model: HookPanelModel): VNode {
  if (model.files.length === 0) return h('p', { class: 'quiet' }, model.strings.noFiles);
  return h(
    'ul',
    { class: 'drift' },
    model.files.map((file) =>
      h(
        'li',
        { key: file.path, class: file.kind },
        h(
          'button',
          {
            type: 'button',
            class: 'link path',
            title: model.strings.openFile,
            'data-do': keyOf({ kind: 'openFile', path: file.path }),
          },
          file.path,
        ),
        h('span', { class: 'kind' }, file.label),
      ),
    ),
  );
}
