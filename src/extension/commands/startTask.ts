import * as vscode from 'vscode';
import { BUILTIN_TEMPLATES, type TaskTemplate } from '../../core/template';
import { plain } from '../platform/messages';
import { Cancelled } from './cancelled';
import { type CommandContext, type CommandHandler, took } from './context';

/** What the flow has asked so far. */
interface Draft {
  title?: string;
  template?: string;
  folder?: string;
}

const BACK = Symbol('back');
type Answer = string | typeof BACK;
type Question = (context: CommandContext, draft: Draft, step: { step: number; totalSteps: number }) => Promise<Answer>;

/** Atlas: Start Task. Title, template and, where there are several, the folder, with a way back. */
export const startTask: CommandHandler = async (context, argument) => {
  const given = argument as Partial<Record<keyof Draft, unknown>> | undefined;
  const draft: Draft = {};
  for (const key of ['title', 'template', 'folder'] as const) {
    const value = given?.[key];
    if (typeof value === 'string') draft[key] = value;
  }
  const folders = vscode.workspace.workspaceFolders ?? [];
  const [first] = folders;
  if (first === undefined && draft.folder === undefined) {
    await vscode.window.showWarningMessage(vscode.l10n.t('Open a folder first: a task belongs to one.'));
    return;
  }
  if (folders.length === 1 && first !== undefined) draft.folder ??= first.uri.fsPath;
  const questions = (['folder', 'title', 'template'] as const).filter((key) => draft[key] === undefined);
  await ask(context, draft, questions);
  const atlas = await context.session.atlas.drive();
  const result = await atlas.startTask({
    title: draft.title ?? '',
    template: draft.template ?? '',
    folder: draft.folder ?? '',
  });
  await context.session.locatePlaces();
  const task = took(context, result);
  // Whoever trusts the folder and starts a task in it lets its agents run what it declares.
  await atlas.allowCommands(task);
  context.panels.open(task.ref);
};

const QUESTIONS: Readonly<Record<keyof Draft, Question>> = {
  folder: askFolder,
  title: askTitle,
  template: askTemplate,
};

async function ask(context: CommandContext, draft: Draft, keys: readonly (keyof Draft)[]): Promise<void> {
  for (let index = 0; index < keys.length;) {
    const key = keys[index];
    if (key === undefined) return;
    const answer = await QUESTIONS[key](context, draft, { step: index + 1, totalSteps: keys.length });
    if (answer === BACK) {
      index = Math.max(0, index - 1);
      continue;
    }
    draft[key] = answer;
    index += 1;
  }
}

/** Shows a quick input until it is answered, gone back from, or closed. */
async function run(
  input: vscode.QuickInput & { buttons: readonly vscode.QuickInputButton[] },
  wire: (answer: (value: string) => void, back: (button: vscode.QuickInputButton) => void) => vscode.Disposable[],
): Promise<Answer> {
  const disposables: { dispose(): unknown }[] = [input];
  try {
    return await new Promise<Answer>((resolve, reject) => {
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

async function askTitle(
  _context: CommandContext,
  draft: Draft,
  step: { step: number; totalSteps: number },
): Promise<Answer> {
  const input = vscode.window.createInputBox();
  input.title = vscode.l10n.t('Start Task');
  input.prompt = vscode.l10n.t('What is to be done? A few words.');
  input.placeholder = vscode.l10n.t('fix the null pointer in the configuration');
  input.value = draft.title ?? '';
  input.step = step.step;
  input.totalSteps = step.totalSteps;
  if (step.step > 1) input.buttons = [vscode.QuickInputButtons.Back];
  return run(input, (answer, back) => [
    input.onDidAccept(() => {
      if (input.value.trim() === '') input.validationMessage = vscode.l10n.t('A task needs a title.');
      else answer(input.value);
    }),
    input.onDidTriggerButton(back),
  ]);
}

async function pick(
  items: readonly (vscode.QuickPickItem & { value: string })[],
  placeholder: string,
  step: { step: number; totalSteps: number },
): Promise<Answer> {
  const input = vscode.window.createQuickPick<vscode.QuickPickItem & { value: string }>();
  input.title = vscode.l10n.t('Start Task');
  input.placeholder = placeholder;
  input.items = items;
  input.matchOnDescription = true;
  input.matchOnDetail = true;
  input.step = step.step;
  input.totalSteps = step.totalSteps;
  if (step.step > 1) input.buttons = [vscode.QuickInputButtons.Back];
  return run(input, (answer, back) => [
    input.onDidAccept(() => {
      const [selected] = input.selectedItems;
      if (selected !== undefined) answer(selected.value);
    }),
    input.onDidTriggerButton(back),
  ]);
}

async function askFolder(
  _context: CommandContext,
  _draft: Draft,
  step: { step: number; totalSteps: number },
): Promise<Answer> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const items = folders.map((folder) => ({
    label: plain(folder.name),
    description: folder.uri.fsPath,
    value: folder.uri.fsPath,
  }));
  return pick(items, vscode.l10n.t('In which folder?'), step);
}

async function askTemplate(
  context: CommandContext,
  draft: Draft,
  step: { step: number; totalSteps: number },
): Promise<Answer> {
  const { templates, issues } = await loadTemplates(context, draft.folder);
  for (const issue of issues) context.log.warn(`${issue.file}:${issue.position.line}: ${issue.message}`);
  const items = templates.map((template) => ({
    label: template.id,
    description: plain([template.description, template.aliases.join(', ')].filter((part) => part !== '').join(' · ')),
    detail: template.steps.map((each) => each.name).join(' → '),
    value: template.id,
  }));
  const [issue] = issues;
  const placeholder =
    issue === undefined
      ? vscode.l10n.t('Which template?')
      : vscode.l10n.t(
          'Which template? ({0}, line {1}: {2})',
          issue.file,
          issue.position.line,
          plain(issue.message, 80),
        );
  return pick(items, placeholder, step);
}

async function loadTemplates(
  context: CommandContext,
  folder: string | undefined,
): ReturnType<CommandContext['session']['atlas']['configs']['templates']> {
  if (folder === undefined) return { templates: BUILTIN_TEMPLATES satisfies readonly TaskTemplate[], issues: [] };
  const place = await context.session.atlas.locate(folder);
  return context.session.atlas.configs.templates(place.worktree);
}
