import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { endMarked, RUN_MARK } from '../endMarked.mts';
import type { Machine, Platform, Ran, RunOptions } from '../platform.mts';
import { LEFT_OUT } from './leftOut.mts';
import { type Volume, mountVolume } from './volume.mts';

const CANNOT_TELL = `What this can't tell: it is this system, told to every Node as macOS, on a volume whose names are those of macOS. Without
/proc, processes are asked of ps. There is no APFS, no ps of BSD, no git of Apple, no F_FULLFSYNC, and no window of VS Code.`;

/** This system, shown to Node as macOS. */
class MacMachine implements Machine {
  readonly temporary: string;
  private readonly home: string;

  constructor(private readonly volume: Volume) {
    this.temporary = path.join(volume.folder, 'tmp');
    this.home = path.join(volume.folder, 'home');
    mkdirSync(this.temporary);
    mkdirSync(this.home);
  }

  pathOf(file: string): string {
    return path.resolve(file);
  }

  async runNode(args: readonly string[], { env = {}, cwd, limitMs = 0 }: RunOptions = {}): Promise<Ran> {
    const run = mkdtempSync(path.join(os.tmpdir(), 'atlas-mac-'));
    const child = spawn(process.execPath, [...args], {
      env: { PATH: process.env['PATH'], HOME: this.home, LC_ALL: 'C.UTF-8', ...env, [RUN_MARK]: run },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
      ...(cwd !== undefined && { cwd }),
    });
    // What a test leaves running has its output too.
    const written = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    endMarked(run);
    const [stdout, stderr] = await written;
    rmSync(run, { recursive: true, force: true });
    return { code: code ?? 1, stdout, stderr: signal === null ? stderr : `${stderr}\nkilled by ${signal}` };
  }

  async close(): Promise<void> {
    await this.volume.unmount();
  }
}

/** macOS by its differences. */
export const MACOS: Platform = {
  name: 'macOS',
  tests: ['test/macos', 'test/unit', 'test/integration', 'test/crash'],
  share: ['test/macos'],
  leftOut: LEFT_OUT,
  preload: 'scripts/platforms/macos/preload.ts',
  cannotTell: CANNOT_TELL,
  open: async () => new MacMachine(await mountVolume()),
};
