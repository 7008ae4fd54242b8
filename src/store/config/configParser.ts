import type { ConfigProblem } from '../../core/config/config';
import type { ConfigOwner } from '../../core/config/configKeys';
import { messageOf } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { settingProblems } from '../../core/config/settingProblems';
import type { ConfigIssue } from '../../core/config/configIssue';
import { placedAt } from '../../system/files/placedFile';
import type { ParsedYaml } from './yaml';
import type { TextPosition } from '../../core/config/configIssue';

/** The largest YAML file that is read, in bytes: the parser takes about a second for the worst one of this size. */
const MAX_YAML_BYTES = 64 * 1024;

const START: TextPosition = { line: 1, column: 1 };

/** A configuration file as it was read. */
export interface ParsedConfig {
  /** Tells it from its other versions; empty for what isn't kept. */
  readonly stamp: string;
  readonly yaml: ParsedYaml | undefined;
  readonly error: string | undefined;
}

/**
 * Reads a configuration file; `undefined` where there is none.
 * @param within the folder that no link may lead out of
 * @param known how it was read before: kept if the file is the same
 */
export async function parseConfig(
  files: FileSystem,
  path: string,
  within: string | undefined,
  known: ParsedConfig | undefined,
): Promise<ParsedConfig | undefined> {
  const placed = placedAt(files, path, 'file', within);
  if (placed.kind === 'absent') return undefined;
  if (placed.kind === 'refused') return { stamp: '', yaml: undefined, error: placed.why };
  const { real, stat } = placed;
  const stamp = `${real}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  if (known?.stamp === stamp) return known;
  const read = readYamlText(files, real, stat.size);
  if ('problem' in read) return { stamp, yaml: undefined, error: read.problem };
  try {
    const { parseFields } = await import('./yaml');
    return { stamp, yaml: parseFields(read.text), error: undefined };
  } catch (error) {
    return { stamp, yaml: undefined, error: `The file is not valid YAML: ${messageOf(error)}` };
  }
}

/** The text of a YAML file, or why it can't be used. */
export function readYamlText(
  files: FileSystem,
  path: string,
  size: number,
): { readonly text: string } | { readonly problem: string } {
  if (size > MAX_YAML_BYTES) {
    const problem = `The file was not read: it has ${size} bytes, and the limit is ${MAX_YAML_BYTES}.`;
    return { problem };
  }
  let bytes: Uint8Array;
  try {
    bytes = files.read(path, MAX_YAML_BYTES);
  } catch (error) {
    return { problem: `The file could not be read: ${messageOf(error)}` };
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'The file is not UTF-8 text. Save it as UTF-8.' };
  }
}

/** What is wrong in a configuration file, with the problems of its values. */
export function issuesOf(
  file: string,
  parsed: ParsedConfig | undefined,
  problems: readonly ConfigProblem[],
  owner: ConfigOwner,
): ConfigIssue[] {
  if (parsed === undefined) return [];
  const { error, yaml } = parsed;
  if (error !== undefined) return [{ file, position: START, message: error }];
  if (yaml === undefined) return [];
  if (yaml.error !== undefined) return [{ file, ...yaml.error }];
  return settingProblems(yaml.data, owner, problems).map(({ path, message }) => ({
    file,
    position: yaml.positionOf(path),
    message: `${path.join('.')}: ${message}`,
  }));
}
