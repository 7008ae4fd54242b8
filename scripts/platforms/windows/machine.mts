import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { commOf, describeMarked, endMarked, killProcess, processesWith, RUN_MARK } from '../endMarked.mts';
import type { Machine, Ran, RunOptions } from '../platform.mts';
import { type WindowsLayout, windowsPath } from './layout.mts';

/** Parts of Wine that no test needs: menus, .NET and a browser, which would be offered for download, and the debugger. */
const LEFT_OUT = 'winemenubuilder.exe,winedbg.exe,mscoree,mshtml=';
/** Programs of ours that stand where Wine has its own. */
const OURS = 'taskkill.exe=n';

/** What Wine itself keeps running for all programs, started by whichever came first. */
const SERVERS = /^(?:wineserver|services|winedevice|plugplay|svchost|rpcss|explorer)/;

/** How often it is looked whether Wine's server is still there, in ms. */
const LOOK_MS = 1000;

/** Runs Windows programs under Wine. */
export class WindowsMachine implements Machine {
  readonly temporary = os.tmpdir();
  readonly pathOf = windowsPath;

  constructor(private readonly layout: WindowsLayout) {}

  /** Makes Wine's folder, of a Windows 10. */
  async prepare(): Promise<void> {
    await this.must('wineboot.exe', ['--init']);
    const version = ['HKCU\\Software\\Wine', '/v', 'Version', '/t', 'REG_SZ', '/d', 'win10', '/f'];
    await this.must('reg.exe', ['add', ...version]);
    const programs = path.join(this.layout.prefix, 'drive_c', 'windows', 'system32');
    rmSync(path.join(programs, 'taskkill.exe'), { force: true });
    cpSync(path.join(this.layout.system, 'taskkill.exe'), path.join(programs, 'taskkill.exe'));
    const git = await this.must('git.exe', ['--version']);
    const node = await this.must('node.exe', ['--version']);
    console.log(`Windows: ${git.trim()}, Node ${node.trim()}`);
  }

  private async must(program: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(program, args);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code} under Wine: ${stdout}${stderr}`);
    return stdout;
  }

  /** Has Wine's server stay until {@link close}: to start it takes longer than to start a program. */
  async keepServer(): Promise<void> {
    await this.server('-p');
    // Its services start with the first program, and are nobody's.
    await this.must('cmd.exe', ['/c', 'ver']);
  }

  /** Ends Wine's server, and with it whatever still runs. */
  async close(): Promise<void> {
    await this.server('-k');
    // What a server left behind that died waits for its answer for ever.
    for (const pid of processesWith(this.mark())) killProcess(pid);
  }

  private mark(): string {
    return `WINEPREFIX=${this.layout.prefix}`;
  }

  /** Wine's server, and for a moment whoever asks it to stay. */
  private serverProcesses(): string[] {
    return processesWith(this.mark()).filter((pid) => commOf(pid).startsWith('wineserver'));
  }

  private async server(option: string): Promise<void> {
    const server = path.join(path.dirname(this.wine()), 'wineserver');
    await once(spawn(server, [option], { env: this.environment({}), stdio: 'ignore', detached: true }), 'exit');
  }

  /**
   * Runs a program to its end, and ends what it left running. Its output goes through files: Windows' Node can't write
   * to a pipe of Unix.
   */
  async run(program: string, args: readonly string[], { env = {}, cwd, limitMs = 0 }: RunOptions = {}): Promise<Ran> {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-wine-'));
    const files = { stdout: path.join(folder, 'stdout'), stderr: path.join(folder, 'stderr') };
    const [out, err] = [openSync(files.stdout, 'w'), openSync(files.stderr, 'w')];
    try {
      const child = spawn(this.wine(), [program, ...args], {
        env: this.environment({ ...env, [RUN_MARK]: folder }),
        stdio: ['ignore', out, err],
        ...(cwd !== undefined && { cwd }),
      });
      let stoodStill = '';
      let broke: string | undefined;
      const kill = (): void => {
        stoodStill = `\nStood still:\n${describeMarked(folder, SERVERS)}`;
        child.kill('SIGKILL');
      };
      const timer = limitMs === 0 ? undefined : setTimeout(kill, limitMs);
      const servers = this.serverProcesses();
      const look = setInterval(() => {
        const now = new Set(this.serverProcesses());
        if (servers.length === 0 || servers.some((pid) => now.has(pid))) return;
        broke = "Wine's server died";
        kill();
      }, LOOK_MS);
      const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
      clearTimeout(timer);
      clearInterval(look);
      const stderr = readFileSync(files.stderr, 'utf8') + stoodStill + (signal === null ? '' : `\nkilled by ${signal}`);
      return {
        code: code ?? 1,
        stdout: readFileSync(files.stdout, 'utf8'),
        stderr,
        ...(broke !== undefined && { broke }),
      };
    } finally {
      endMarked(folder, SERVERS);
      closeSync(out);
      closeSync(err);
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async runNode(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    // Some program may have made it crash.
    await this.server('-p');
    return this.run('node.exe', args, options);
  }

  private wine(): string {
    if (this.layout.wine === undefined) throw new Error('Wine is not installed');
    return this.layout.wine;
  }

  /** Nothing of this machine's environment: its paths mean nothing there. */
  private environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    const { prefix, git, node, system } = this.layout;
    mkdirSync(prefix, { recursive: true });
    return {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      // Names of files are UTF-8 on this side.
      LC_ALL: 'C.UTF-8',
      WINEPREFIX: prefix,
      WINEDEBUG: '-all',
      WINEDLLOVERRIDES: `${LEFT_OUT};${OURS}`,
      WINEPATH: [system, path.dirname(git), path.dirname(node)].map(windowsPath).join(';'),
      // Wine's Windows is one that this Node doesn't know by its number.
      NODE_SKIP_PLATFORM_CHECK: '1',
      ...env,
    };
  }
}
