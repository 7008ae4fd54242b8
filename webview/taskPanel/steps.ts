import type { PanelStep, StepMark, TaskPanelModel } from '../../src/protocol/taskPanel';
import { age, localTime } from '../shared/ages';
import { type VNode, h } from '../shared/dom';

type Kind = StepMark['kind'];

/** Each kind of mark has a shape of its own, so that colour is never the only sign. Drawn around 0,0. */
const SHAPES: Readonly<Record<Kind, string>> = {
  manual: 'M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6Z',
  git_commit: 'M0-7L7 0L0 7L-7 0Z',
  git_push: 'M0-7L7 5L-7 5Z',
  pr_created: 'M-7-6H7V2H1L-3 7V2H-7Z',
  validation: 'M-6-6H6V6H-6Z',
  step_complete: 'M-6-7H-4V7H-6ZM-4-7L7-3L-4 1Z',
  interval: 'M-2-6H2V6H-2Z',
  failure: 'M-6-4L-4-6L0-2L4-6L6-4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z',
  wait: 'M-6-6H-2V6H-6ZM2-6H6V6H2Z',
  interruption: 'M2-8L-6 1H-1L-3 8L6-2H1Z',
};

/** The sign before a step's name. */
const SIGNS: Readonly<Record<PanelStep['look'], string>> = {
  done: '✓',
  skipped: '↷',
  accepted: '⚠',
  running: '▶',
  waiting: '●',
  interrupted: '⚡',
  failed: '✗',
  ready: '○',
  pending: '·',
};

/** What the steps are drawn for beside the model. */
export interface StepsLook {
  readonly language: string;
  /** The mark that the keyboard is at; the last one when undefined. */
  readonly current: string | undefined;
  readonly act: (checkpoint: string) => string;
}

/** All steps in a row, with what happened on each of them, and a legend. */
export function stepsView({ steps, strings }: TaskPanelModel, look: StepsLook): VNode[] {
  const marks = steps.flatMap((step) => step.marks);
  const open = marks.filter(({ checkpoint }) => checkpoint !== undefined);
  const focus = open.find(({ id }) => id === look.current) ?? open.at(-1);
  return [
    h('p', { class: 'hidden', id: 'steps-help' }, strings.stepsHelp),
    h(
      'ol',
      { class: 'steps' },
      steps.map((step, index) => stepView(step, index, focus?.id, look)),
    ),
    h('div', { class: 'tooltip', role: 'tooltip', id: 'mark-tooltip', hidden: true }),
    open.length === 0 ? h('p', { class: 'quiet' }, strings.noCheckpoints) : legend(marks, strings.latest),
  ];
}

function stepView(step: PanelStep, index: number, focus: string | undefined, look: StepsLook): VNode {
  return h(
    'li',
    { key: String(index), class: `step ${step.look}`, 'aria-current': step.isCurrent ? 'step' : undefined },
    h(
      'span',
      { class: 'head' },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[step.look]),
      h('span', { class: 'name', dir: 'auto' }, step.name),
      h('span', { class: 'hidden' }, `, ${step.lookLabel}`),
      step.attempt === undefined ? undefined : h('span', { class: 'quiet' }, step.attempt),
    ),
    step.marks.length === 0
      ? undefined
      : h(
          'span',
          { class: 'marks', role: 'group', 'aria-label': step.name, 'aria-describedby': 'steps-help' },
          step.earlier === undefined ? undefined : h('span', { class: 'quiet' }, step.earlier),
          step.marks.map((mark) => markView(mark, mark.id === focus, look)),
        ),
  );
}

function markView(mark: StepMark, isFocus: boolean, look: StepsLook): VNode {
  const label = `${mark.label}, ${localTime(mark.at, look.language)}`;
  const common = { key: mark.id, class: `mark ${mark.kind}`, 'aria-label': label, 'data-tip': label };
  if (mark.checkpoint === undefined) return h('span', { ...common, role: 'img' }, shape(mark.kind));
  return h(
    'button',
    {
      ...common,
      type: 'button',
      tabindex: isFocus ? '0' : '-1',
      'data-mark': mark.id,
      'data-do': look.act(mark.checkpoint),
    },
    shape(mark.kind),
  );
}

function shape(kind: Kind): VNode {
  return h(
    'svg',
    { width: '12', height: '12', viewBox: '-8 -8 16 16', 'aria-hidden': 'true' },
    h('path', { d: SHAPES[kind] }),
  );
}

function legend(marks: readonly StepMark[], latest: string): VNode {
  const kinds = new Map<Kind, { label: string; count: number }>();
  for (const { kind, kindLabel } of marks) {
    kinds.set(kind, { label: kindLabel, count: (kinds.get(kind)?.count ?? 0) + 1 });
  }
  const last = marks.findLast(({ checkpoint }) => checkpoint !== undefined);
  return h(
    'ul',
    { class: 'legend quiet' },
    [...kinds].map(([kind, { label, count }]) =>
      h('li', { key: kind }, h('span', { class: `mark ${kind}` }, shape(kind)), ` ${label} × ${count}`),
    ),
    last === undefined ? undefined : h('li', { key: 'last' }, `${latest} `, age(last.at)),
  );
}
