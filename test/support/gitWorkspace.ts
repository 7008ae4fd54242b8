import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from './run';

/** A Git repository of its own for one test run, with what isolates it from the machine's Git and Atlas settings. */
export interface GitWorkspace {
  /** The temporary folder that holds everything here. */
  readonly root: string;
  /** The repository's work tree, one commit on `main`, pushed to {@link remote}. */
  readonly folder: string;
  /** The bare repository that `origin` names. */
  readonly remote: string;
  readonly atlasHome: string;
  /** ATLAS_HOME and Git's configuration, to be added to a process's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs git in {@link folder} and returns what it printed. */
  git(...args: string[]): Promise<string>;
  /** Deletes everything. */
  dispose(): void;
}

const GIT_CONFIG = `[user]
	name = Test Person
	email = test@example.invalid
[init]
	defaultBranch = main
[safe]
	directory = *
[commit]
	gpgSign = false
`;

/** Makes a fresh repository with one commit and a bare remote. `root` (default: a temporary folder) must be empty or absent. */
export async function makeGitWorkspace(root = mkdtempSync(path.join(os.tmpdir(), 'atlas-ws-'))): Promise<GitWorkspace> {
  const folder = path.join(root, 'repo');
  const remote = path.join(root, 'remote.git');
  const atlasHome = path.join(root, 'atlas-home');
  const config = path.join(root, 'gitconfig');
  for (const each of [folder, atlasHome]) mkdirSync(each, { recursive: true });
  writeFileSync(config, GIT_CONFIG);
  const env = { ATLAS_HOME: atlasHome, GIT_CONFIG_GLOBAL: config, GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args: string[]) => run('git', args, { cwd: folder, env: { ...process.env, ...env } });
  await git('init', '--quiet');
  await git('init', '--quiet', '--bare', remote);
  await git('remote', 'add', 'origin', remote);
  writeFileSync(path.join(folder, 'README.md'), '# Sample\n');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'first commit');
  await git('push', '--quiet', '--set-upstream', 'origin', 'main');
  return { root, folder, remote, atlasHome, env, git, dispose: () => rmSync(root, { recursive: true, force: true }) };
}
