import type { DetailsModel, DetailsRequest } from '../../src/protocol/detailsPanel';
import { age, localTime } from '../shared/ages';
import { requestButton, requestKey } from '../shared/buttons';
import { h, type Child, type VNode } from '../shared/dom';
import { failureViews } from '../shared/failure';
import { noticeView } from '../shared/notices';
import type { PageState } from '../shared/page';

/** What the page is drawn from. */
export interface DetailsViewState extends PageState<DetailsModel> {
  readonly language: string;
}

/** The whole page; `data-do` carries the request of what can be clicked. */
export function detailsView(state: DetailsViewState): Child[] {
  const { model } = state;
  const alerts = failureViews(state.unavailable, state.failure, model?.strings.dismiss);
  if (model === undefined) return alerts;
  return [
    header(model),
    ...alerts,
    model.notices.length === 0
      ? undefined
      : h(
          'section',
          { key: 'notices', 'aria-label': model.strings.notices, class: 'notices' },
          model.notices.map((each) => noticeView(each)),
        ),
    actionsView(model, state.busy),
    factsView(model, state.language),
    ...model.texts.map(textView),
    filesView(model),
  ];
}

function header(model: DetailsModel): VNode {
  const { standing, at } = model;
  return h(
    'header',
    { key: 'header' },
    h('h1', { dir: 'auto' }, model.title),
    h(
      'div',
      { class: 'standing' },
      h('span', { class: 'quiet' }, model.kindLabel),
      standing === undefined ? undefined : h('span', { class: `state ${standing.look}` }, standing.label),
      at === undefined ? undefined : h('time', { datetime: at }, age(at)),
    ),
  );
}

function actionsView({ actions, strings }: DetailsModel, busy: ReadonlySet<string>): VNode | undefined {
  if (actions.length === 0) return undefined;
  return h(
    'section',
    { key: 'actions', class: 'actions', 'aria-label': strings.actions, tabindex: '-1' },
    h(
      'div',
      { class: 'buttons' },
      actions.map(({ id, ...look }) => {
        const request: DetailsRequest = { kind: 'run', action: id };
        return requestButton(request, { ...look, working: strings.working, busy: busy.has(requestKey(request)) });
      }),
    ),
  );
}

function factsView({ facts }: DetailsModel, language: string): VNode | undefined {
  if (facts.length === 0) return undefined;
  return h(
    'dl',
    { key: 'facts', class: 'fact-list' },
    facts.map(({ label, text, at }) => [
      h('dt', { key: `${label}-label` }, label),
      h(
        'dd',
        { key: label, dir: 'auto' },
        at === undefined ? text : h('time', { datetime: at, title: at }, localTime(at, language), ' (', age(at), ')'),
      ),
    ]),
  );
}

function textView({ label, text, isCode }: DetailsModel['texts'][number], index: number): VNode {
  const id = `text-${index}`;
  return h(
    'section',
    { key: id, 'aria-labelledby': id },
    h('h2', { id }, label),
    isCode ? h('pre', { tabindex: '0' }, text) : h('blockquote', { class: 'words', dir: 'auto' }, text),
  );
}

function filesView({ files, strings }: DetailsModel): VNode | undefined {
  if (files === undefined) return undefined;
  return h(
    'section',
    { key: 'files', 'aria-labelledby': 'files-heading' },
    h('h2', { id: 'files-heading' }, files.heading),
    h('p', { class: 'quiet' }, files.summary),
    h(
      'ul',
      { class: 'files' },
      files.rows.map(({ path, detail, opens }) =>
        h(
          'li',
          { key: path },
          opens
            ? h(
                'button',
                {
                  type: 'button',
                  class: 'link path',
                  title: strings.openFile,
                  'data-do': requestKey({ kind: 'openFile', path }),
                },
                path,
              )
            : h('span', { class: 'path' }, path),
          h('span', { class: 'quiet' }, detail),
        ),
      ),
    ),
  );
}
