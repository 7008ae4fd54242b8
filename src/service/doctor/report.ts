import { type AtlasError, messageOf } from '../../core/shared/errors';
import { Slices } from '../../system/slices';
import type { Atlas } from '../atlas';

/** What a finding is about. */
export const DOCTOR_AREAS = [
  'store',
  'config',
  'template',
  'task',
  'journal',
  'marker',
  'lock',
  'owner',
  'keys',
  'trust',
  'git_hooks',
  'agent_hooks',
  'sessions',
  'spool',
  'snapshots',
  'inbox',
] as const;

/** One of them. */
export type DoctorArea = (typeof DOCTOR_AREAS)[number];

/** Something that the doctor saw. */
export interface DoctorFinding {
  readonly area: DoctorArea;
  /** `ok`: as it should be, or worth knowing; `fixed`: was wrong and no longer is; `problem`: needs somebody. */
  readonly level: 'ok' | 'fixed' | 'problem';
  /** What it is about: a path, a task, a folder. */
  readonly subject: string;
  readonly message: string;
  /** What to do about it; of an `ok`, what could be done. */
  readonly hint?: string;
  /** Whether a run with `fix` would fix it. */
  readonly fixable?: boolean;
}

/** What the doctor is told. */
export interface DoctorOptions {
  /** Fixes what needs no decision, and asks about what does. Without it nothing is written. */
  readonly fix: boolean;
  /** Folders whose settings, templates and git hooks are looked at too. */
  readonly folders: readonly string[];
  /** Asks a person; only called with `fix`. */
  confirm(question: string): Promise<boolean>;
  /** What rooms above this one look at. */
  readonly also?: readonly ((exam: Examination) => Promise<void>)[];
  /** Ends the run early; what was found until then is returned. */
  readonly signal?: AbortSignal;
}

/** Something that is wrong and can be fixed. */
interface Repair {
  readonly wrong: string;
  /** What is said once it is fixed. */
  readonly done: string;
  /** What to do where it could not be. */
  readonly byHand: string;
  readonly act: () => void | Promise<void>;
}

/** What a run with `fix` does. */
export const FIX_IT = 'Choose "Fix" in the report of "Atlas: Run Doctor", or run: atlas doctor --fix';

/** How long is looked before others get a turn, in ms. */
const SLICE_MS = 15;

/** One run of the doctor: what it looks at, what it may do, and what it found. */
export class Examination {
  readonly findings: DoctorFinding[] = [];
  private readonly slices = new Slices(SLICE_MS);

  constructor(
    readonly atlas: Atlas,
    readonly options: DoctorOptions,
  ) {}

  get fix(): boolean {
    return this.options.fix;
  }

  get aborted(): boolean {
    return this.options.signal?.aborted === true;
  }

  /** Notes something that is as it should be, or worth knowing. */
  ok(area: DoctorArea, subject: string, message: string, hint?: string): void {
    this.findings.push({ area, level: 'ok', subject, message, ...(hint === undefined ? {} : { hint }) });
  }

  fixed(area: DoctorArea, subject: string, message: string): void {
    this.findings.push({ area, level: 'fixed', subject, message });
  }

  /** Notes something that needs somebody. */
  problem(area: DoctorArea, subject: string, message: string, hint: string): void {
    this.findings.push({ area, level: 'problem', subject, message, hint });
  }

  failed(area: DoctorArea, subject: string, error: AtlasError, hint: string): void {
    this.problem(area, subject, error.message, error.hint ?? hint);
  }

  /** Fixes something where it may, and says so; else says what is wrong and that it could be fixed. */
  async repair(area: DoctorArea, subject: string, { wrong, done, byHand, act }: Repair): Promise<void> {
    if (!this.fix) {
      this.findings.push({ area, level: 'problem', subject, message: wrong, hint: FIX_IT, fixable: true });
      return;
    }
    try {
      await act();
      this.fixed(area, subject, done);
    } catch (error) {
      this.problem(area, subject, `${wrong} It could not be fixed: ${messageOf(error)}`, byHand);
    }
  }

  /** Runs one check; what it throws is a finding, since a store may be damaged in ways that nobody foresaw. */
  async check<T>(area: DoctorArea, subject: string, look: () => T | Promise<T>): Promise<T | undefined> {
    if (this.aborted) return undefined;
    await this.slices.turn();
    try {
      return await look();
    } catch (error) {
      this.problem(area, subject, `This could not be checked: ${messageOf(error)}`, LOOK_YOURSELF);
      return undefined;
    }
  }
}

const LOOK_YOURSELF = 'Check its permissions and whether its disk can be read.';
