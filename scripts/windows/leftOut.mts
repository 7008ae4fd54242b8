/** Tests that can't tell anything on that Windows, and why. */
export interface LeftOut {
  readonly file: string;
  /** Only these, each by its suites' names and its own, joined by " > "; otherwise the whole file. */
  readonly tests?: readonly string[];
  readonly reason: string;
}

/** Where the editor's own modules are replaced by Vitest's loader. */
const MOCKS = "replaces the module `vscode`, which Vitest's loader does";

export const LEFT_OUT: readonly LeftOut[] = [
  { file: 'test/unit/extension/receiptsPanelModel.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/rowTree.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/sameStory.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/taskPanelModel.test.ts', reason: MOCKS },
];
