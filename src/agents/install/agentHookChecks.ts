import { count } from '../../core/shared/text';
import { join } from 'node:path';
import type { Examination } from '../../service/doctor/report';
import { type LifecycleHookLine, checkHooks } from './hookReport';
import type { Host } from '../hosts/hosts';

const SET_UP = 'Run "Atlas: Set Up Agent", or: atlas lifecycle install --host <host>';
const FIRE = 'To test them, run: atlas lifecycle doctor';

/**
 * The doctor's look at the hooks of agents' hosts in its folders; none is fired.
 * @param command how `atlas` is started: the program and its first arguments
 */
export function agentHookChecks(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): (exam: Examination) => Promise<void> {
  return async (exam) => {
    const seen = new Set<string>();
    for (const folder of exam.options.folders) {
      await exam.check('agent_hooks', folder, async () => {
        const { worktree } = await exam.atlas.locate(folder);
        if (seen.has(worktree)) return;
        seen.add(worktree);
        const { lines, problems, notes } = await checkHooks({ ...exam.atlas.ports, command, env }, worktree, []);
        for (const problem of problems) exam.problem('agent_hooks', worktree, problem, SET_UP);
        for (const note of notes) exam.ok('agent_hooks', worktree, note);
        const installed = lines.filter((line) => line.installed);
        for (const host of new Set(installed.map((line) => line.host)))
          tell(
            exam,
            worktree,
            host,
            installed.filter((line) => line.host === host),
          );
        if (installed.length === 0 && problems.length === 0)
          exam.ok(
            'agent_hooks',
            worktree,
            'No agent integration is installed; agents must call Atlas themselves.',
            SET_UP,
          );
      });
    }
  };
}

function tell(exam: Examination, worktree: string, host: Host, lines: readonly LifecycleHookLine[]): void {
  const subject = join(worktree, host.file);
  const faults = lines.filter(({ fault }) => fault !== undefined);
  for (const { event, fault } of faults) exam.problem('agent_hooks', subject, `${event.key}: ${fault ?? ''}`, SET_UP);
  if (faults.length > 0) return;
  const last = lines
    .flatMap(({ lastFired }) => lastFired ?? [])
    .sort()
    .at(-1);
  const called = last === undefined ? 'not called yet' : `last called at ${last}`;
  exam.ok(
    'agent_hooks',
    subject,
    `${host.title} has ${count(lines.length, 'lifecycle hook')} of Atlas, ${called}.`,
    FIRE,
  );
}
