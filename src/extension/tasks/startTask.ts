import * as vscode from 'vscode';
import { BUILTIN_TEMPLATES, replacedTemplates } from '../../core/task/templates/templates';
import type { TaskTemplate } from '../../core/task/templates/template';
import { messageOf } from '../../core/shared/errors';
import { stepLabel } from '../../core/task/labels';
import { worktreeOf } from '../../core/task/task';
import { plain } from '../shared/messages';
import { startOrAsk } from './brokenConfig';
import { isAllowed } from './consent';
import { type CommandContext, type CommandHandler, took } from '../shared/context';
import { type Question, type Step, askInTurn, folderQuestion, pickQuestion, textQuestion } from '../shared/questions';

/** What the flow has asked so far. */
interface Draft {
  title?: string;
  template?: string;
  folder?: string;
}

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
    await vscode.window.showWarningMessage(vscode.l10n.t('Open a folder first. A task belongs to a folder.'));
    return;
  }
  if (folders.length === 1 && first !== undefined) draft.folder ??= first.uri.fsPath;
  const keys = (['folder', 'title', 'template'] as const).filter((key) => draft[key] === undefined);
  await askInTurn(keys.map((key) => QUESTIONS[key](draft, context)));
  const atlas = await context.session.atlas.drive();
  const result = await startOrAsk(atlas, {
    title: draft.title ?? '',
    template: draft.template ?? '',
    folder: draft.folder ?? '',
  });
  if (result === undefined) return;
  await context.session.locatePlaces();
  const task = took(context, result);
  const question = {
    ask: vscode.l10n.t('Allow agents to run the checks of this task?'),
    yes: vscode.l10n.t('Allow'),
  };
  // Without a yes the task is there all the same; its checks wait for "Run Validation".
  if (await isAllowed(atlas, task, question)) await atlas.allowCommands(task);
  // Not before: a panel that opens takes the keyboard from the question.
  context.panels.open(task.ref);
  const worktree = worktreeOf(task.task);
  // Not awaited: it stays until somebody answers it.
  if (worktree !== undefined) void offerAgent(context, worktree);
};

async function offerAgent(context: CommandContext, worktree: string): Promise<void> {
  try {
    const { offerSetUp } = await import('../agents/offerSetUp');
    await offerSetUp(context, worktree);
  } catch (error) {
    context.log.warn("Setting up an agent couldn't be offered.", { error: messageOf(error) });
  }
}

const QUESTIONS: Readonly<Record<keyof Draft, (draft: Draft, context: CommandContext) => Question>> = {
  folder: (draft) => folderQuestion(vscode.l10n.t('Start Task'), (folder) => (draft.folder = folder)),
  title: (draft) =>
    textQuestion(
      () => ({
        title: vscode.l10n.t('Start Task'),
        prompt: vscode.l10n.t('What should the agent do?'),
        placeholder: vscode.l10n.t('fix the null pointer in the configuration'),
        value: draft.title,
        empty: vscode.l10n.t('Enter a title.'),
      }),
      (text) => (draft.title = text),
    ),
  template: (draft, context) => async (step) => askTemplate(context, draft, step),
};

async function askTemplate(context: CommandContext, draft: Draft, step: Step): Promise<boolean> {
  const { templates, issues } = await loadTemplates(context, draft.folder);
  for (const issue of issues) context.log.warn(`${issue.file}:${issue.position.line}: ${issue.message}`);
  const items = templates.map((template) => ({
    label: template.id,
    description: plain(
      [template.description, template.aliases.join(', '), replacement(template)]
        .filter((part) => part !== '')
        .join(' · '),
    ),
    detail: template.steps.map((each) => stepLabel(each.name)).join(' → '),
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
  const question = { title: vscode.l10n.t('Start Task'), placeholder, items };
  return pickQuestion(question, (template) => (draft.template = template))(step);
}

/** A repository can bring a template under a name that people know; that is not to go unnoticed. */
function replacement(template: TaskTemplate): string {
  const names = replacedTemplates(template).map((name) => `"${name}"`);
  return names.length === 0 ? '' : vscode.l10n.t('from this repository, replaces the built-in {0}', names.join(', '));
}

async function loadTemplates(
  context: CommandContext,
  folder: string | undefined,
): ReturnType<CommandContext['session']['atlas']['configs']['templates']> {
  if (folder === undefined) return { templates: BUILTIN_TEMPLATES, issues: [], broken: new Map() };
  const place = await context.session.atlas.locate(folder);
  return context.session.atlas.configs.templatesToOffer(place.worktree);
}
