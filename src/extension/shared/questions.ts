import * as vscode from 'vscode';
import { plain } from './messages';
import { Cancelled } from './cancelled';

/** Where in a flow of questions one stands. */
export interface Step {
  readonly step: number;
  readonly totalSteps: number;
}

const BACK = Symbol('back');
type Answer<T> = T | typeof BACK;

/** A question: asks, keeps the answer, and says whether there was one; false goes back. */
export type Question = (step: Step) => Promise<boolean>;

/** Asks in turn, with a way back; a question that is closed ends it all. */
export async function askInTurn(questions: readonly Question[]): Promise<void> {
  for (let index = 0; index < questions.length;) {
    const answered = await questions[index]?.({ step: index + 1, totalSteps: questions.length });
    index = answered === false ? Math.max(0, index - 1) : index + 1;
  }
}

/** Shows a quick input until it is answered, gone back from, or closed. */
async function run<T>(
  input: vscode.QuickInput & { buttons: readonly vscode.QuickInputButton[] },
  step: Step,
  wire: (answer: (value: T) => void, back: (button: vscode.QuickInputButton) => void) => vscode.Disposable[],
): Promise<Answer<T>> {
  const disposables: { dispose(): unknown }[] = [input];
  if (step.totalSteps > 1) {
    input.step = step.step;
    input.totalSteps = step.totalSteps;
  }
  if (step.step > 1) input.buttons = [vscode.QuickInputButtons.Back];
  try {
    return await new Promise<Answer<T>>((resolve, reject) => {
      disposables.push(
        ...wire(resolve, (button) => {
          if (button === vscode.QuickInputButtons.Back) resolve(BACK);
        }),
        input.onDidHide(() => {
          reject(new Cancelled());
        }),
      );
      input.show();
    });
  } finally {
    for (const disposable of disposables) disposable.dispose();
  }
}

/** What a text is asked with. */
export interface TextQuestion {
  readonly title: string;
  readonly prompt: string;
  readonly placeholder?: string;
  readonly value: string | undefined;
  /** What is said where nothing was written; `undefined` where that is an answer too. */
  readonly empty: string | undefined;
  /** What is wrong with an answer; `undefined` where nothing is. */
  readonly check?: (text: string) => string | undefined;
}

/** Asks for a text. */
export async function askText(question: TextQuestion, step: Step, keep: (text: string) => void): Promise<boolean> {
  const input = vscode.window.createInputBox();
  input.title = question.title;
  input.prompt = question.prompt;
  input.placeholder = question.placeholder;
  input.value = question.value ?? '';
  const answer = await run<string>(input, step, (accept, back) => [
    input.onDidAccept(() => {
      const wrong = input.value.trim() === '' ? question.empty : question.check?.(input.value);
      if (wrong !== undefined) input.validationMessage = wrong;
      else accept(input.value);
    }),
    input.onDidChangeValue(() => {
      input.validationMessage = undefined;
    }),
    input.onDidTriggerButton(back),
  ]);
  if (answer === BACK) return false;
  keep(answer);
  return true;
}

/** A choice with what it stands for. */
export type Choice<T> = vscode.QuickPickItem & { readonly value: T };

/** What a choice is asked with. */
export interface PickQuestion<T> {
  readonly title: string;
  readonly placeholder: string;
  readonly items: readonly Choice<T>[];
}

/** Asks for one of some. */
export async function askPick<T>(question: PickQuestion<T>, step: Step, keep: (value: T) => void): Promise<boolean> {
  const input = vscode.window.createQuickPick<Choice<T>>();
  input.title = question.title;
  input.placeholder = question.placeholder;
  input.items = question.items;
  input.matchOnDescription = true;
  input.matchOnDetail = true;
  const answer = await run<Choice<T>>(input, step, (accept, back) => [
    input.onDidAccept(() => {
      const [selected] = input.selectedItems;
      if (selected !== undefined) accept(selected);
    }),
    input.onDidTriggerButton(back),
  ]);
  if (answer === BACK) return false;
  keep(answer.value);
  return true;
}

/** Asks for one of the window's folders. */
export async function askFolderFor(title: string, step: Step, keep: (folder: string) => void): Promise<boolean> {
  const items = (vscode.workspace.workspaceFolders ?? []).map((folder) => ({
    label: plain(folder.name),
    description: folder.uri.fsPath,
    value: folder.uri.fsPath,
  }));
  return askPick({ title, placeholder: vscode.l10n.t('In which folder?'), items }, step, keep);
}
