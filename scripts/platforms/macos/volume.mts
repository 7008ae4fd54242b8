import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../../../test/support/drivers/run.ts';
import { installPackages } from '../packages.mts';

const SOURCE = path.join(import.meta.dirname, 'volume.c');
/** What a Debian or Ubuntu calls what the volume is compiled with and mounted by. */
const PACKAGES = ['fuse3', 'libfuse3-dev', 'libutf8proc-dev', 'gcc', 'libc6-dev', 'pkg-config'];

const HOW = `What stands in for a volume of macOS is compiled and mounted by root on Debian and Ubuntu, with a kernel that has FUSE:
run "npm run test:macos" there. It needs ${PACKAGES.join(', ')}.`;

/** How long mounting may take, in ms. */
const MOUNT_MS = 10_000;

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
  if (process.platform !== 'linux' || !existsSync('/dev/fuse')) throw new Error(HOW);
  mkdirSync(path.dirname(program), { recursive: true });
  const asked = (): Promise<string> => run('pkg-config', ['--cflags', '--libs', 'fuse3', 'libutf8proc']);
  const flags = await asked().catch(async () => {
    console.log(`macOS: installing ${PACKAGES.join(', ')} …`);
    await installPackages(PACKAGES, HOW);
    return asked();
  });
  const made = `${program}.${process.pid}`;
  await run('gcc', ['-O2', SOURCE, '-o', made, ...flags.trim().split(/\s+/)]);
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
  const server = spawn(program, [backing, folder, '-f'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise<void>((resolve) => server.on('close', () => resolve()));
  const unmount = async (): Promise<void> => {
    await run('fusermount3', ['-u', '-z', folder]);
    await ended;
    rmSync(base, { recursive: true, force: true });
  };
  const given = Date.now() + MOUNT_MS;
  const { dev } = statSync(base);
  // Nothing tells when a volume is there but that it is one.
  while (statSync(folder).dev === dev) {
    if (Date.now() > given || server.exitCode !== null) throw new Error(`The volume could not be mounted. ${HOW}`);
    await pause(5);
  }
  return { folder, unmount };
}
