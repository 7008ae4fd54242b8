import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import type { BuiltCli, Said } from './cli';
import type { Desk } from './cliDesk';

/** What the host's process does: it runs what it is told in a shell, and says how that ended. */
const HOST_PROGRAM = `
  const { spawnSync } = require('node:child_process');
  process.on('message', ({ command, input, env }) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { input, encoding: 'utf8', env: { ...process.env, ...env } });
    process.send({ code: status, out: stdout, err: stderr });
  });
`;

/** A host with one session of its agent: a process that runs hooks and commands as one does. */
export class AgentHost {
  private static readonly running: ChildProcess[] = [];
  private readonly child: ChildProcess;

  constructor(
    cli: BuiltCli,
    private readonly desk: Desk,
    readonly session: string,
    /** How its hooks start `atlas`, as a shell's words. */
    private readonly atlas = `'${process.execPath}' '${cli.entry}'`,
  ) {
    const { env } = desk.how();
    this.child = spawn(process.execPath, ['-e', HOST_PROGRAM], {
      cwd: desk.folder,
      env: cli.environment(env),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    AgentHost.running.push(this.child);
  }

  private async ask(command: string, input: string, env: NodeJS.ProcessEnv): Promise<Said> {
    const answered = once(this.child, 'message');
    this.child.send({ command, input, env });
    const [said] = (await answered) as [Said];
    return said;
  }

  /** Ends all that still run. */
  static endAll(): void {
    for (const child of AgentHost.running.splice(0)) child.kill('SIGKILL');
  }

  /** Fires a hook, which has to let the agent go on. */
  async fires(event: string, more: object = {}, env: NodeJS.ProcessEnv = {}): Promise<Said> {
    const said = await this.asks(event, more, env);
    expect(said.code, said.err).toBe(0);
    return said;
  }

  /** Fires a hook, which may keep the agent. */
  async asks(event: string, more: object = {}, env: NodeJS.ProcessEnv = {}): Promise<Said> {
    const input = JSON.stringify({ session_id: this.session, cwd: this.desk.folder, ...more });
    return this.ask(`${this.atlas} lifecycle ${event} --host claude`, input, env);
  }

  /** Runs a command of `atlas` for its agent, a shell within a shell; it has to succeed. */
  async runs(line: string): Promise<Said> {
    const said = await this.tries(line);
    expect(said.code, said.err).toBe(0);
    return said;
  }

  /** Runs a command of `atlas` for its agent. */
  async tries(line: string): Promise<Said> {
    const named = { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: this.session };
    return this.ask(`sh -c "${this.atlas} ${line}; exit \\$?"; exit $?`, '', named);
  }

  async kill(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
