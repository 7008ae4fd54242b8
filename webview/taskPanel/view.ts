import type { TaskPanelAction, TaskPanelModel, TaskPanelNotice, TaskPanelRequest } from '../../src/protocol/taskPanel';
import { age } from '../shared/ages';
import { requestButton, requestKey } from '../shared/buttons';
import { h, type Child, type VNode } from '../shared/dom';
import { documentView } from '../shared/documentView';
import { failureViews } from '../shared/failure';
import type { PageState } from '../shared/page';
import { timelineView } from './timeline';

/** What the page is drawn from. */
export interface HookViewState extends PageState<TaskPanelModel> {
  readonly width: number;
  readonly language: string;
  readonly currentMark: string | undefined;
}

/** The whole page; `data-do` carries the request of what can be clicked. */
export function hookView(state: HookViewState): Child[] {
  const { model } = state;
  const alerts = failureViews(state.unavailable, state.failure, model?.strings.dismiss);
  if (model === undefined) return alerts;
  const { strings } = model;
  return [
    header(model),
    ...alerts,
    noticesView(model),
    actionsView(model, state.busy),
    section(
      'timeline',
      strings.timeline,
      timelineView(model, {
        width: state.width,
        language: state.language,
        current: state.currentMark,
        act: (mark) => requestKey({ kind: 'showCheckpoint', id: mark.id }),
      }),
    ),
    section('files', strings.files, [filesView(model)]),
    section('document', strings.document, [
      h(
        'article',
        { class: 'document' },
        documentView(model.document, (href) => requestKey({ kind: 'openLink', href })),
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

function header(model: TaskPanelModel): VNode {
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

const SIGNS: Readonly<Record<TaskPanelNotice['level'], string>> = { info: 'ℹ', warning: '⚠', error: '✖' };

function noticesView(model: TaskPanelModel): VNode {
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

function actionsView(model: TaskPanelModel, busy: ReadonlySet<string>): VNode {
  const { strings } = model;
  const button = (request: TaskPanelRequest, label: string, rank: string, hint?: string): VNode =>
    requestButton(request, { label, rank, hint, working: strings.working, busy: busy.has(requestKey(request)) });
  const actionButton = ({ action, recovery, label, hint, rank }: TaskPanelAction): VNode =>
    button(recovery === undefined ? { kind: 'run', action } : { kind: 'run', action, recovery }, label, rank, hint);
  const isShown = ({ rank }: TaskPanelAction): boolean => rank === 'primary' || rank === 'secondary';
  const others = model.actions.filter((each) => !isShown(each));
  return h(
    'section',
    { key: 'actions', 'aria-label': strings.actions, class: 'actions', tabindex: '-1' },
    h(
      'div',
      { class: 'buttons' },
      model.actions.filter(isShown).map(actionButton),
      others.length === 0
        ? undefined
        : h(
            'details',
            { key: 'more', class: 'more' },
            h('summary', { title: strings.moreActions, 'aria-label': strings.moreActions }, '⋯'),
            h('div', { class: 'menu' }, others.map(actionButton)),
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

function filesView(model: TaskPanelModel): VNode {
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
            'data-do': requestKey({ kind: 'openFile', path: file.path }),
          },
          file.path,
        ),
        h('span', { class: 'kind' }, file.label),
      ),
    ),
  );
}
