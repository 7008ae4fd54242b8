import * as vscode from 'vscode';
import { Cancelled, plain } from './messages';

/** Where in a flow of questions one stands. */
export interface Step {
  readonly step: number;
  readonly totalSteps: number;
}

/** A question: asks, keeps the answer, and says whether there was one; false goes back. */
export type Question = (step: Step) => Promise<boolean>;

/** Asks in turn, with a way back; a question that is closed ends it all. */
export async function askInTurn(questions: readonly Question[]): Promise<void> {
  for (let index = 0; index < questions.length;) {
    const answered = await questions[index]?.({ step: index + 1, totalSteps: questions.length });
    index = answered === false ? Math.max(0, index - 1) : index + 1;
  }
}

const BACK = Symbol('back');

/** Shows a quick input until it is answered, gone back from, or closed. */
async function run<T>(
  input: vscode.QuickInput & Pick<vscode.InputBox, 'buttons' | 'onDidTriggerButton'>,
  { step, totalSteps }: Step,
  keep: (value: T) => void,
  wire: (accept: (value: T) => void) => vscode.Disposable[],
): Promise<boolean> {
  const disposables: { dispose(): unknown }[] = [input];
  // Whatever takes the focus, a finished terminal or a panel that opens, must not cost what was typed.
  input.ignoreFocusOut = true;
  if (totalSteps > 1) Object.assign(input, { step, totalSteps });
  if (step > 1) input.buttons = [vscode.QuickInputButtons.Back];
  try {
    const answer = await new Promise<T | typeof BACK>((resolve, reject) => {
      disposables.push(
        ...wire(resolve),
        input.onDidTriggerButton((button) => {
          if (button === vscode.QuickInputButtons.Back) resolve(BACK);
        }),
        input.onDidHide(() => reject(new Cancelled())),
      );
      input.show();
    });
    if (answer === BACK) return false;
    keep(answer);
    return true;
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

/** Asks for a text; what it is asked with is made anew each time, with the answer from before. */
export function textQuestion(make: () => TextQuestion, keep: (text: string) => void): Question {
  return async (step) => {
    const { title, prompt, placeholder, value, empty, check } = make();
    const input = vscode.window.createInputBox();
    Object.assign(input, { title, prompt, placeholder, value: value ?? '' });
    return run(input, step, keep, (accept) => [
      input.onDidAccept(() => {
        const wrong = input.value.trim() === '' ? empty : check?.(input.value);
        if (wrong !== undefined) input.validationMessage = wrong;
        else accept(input.value);
      }),
      input.onDidChangeValue(() => {
        input.validationMessage = undefined;
      }),
    ]);
  };
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
export function pickQuestion<T>(question: PickQuestion<T>, keep: (value: T) => void): Question {
  return async (step) => {
    const input = vscode.window.createQuickPick<Choice<T>>();
    Object.assign(input, question, { matchOnDescription: true, matchOnDetail: true });
    return run<T>(input, step, keep, (accept) => [
      input.onDidAccept(() => {
        const [selected] = input.selectedItems;
        if (selected !== undefined) accept(selected.value);
      }),
    ]);
  };
}

/** Asks for one of the window's folders. */
export function folderQuestion(title: string, keep: (folder: string) => void): Question {
  const items = (vscode.workspace.workspaceFolders ?? []).map((folder) => ({
    label: plain(folder.name),
    description: folder.uri.fsPath,
    value: folder.uri.fsPath,
  }));
  return pickQuestion({ title, placeholder: vscode.l10n.t('In which folder?'), items }, keep);
}

/** Asks a single question. */
async function askAlone<T>(make: (keep: (value: T) => void) => Question): Promise<T> {
  const answers: T[] = [];
  await askInTurn([make((value) => answers.push(value))]);
  const [answer] = answers;
  if (answer === undefined) throw new Error('a question ended without an answer');
  return answer;
}

/** Asks for one of some, and for nothing else. */
export async function askOne<T>(question: PickQuestion<T>): Promise<T> {
  return askAlone<T>((keep) => pickQuestion(question, keep));
}

/** Asks for a text, and for nothing else. */
export async function askOneText(question: TextQuestion): Promise<string> {
  return askAlone<string>((keep) => textQuestion(() => question, keep));
}
