/** What the runner is told: one test file. All paths are as programs of its platform name them. */
export interface Job {
  readonly root: string;
  readonly source: string;
  readonly bundle: string;
  readonly report: string;
  /** Where its temporary files go. */
  readonly temporary: string;
  /** The names of tests that are left out. */
  readonly skipped: readonly string[];
  readonly testTimeout: number;
  readonly hookTimeout: number;
  readonly namePattern?: string;
}

/** What became of a test. */
export interface TestResult {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly errors: readonly string[];
  /** What it needs and this platform doesn't have. */
  readonly missing?: string;
}

/** What became of a file's tests, and of what failed outside of them. */
export interface FileResult {
  readonly tests: readonly TestResult[];
}
