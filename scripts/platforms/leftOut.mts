/** Tests that can't tell anything on a platform, and why. */
export interface LeftOut {
  readonly file: string;
  /** Only these, each by its suites' names and its own, joined by " > "; otherwise the whole file. */
  readonly tests?: readonly string[];
  readonly reason: string;
}

/** Why a test is left out that is too slow on what stands in for a platform. */
export const MINUTES = 'takes more than four minutes there';

/** Left out wherever tests are bundled: the editor's own modules are replaced by Vitest's loader. */
export const BUNDLED: readonly LeftOut[] = ['receiptsPanelModel', 'rowTree', 'sameStory', 'taskPanelModel'].map(
  (name) => ({
    file: `test/unit/extension/${name}.test.ts`,
    reason: "replaces the module `vscode`, which Vitest's loader does",
  }),
);
