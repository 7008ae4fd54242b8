import { age } from './ages';
import { h, type VNode } from './dom';

/** The signs of the levels; each stands beside words that say the same. */
export const SIGNS: Readonly<Record<'info' | 'warning' | 'error', string>> = { info: 'ℹ', warning: '⚠', error: '✖' };

/** Something that has to be told beside what a page shows. */
export interface Notice {
  readonly id: string;
  readonly level: keyof typeof SIGNS;
  readonly text: string;
  readonly at?: string | undefined;
}

/** A notice, with how long ago it became true. */
export function noticeView({ id, level, text, at }: Notice): VNode {
  return h(
    'div',
    { key: id, class: `notice ${level}` },
    h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[level]),
    h('p', {}, text, at === undefined ? undefined : [' (', age(at), ')']),
  );
}
