import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { run } from '../drivers/run';
import type { HostData } from './hostData';
import type { InstalledHost } from './install';

/** How a VS Code server is started. */
export interface ServerOptions {
  readonly host: InstalledHost;
  readonly data: HostData;
  /** Added to this process's environment; the extension host has it too. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A free port when left out. Give the port of an earlier server to keep its window's storage, which is bound to the address. */
  readonly port?: number;
  /** Off by default: then every folder is trusted. On: a new folder opens in restricted mode, after a dialog. */
  readonly workspaceTrust?: boolean;
  /** Needed for a development payload since VS Code 1.139; silences toasts and makes dialogs reject. */
  readonly testDriver?: boolean;
  /** Seconds for which the extension host of a lost window is kept; VS Code's own value when left out. */
  readonly reconnectionGraceSeconds?: number;
}

/** A running VS Code server. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  /** The process id of the newest extension host: that of the window just opened or reloaded. For SIGKILL, SIGSTOP, SIGCONT. */
  extensionHost(): Promise<number>;
  /** All extension hosts, oldest first: those of closed windows go on for a moment. */
  extensionHosts(): Promise<number[]>;
  /** Ends the server and all that it started; its data stays. */
  stop(): Promise<void>;
  /** Kills the server and all that it started, as a power cut would. */
  kill(): Promise<void>;
}

const START_LIMIT_MS = 60_000;

/** Starts a VS Code server on a loopback port and resolves when it listens. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const child = spawn(options.host.node, argumentsOf(options), {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own, so that all of it can be ended
    env: environment(options.env),
  });
  const gone = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    signalGroup(child, signal);
    signalGroup(child, 'SIGCONT'); // a stopped process takes no other signal
    await gone;
    signalGroup(child, 'SIGKILL'); // what outlives the server
  };
  try {
    const port = await listening(child);
    const pid = child.pid ?? 0;
    return {
      port,
      pid,
      extensionHost: async () => newest(await extensionHosts(pid)),
      extensionHosts: () => extensionHosts(pid),
      stop: () => end('SIGTERM'),
      kill: () => end('SIGKILL'),
    };
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
}

function argumentsOf({ host, data, port, workspaceTrust, testDriver, reconnectionGraceSeconds }: ServerOptions) {
  return [
    host.server,
    ...['--host', '127.0.0.1', '--port', String(port ?? 0), '--without-connection-token'],
    ...['--accept-server-license-terms', '--telemetry-level', 'off'],
    ...['--disable-update-check', '--disable-getting-started-override'],
    ...['--server-data-dir', data.serverData, '--user-data-dir', data.userData, '--extensions-dir', data.extensions],
    ...(workspaceTrust === true ? [] : ['--disable-workspace-trust']),
    ...(testDriver === true ? ['--enable-smoke-test-driver'] : []),
    ...(reconnectionGraceSeconds === undefined ? [] : ['--reconnection-grace-time', String(reconnectionGraceSeconds)]),
  ];
}

/** Without what an editor's terminal adds: it would make the server believe that it runs inside another one, and exit. */
function environment(extra: ServerOptions['env']): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(VSCODE_|CODE_SERVER_|ELECTRON_)/.test(name));
  return { ...Object.fromEntries(own), EXTENSIONS_GALLERY: '{}', ...extra };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // nobody is left
  }
}

function listening(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = deferred<number>();
  let output = '';
  const timer = setTimeout(() => reject(new Error(`the server did not start:\n${output}`)), START_LIMIT_MS);
  const take = (chunk: string) => {
    if (process.env['HOST_DEBUG'] !== undefined) process.stderr.write(chunk);
    output = (output + chunk).slice(-20_000);
    const port = /Extension host agent listening on (\d+)/.exec(output)?.[1];
    if (port !== undefined) resolve(Number(port));
  };
  child.stdout?.setEncoding('utf8').on('data', take);
  child.stderr?.setEncoding('utf8').on('data', take);
  child.once('error', reject);
  child.once('exit', (code) => reject(new Error(`the server exited with ${code ?? 'a signal'}:\n${output}`)));
  return promise.finally(() => clearTimeout(timer));
}

async function extensionHosts(group: number): Promise<number[]> {
  return hostsIn(await run('ps', ['-A', '-o', 'pid=,ppid=,pgid=,etime=,args=']), group);
}

/**
 * The process ids of a server's extension hosts, the newest last.
 * @param table lines of process id, parent, process group, age (`[[days-]hours:]minutes:seconds`) and arguments
 */
export function hostsIn(table: string, group: number): number[] {
  const hosts = table
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+([-\d:]+)\s+(.*)$/.exec(line))
    .filter((match) => Number(match?.[3]) === group && match?.[5]?.includes('--type=extensionHost'))
    .map((match) => ({ pid: Number(match?.[1]), parent: Number(match?.[2]), age: secondsOf(match?.[4] ?? '') }));
  const pids = new Set(hosts.map(({ pid }) => pid));
  // What a host is about to start has the host's own arguments until it runs: no host, and gone in a moment.
  return hosts
    .filter(({ parent }) => !pids.has(parent))
    .sort((a, b) => b.age - a.age || a.pid - b.pid) // process ids begin again from below
    .map(({ pid }) => pid);
}

function secondsOf(age: string): number {
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = age.split(/[-:]/).reverse().map(Number);
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
}

function newest(hosts: readonly number[]): number {
  const last = hosts.at(-1);
  if (last === undefined) throw new Error('the server has no extension host: no window is open');
  return last;
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
