import * as vscode from 'vscode';
import { agentHookChecks } from '../../agents/install/agentHookChecks';
import { observeChecks } from '../../agents/install/observeChecks';
import { oneLine } from '../../core/shared/text';
import { type DoctorFinding, examine } from '../../service/doctor/doctor';
import { launcherPath } from '../../system/launcher/launcher';
import { plain } from '../shared/messages';
import { openFolders } from './windowEvents';
import type { CommandContext, CommandHandler } from '../shared/context';
import { withNotice } from '../shared/dialogs';

const REPORT = 'atlas-doctor.txt';
const MAX_TEXT = 2000;

/** Atlas: Run Doctor. Looks at everything, reports, and fixes what can be fixed when told to. */
export const runDoctor: CommandHandler = async (context) => {
  const found = await look(context, false);
  await context.documents.show(REPORT, reportOf(context, found));
  const problems = found.filter(({ level }) => level === 'problem');
  const fixable = problems.filter((each) => each.fixable === true).length;
  if (problems.length === 0) {
    await vscode.window.showInformationMessage(vscode.l10n.t('No problems found.'));
    return;
  }
  const fix = vscode.l10n.t('Fix');
  const message =
    fixable === 0
      ? vscode.l10n.t('Problems found: {0}. The report says what to do.', problems.length)
      : vscode.l10n.t('Problems found: {0}. Atlas can repair {1} of them now.', problems.length, fixable);
  const answer = await vscode.window.showWarningMessage(message, ...(fixable === 0 ? [] : [fix]));
  if (answer !== fix) return;
  const fixed = await look(context, true);
  await context.documents.show(REPORT, reportOf(context, fixed));
  await context.session.look();
  await tellFixed(fixed);
};

async function tellFixed(findings: readonly DoctorFinding[]): Promise<void> {
  const count = (level: DoctorFinding['level']): number => findings.filter((each) => each.level === level).length;
  const left = count('problem');
  const message =
    left === 0
      ? vscode.l10n.t('Repaired: {0}. No problems remain.', count('fixed'))
      : vscode.l10n.t('Repaired: {0}. Remaining: {1}. The report says what to do.', count('fixed'), left);
  await (left === 0 ? vscode.window.showInformationMessage(message) : vscode.window.showWarningMessage(message));
}

async function look(context: CommandContext, fix: boolean): Promise<readonly DoctorFinding[]> {
  const atlas = await context.session.atlas.drive();
  const title = fix ? vscode.l10n.t('Atlas: repairing the store') : vscode.l10n.t('Atlas: checking the store');
  const command = [launcherPath(context.launcherFolder)];
  const also = [agentHookChecks(command, process.env), observeChecks(command, process.env)];
  return withNotice(title, async (signal) =>
    examine(atlas, { fix, folders: openFolders(), also, confirm: ask, signal }),
  );
}

async function ask(question: string): Promise<boolean> {
  const yes = vscode.l10n.t('Yes');
  const detail = plain(question, MAX_TEXT);
  const title = vscode.l10n.t('The doctor needs your decision.');
  return (await vscode.window.showWarningMessage(title, { modal: true, detail }, yes)) === yes;
}

/** The report as a text: what needs somebody first. */
function reportOf(context: CommandContext, findings: readonly DoctorFinding[]): string {
  const { root } = context.session.atlas.ports.paths;
  return [
    vscode.l10n.t('Store: {0}', oneLine(root, MAX_TEXT)),
    '',
    ...section('problem', '!', vscode.l10n.t('Problems'), findings),
    ...section('fixed', '~', vscode.l10n.t('Repaired'), findings),
    ...section('ok', '✓', vscode.l10n.t('OK'), findings),
  ].join('\n');
}

function section(
  level: DoctorFinding['level'],
  mark: string,
  title: string,
  findings: readonly DoctorFinding[],
): string[] {
  const those = findings.filter((each) => each.level === level);
  if (those.length === 0) return [];
  const lines = those.flatMap(({ area, subject, message, hint }) => [
    `  ${mark} ${area.replace('_', ' ')}: ${oneLine(subject, MAX_TEXT)}`,
    `      ${oneLine(message, MAX_TEXT)}`,
    ...(hint === undefined
      ? []
      : hint.split('\n').map((line, index) => `      ${index === 0 ? '→' : ' '} ${keep(line)}`)),
  ]);
  return [`${title} (${those.length})`, ...lines, ''];
}

/** A line of instructions, whose indentation counts. */
function keep(line: string): string {
  const indent = /^ */u.exec(line)?.[0] ?? '';
  return `${indent}${oneLine(line, MAX_TEXT)}`;
}
