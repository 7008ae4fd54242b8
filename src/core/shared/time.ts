import { type Result, fail, ok } from './errors';
import { count } from './text';

/** A time further ahead of the clock than this (ms) is contradictory and counts as unknown. */
export const FUTURE_TOLERANCE_MS = 60_000;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/u;

/** A time as Atlas writes it. */
const CANONICAL = /^\d{4}-(?:0[1-9]|1[0-2])-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/u;

/** Go writes its zero time for "not set"; it reads as no time at all. */
const GO_ZERO_TIME = /^0001-01-01T00:00:00/u;

/** An RFC 3339 time of any zone and precision as UTC with milliseconds; `undefined` if it is none. */
export function normalizeTimestamp(text: string): string | undefined {
  // Every month has 28 days; beyond them it takes a calendar.
  const day = Number(CANONICAL.exec(text)?.[1]);
  if (day >= 1 && day <= 28) return text;
  if (!RFC3339.test(text)) return undefined;
  const ms = Date.parse(text.replace(' ', 'T').toUpperCase());
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Whether a text is Go's zero time. */
export function isZeroTime(text: string): boolean {
  return GO_ZERO_TIME.test(text);
}

/** Milliseconds since the epoch of an RFC 3339 time; NaN if it is none. */
export function toMs(timestamp: string): number {
  return Date.parse(timestamp);
}

/** Milliseconds since the epoch as an RFC 3339 UTC time. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** The newest of some times (ms) that is not contradictory, or `undefined` when none is known. */
export function newestKnown(times: readonly (number | undefined)[], now: number): number | undefined {
  let newest: number | undefined;
  for (const time of times) {
    if (time === undefined || Number.isNaN(time) || time > now + FUTURE_TOLERANCE_MS) continue;
    if (newest === undefined || time > newest) newest = time;
  }
  return newest;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Anchored, so that a long row of digits is looked at once and not from each of them on. */
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/u;

/** Parses a duration such as `5m`, `1h30m`, `720h`, `30d`, `1.5h` or `0` into milliseconds. */
export function parseDuration(text: string): Result<number> {
  const trimmed = text.trim();
  if (trimmed === '0') return ok(0);
  const shown = trimmed.slice(0, 64);
  if (!DURATION.test(trimmed)) {
    return fail('usage', `"${shown}" is not a duration.`, {
      hint: 'Write a number with a unit, such as 30s, 5m, 1h30m or 7d. Write 0 to turn it off.',
    });
  }
  const parts = [...trimmed.matchAll(/([\d.]+)(\D+)/gu)];
  const ms = parts.reduce((sum, part) => sum + Number(part[1]) * (UNIT_MS[part[2] ?? ''] ?? 0), 0);
  return Number.isSafeInteger(Math.round(ms)) ? ok(Math.round(ms)) : fail('usage', `"${shown}" is too long.`);
}

/** A length of time (ms) for people: `850ms`, `12.3s`, `2m5s`, `1h4m`, `3d2h`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10}s`;
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1000, 's'],
  ];
  const first = units.findIndex(([size]) => ms >= size);
  const shown: string[] = [];
  let rest = ms;
  for (const [size, name] of units.slice(first, first + 2)) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0) shown.push(`${amount}${name}`);
  }
  return shown.join('');
}

/** A length of time (ms) in its largest unit, for labels: `7 min`, `3 h`, `2 days`. */
export function roughDuration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (!(minutes >= 1)) return 'less than 1 min';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h` : count(Math.floor(hours / 24), 'day');
}

/** How long ago a time was, both in ms: `3 min ago`. */
export function roughAge(time: number, now: number): string {
  const age = now - time;
  if (Number.isNaN(age)) return 'at an unknown time';
  if (age < -60_000) return 'in the future (check the clock)';
  return age < 60_000 ? 'just now' : `${roughDuration(age)} ago`;
}
