import type { ConfigIssue } from '../../core/config/configIssue';
import { oneLine, sentenceList } from '../../core/shared/text';
import type { DoctorArea, Examination } from './report';

/** Looks at config.yaml, and at the settings and templates of the folders' repositories. */
export async function checkConfig(exam: Examination): Promise<void> {
  const { atlas, options } = exam;
  const seen = new Set<string>();
  const note = (area: DoctorArea, issue: ConfigIssue, hint: string): void => {
    const { file, position, message } = issue;
    const subject = `${file}:${position.line}:${position.column}`;
    if (seen.has(`${subject} ${message}`)) return;
    seen.add(`${subject} ${message}`);
    exam.problem(area, subject, message, hint);
  };
  const look = async (worktree: string | undefined): Promise<void> => {
    for (const issue of (await atlas.configs.forWorktree(worktree)).issues)
      note('config', issue, 'Fix the line. Until then, the default applies.');
    for (const issue of (await atlas.configs.templates(worktree)).issues)
      note('template', issue, 'Fix the line. Until then, this template is ignored.');
  };
  await exam.check('config', atlas.ports.paths.config, async () => look(undefined));
  for (const folder of options.folders) {
    await exam.check('config', folder, async () => {
      const { worktree } = await atlas.locate(folder);
      await look(worktree);
      await offerChecks(exam, worktree);
    });
  }
}

/** So many checks a sentence names. */
const NAMED = 5;

/** Says which checks a repository has, where its tasks get none from the settings. Nothing is run. */
async function offerChecks(exam: Examination, worktree: string): Promise<void> {
  const { config } = await exam.atlas.configs.forWorktree(worktree);
  if (config.validation.commands.length > 0) return;
  const { declaredChecks } = await import('../../validation/declaredChecks');
  const found = declaredChecks(exam.atlas.ports.files, worktree).map(({ command }) => oneLine(command, 200));
  if (found.length === 0) return;
  exam.ok(
    'config',
    worktree,
    `No checks are declared. Found in this repository: ${sentenceList(found.slice(0, NAMED))}.`,
    'List those that every validation should run below hooks.validation.commands in .atlas/config.yaml.',
  );
}
