import { basename, dirname, join } from 'node:path';
import {
  ASIDE,
  type BlockKind,
  type GitHookName,
  type HookScriptOptions,
  OWN_SHEBANG,
  type SplitHook,
  asBytes,
  hookBlock,
  isShellScript,
  splitHook,
  wrapBody,
} from './hookScript';
import type { FileStat, FileSystem, Ids } from '../../core/shared/ports';
import { NO_LINKS, createFile, renameWithRetry, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { codeOf } from '../../system/files/fileErrors';

/**
 * How a hook stands: ours alone (`installed`), ours with the one that was there (`beside`), ours but not as it should be
 * (`outdated`), none of ours (`absent`), or in a shape that is not touched (`blocked`).
 */
export type GitHookState = 'installed' | 'beside' | 'outdated' | 'absent' | 'blocked';

/** What was done to a hook. */
export interface GitHookChange {
  readonly state: GitHookState;
  readonly changed: boolean;
  readonly problem?: string;
  readonly note?: string;
}

const MAX_HOOK_BYTES = 4 * 1024 * 1024;
const HOOK_MODE = 0o755;
const BROKEN = 'The markers of the Atlas block in it do not match. Fix them or remove the block by hand.';

/** A hook's file as it is; `text` is its bytes, one character each, of a plain file that isn't too large. */
interface Found {
  readonly path: string;
  readonly aside: string;
  readonly stat: FileStat | undefined;
  readonly asideStat: FileStat | undefined;
  readonly text: string | undefined;
  readonly split: SplitHook | 'broken' | undefined;
}

/** The files of hooks: puts our block in and takes it out without touching a byte around it. */
export class GitHookFiles {
  constructor(private readonly ports: { readonly files: FileSystem; readonly ids: Ids }) {}

  private find(folder: string, name: GitHookName): Found {
    const { files } = this.ports;
    const path = join(folder, name);
    const aside = `${path}${ASIDE}`;
    const stat = files.stat(path);
    const readable = stat?.kind === 'file' && stat.size <= MAX_HOOK_BYTES;
    const text = readable ? Buffer.from(files.read(path, MAX_HOOK_BYTES)).toString('latin1') : undefined;
    const split = text === undefined ? undefined : splitHook(text);
    return { path, aside, stat, asideStat: files.stat(aside), text, split };
  }

  /** How a hook stands. Without a command, the one that the block names is right. */
  inspect(
    folder: string,
    name: GitHookName,
    options: Omit<HookScriptOptions, 'command'> & { readonly command: readonly string[] | undefined },
  ): { state: GitHookState; problem?: string; command?: readonly string[] } {
    const { split, asideStat } = this.find(folder, name);
    if (split === undefined) return { state: 'absent' };
    if (split === 'broken') return { state: 'blocked', problem: BROKEN };
    const command = options.command ?? split.command;
    if (command === undefined) return { state: 'outdated' };
    if (split.kind === 'front' && asideStat === undefined) {
      return { state: 'outdated', problem: `${name}${ASIDE}, which it should run, is missing.`, command };
    }
    const current = split.block === asBytes(hookBlock(name, kindOf(split), { ...options, command }, split.eol));
    return { state: current ? stateOf(split.kind) : 'outdated', command };
  }

  /** Puts the block in, or brings it up to date. */
  install(folder: string, name: GitHookName, options: HookScriptOptions): GitHookChange {
    const found = this.find(folder, name);
    const { path, stat, asideStat, text, split } = found;
    if (split === 'broken') return { state: 'blocked', changed: false, problem: BROKEN };
    if (stat === undefined) {
      // Between moving it aside and this, somebody was killed.
      if (asideStat !== undefined) return this.makeFront(found, name, options);
      createFile(this.ports.files, this.ports.ids, path, ownText(name, 'own', options), HOOK_MODE);
      this.setMode(path, HOOK_MODE);
      return { state: 'installed', changed: true };
    }
    if (split !== undefined && text !== undefined) return this.update(found, text, split, name, options);
    if (stat.kind !== 'file' && stat.kind !== 'link') {
      return { state: 'blocked', changed: false, problem: `It is a ${stat.kind}, not a file.` };
    }
    if (text === undefined || !isExecutable(stat) || !isShellScript(text)) return this.moveAside(found, name, options);
    this.replace(path, wrapBody(text, name, options), stat.mode);
    return { state: 'beside', changed: true };
  }

  private update(
    found: Found,
    text: string,
    split: SplitHook,
    name: GitHookName,
    options: HookScriptOptions,
  ): GitHookChange {
    const kind = kindOf(split);
    const block = asBytes(hookBlock(name, kind, options, split.eol));
    const next =
      kind === split.kind
        ? `${split.before}${split.eol ? '\n' : ''}${block}${split.after}`
        : wrapBody(split.before + split.after, name, options);
    const { path, stat } = found;
    const mode = stat === undefined ? HOOK_MODE : stat.mode | 0o100;
    const changed = next !== text || (stat !== undefined && !isExecutable(stat));
    if (changed) this.replace(path, next, mode);
    return { state: stateOf(kind), changed };
  }

  private moveAside(found: Found, name: GitHookName, options: HookScriptOptions): GitHookChange {
    const { files } = this.ports;
    const { path, aside, stat, asideStat } = found;
    if (asideStat !== undefined && asideStat.ino !== stat?.ino) {
      return {
        state: 'blocked',
        changed: false,
        problem: `The git hook can't be moved aside, because ${basename(aside)} already exists. Move one of them away.`,
      };
    }
    // A hard link first: then there is no moment without the hook. Of a symbolic link not every system can make one.
    if (asideStat === undefined && !(stat?.kind === 'file' && this.link(path, aside)))
      renameWithRetry(files, path, aside);
    // Their hook has its new name on disk before ours takes the old one.
    files.syncFolder(dirname(path));
    const made = this.makeFront(found, name, options);
    if (stat?.kind === 'link' || (stat !== undefined && isExecutable(stat))) return made;
    return {
      ...made,
      note: `${name} was not executable, so git did not run it. It is kept as ${basename(aside)} and still does not run.`,
    };
  }

  private link(path: string, aside: string): boolean {
    try {
      this.ports.files.link(path, aside);
      return true;
    } catch (error) {
      if (NO_LINKS.has(codeOf(error))) return false;
      throw error;
    }
  }

  private makeFront({ path }: Found, name: GitHookName, options: HookScriptOptions): GitHookChange {
    this.replace(path, asBytes(ownText(name, 'front', options)), HOOK_MODE);
    return { state: 'beside', changed: true };
  }

  /** Takes the block out; a file that holds nothing else goes with it, and one that was moved aside comes back. */
  uninstall(folder: string, name: GitHookName): GitHookChange {
    const { path, aside, stat, asideStat, split } = this.find(folder, name);
    if (split === 'broken') return { state: 'blocked', changed: false, problem: BROKEN };
    if (split === undefined || stat === undefined) return { state: 'absent', changed: false };
    const rest = split.before + split.after;
    if (split.kind === 'front' && asideStat !== undefined) {
      renameWithRetry(this.ports.files, aside, path);
      this.ports.files.syncFolder(folder);
    } else if (split.kind !== 'around' && (rest === OWN_SHEBANG || rest === '')) {
      unlinkWithRetry(this.ports.files, path);
      this.ports.files.syncFolder(folder);
    } else {
      this.replace(path, rest, stat.mode);
    }
    return { state: 'absent', changed: true };
  }

  private replace(path: string, text: string, mode: number): void {
    const { files, ids } = this.ports;
    replaceFile(files, ids, path, Buffer.from(text, 'latin1'), { durable: true, mode });
    this.setMode(path, mode);
  }

  /** What a new file may be is cut by the process's mask; a hook that was there keeps exactly what it had. */
  private setMode(path: string, mode: number): void {
    if (process.platform !== 'win32' && this.ports.files.stat(path)?.mode !== mode) this.ports.files.chmod(path, mode);
  }
}

function ownText(name: GitHookName, kind: BlockKind, options: HookScriptOptions): string {
  return OWN_SHEBANG + hookBlock(name, kind, options);
}

function stateOf(kind: BlockKind): GitHookState {
  return kind === 'own' ? 'installed' : 'beside';
}

/** A file of ours to which somebody added lines is theirs from then on. */
function kindOf(split: SplitHook): BlockKind {
  return split.kind === 'own' && split.before + split.after !== OWN_SHEBANG ? 'around' : split.kind;
}

/** Windows has no such permission: there git runs what is there. */
function isExecutable(stat: FileStat): boolean {
  return process.platform === 'win32' || (stat.mode & 0o111) !== 0;
}
