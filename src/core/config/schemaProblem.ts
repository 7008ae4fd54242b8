import type * as z from 'zod/mini';
import { nearest } from './configKeys';

const NOUNS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a table',
  string: 'text',
};

/**
 * What is wrong with a value that a person wrote, and where. A key that isn't known is named together with what was
 * likely meant.
 * @param known the keys of the table at a path
 */
export function schemaProblem(
  issue: z.core.$ZodIssue,
  known: (path: readonly PropertyKey[]) => readonly string[],
): { readonly path: readonly (string | number)[]; readonly message: string } {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const names = known(issue.path);
    const meant = nearest(key, names);
    const hint = meant === undefined ? `Known keys: ${names.join(', ')}.` : `Did you mean "${meant}"?`;
    return { path: [...path, key], message: `unknown key. ${hint}` };
  }
  if (issue.code === 'invalid_type') return { path, message: `must be ${NOUNS[issue.expected] ?? issue.expected}` };
  if (issue.code === 'invalid_value') return { path, message: `must be ${issue.values.map(String).join(' or ')}` };
  if (issue.code === 'invalid_union')
    return { path, message: issue.errors.flat().find(({ code }) => code === 'custom')?.message ?? issue.message };
  return { path, message: issue.message };
}
