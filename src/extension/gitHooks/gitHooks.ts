import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { GitHookReport, GitHookEntry } from '../../service/git/gitHooks';
import { launcherPath } from '../../system/launcher/launcher';
import { plain } from '../shared/messages';
import { chosen } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { oneFolder } from '../shared/dialogs';

const MAX_TEXT = 1000;
const INSTRUCTIONS = 'atlas-git-hooks.txt';

/** Atlas: Install Git Hooks. Says which files change, asks, and offers the way back. */
export const installGitHooks: CommandHandler = async (context, argument) => {
  const folder = await chooseRepository(context, argument);
  const hooks = await context.session.atlas.gitHooks();
  const command = [launcherPath(context.launcherFolder)];
  const before = unwrap(await hooks.inspect(folder, command));
  if (before.manager !== undefined && before.hooks.every(({ state }) => state === 'absent')) {
    await showInstructions(context, unwrap(await hooks.install(folder, { command })));
    return;
  }
  if (before.hooks.every((hook) => isInstalled(hook))) {
    await vscode.window.showInformationMessage(
      vscode.l10n.t("Atlas's git hooks are already installed in {0}.", plain(basename(folder))),
    );
    return;
  }
  const install = vscode.l10n.t('Install');
  const question = vscode.l10n.t("Install Atlas's git hooks in {0}?", plain(basename(folder)));
  const options = { modal: true, detail: planOf(before) };
  chosen(await vscode.window.showInformationMessage(question, options, install));
  // The question named the folder, and said so where a link leads out of the repository.
  const after = unwrap(await hooks.install(folder, { command, outside: true }));
  await tellInstalled(context, folder, after);
};

function isInstalled({ state, problem }: GitHookEntry): boolean {
  return (state === 'installed' || state === 'beside') && problem === undefined;
}

/** What the installation will do, file by file. */
function planOf({ folder, hooks, notes }: GitHookReport): string {
  const lines = hooks.filter((hook) => !isInstalled(hook)).map((hook) => `• ${hook.name}: ${changeOf(hook)}`);
  return [
    vscode.l10n.t('In {0}:', oneLine(folder, MAX_TEXT)),
    ...lines,
    '',
    vscode.l10n.t('The hooks report commits, merges and pushes to Atlas. They never delay or stop git.'),
    ...notes.map((note) => `\n${oneLine(note, MAX_TEXT)}`),
  ].join('\n');
}

function changeOf({ state, path, problem }: GitHookEntry): string {
  if (state === 'blocked') return vscode.l10n.t("can't be changed: {0}", oneLine(problem ?? path, MAX_TEXT));
  if (state === 'outdated') return vscode.l10n.t('is updated');
  return existsSync(path)
    ? vscode.l10n.t('is extended; the existing hook stays and runs first')
    : vscode.l10n.t('is created');
}

async function tellInstalled(context: CommandContext, folder: string, report: GitHookReport): Promise<void> {
  const name = plain(basename(folder));
  for (const note of report.notes) context.log.info(note, { folder: report.folder });
  const blocked = report.hooks.filter((hook) => !isInstalled(hook));
  const why = blocked.map(({ name: hook, problem }) => `${hook}: ${problem ?? ''}`).join(' ');
  refuse(why, vscode.l10n.t("Some git hooks of {0} couldn't be installed.", name));
  const remove = vscode.l10n.t('Remove');
  const hooks = report.hooks.map((hook) => hook.name).join(', ');
  const message = vscode.l10n.t("Installed Atlas's git hooks in {0}: {1}.", name, hooks);
  if ((await vscode.window.showInformationMessage(message, remove)) === remove) await removeFrom(context, folder);
}

/** Throws where something is in the way. */
function refuse(why: string, message: string): void {
  if (why !== '') throw new AtlasError('write_failed', message, { hint: plain(why, MAX_TEXT) });
}

/** A manager's hooks are its own: what to add to its settings is shown, to be copied. */
async function showInstructions(context: CommandContext, report: GitHookReport): Promise<void> {
  const text = (report.instructions ?? []).join('\n\n');
  const manager = report.manager ?? '';
  const heading = vscode.l10n.t(
    "{0} manages the git hooks of this repository, so Atlas doesn't change its files. Add these lines:",
    manager,
  );
  await context.documents.show(INSTRUCTIONS, `${heading}\n\n${text}\n`);
  const copy = vscode.l10n.t('Copy');
  const message = vscode.l10n.t('{0} manages these git hooks. Add the lines shown to its settings.', manager);
  if ((await vscode.window.showInformationMessage(message, copy)) === copy) await vscode.env.clipboard.writeText(text);
}

/** Atlas: Remove Git Hooks. What was there before them is there again. */
export const removeGitHooks: CommandHandler = async (context, argument) => {
  await removeFrom(context, await chooseRepository(context, argument));
};

async function removeFrom(context: CommandContext, folder: string): Promise<void> {
  const hooks = await context.session.atlas.gitHooks();
  const report = unwrap(await hooks.uninstall(folder));
  const name = plain(basename(folder));
  const blocked = report.hooks.filter(({ state }) => state === 'blocked');
  const why = blocked.map(({ path, problem }) => `${path}: ${problem ?? ''}`).join(' ');
  refuse(why, vscode.l10n.t("Some git hooks of {0} couldn't be removed.", name));
  await vscode.window.showInformationMessage(
    report.changed
      ? vscode.l10n.t("Removed Atlas's git hooks from {0}.", name)
      : vscode.l10n.t('Atlas has no git hooks in {0}.', name),
  );
}

/** The repository that is meant: the argument's, the only one of this window, or one that is asked for. */
async function chooseRepository({ session }: CommandContext, argument: unknown): Promise<string> {
  const named = argument as { readonly folder?: unknown } | undefined;
  if (typeof named?.folder === 'string') return named.folder;
  const folders = session.ownPlaces.flatMap(({ repository }) => repository?.worktree ?? []);
  const none = new AtlasError('no_repository', vscode.l10n.t('No folder of this window is in a Git repository.'), {
    hint: vscode.l10n.t('Open one, or create one with "Git: Initialize Repository".'),
  });
  return oneFolder(folders, vscode.l10n.t('Which repository?'), none);
}
