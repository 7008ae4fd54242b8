import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from '../../../test/support/drivers/run.ts';

const SOURCE = path.join(import.meta.dirname, 'volume.c');
const APT = '/usr/bin/apt-get';
/** What a Debian or Ubuntu calls what the volume is compiled with and mounted by. */
const PACKAGES = ['fuse3', 'libfuse3-dev', 'libutf8proc-dev', 'gcc', 'libc6-dev', 'pkg-config'];

const HOW = `What stands in for a volume of macOS is compiled and mounted by root on Debian and Ubuntu, with a kernel that has FUSE:
run "npm run test:macos" there. It needs ${PACKAGES.join(', ')}.`;

/** A mounted volume. */
export interface Volume {
  /** Where it is (absolute). */
  readonly folder: string;
  unmount(): Promise<void>;
}

function programOf(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  // Another source is compiled anew.
  const source = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 8);
  return path.join(cache, 'atlas-macos', `volume-${source}`);
}

async function compile(): Promise<string> {
  const program = programOf();
  if (existsSync(program)) return program;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/dev/fuse')) throw new Error(HOW);
  mkdirSync(path.dirname(program), { recursive: true });
  const flags = ['--cflags', '--libs', 'fuse3', 'libutf8proc'];
  const hasParts = await run('pkg-config', flags).then(
    () => true,
    () => false,
  );
  if (!hasParts) {
    if (!existsSync(APT)) throw new Error(HOW);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    console.log(`macOS: installing ${PACKAGES.join(', ')} …`);
    const apt = (...args: string[]): Promise<string> => run(APT, ['-o', 'DPkg::Lock::Timeout=300', ...args], { env });
    await apt('update', '--quiet');
    await apt('install', '--yes', '--quiet', '--no-install-recommends', ...PACKAGES);
  }
  const found = (await run('pkg-config', flags)).trim().split(/\s+/);
  const made = `${program}.${process.pid}`;
  await run('gcc', ['-O2', SOURCE, '-o', made, ...found]);
  renameSync(made, program);
  return program;
}

/** Mounts an empty volume whose names are those of macOS; what it held is gone afterwards. */
export async function mountVolume(): Promise<Volume> {
  const program = await compile();
  // In memory where it can be: every call of a file system like this one costs two more.
  const base = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'atlas-macos-'));
  const [backing, folder] = [path.join(base, 'backing'), path.join(base, 'volume')];
  mkdirSync(backing);
  mkdirSync(folder);
  const server = spawn(program, [backing, folder, '-f', '-o', 'max_threads=10'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => server.on('close', () => resolve()));
  const unmount = async (): Promise<void> => {
    await run('fusermount3', ['-u', '-z', folder]);
    await ended;
    rmSync(base, { recursive: true, force: true });
  };
  const device = (await run('stat', ['-c', '%d', base])).trim();
  const isMounted = async (): Promise<boolean> => (await run('stat', ['-c', '%d', folder])).trim() !== device;
  const give = Date.now() + 10_000;
  while (!(await isMounted())) {
    if (Date.now() > give || server.exitCode !== null) throw new Error(`The volume could not be mounted. ${HOW}`);
  }
  return { folder, unmount };
}
