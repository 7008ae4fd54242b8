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
  return relative(language).format(Math.trunc(seconds / length), unit);
}

const relatives = new Map<string, Intl.RelativeTimeFormat>();

/** Made once a language: making one costs more than all that it is used for, and pages have a thousand ages. */
function relative(language: string): Intl.RelativeTimeFormat {
  const known = relatives.get(language) ?? new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  relatives.set(language, known);
  return known;
}

const TIME_STYLES = {
  long: { dateStyle: 'medium', timeStyle: 'medium' },
  time: { hour: '2-digit', minute: '2-digit' },
  seconds: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  day: { month: 'short', day: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** A time in the reader's own zone; what is no time comes back as it is. */
export function localTime(at: string | number, language: string, style: keyof typeof TIME_STYLES = 'long'): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const key = `${style} ${language}`;
  const clock = clocks.get(key) ?? new Intl.DateTimeFormat(language, TIME_STYLES[style]);
  clocks.set(key, clock);
  return clock.format(date);
}

/** An age that ticks: its text is set by {@link showAges}, drawing leaves it alone. */
export function age(at: string): VNode {
  return h('span', { class: 'age', 'data-at': at });
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
