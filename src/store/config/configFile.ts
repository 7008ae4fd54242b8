import { dirname, join } from 'node:path';
import { DEFAULT_CONFIG, type TaskConfig } from '../../core/config/config';
import type { Clock, FileSystem } from '../../core/shared/ports';
import type { ParsedConfig } from './configParser';
import type { ConfigIssue } from '../../core/config/configIssue';

/** The settings that hold for one repository, and what is wrong in the files. */
export interface LoadedConfig {
  readonly config: TaskConfig;
  readonly issues: readonly ConfigIssue[];
}

/** Where a repository keeps its own settings. */
export function repositoryConfigPath(worktree: string): string {
  return join(worktree, '.atlas', 'config.yaml');
}

/** A file that has nothing in it may be one that is just being saved, so long (ms): editors empty it before they write it. */
const SAVING_MS = 2000;

/** Reads config.yaml and a repository's own. A file that didn't change since is not read again. */
export class ConfigFiles {
  private readonly parsed = new Map<string, ParsedConfig>();

  constructor(
    private readonly files: FileSystem,
    private readonly userFile: string,
    private readonly clock: Clock,
  ) {}

  /**
   * The settings that hold for a worktree. Never fails: what can't be used is reported, and its default holds; but as long
   * as a limit can't be read, nothing is deleted for it.
   */
  async load(worktree?: string): Promise<LoadedConfig> {
    const user = await this.parse(this.userFile);
    const repositoryFile = worktree === undefined ? undefined : repositoryConfigPath(worktree);
    const repository = repositoryFile === undefined ? undefined : await this.parse(repositoryFile, worktree);
    const isRead = this.isRead(user);
    if (user === undefined && repository === undefined)
      return {
        config: isRead ? DEFAULT_CONFIG : (await import('../../core/config/unreadConfig')).UNREAD_CONFIG,
        issues: [],
      };
    const [{ issuesOf }, { readConfig }] = await Promise.all([
      import('./configParser'),
      import('../../core/config/readConfig'),
    ]);
    const read = readConfig(user?.yaml?.data, repository?.yaml?.data, isRead);
    return {
      config: read.config,
      issues: [
        ...issuesOf(this.userFile, user, read.problems, 'user'),
        ...(repositoryFile === undefined
          ? []
          : issuesOf(repositoryFile, repository, read.repositoryProblems, 'repository')),
      ],
    };
  }

  /** Most repositories and users have none: what reads one is loaded with the first. */
  private async parse(path: string, within?: string): Promise<ParsedConfig | undefined> {
    if (!this.isThere(path)) return undefined;
    const { parseConfig } = await import('./configParser');
    const parsed = await parseConfig(this.files, path, within, this.parsed.get(path));
    if (parsed === undefined) this.parsed.delete(path);
    else this.parsed.set(path, parsed);
    return parsed;
  }

  /** Whether what was read of the user's file is what they want: not if it is broken, or empty because it is being saved. */
  private isRead(user: ParsedConfig | undefined): boolean {
    if ((user?.error ?? user?.yaml?.error) !== undefined) return false;
    if (user?.yaml?.data !== undefined && user.yaml.data !== null) return true;
    try {
      // Some editors move the old file away first: then the folder is what changed.
      const changed = (this.files.stat(this.userFile) ?? this.files.stat(dirname(this.userFile)))?.mtimeMs;
      return changed === undefined || Math.abs(this.clock.now() - changed) >= SAVING_MS;
    } catch {
      return false;
    }
  }

  private isThere(path: string): boolean {
    try {
      return this.files.stat(path) !== undefined;
    } catch {
      // That nobody may look is no reason to go on as if there were none.
      return true;
    }
  }
}
