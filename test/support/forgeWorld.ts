import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { WorkerPorts } from '../../src/workers/forgeFolder';
import { Workers } from '../../src/workers/workers';

const CONFIG = `[user]
	name = Test Person
	email = test@example.invalid
[init]
	defaultBranch = main
[safe]
	directory = *
`;

/** A repository with one commit, and its workers. */
export interface ForgeWorld {
  /** Holds everything. */
  readonly base: string;
  /** The main worktree. */
  readonly folder: string;
  readonly workers: Workers;
  /** Other workers of the same repository, as another process would have them. */
  readonly open: (folder?: string, ports?: Partial<WorkerPorts>) => Workers;
  /** Runs git in the main worktree, or where `-C` says. */
  readonly git: (...args: string[]) => string;
  /** The same, whatever git ends with. */
  readonly tryGit: (...args: string[]) => void;
  readonly write: (file: string, content: string | Uint8Array) => void;
  /** A line of the user's own git configuration for all repositories. */
  readonly configure: (name: string, value: string) => void;
  dispose(): void;
}

/** This machine's ports, as far as workers need them. */
export function workerPorts(): WorkerPorts {
  return systemPorts(os.tmpdir(), '0.0.0', silentLog);
}

/** Makes a repository. Until it is disposed of, git has a configuration of its own in this process. */
export function makeForgeWorld(): ForgeWorld {
  const base = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), 'atlas-forge-')));
  const folder = path.join(base, 'repo');
  mkdirSync(folder);
  const config = path.join(base, 'gitconfig');
  writeFileSync(config, CONFIG);
  const before = { ...process.env };
  process.env['GIT_CONFIG_GLOBAL'] = config;
  process.env['GIT_CONFIG_NOSYSTEM'] = '1';
  // As it was before a test sets something of git's.
  const env = { ...process.env, GIT_OPTIONAL_LOCKS: '0' };
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
  const write = (file: string, content: string | Uint8Array): void => {
    mkdirSync(path.dirname(path.resolve(folder, file)), { recursive: true });
    writeFileSync(path.resolve(folder, file), content);
  };
  git('init', '--quiet');
  write('README.md', '# Sample\n');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first commit');
  const open = (at = folder, ports: Partial<WorkerPorts> = {}): Workers =>
    unwrap(Workers.open(at, { ...workerPorts(), ...ports }));
  return {
    ...{ base, folder, open, git, write },
    workers: open(),
    tryGit: (...args) => {
      try {
        git(...args);
      } catch {
        // A merge that stops at a conflict ends so.
      }
    },
    configure: (name, value) => {
      git('config', '--global', name, value);
    },
    dispose: () => {
      for (const name of Object.keys(process.env)) if (!(name in before)) Reflect.deleteProperty(process.env, name);
      Object.assign(process.env, before);
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Ours in git's folder: objects, branches and where a remote has them, worktrees, the lock, and the one line that hides `.forge/`. */
const OURS =
  /^(?:objects\/|(?:logs\/)?refs\/(?:heads|remotes\/[^/]+)\/forge\/|worktrees\/(?:ledger\d*|w\d+|worker-\d+)\/|atlas\/|info\/exclude$)/u;
const OUR_REF = /\trefs\/(?:heads|remotes\/[^/]+)\/forge\//u;

/** SHA-256 of everything that is the user's, by path: the worktree's files, and all that git keeps for it. */
export function usersOwn({ folder, git }: ForgeWorld, worktree = folder): Map<string, string> {
  const picture = new Map<string, string>();
  const add = (root: string, isOurs: (file: string) => boolean): void => {
    const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const entry of entries) {
      const full = path.join(entry.parentPath, entry.name);
      const file = path.relative(root, full).split(path.sep).join('/');
      if (isOurs(file)) continue;
      picture.set(path.relative(folder, full), createHash('sha256').update(readFileSync(full)).digest('hex'));
    }
  };
  add(worktree, (file) => file.startsWith('.git/') || file.startsWith('.forge/'));
  add(path.join(folder, '.git'), (file) => OURS.test(file));
  const asked = [
    ['status', '--porcelain=v2', '--branch', '--untracked-files=all'],
    ['stash', 'list'],
    ['diff'],
    ['diff', '--cached'],
  ];
  for (const args of asked) picture.set(args.join(' '), git('-C', worktree, ...args));
  const refs = git('for-each-ref').split('\n');
  picture.set('refs', refs.filter((line) => !OUR_REF.test(line)).join('\n'));
  return picture;
}

/** The subjects of a branch's commits, the newest first. */
export function subjects({ git }: ForgeWorld, branch: string): string[] {
  return git('log', '--format=%s', `refs/heads/forge/${branch}`).split('\n');
}

/** The JSON in a file of a branch. */
export function onBranch({ git }: ForgeWorld, branch: string, file: string): unknown {
  return JSON.parse(git('show', `refs/heads/forge/${branch}:${file}`));
}

/** SHA-256 of a file in hex. */
export function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Whether something is at a path. */
export function isThere(...parts: string[]): boolean {
  return existsSync(path.join(...parts));
}
