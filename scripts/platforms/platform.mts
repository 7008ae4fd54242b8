import type { LeftOut } from './leftOut.mts';

/** What a program wrote, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What broke of the platform itself, where that did: then the run tells nothing. */
  readonly broke?: string;
}

/** How a program is started. */
export interface RunOptions {
  /** Beside what every program has. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** After which it is killed, in ms. */
  readonly limitMs?: number;
}

/** Another system than this one, or what stands in for it, on which tests run. */
export interface Platform {
  /** As people write it. */
  readonly name: string;
  /** Folders and files of tests, by their paths in the project. */
  readonly tests: readonly string[];
  /** What of them CI runs. */
  readonly share: readonly string[];
  /** What can tell nothing there. */
  readonly leftOut: readonly LeftOut[];
  /** The source of what every Node there loads first, by its path in the project. */
  readonly preload: string;
  /** What tests there can't tell, for people. */
  readonly cannotTell: string;
  /** Lays out what is missing and starts what runs beside all programs. */
  open(): Promise<Machine>;
}

/** A platform that is ready. */
export interface Machine {
  /** Where temporary files of tests go: a folder of this machine (absolute). */
  readonly temporary: string;
  /** A path of this machine as programs there name it. */
  pathOf(file: string): string;
  /** Runs that platform's Node to its end, and ends what it left running. */
  runNode(args: readonly string[], options?: RunOptions): Promise<Ran>;
  close(): Promise<void>;
}
