import { parse } from '../install/jsonc';
import { jsonOf } from '../../system/files/readJson';

/** What others wrote as JSON, looked at with care. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object's fields; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** A text; `undefined` for anything else, and for an empty one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number; `undefined` for anything else. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A whole number. */
export function wholeOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined;
}

/** A list; an empty one for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What a report says, as far as it goes: one that was too large for the spool is cut in the middle. */
export function reportFields(body: string): Fields {
  const whole = jsonOf(body);
  return fieldsOf(whole === undefined ? parse(body, [], { allowTrailingComma: true }) : whole);
}

/** The files that a patch in Codex's and OpenCode's form names. */
export function filesOfPatch(patch: string): string[] {
  return [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gmu)].flatMap(([, path]) => path?.trim() ?? []);
}
