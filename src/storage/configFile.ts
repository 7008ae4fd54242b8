import { join } from 'node:path';
import { type ConfigProblem, type HookConfig, readConfig } from '../core/config';
import type { FileSystem } from '../core/ports';
import { codeOf } from './fileErrors';
import { messageOf } from '../core/errors';
import type { ParsedYaml, TextPosition } from './yaml';

/** The largest YAML file that is read, in bytes: the parser takes about a second for the worst one of this size. */
export const MAX_YAML_BYTES = 64 * 1024;

/** A setting that could not be used, with the place where it stands. */
export interface ConfigIssue {
  readonly file: string;
  readonly position: TextPosition;
  readonly message: string;
}

/** The settings that hold for one repository, and what is wrong in the files. */
export interface LoadedConfig {
  readonly config: HookConfig;
  readonly issues: readonly ConfigIssue[];
}

interface Parsed {
  readonly stamp: string;
  readonly yaml: ParsedYaml | undefined;
  readonly error: string | undefined;
}

const START: TextPosition = { line: 1, column: 1 };

/** Where a repository keeps its own settings. */
export function repositoryConfigPath(worktree: string): string {
  return join(worktree, '.atlas', 'config.yaml');
}

/** Reads config.yaml and a repository's own. A file that didn't change since is not read again. */
export class ConfigFiles {
  private readonly parsed = new Map<string, Parsed>();

  constructor(
    private readonly files: FileSystem,
    private readonly userFile: string,
  ) {}

  /** The settings that hold for a worktree. Never fails: what can't be used is reported, and its default holds. */
  async load(worktree?: string): Promise<LoadedConfig> {
    const user = await this.parse(this.userFile);
    const repositoryFile = worktree === undefined ? undefined : repositoryConfigPath(worktree);
    const repository = repositoryFile === undefined ? undefined : await this.parse(repositoryFile);
    const read = readConfig(hooksOf(user?.yaml?.data), hooksOf(repository?.yaml?.data));
    return {
      config: read.config,
      issues: [
        ...issuesOf(this.userFile, user, read.problems),
        ...(repositoryFile === undefined ? [] : issuesOf(repositoryFile, repository, read.repositoryProblems)),
      ],
    };
  }

  private async parse(path: string): Promise<Parsed | undefined> {
    const stat = this.files.stat(path);
    if (stat === undefined) return undefined;
    const stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    const known = this.parsed.get(path);
    if (known?.stamp === stamp) return known;
    const parsed = await this.parseFile(path, stamp);
    this.parsed.set(path, parsed);
    return parsed;
  }

  private async parseFile(path: string, stamp: string): Promise<Parsed> {
    try {
      const text = Buffer.from(this.files.read(path, MAX_YAML_BYTES)).toString('utf8');
      const { parseFields } = await import('./yaml');
      return { stamp, yaml: parseFields(text), error: undefined };
    } catch (error) {
      const what = codeOf(error) === '' ? 'is not usable YAML' : "can't be read";
      return { stamp, yaml: undefined, error: `The file ${what}: ${messageOf(error)}` };
    }
  }
}

/** The settings may stand under `hooks`; the rest of the file belongs to others. */
function hooksOf(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  return (data as Record<string, unknown>)['hooks'];
}

function issuesOf(file: string, parsed: Parsed | undefined, problems: readonly ConfigProblem[]): ConfigIssue[] {
  if (parsed === undefined) return [];
  const issues: ConfigIssue[] = [];
  if (parsed.error !== undefined) issues.push({ file, position: START, message: parsed.error });
  const yaml = parsed.yaml;
  if (yaml?.error !== undefined) issues.push({ file, ...yaml.error });
  for (const problem of problems) {
    const path = ['hooks', ...problem.path];
    issues.push({ file, position: yaml?.positionOf(path) ?? START, message: `${path.join('.')}: ${problem.message}` });
  }
  return issues;
}
