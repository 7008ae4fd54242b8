import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BuiltCli, type Said } from '../drivers/cli';
import { AgentHome, type RunningAgent } from './agentDesk';
import type { RealAgent } from './install';
import { ScriptedModel, type Turn } from './scriptedModel';

/** What `atlas sessions show --json` says. */
export interface ShownSession {
  readonly session: {
    readonly session_id: string;
    readonly host: string;
    readonly state: string;
    readonly task_state: string | null;
    readonly task_id: string | null;
    readonly request: string | null;
    readonly files_changed: number;
    readonly hook_path: string | null;
    readonly worktree: string | null;
  };
  readonly markdown: string;
  readonly processes: readonly { readonly pid: number; readonly command: string }[];
}

/** Real agents, the built `atlas` and a scripted model, in a home folder of their own. The agents never hear of `atlas`. */
export class ObservedDesk {
  private repositories = 0;

  private constructor(
    readonly cli: BuiltCli,
    readonly agents: AgentHome,
    readonly model: ScriptedModel,
  ) {}

  static async open(agents: readonly RealAgent[]): Promise<ObservedDesk> {
    const cli = await BuiltCli.open();
    const model = await ScriptedModel.start([]);
    const home = await AgentHome.make(cli.home, model, agents);
    const desk = new ObservedDesk(cli, home, model);
    const bin = path.join(cli.home, 'bin');
    mkdirSync(bin);
    for (const agent of agents) symlinkSync(realpathSync(home.program(agent)), path.join(bin, agent));
    return desk;
  }

  /** Runs `atlas` in a folder, with the agents on its PATH. */
  async atlas(folder: string, ...args: readonly string[]): Promise<Said> {
    if (args[0] === 'resume') this.agents.removeStaleLocks();
    const PATH = `${path.join(this.cli.home, 'bin')}${path.delimiter}${process.env['PATH'] ?? ''}`;
    const own = this.agents.environment({ PATH, ATLAS_HOME: this.cli.root });
    return this.cli.runIn({ folder, env: own }, ...args);
  }

  /** Has an agent's sessions observed, those without a terminal too. */
  async observe(agent: RealAgent, ...more: readonly string[]): Promise<void> {
    const said = await this.atlas(this.cli.folder, 'lifecycle', 'install', '--host', agent, '--yes', ...more);
    if (said.code !== 0) throw new Error(said.err);
    this.configure((text) =>
      text.replace(/^ {2}headless:.*\n/mu, '').replace(/^sessions:\n/mu, 'sessions:\n  headless: true\n'),
    );
  }

  /** Edits config.yaml. */
  configure(edit: (text: string) => string): void {
    const file = path.join(this.cli.root, 'config.yaml');
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
  }

  /** A repository with a commit, an ignored folder and nothing uncommitted. */
  repository(): string {
    this.repositories += 1;
    const folder = this.cli.repository(`repository-${this.repositories}`);
    writeFileSync(path.join(folder, '.gitignore'), 'ignored/\n');
    writeFileSync(path.join(folder, 'kept.txt'), 'kept\n');
    this.git(folder, 'add', '.');
    this.git(folder, 'commit', '-qm', 'second');
    return folder;
  }

  git(folder: string, ...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: folder, env: this.cli.environment(), encoding: 'utf8' });
  }

  /** The paths that git says are uncommitted. */
  uncommitted(folder: string): string[] {
    const lines = this.git(folder, 'status', '--porcelain', '--untracked-files=all').split('\n');
    return lines
      .filter((line) => line !== '')
      .map((line) => line.slice(3))
      .sort();
  }

  /** Starts an agent on a script. */
  start(
    agent: RealAgent,
    request: string,
    folder: string,
    turns: readonly Turn[],
    env: Readonly<Record<string, string>> = {},
  ): RunningAgent {
    this.model.play(turns);
    return this.agents.start(agent, request, { folder, env: { ATLAS_HOME: this.cli.root, ...env } });
  }

  /**
   * What is known of the newest session of a repository; `undefined` where there is none.
   * @param hours by which the clock of whoever looks is ahead
   */
  async shown(folder: string, hours = 0): Promise<ShownSession | undefined> {
    const [newest] = await this.sessions(folder, hours);
    return newest === undefined ? undefined : this.show(folder, newest.session_id, hours);
  }

  /** The sessions of a repository, the newest first. */
  async sessions(folder: string, hours = 0): Promise<readonly ShownSession['session'][]> {
    const listed = await this.later(folder, hours, 'sessions', 'list', '--json');
    return (JSON.parse(listed.out) as { sessions: ShownSession['session'][] }).sessions;
  }

  /** What is known of one session. */
  async show(folder: string, id: string, hours = 0): Promise<ShownSession> {
    return JSON.parse((await this.later(folder, hours, 'sessions', 'show', id, '--json')).out) as ShownSession;
  }

  /** Runs `atlas` with a clock that is ahead. */
  private async later(folder: string, hours: number, ...args: readonly string[]): Promise<Said> {
    if (hours === 0) return this.atlas(folder, ...args);
    const shim = path.join(this.cli.home, `ahead-${hours}.cjs`);
    writeFileSync(shim, `const now = Date.now; Date.now = () => now() + ${hours} * 3600e3;\n`);
    const env = this.agents.environment({ ATLAS_HOME: this.cli.root, NODE_OPTIONS: `--require ${shim}` });
    return this.cli.runIn({ folder, env }, ...args);
  }

  /** Everything in the store, by file. */
  stored(): Map<string, string> {
    const files = readdirSync(this.cli.root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    return new Map(
      files.map(({ parentPath, name }) => {
        const file = path.join(parentPath, name);
        return [path.relative(this.cli.root, file), readFileSync(file, 'latin1')];
      }),
    );
  }

  async dispose(): Promise<void> {
    await this.agents.dispose();
    await this.model.close();
    this.cli.dispose();
  }
}
