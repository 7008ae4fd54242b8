import * as vscode from 'vscode';

/** A message that was shown: its text, and what a dialog says below it. */
export interface Shown {
  readonly message: string;
  readonly detail: string | undefined;
  readonly buttons: readonly string[];
}

type Show = (message: string, ...rest: (string | vscode.MessageOptions | undefined)[]) => Promise<string | undefined>;

const KINDS = ['showInformationMessage', 'showWarningMessage', 'showErrorMessage'] as const;

/**
 * Stands in for the person while something runs: the window of a test run rejects dialogs and shows no toasts.
 * @param answer the button that is pressed, for each message
 */
export async function answering(
  answer: (shown: Shown) => string | undefined,
  use: () => PromiseLike<unknown>,
): Promise<Shown[]> {
  // What lies in the extension's folder, as these tests do, is given the same API object as the extension.
  const window = vscode.window as unknown as Record<(typeof KINDS)[number], Show>;
  const before = KINDS.map((kind) => window[kind]);
  const seen: Shown[] = [];
  for (const kind of KINDS) {
    window[kind] = async (message, ...rest) => {
      const options = rest.find((each) => typeof each === 'object');
      const shown = { message, detail: options?.detail, buttons: rest.filter((each) => typeof each === 'string') };
      seen.push(shown);
      return Promise.resolve(answer(shown));
    };
  }
  try {
    await use();
  } finally {
    for (const [index, kind] of KINDS.entries()) {
      const original = before[index];
      if (original !== undefined) window[kind] = original;
    }
  }
  return seen;
}
