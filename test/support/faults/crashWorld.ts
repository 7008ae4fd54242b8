import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { FileSystem } from '../../../src/core/shared/ports';
import { CommandGitReader } from '../../../src/git/read/gitReader';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { SystemProcesses } from '../../../src/system/processes';
import { UnsyncedFileSystem } from '../fixtures/receipts/signedStore';
import { SimulatedDisk } from './simulatedDisk';

/** Where use cases are interrupted: a folder that can be put back to what it was. */
export interface Stage {
  readonly root: string;
  /** The folder that tasks are about. */
  readonly folder: string;
  readonly files: FileSystem;
  /** Gives what puts the present state back. */
  save(): () => void;
}

interface Entry {
  readonly path: string;
  readonly mode: number;
  readonly mtime: Date;
  /** Two names of one file have the same. */
  readonly ino: number;
  /** Absent for a folder. */
  readonly bytes?: Uint8Array;
}

function entriesOf(base: string): Entry[] {
  return readdirSync(base, { recursive: true, withFileTypes: true })
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((each) => {
      const stats = lstatSync(each);
      const entry = { path: each, mode: stats.mode & 0o777, mtime: stats.mtime, ino: stats.ino };
      return stats.isFile() ? { ...entry, bytes: readFileSync(each) } : entry;
    });
}

function putBack(base: string, entries: readonly Entry[]): void {
  for (const name of readdirSync(base)) rmSync(path.join(base, name), { recursive: true, force: true });
  const made = new Map<number, string>();
  for (const { path: each, mode, mtime, ino, bytes } of entries) {
    const same = made.get(ino);
    made.set(ino, each);
    if (bytes === undefined) mkdirSync(each, { mode });
    else if (same !== undefined) linkSync(same, each);
    else writeFileSync(each, bytes, { mode });
    chmodSync(each, mode);
    utimesSync(each, mtime, mtime);
  }
}

/** A stage on the real file system. A killed process loses nothing that it wrote, synced or not, so nothing is synced. */
export class RealStage implements Stage {
  readonly base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-crash-')));
  readonly root = path.join(this.base, 'home');
  readonly folder = path.join(this.base, 'work');
  readonly files = new UnsyncedFileSystem();

  constructor() {
    mkdirSync(this.folder);
  }

  save(): () => void {
    const entries = entriesOf(this.base);
    return () => {
      putBack(this.base, entries);
    };
  }

  dispose(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** A stage on a simulated disk. */
export class SimulatedStage implements Stage {
  readonly root = '/disk/home';
  readonly folder = '/disk/work';

  constructor(public disk: SimulatedDisk) {}

  get files(): FileSystem {
    return this.disk;
  }

  /** A stage with an empty folder to work in, which lasts. */
  static make(now: () => number): SimulatedStage {
    const disk = new SimulatedDisk(now);
    disk.makeFolder('/disk');
    disk.makeFolder('/disk/work');
    disk.settle();
    return new SimulatedStage(disk);
  }

  save(): () => void {
    const state = this.disk.save();
    return () => {
      this.disk = SimulatedDisk.at(state);
    };
  }
}

/** A stage with its clock and its processes, of which each but the newest is dead. */
export class CrashWorld<S extends Stage = Stage> {
  private processes = 0;
  private boots = 0;
  private ahead = 0;

  constructor(readonly stage: S) {}

  /** The time, ms: the machine's, and what was let pass. */
  readonly now = (): number => Date.now() + this.ahead;

  /** Lets time pass, in ms. */
  wait(ms: number): void {
    this.ahead += ms;
  }

  /** Starts the machine anew; it has been up since just after that. */
  reboot(): void {
    this.boots += 1;
    this.wait(os.uptime() * 1000 + 60_000);
  }

  /** A process that starts now, on these files; those before it are gone. */
  process(files: FileSystem = this.stage.files): Atlas {
    this.processes += 1;
    const start = String(this.processes);
    const processes = new SystemProcesses({
      machineId: 'machine',
      bootId: `boot ${this.boots}`,
      pidNamespace: '',
      runsProgram: false,
      exists: () => true,
      startTime: () => start,
      sameStart: (a, b) => a === b,
    });
    const ports = systemPorts(this.stage.root, '0.0.0', silentLog);
    const git = new CommandGitReader({ files, ids: ports.ids });
    return new Atlas({ ...ports, files, git, processes, clock: { now: this.now } });
  }
}
