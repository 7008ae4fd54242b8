import type { LeftOut } from '../choice.mts';

/** Where the editor's own modules are replaced by Vitest's loader. */
const MOCKS = "replaces the module `vscode`, which Vitest's loader does";

/** What can tell nothing on a stand-in for macOS. */
export const LEFT_OUT: readonly LeftOut[] = [
  { file: 'test/unit/extension/receiptsPanelModel.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/rowTree.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/sameStory.test.ts', reason: MOCKS },
  { file: 'test/unit/extension/taskPanelModel.test.ts', reason: MOCKS },
];
