import type { TaskPanelModel, TimelineMark } from '../../src/protocol/taskPanel';
import { formatDuration } from '../../src/core/shared/time';
import { age, localTime } from '../shared/ages';
import { type VNode, h } from '../shared/dom';
import { type Place, Scale, findGaps, placeMarks, ticks } from './timelineScale';

type Trigger = TimelineMark['trigger'];

/** Each trigger has a shape of its own, so that colour is never the only sign. Drawn around 0,0. */
const SHAPES: Readonly<Record<Trigger, string>> = {
  manual: 'M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6Z',
  git_commit: 'M0-7L7 0L0 7L-7 0Z',
  git_push: 'M0-7L7 5L-7 5Z',
  pr_created: 'M-7-6H7V2H1L-3 7V2H-7Z',
  validation: 'M-6-6H6V6H-6Z',
  step_complete: 'M-6-7H-4V7H-6ZM-4-7L7-3L-4 1Z',
  interval: 'M-2-6H2V6H-2Z',
};

const MARK_DISTANCE = 18;
const ROW_HEIGHT = 18;
const MARGIN = 12;
const TICK_DISTANCE = 80;
const AXIS_HEIGHT = 26;
const TOP = 12;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** What the timeline is drawn for beside the model. */
export interface TimelineLook {
  readonly width: number;
  readonly language: string;
  /** The mark that the keyboard is at; the last one when undefined. */
  readonly current: string | undefined;
  readonly act: (mark: TimelineMark) => string;
}

/** The checkpoints on an axis of time, drawn to scale, with a legend. */
export function timelineView(model: TaskPanelModel, look: TimelineLook): VNode[] {
  const { marks } = model.timeline;
  if (marks.length === 0) return [h('p', { class: 'quiet' }, model.strings.noCheckpoints)];
  const scale = new Scale(Date.parse(model.timeline.from), Date.parse(model.timeline.to), look.width, MARGIN);
  const times = marks.map((mark) => Date.parse(mark.at));
  const places = placeMarks(times, scale, MARK_DISTANCE);
  const rows = Math.max(...places.map((place) => place.row)) + 1;
  const base = TOP + rows * ROW_HEIGHT;
  const height = base + AXIS_HEIGHT;
  return [
    h('p', { class: 'hidden', id: 'timeline-help' }, model.strings.timelineHelp),
    h(
      'div',
      { class: 'chart' },
      h(
        'svg',
        {
          class: 'timeline',
          viewBox: `0 0 ${look.width} ${height}`,
          width: String(look.width),
          height: String(height),
          role: 'group',
          'aria-labelledby': 'timeline-heading',
          'aria-describedby': 'timeline-help',
        },
        axis(scale, base, look.language),
        gaps(times, scale, base, model.strings.gap),
        marks.map((mark, index) =>
          markView(mark, places[index] ?? { x: 0, row: 0 }, base, isCurrent(marks, index, look), look),
        ),
      ),
      h('div', { class: 'tooltip', role: 'tooltip', id: 'timeline-tooltip', hidden: true }),
    ),
    legend(marks, model.strings.latest),
  ];
}

function isCurrent(marks: readonly TimelineMark[], index: number, look: TimelineLook): boolean {
  const known = marks.findIndex((mark) => mark.id === look.current);
  return index === (known === -1 ? marks.length - 1 : known);
}

function axis(scale: Scale, base: number, language: string): VNode {
  const offset = -new Date(scale.from).getTimezoneOffset() * MINUTE;
  const { step, ticks: lines } = ticks(scale, TICK_DISTANCE, offset);
  const style = step >= DAY ? 'day' : step < MINUTE ? 'seconds' : 'time';
  return h(
    'g',
    { class: 'axis', 'aria-hidden': 'true' },
    h('line', { x1: '0', x2: String(scale.width), y1: String(base), y2: String(base) }),
    lines.map(({ x, at }) => [
      h('line', { x1: px(x), x2: px(x), y1: String(base), y2: String(base + 5) }),
      h(
        'text',
        { x: px(x), y: String(base + 19), 'text-anchor': anchorOf(x, scale.width) },
        localTime(at, language, style),
      ),
    ]),
  );
}

function anchorOf(x: number, width: number): string {
  if (x < 30) return 'start';
  return x > width - 30 ? 'end' : 'middle';
}

/** Gaps are drawn where the axis is, so that long silence is seen and not only computed. */
function gaps(times: readonly number[], scale: Scale, base: number, word: string): VNode {
  return h(
    'g',
    { class: 'gaps', 'aria-hidden': 'true' },
    findGaps(times, scale).map(({ from, to, ms }) => {
      const text = `${formatDuration(ms)} ${word}`;
      const [x1, x2] = [scale.x(from), scale.x(to)];
      return h(
        'g',
        {},
        h('title', {}, text),
        h('line', { x1: px(x1 + 9), x2: px(x2 - 9), y1: String(base - 9), y2: String(base - 9) }),
        x2 - x1 < 70
          ? undefined
          : h('text', { x: px((x1 + x2) / 2), y: String(base - 14), 'text-anchor': 'middle' }, formatDuration(ms)),
      );
    }),
  );
}

function markView(mark: TimelineMark, place: Place, base: number, current: boolean, look: TimelineLook): VNode {
  const y = base - 9 - place.row * ROW_HEIGHT;
  const label = `${mark.label}, ${localTime(mark.at, look.language)}`;
  return h(
    'g',
    {
      key: mark.id,
      class: `mark ${mark.trigger}`,
      transform: `translate(${px(place.x)} ${y})`,
      role: 'button',
      tabindex: current ? '0' : '-1',
      'aria-label': label,
      'data-mark': mark.id,
      'data-time': mark.at,
      'data-tip': label,
      'data-do': look.act(mark),
    },
    h('circle', { class: 'halo', r: '10' }),
    h('path', { d: SHAPES[mark.trigger] }),
  );
}

function legend(marks: readonly TimelineMark[], latest: string): VNode {
  const triggers = new Map<Trigger, { label: string; count: number }>();
  for (const { trigger, triggerLabel } of marks) {
    const known = triggers.get(trigger);
    triggers.set(trigger, { label: triggerLabel, count: (known?.count ?? 0) + 1 });
  }
  const last = marks.at(-1);
  return h(
    'ul',
    { class: 'legend' },
    [...triggers].map(([trigger, { label, count }]) =>
      h(
        'li',
        { key: trigger },
        h(
          'svg',
          { width: '16', height: '16', viewBox: '-8 -8 16 16', 'aria-hidden': 'true', class: `mark ${trigger}` },
          h('path', { d: SHAPES[trigger] }),
        ),
        ` ${label} × ${count}`,
      ),
    ),
    last === undefined ? undefined : h('li', { key: 'last', class: 'quiet' }, `${latest} `, age(last.at)),
  );
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
