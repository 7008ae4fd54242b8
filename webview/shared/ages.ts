import { h, type VNode } from './dom';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

const TICK_MS = 1000;

/** How long ago a time was, in words; empty for what is no time. */
export function ageOf(at: string, now: number, language: string): string {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  if (Number.isNaN(seconds)) return '';
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, each]) => size >= each) ?? ['second', 1];
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(Math.trunc(seconds / length), unit);
}

/** An age that ticks. */
export function age(at: string): VNode {
  return h('span', { class: 'age', 'data-at': at, opaque: '' });
}

/** Brings all ages on the page up to date. */
export function showAges(): void {
  const now = Date.now();
  const language = document.documentElement.lang || 'en';
  for (const element of document.querySelectorAll<HTMLElement>('[data-at]')) {
    const text = ageOf(element.dataset['at'] ?? '', now, language);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Lets the ages tick for as long as the page is there; a hidden page waits. */
export function tickAges(): void {
  setInterval(() => {
    if (!document.hidden) showAges();
  }, TICK_MS);
}
