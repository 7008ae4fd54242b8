import type { ConfigProblem } from './config';
import { type ConfigOwner, keyProblems } from './configKeys';
import { schemaProblem } from './schemaProblem';

/**
 * All that is wrong with the keys and values of a config.yaml, with paths from its top.
 * @param values what the schema says of the values
 */
export function settingProblems(data: unknown, owner: ConfigOwner, values: readonly ConfigProblem[]): ConfigProblem[] {
  const keys = keyProblems(data, owner);
  const without = new Set(keys.map(({ path }) => path.join('.')));
  // The value of a key that has no effect doesn't matter.
  const counts = (path: readonly (string | number)[]): boolean =>
    !path.some((_, index) => without.has(path.slice(0, index + 1).join('.')));
  const wrong = values
    .map(({ path, message, issue }) => (issue === undefined ? { path, message } : schemaProblem(issue, () => [])))
    .filter(({ path }) => counts(path));
  return [...keys, ...wrong];
}
