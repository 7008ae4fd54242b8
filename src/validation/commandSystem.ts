import { type ChildProcess, type SpawnOptions, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { AtlasError } from '../core/shared/errors';
import { taskkill, windowsPrograms } from '../system/taskkill';
import { closeWriteEnds, makePipes } from './commandPipes';
import { processTable } from './processTable';
import { type CommandTree, ProcessTree, type TreeRoot, comesTrue } from './processTree';

/** How long Windows gets to end what it was told to end, in ms. */
const END_MS = 5000;

/** How processes are started and programs of the system run; replaced in tests of another platform. */
export interface ProcessPort {
  spawn(file: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  /** Runs a program to its end; resolves however it ended. */
  run(file: string, args: readonly string[]): Promise<void>;
}

/** A command that was started. */
export interface LaunchedCommand {
  readonly child: ChildProcess;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly tree: CommandTree;
}

/** What a command is started with. */
export interface LaunchOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** What its environment carries, to know its processes by. */
  readonly marker: string;
}

/** A platform's shell, and how what it started is ended. */
export interface CommandSystem {
  readonly platform: NodeJS.Platform;
  /** What is spawned for a command: the program and its arguments. */
  argv(command: string): string[];
  /** Starts a command, nothing to be read from stdin; rejects if its shell can't be started. */
  launch(argv: readonly string[], options: LaunchOptions): Promise<LaunchedCommand>;
}

const systemPort: ProcessPort = {
  spawn: (file, args, options) => spawn(file, [...args], options),
  run: (file, args) =>
    new Promise((resolve) => execFile(file, [...args], { windowsHide: true, timeout: END_MS }, () => resolve())),
};

/** Starts it, or fails as Node says. */
async function started(port: ProcessPort, argv: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const [file = '', ...args] = argv;
  const child = port.spawn(file, args, options);
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error').catch((thrown: unknown) => [thrown])) as [unknown];
    throw error instanceof Error ? error : new Error(String(error));
  }
  // Later errors are about signals that couldn't be sent; what became of the process is asked for itself.
  child.on('error', () => undefined);
  return child;
}

function rootOf(child: ChildProcess): TreeRoot {
  return { pid: child.pid ?? 0, alive: () => child.exitCode === null && child.signalCode === null };
}

function readable(stream: Readable | null): Readable {
  if (stream === null) throw new AtlasError('unreadable', 'The command was started without an output to read.');
  return stream;
}

/** Linux, macOS and the like: `/bin/sh` as the leader of a group and session of its own. */
function posixSystem(platform: NodeJS.Platform, port: ProcessPort): CommandSystem {
  return {
    platform,
    argv: (command) => ['/bin/sh', '-c', command],
    launch: async (argv, { cwd, env, marker }) => {
      const pipes = await makePipes();
      try {
        const stdio = ['ignore', pipes?.stdout.writeEnd ?? 'pipe', pipes?.stderr.writeEnd ?? 'pipe'] as const;
        const child = await started(port, argv, { cwd, env, detached: true, stdio: [...stdio] });
        return {
          child,
          stdout: pipes?.stdout.readable ?? readable(child.stdout),
          stderr: pipes?.stderr.readable ?? readable(child.stderr),
          tree: new ProcessTree(rootOf(child), marker, processTable(platform)),
        };
      } catch (error) {
        pipes?.stdout.readable.destroy();
        pipes?.stderr.readable.destroy();
        throw error;
      } finally {
        closeWriteEnds(pipes);
      }
    },
  };
}

/** Windows tells no one politely, and knows the children of a process only while that one lives. */
class WindowsTree implements CommandTree {
  lastSignal: NodeJS.Signals | undefined;

  constructor(
    private readonly root: TreeRoot,
    private readonly endTree: (pid: number) => Promise<void>,
  ) {}

  gone(ms: number): Promise<boolean> {
    return comesTrue(() => Promise.resolve(!this.root.alive()), ms);
  }

  async end(): Promise<void> {
    if (!this.root.alive()) return;
    this.lastSignal = 'SIGKILL';
    await this.endTree(this.root.pid);
    await this.gone(END_MS);
  }
}

/** Programs are named in full: Windows would look for them in the command's own folder first. */
function windowsSystem(port: ProcessPort, env: NodeJS.ProcessEnv): CommandSystem {
  return {
    platform: 'win32',
    argv: (command) => [`${windowsPrograms(env)}\\cmd.exe`, '/d', '/s', '/c', `"${command}"`],
    launch: async (argv, options) => {
      const child = await started(port, argv, {
        cwd: options.cwd,
        env: options.env,
        stdio: ['ignore', 'pipe', 'pipe'],
        windowsVerbatimArguments: true,
        windowsHide: true,
      });
      const end = (pid: number): Promise<void> => {
        const { file, args } = taskkill(pid, env);
        return port.run(file, args);
      };
      const tree = new WindowsTree(rootOf(child), end);
      return { child, stdout: readable(child.stdout), stderr: readable(child.stderr), tree };
    },
  };
}

/** How commands are run on a platform. */
export function commandSystem(
  platform: NodeJS.Platform = process.platform,
  port: ProcessPort = systemPort,
  env: NodeJS.ProcessEnv = process.env,
): CommandSystem {
  return platform === 'win32' ? windowsSystem(port, env) : posixSystem(platform, port);
}
