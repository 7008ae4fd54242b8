import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { defined } from '../../core/shared/defined';
import { type Result, fail, messageOf, ok } from '../../core/shared/errors';
import { type HookManager, managerInstructions, recogniseManager } from '../../git/hooks/hookManagers';
import {
  GIT_HOOK_NAMES,
  type GitHookName,
  type HookScriptOptions,
  managedScript,
  shellQuote,
} from '../../git/hooks/hookScript';
import { type HooksFolder, findHooksFolder } from '../../git/hooks/hooksFolder';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { GitHookFiles, type GitHookState } from '../../git/hooks/gitHookFiles';
import type { ServicePorts } from '../ports';

/** One hook of a repository. */
export interface GitHookEntry {
  readonly name: GitHookName;
  readonly path: string;
  readonly state: GitHookState;
  /** What is wrong, or kept it from being changed. */
  readonly problem?: string;
}

/** The hooks of a repository, and what was done to them. */
export interface GitHookReport {
  /** The folder that git takes hooks from. */
  readonly folder: string;
  readonly hooks: readonly GitHookEntry[];
  /** The program that manages this folder. */
  readonly manager?: HookManager;
  /** What to add to its settings. */
  readonly instructions?: readonly string[];
  readonly changed: boolean;
  /** Whether a link leads to the folder from inside the repository, and it lies outside. */
  readonly linkedOutside: boolean;
  readonly notes: readonly string[];
}

/** How hooks are installed. */
export interface InstallGitHooks {
  /** How `atlas` is started: a program and its first arguments. */
  readonly command: readonly string[];
  /** Also into a folder that another program manages. */
  readonly force?: boolean;
  /** Also through a link out of the repository. */
  readonly outside?: boolean;
}

/** Puts our hooks into repositories and takes them out again. */
export class GitHooks {
  private readonly files: GitHookFiles;

  constructor(private readonly ports: ServicePorts) {
    this.files = new GitHookFiles(ports);
  }

  /** Installs the hooks. What is current stays as it is, byte for byte. */
  async install(
    folder: string,
    { command, force = false, outside = false }: InstallGitHooks,
  ): Promise<Result<GitHookReport>> {
    const options = this.scriptOptions(command);
    if (!options.ok) return options;
    const place = await findHooksFolder(folder);
    if (!place.ok) return place;
    if (place.value.linkedOutside && !outside) {
      return fail(
        'unsafe_path',
        `This repository's git hooks are a symbolic link to ${place.value.folder}, outside the repository.`,
        {
          hint: 'Git hooks there can run in other repositories too. Install them only if you want that.',
        },
      );
    }
    const manager = recogniseManager(place.value.folder, place.value.worktree);
    try {
      ensureFolder(this.ports.files, this.ports.paths.spool, 0o700);
      const managed = manager !== undefined && !force;
      const written = managed && this.writeManagedScript(options.value);
      if (!managed) ensureFolder(this.ports.files, place.value.folder);
      const done = GIT_HOOK_NAMES.map((name) =>
        managed
          ? this.look(place.value.folder, name, options.value)
          : this.change(place.value.folder, name, () => this.files.install(place.value.folder, name, options.value)),
      );
      return ok(this.report(place.value, done, manager, written));
    } catch (error) {
      return {
        ok: false,
        error: fileError('write_failed', `Git hooks could not be written to ${place.value.folder}`, error),
      };
    }
  }

  /** Takes the hooks out; what was there before is there again, byte for byte. */
  async uninstall(folder: string): Promise<Result<GitHookReport>> {
    const place = await findHooksFolder(folder);
    if (!place.ok) return place;
    const done = GIT_HOOK_NAMES.map((name) =>
      this.change(place.value.folder, name, () => this.files.uninstall(place.value.folder, name)),
    );
    return ok(this.report(place.value, done, recogniseManager(place.value.folder, place.value.worktree)));
  }

