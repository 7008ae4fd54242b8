import type {
  PanelFile,
  TaskNeed,
  TaskPanelAction,
  TaskPanelModel,
  TaskPanelRequest,
  TimedSentence,
} from '../../src/protocol/taskPanel';
import { age, localTime } from '../shared/ages';
import { requestButton, requestKey } from '../shared/buttons';
import { h, type Child, type VNode } from '../shared/dom';
import { documentView } from '../shared/documentView';
import { failureViews } from '../shared/failure';
import { SIGNS, noticeView } from '../shared/notices';
import type { PageState } from '../shared/page';
import { activityView, checksView } from './lists';
import { stepsView } from './steps';

/** What the page is drawn from. */
export interface HookViewState extends PageState<TaskPanelModel> {
  readonly language: string;
  readonly currentMark: string | undefined;
  /** All that happened is shown, not only the newest of it. */
  readonly showsAll: boolean;
}

/** The button that shows all that happened; needs no host. */
export const SHOW_EARLIER = 'showEarlier';

/** The whole page; `data-do` carries the request of what can be clicked. */
export function hookView(state: HookViewState): Child[] {
  const { model } = state;
  const alerts = failureViews(state.unavailable, state.failure, model?.strings.dismiss);
  if (model === undefined) return alerts;
  const { strings } = model;
  const act = (checkpoint: string): string => requestKey({ kind: 'showCheckpoint', id: checkpoint });
  return [
    header(model, state.busy),
    ...alerts,
    noticesView(model),
    h(
      'section',
      { key: 'steps', class: 'steps-section', 'aria-label': strings.steps },
      stepsView(model, { language: state.language, current: state.currentMark, act }),
    ),
    needView(model, state),
    changesView(model, state),
    section('checks', strings.checks, checksView(model)),
    section('activity', strings.activity, activityView(model, state, SHOW_EARLIER)),
    documentSection(model, state.busy),
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

/** A button that asks the host for something; busy while that is under way. */
function button(
  model: TaskPanelModel,
  busy: ReadonlySet<string>,
  request: TaskPanelRequest,
  look: { readonly label: string; readonly rank: string; readonly hint?: string },
): VNode {
  return requestButton(request, { ...look, working: model.strings.working, busy: busy.has(requestKey(request)) });
}

function actionButton(
  model: TaskPanelModel,
  busy: ReadonlySet<string>,
  { action, recovery, ...look }: TaskPanelAction,
): VNode {
  return button(
    model,
    busy,
    recovery === undefined ? { kind: 'run', action } : { kind: 'run', action, recovery },
    look,
  );
}

function isMain({ rank }: TaskPanelAction): boolean {
  return rank === 'primary' || rank === 'secondary';
}

function header(model: TaskPanelModel, busy: ReadonlySet<string>): VNode {
  const { strings } = model;
  // Review Changes stands beside the changes.
  const others = model.actions.filter((each) => !isMain(each) && each.action !== 'reviewChanges');
  return h(
    'header',
    { key: 'header' },
    h(
      'div',
      { class: 'heading' },
      h('h1', { dir: 'auto' }, model.title),
      h(
        'details',
        { key: 'more', class: 'more' },
        h('summary', { title: strings.moreActions, 'aria-label': strings.moreActions }, '⋯'),
        h(
          'div',
          { class: 'menu' },
          others.map((each) => actionButton(model, busy, each)),
          button(model, busy, { kind: 'copy', what: 'path' }, { label: strings.copyPath, rank: 'more' }),
        ),
      ),
    ),
    h(
      'div',
      { class: 'standing' },
      h('span', { class: `state ${model.state}` }, model.stateLabel),
      h('time', { datetime: model.since }, age(model.since)),
      h(
        'ul',
        { class: 'facts quiet' },
        model.facts.map((fact) =>
          h(
            'li',
            { key: fact.label, title: fact.label },
            h('span', { class: 'hidden' }, `${fact.label}: `),
            h('span', { dir: 'auto' }, fact.text),
          ),
        ),
      ),
    ),
  );
}

function noticesView(model: TaskPanelModel): VNode {
  return h(
    'section',
    { key: 'notices', 'aria-label': model.strings.notices, class: 'notices' },
    model.notices.map((notice) => noticeView(notice)),
  );
}

/** A sentence with its time in the reader's own zone, which is said in full where it is pointed at. */
function sentenceView({ text, at }: TimedSentence, language: string, index: number): Child[] {
  const [before = '', after] = text.split('{time}');
  const gap = index === 0 ? '' : ' ';
  if (at === undefined || after === undefined) return [gap, text];
  return [
    gap,
    before,
    h('time', { datetime: at, title: localTime(at, language) }, localTime(at, language, 'time')),
    after,
  ];
}

function needView(model: TaskPanelModel, state: HookViewState): VNode {
  const { need, strings } = model;
  const main = model.actions.filter(isMain);
  return h(
    'section',
    { key: 'need', 'aria-label': strings.now, class: `actions need ${need?.level ?? 'info'}`, tabindex: '-1' },
    need === undefined ? undefined : needText(need, state.language),
    main.length === 0
      ? undefined
      : h(
          'div',
          { class: 'buttons' },
          main.map((each) => actionButton(model, state.busy, each)),
        ),
  );
}

function needText({ level, sentences, quote, output }: TaskNeed, language: string): Child[] {
  return [
    h(
      'p',
      { class: 'what' },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[level]),
      h(
        'span',
        {},
        sentences.map((each, index) => sentenceView(each, language, index)),
      ),
    ),
    quote === undefined
      ? undefined
      : h(
          'figure',
          { class: 'quote' },
          h('figcaption', { class: 'quiet' }, quote.label),
          h('blockquote', { dir: 'auto' }, quote.text),
        ),
    output === undefined ? undefined : h('pre', { class: 'output', tabindex: '0' }, output),
  ];
}

/** How many files are shown without a click. */
const FILES_SHOWN = 8;

function changesView(model: TaskPanelModel, state: HookViewState): VNode | undefined {
  const { changes, strings } = model;
  if (changes === undefined) return undefined;
  const shown = changes.files.slice(0, FILES_SHOWN);
  const rest = changes.files.slice(FILES_SHOWN);
  const hasButton = model.actions.some(({ action, rank }) => action === 'reviewChanges' && rank === 'more');
  const list = (files: readonly PanelFile[]): VNode =>
    h(
      'ul',
      { class: 'files' },
      files.map((file) => fileView(file, strings.openFile)),
    );
  return section('changes', strings.changes, [
    h(
      'div',
      { class: 'summary' },
      h('span', {}, changes.summary),
      changes.files.length > 0 && hasButton
        ? button(
            model,
            state.busy,
            { kind: 'run', action: 'reviewChanges' },
            { label: strings.reviewChanges, rank: 'secondary', hint: strings.reviewHint },
          )
        : undefined,
    ),
    changes.recent === undefined
      ? undefined
      : h('p', { class: 'quiet' }, sentenceView(changes.recent, state.language, 0)),
    shown.length === 0 ? undefined : list(shown),
    rest.length === 0
      ? undefined
      : h(
          'details',
          { key: 'rest' },
          h('summary', {}, `+ ${rest.length}`),
          list(rest),
          changes.more === undefined ? undefined : h('p', { class: 'quiet' }, changes.more),
        ),
  ]);
}

function fileView(file: PanelFile, openFile: string): VNode {
  const path = file.exists
    ? h(
        'button',
        {
          type: 'button',
          class: 'link path',
          title: openFile,
          'data-do': requestKey({ kind: 'openFile', path: file.path }),
        },
        file.path,
      )
    : h('span', { class: 'path' }, file.path);
  return h(
    'li',
    { key: file.path, class: file.kind },
    path,
    h('span', { class: 'kind' }, file.kindLabel),
    file.added === undefined || file.removed === undefined
      ? undefined
      : h(
          'span',
          { class: 'lines' },
          file.added === 0 ? undefined : h('span', { class: 'plus' }, `+${file.added}`),
          ' ',
          file.removed === 0 ? undefined : h('span', { class: 'minus' }, `−${file.removed}`),
        ),
    file.recent === undefined ? undefined : h('span', { class: 'recent' }, file.recent),
  );
}

function documentSection(model: TaskPanelModel, busy: ReadonlySet<string>): VNode {
  const { strings } = model;
  const link = (href: string): string => requestKey({ kind: 'openLink', href });
  return h(
    'section',
    { key: 'document', class: 'document-section', 'aria-label': strings.document },
    h(
      'details',
      { class: 'fold' },
      h('summary', {}, strings.document),
      h('article', { class: 'document' }, documentView(model.document, link)),
    ),
    h(
      'div',
      { class: 'buttons tools' },
      button(model, busy, { kind: 'copy', what: 'synopsis' }, { label: strings.copySynopsis, rank: 'secondary' }),
      button(model, busy, { kind: 'openSource' }, { label: strings.openSource, rank: 'secondary' }),
    ),
  );
}
