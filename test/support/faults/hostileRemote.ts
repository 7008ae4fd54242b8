import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BuiltCli, Said } from '../drivers/cli';
import { Desk } from '../drivers/cliDesk';
import { HostileObjects } from '../fixtures/hostileTrees';

/** A bare remote that two people use, and on which somebody else puts whatever they like. */
export class HostileRemote {
  readonly bare: string;
  readonly objects: HostileObjects;
  /** Has slung `t1` to `evil` and `t2` to `w2`, and shared them. */
  readonly a: Desk;
  /** Has heard of the remote, and fetched nothing yet. */
  readonly b: Desk;
  /** Is made by whatever program a branch names, once that runs. */
  readonly canary: string;

  constructor(cli: BuiltCli, name: string) {
    this.a = new Desk(cli, `${name}-a`);
    this.b = new Desk(cli, `${name}-b`);
    this.bare = path.join(cli.folder, `${name}.git`);
    this.canary = path.join(cli.folder, `${name}.canary`);
    execFileSync('git', ['init', '--quiet', '--bare', this.bare]);
    for (const desk of [this.a, this.b]) desk.git('remote', 'add', 'origin', this.bare);
    this.objects = new HostileObjects(this.bare);
  }

  static async make(cli: BuiltCli, name: string): Promise<HostileRemote> {
    const remote = new HostileRemote(cli, name);
    await remote.a.ok('worker', 'sling', 't1', 'evil');
    await remote.a.ok('worker', 'sling', 't2', 'w2');
    await remote.a.ok('worker', 'sync', 'origin');
    return remote;
  }

  /** Runs git in the bare remote. */
  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.bare, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
  }

  /** A program for git's settings that shows that it ran. */
  get program(): string {
    const script = `${this.canary}.sh`;
    writeFileSync(script, `#!/bin/sh\ntouch '${this.canary}'\n`, { mode: 0o755 });
    return script;
  }

  get hasRun(): boolean {
    return existsSync(this.canary);
  }
}

/** The paths in the index of a worktree, as git has them. */
export function indexed(desk: Desk, folder: string): string[] {
  return desk
    .git('-C', folder, '-c', 'core.fsmonitor=false', 'ls-files', '-z')
    .split('\0')
    .filter((name) => name !== '');
}

/** Runs a shell's line in a folder, as a person would. */
export function typed(desk: Desk, folder: string, line: string): string {
  const options = { cwd: path.join(desk.folder, folder), env: desk.cli.environment(), encoding: 'utf8' } as const;
  try {
    return execFileSync('/bin/sh', ['-c', line], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    return String((error as { readonly stderr?: string }).stderr);
  }
}

/** The most memory that a process had while it ran, in MiB, and what it said. */
export async function measured(
  desk: Desk,
  ...args: readonly string[]
): Promise<Said & { readonly mib: number; readonly ms: number }> {
  const file = path.join(desk.root, `memory-${args.join('-')}`);
  const probe = path.join(desk.cli.folder, 'probe.cjs');
  writeFileSync(
    probe,
    `process.on('exit', () => require('node:fs').writeFileSync(process.env.MEMORY_FILE, String(process.resourceUsage().maxRSS)));`,
  );
  const began = performance.now();
  const said = await desk.runWith({ env: { NODE_OPTIONS: `--require ${probe}`, MEMORY_FILE: file } }, ...args);
  const ms = performance.now() - began;
  return { ...said, ms, mib: existsSync(file) ? Number(readFileSync(file, 'utf8')) / 1024 : -1 };
}
