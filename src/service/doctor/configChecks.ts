import type { ConfigIssue } from '../../core/config/configIssue';
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
  for (const folder of options.folders)
    await exam.check('config', folder, async () => look((await atlas.locate(folder)).worktree));
}
