import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from '../drivers/run';
import { PROJECT } from '../project';

/** The agents that tests run for real. */
export const REAL_AGENTS = ['codex', 'opencode', 'claude'] as const;

/** One of them. */
export type RealAgent = (typeof REAL_AGENTS)[number];

interface Package {
  /** As npm is asked for it. */
  readonly spec: string;
  /** Where its program lies once it is installed. */
  readonly program: (folder: string) => string | undefined;
}

/** Where what npm installed lies. Together they are over 1 GB, so they are installed on demand and never depended on. */
const CACHE = path.join(PROJECT, '.vscode-test', 'agents');
const PLATFORM = `${os.platform()}-${os.arch()}`;
const INSTALL = ['install', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];

/** The package that OpenCode installs beside a plugin, at its start, from the network. */
const OPENCODE_PLUGIN = '@opencode-ai/plugin@1.18.33';

const PACKAGES: Readonly<Record<RealAgent, Package>> = {
  codex: {
    spec: `codex-program@npm:@openai/codex@0.169.0-${PLATFORM}`,
    program: (folder) => {
      const vendor = path.join(folder, 'node_modules', 'codex-program', 'vendor');
      const [target] = existsSync(vendor) ? readdirSync(vendor) : [];
      return target === undefined ? undefined : path.join(vendor, target, 'bin', 'codex');
    },
  },
  opencode: {
    spec: `opencode-program@npm:opencode-${PLATFORM === 'linux-x64' ? 'linux-x64-baseline' : PLATFORM}@1.18.33`,
    program: (folder) => path.join(folder, 'node_modules', 'opencode-program', 'bin', 'opencode'),
  },
  claude: {
    spec: `claude-program@npm:@anthropic-ai/claude-code-${PLATFORM}@2.1.330`,
    program: (folder) => path.join(folder, 'node_modules', 'claude-program', 'claude'),
  },
};

/** One at a time: it is done before the test files begin, which then find it. */
async function installed(name: string, spec: string, check: (folder: string) => boolean): Promise<string> {
  const folder = path.join(CACHE, `${name}-${spec.slice(spec.lastIndexOf('@') + 1)}`);
  if (check(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const temporary = mkdtempSync(path.join(CACHE, 'tmp-'));
  try {
    await run('npm', [...INSTALL, '--prefix', temporary, spec], { cwd: temporary });
    rmSync(folder, { recursive: true, force: true });
    renameSync(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return folder;
}

/** The program of a real agent, installed on first use; rejects where npm has none for this platform. */
export async function installAgent(agent: RealAgent): Promise<string> {
  const { spec, program } = PACKAGES[agent];
  const folder = await installed(agent, spec, (each) => existsSync(program(each) ?? ''));
  const found = program(folder);
  if (found === undefined || !existsSync(found)) throw new Error(`${spec} holds no program where it is expected`);
  return found;
}

/** The `node_modules` that OpenCode wants beside its plugins: with them it starts without a network. */
export async function installOpenCodePlugins(): Promise<string> {
  const inside = (folder: string): string => path.join(folder, 'node_modules');
  const folder = await installed('opencode-plugin', OPENCODE_PLUGIN, (each) => existsSync(inside(each)));
  return inside(folder);
}
