import { sentenceList } from '../../core/shared/text';
import type { GitHookReport } from '../git/gitHooks';
import type { Examination } from './report';

const INSTALL = 'Run "Atlas: Install Git Hooks", or: atlas hook install';

/** Looks at the git hooks of the folders' repositories. A folder without a repository has none. */
export async function checkGitHooks(exam: Examination): Promise<void> {
  const hooks = await exam.atlas.gitHooks();
  const seen = new Set<string>();
  for (const folder of exam.options.folders) {
    await exam.check('git_hooks', folder, async () => {
      const report = await hooks.inspect(folder);
      if (!report.ok) {
        if (report.error.code !== 'no_repository') exam.failed('git_hooks', folder, report.error, INSTALL);
        return;
      }
      if (seen.has(report.value.folder)) return;
      seen.add(report.value.folder);
      tell(exam, report.value);
    });
  }
}

function tell(exam: Examination, { folder, hooks, manager, instructions }: GitHookReport): void {
  const absent = hooks.filter(({ state }) => state === 'absent').map(({ name }) => name);
  const wrong = hooks.filter(({ state, problem }) => state !== 'absent' && (state === 'outdated' || problem));
  for (const { path, state, problem } of wrong) {
    const message = problem ?? 'It was installed by another version of Atlas.';
    exam.problem('git_hooks', path, message, state === 'blocked' ? `Fix this first. ${INSTALL}` : INSTALL);
  }
  if (absent.length === hooks.length) {
    if (manager !== undefined) {
      const message = `These git hooks are managed by ${manager}. Atlas can't check whether it runs them.`;
      exam.ok('git_hooks', folder, message, instructions?.join('\n'));
      return;
    }
    const message =
      'No git hooks are installed here. Commits are still recorded while a window is open, or when the next one opens.';
    exam.ok('git_hooks', folder, message, INSTALL);
    return;
  }
  if (absent.length > 0)
    exam.problem(
      'git_hooks',
      folder,
      `${sentenceList(absent)} of Atlas ${absent.length === 1 ? 'is' : 'are'} missing.`,
      INSTALL,
    );
  else if (wrong.length === 0) exam.ok('git_hooks', folder, 'The git hooks are installed and up to date.');
}