  /**
   * Says how the hooks stand.
   * @param command what they should start; without it, what they say they start
   */
  async inspect(folder: string, command?: readonly string[]): Promise<Result<GitHookReport>> {
    const place = await findHooksFolder(folder);
    if (!place.ok) return place;
    const options = this.scriptOptions(command ?? ['atlas']);
    if (!options.ok) return options;
    const wanted = command === undefined ? { ...options.value, command: undefined } : options.value;
    const done = GIT_HOOK_NAMES.map((name) => this.look(place.value.folder, name, wanted));
    return ok(this.report(place.value, done, recogniseManager(place.value.folder, place.value.worktree)));
  }

  private scriptOptions(command: readonly string[]): Result<HookScriptOptions> {
    const { root } = this.ports.paths;
    const [program = ''] = command;
    if (program === '') return fail('usage', 'No command that starts atlas was given.');
    // A line break in a word would stand in the script as one.
    if ([root, ...command].some((word) => /[\n\r\0]/u.test(word))) {
      return fail('unsafe_path', 'A git hook cannot contain a path with a line break.', {
        hint: 'Move the Atlas folder, or the program, to another path.',
      });
    }
    if (!isAbsolute(program) && program !== 'atlas') {
      return fail('usage', `${program} is not an absolute path, which a git hook needs.`);
    }
    return ok({ root, command, platform: process.platform });
  }

  private look(
    folder: string,
    name: GitHookName,
    options: Omit<HookScriptOptions, 'command'> & { readonly command: readonly string[] | undefined },
  ): Changed {
    const path = join(folder, name);
    try {
      const { state, problem, command } = this.files.inspect(folder, name, options);
      const gone = command?.find((word) => isAbsolute(word) && !existsSync(word));
      const told = problem ?? (gone === undefined ? undefined : `It starts ${gone}, which does not exist.`);
      return { entry: { name, path, state, ...defined({ problem: told }) }, changed: false };
    } catch (error) {
      return blocked(name, path, error);
    }
  }

  private change(
    folder: string,
    name: GitHookName,
    act: () => { state: GitHookState; changed: boolean; problem?: string; note?: string },
  ): Changed {
    const path = join(folder, name);
    try {
      const { state, changed, problem, note } = act();
      const entry = { name, path, state, ...defined({ problem }) };
      return { entry, changed, ...defined({ note }) };
    } catch (error) {
      return blocked(name, path, error);
    }
  }

  private report(
    place: HooksFolder,
    done: readonly Changed[],
    manager: HookManager | undefined,
    written = false,
  ): GitHookReport {
    const notes = [...place.notes, ...done.flatMap(({ note }) => note ?? [])];
    return {
      folder: place.folder,
      hooks: done.map(({ entry }) => entry),
      ...(manager === undefined ? {} : { manager, instructions: this.instructions(manager, place) }),
      changed: written || done.some(({ changed }) => changed),
      linkedOutside: place.linkedOutside,
      notes,
    };
  }

  private instructions(manager: HookManager, place: { readonly folder: string; readonly worktree: string }): string[] {
    const { root, hookScript } = this.ports.paths;
    // Settings are shared: where the store lies at its usual place, the same line is right for everybody.
    const usual = root === join(homedir(), '.atlas') && process.platform !== 'win32';
    const script = usual ? '"$HOME/.atlas/spool/hook.sh"' : shellQuote(hookScript.replaceAll('\\', '/'));
    return managerInstructions(manager, place.folder, place.worktree, script);
  }

  private writeManagedScript(options: HookScriptOptions): boolean {
    const { files, ids, paths } = this.ports;
    const text = managedScript(options);
    const there = files.stat(paths.hookScript)?.kind === 'file';
    if (there && Buffer.from(files.read(paths.hookScript, 1024 * 1024)).toString('utf8') === text) return false;
    replaceFile(files, ids, paths.hookScript, text, { durable: false, mode: 0o755 });
    return true;
  }
}

interface Changed {
  readonly entry: GitHookEntry;
  readonly changed: boolean;
  readonly note?: string;
}

function blocked(name: GitHookName, path: string, error: unknown): Changed {
  return { entry: { name, path, state: 'blocked', problem: messageOf(error) }, changed: false };
}
