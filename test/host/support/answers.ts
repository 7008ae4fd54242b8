import * as vscode from 'vscode';

/** A message that was shown: its text, and what a dialog says below it. */
export interface Shown {
  readonly message: string;
  readonly detail: string | undefined;
  readonly buttons: readonly string[];
}

type Button = string | vscode.MessageItem;
type Show = (message: string, ...rest: (Button | vscode.MessageOptions | undefined)[]) => Promise<Button | undefined>;

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
      const options = rest.find((each) => typeof each === 'object' && !('title' in each)) as
        vscode.MessageOptions | undefined;
      const buttons = rest.filter((each) => typeof each === 'string' || (typeof each === 'object' && 'title' in each));
      const shown = { message, detail: options?.detail, buttons: buttons.map(titleOf) };
      seen.push(shown);
      const pressed = answer(shown);
      return Promise.resolve(buttons.find((button) => titleOf(button) === pressed));
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

function titleOf(button: Button): string {
  return typeof button === 'string' ? button : button.title;
}
