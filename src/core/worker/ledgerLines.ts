import * as z from 'zod/mini';
import { timestamp } from '../task/fields';
import { LIMITS, measureJson } from './limits';
import { type VersionVector, compareVersions, versionShape } from './versionVector';

/** What every record of the ledger has. */
export const recordShape = { id: z.string().check(z.minLength(1)), ...versionShape, at: timestamp };

const recordSchema = z.looseObject(recordShape);

/** What is common to all records. */
export interface LedgerRecord extends VersionVector {
  readonly id: string;
  /** When it was written. */
  readonly at: string;
}

/** A line that can't be used; it is kept. */
export interface LedgerFinding {
  readonly kind: 'torn' | 'damaged';
  /** Beginning with 1. */
  readonly line: number;
  readonly text: string;
}

/** Two records of one id that nothing but their text tells apart: written on two machines that did not know of each other. */
export interface LedgerConflict<T> {
  readonly id: string;
  /** The one that counts, first. */
  readonly sides: readonly T[];
}

/** A file of the ledger, folded. */
export interface Folded<T> {
  /** The record that counts, by id. */
  readonly last: ReadonlyMap<string, T>;
  /** All, in the order in which they count. */
  readonly all: readonly T[];
  readonly conflicts: readonly LedgerConflict<T>[];
  readonly findings: readonly LedgerFinding[];
}

interface Line<T> {
  readonly text: string;
  readonly record: T | undefined;
}

/** The lines of a file; ends of lines of either kind, and none is empty. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    .filter((line) => line.trim() !== '');
}

function parseLine<T>(schema: z.ZodMiniType<T>, text: string): Line<T> {
  // A character has one byte at least.
  if (text.length > LIMITS.lineBytes) return { text, record: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (measureJson(value).problem !== undefined) return { text, record: undefined };
    const parsed = schema.safeParse(value);
    return { text, record: parsed.success ? parsed.data : undefined };
  } catch {
    return { text, record: undefined };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/**
 * Reads a file of the ledger: the last record of each id, by stamp; where even that is the same, by the text, so that every machine
 * chooses the same one. The order of the lines doesn't matter. What can't be used is reported.
 */
export function foldLedger<T extends LedgerRecord>(schema: z.ZodMiniType<T>, text: string): Folded<T> {
  const raw = linesOf(text);
  const lines = raw.map((line) => parseLine(schema, line));
  const findings = lines.flatMap(({ text: line, record }, index): LedgerFinding[] => {
    if (record !== undefined) return [];
    const isLast = index === raw.length - 1 && !text.endsWith('\n');
    return [{ kind: isLast && !isJson(line) ? 'torn' : 'damaged', line: index + 1, text: line }];
  });
  const sorted = [...new Map(lines.map((line) => [line.text, line])).values()]
    .flatMap(({ text: line, record }) => (record === undefined ? [] : [{ line, record }]))
    .sort((a, b) => compareVersions(a.record, b.record) || compareTexts(a.line, b.line));
  const last = new Map(sorted.map(({ record }) => [record.id, record]));
  const all = sorted.map(({ record }) => record);
  return { last, all, conflicts: conflictsOf(all, last), findings };
}

function conflictsOf<T extends LedgerRecord>(all: readonly T[], last: ReadonlyMap<string, T>): LedgerConflict<T>[] {
  const sides = new Map<string, T[]>();
  for (const record of all) {
    const winner = last.get(record.id);
    if (winner !== undefined && compareVersions(record, winner) === 0)
      sides.set(record.id, [record, ...(sides.get(record.id) ?? [])]);
  }
  return [...sides].flatMap(([id, each]) => (each.length < 2 ? [] : [{ id, sides: each }]));
}

/** The lines of a file without those that a newer one of the same id replaces, in their order. What is no record stays. */
export function newestLines<T extends LedgerRecord>(schema: z.ZodMiniType<T>, text: string): string {
  const lines = [...new Set(linesOf(text))].map((line) => parseLine(schema, line));
  const newest = new Map<string, VersionVector>();
  for (const { record } of lines) {
    const known = record === undefined ? undefined : newest.get(record.id);
    if (record !== undefined && (known === undefined || compareVersions(known, record) < 0))
      newest.set(record.id, record);
  }
  const stays = ({ record }: Line<T>): boolean =>
    record === undefined || compareVersions(record, newest.get(record.id) ?? record) === 0;
  return lines
    .filter(stays)
    .map((line) => `${line.text}\n`)
    .join('');
}

/** What is common to all records of a line that is one, of whatever kind. */
export function recordIn(line: string): LedgerRecord | undefined {
  return parseLine(recordSchema, line).record;
}

/** Adds records. A torn last line stays where it is, as a line of its own. */
export function appendRecords(text: string, records: readonly LedgerRecord[]): string {
  if (records.length === 0) return text;
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return before + records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/**
 * The union of two versions of a file, the same whichever comes first and however often it is made: records by time, then lines that
 * are none. Nothing is dropped, a line that is in both is there once.
 */
export function mergeLedgers(ours: string, theirs: string): string {
  const lines = [...new Set([...linesOf(ours), ...linesOf(theirs)])].map((line) => parseLine(recordSchema, line));
  return lines
    .sort(compareLines)
    .map(({ text }) => `${text}\n`)
    .join('');
}

function compareLines(a: Line<LedgerRecord>, b: Line<LedgerRecord>): number {
  if (a.record === undefined || b.record === undefined)
    return Number(a.record === undefined) - Number(b.record === undefined) || compareTexts(a.text, b.text);
  return (
    compareTexts(a.record.at, b.record.at) ||
    compareTexts(a.record.id, b.record.id) ||
    compareVersions(a.record, b.record) ||
    compareTexts(a.text, b.text)
  );
}
