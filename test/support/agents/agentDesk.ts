import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { removeFolder } from '../removeFolder';
import { type RealAgent, installAgent, installOpenCodePlugins } from './install';
import type { ScriptedModel } from './scriptedModel';

/** A real agent that runs. */
export interface RunningAgent {
  readonly child: ChildProcess;
  /** What it printed so far, for a failure's message. */
  readonly printed: () => string;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** How an agent is started beside its request. */
export interface AgentStart {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** More arguments, before the request. */
  readonly args?: readonly string[];
}

const CODEX_CONFIG = (address: string): string => `model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`;

/** A home folder in which real agents talk to a scripted model, and to nothing else. */
export class AgentHome {
  readonly running: RunningAgent[] = [];

  private constructor(
    readonly home: string,
    readonly model: ScriptedModel,
    private readonly programs: Readonly<Partial<Record<RealAgent, string>>>,
  ) {}

  /** Installs the agents where they aren't yet, and writes what makes them use the model. */
  static async make(home: string, model: ScriptedModel, agents: readonly RealAgent[]): Promise<AgentHome> {
    const programs: Partial<Record<RealAgent, string>> = {};
    for (const agent of agents) programs[agent] = await installAgent(agent);
    mkdirSync(path.join(home, '.codex'), { recursive: true });
    writeFileSync(path.join(home, '.codex', 'config.toml'), CODEX_CONFIG(model.address));
    if (agents.includes('opencode')) await AgentHome.writeOpenCode(home, model.address);
    if (agents.includes('claude'))
      writeFileSync(path.join(home, '.claude.json'), JSON.stringify({ hasCompletedOnboarding: true }));
    return new AgentHome(home, model, programs);
  }

  private static async writeOpenCode(home: string, address: string): Promise<void> {
    const folder = path.join(home, '.config', 'opencode');
    mkdirSync(folder, { recursive: true });
    const modules = await installOpenCodePlugins();
    cpSync(modules, path.join(folder, 'node_modules'), { recursive: true });
    const version = JSON.parse(readFileSync(path.join(modules, '@opencode-ai', 'plugin', 'package.json'), 'utf8')) as {
      version: string;
    };
    writeFileSync(
      path.join(folder, 'package.json'),
      JSON.stringify({ dependencies: { '@opencode-ai/plugin': version.version } }),
    );
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${address}/v1`, apiKey: 'x' },
      models: { scripted: {} },
    };
    const config = {
      provider: { scripted: provider },
      model: 'scripted/scripted',
      permission: 'allow',
      autoupdate: false,
    };
    writeFileSync(path.join(folder, 'opencode.json'), JSON.stringify(config));
  }

  /** The program of an agent. */
  program(agent: RealAgent): string {
    const program = this.programs[agent];
    if (program === undefined) throw new Error(`${agent} was not asked for`);
    return program;
  }

  /** The environment of an agent: nothing of this machine's but the PATH. */
  environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: this.home,
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
      SCRIPTED_KEY: 'x',
      ANTHROPIC_BASE_URL: this.model.address,
      ANTHROPIC_API_KEY: 'x',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      IS_SANDBOX: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      ...more,
    };
  }

  /** Starts an agent with a request, without a terminal. */
  start(agent: RealAgent, request: string, { folder, env, args = [] }: AgentStart): RunningAgent {
    this.removeStaleLocks();
    const child = spawn(this.program(agent), [...HEADLESS[agent](request, args)], {
      cwd: folder,
      env: this.environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
    const ended = once(child, 'close').then(() => undefined);
    const running = { child, printed: () => printed, ended };
    this.running.push(running);
    return running;
  }

  /**
   * OpenCode looks for its plugins' packages as it starts, longest without a network. Killed meanwhile, it leaves a lock
   * for which the next one waits a minute.
   */
  removeStaleLocks(): void {
    const isRunning = this.running.some(({ child }) => child.exitCode === null && child.signalCode === null);
    if (!isRunning)
      rmSync(path.join(this.home, '.local', 'state', 'opencode', 'locks'), { recursive: true, force: true });
  }

  /** Ends all agents that still run. */
  async dispose(): Promise<void> {
    for (const { child, ended } of this.running.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
    removeFolder(this.home);
  }
}

const HEADLESS: Readonly<Record<RealAgent, (request: string, args: readonly string[]) => readonly string[]>> = {
  codex: (request, args) => [
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    '--dangerously-bypass-hook-trust',
    ...args,
    request,
  ],
  opencode: (request, args) => ['run', ...args, request],
  claude: (request, args) => [
    '-p',
    request,
    '--permission-mode',
    'acceptEdits',
    '--allowedTools',
    'Bash,Write,Edit',
    ...args,
  ],
};
