import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { PROJECT } from './project';

/** How `atlas` ended, and what it said. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The `atlas` command, built as it is shipped, on a machine of its own that has no store. */
export class BuiltCli {
  /** The home folder of whoever runs it: nothing of it is there yet. */
  readonly home: string;
  readonly folder: string;

  private constructor(private readonly base: string) {
    this.home = path.join(base, 'home');
    this.folder = path.join(base, 'work');
    for (const each of [this.home, this.folder]) mkdirSync(each);
  }

  /** Builds it. */
  static async open(): Promise<BuiltCli> {
    const base = mkdtempSync(path.join(os.tmpdir(), 'atlas-cli-'));
    await build({
      absWorkingDir: PROJECT,
      entryPoints: [{ in: 'src/cli/main.ts', out: 'cli' }],
      outdir: path.join(base, 'dist'),
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'node20',
      format: 'esm',
      mainFields: ['module', 'main'],
      alias: { yaml: './node_modules/yaml/browser/index.js' },
      logLevel: 'error',
    });
    writeFileSync(path.join(base, 'package.json'), '{ "type": "module" }');
    return new BuiltCli(base);
  }

  /** Runs `atlas` with these arguments to its end. */
  async run(...args: readonly string[]): Promise<Said> {
    const env = { PATH: process.env['PATH'], HOME: this.home, ATLAS_HOME: path.join(this.home, 'store') };
    const cli = path.join(this.base, 'dist', 'cli.js');
    const child = spawn(process.execPath, [cli, ...args], { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, err };
  }

  /** Writes a file to the folder in which it runs, and gives its name. */
  write(name: string, content: unknown): string {
    writeFileSync(path.join(this.folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return name;
  }

  dispose(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}
