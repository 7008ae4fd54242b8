import { agentHookChecks } from '../../../agents/install/agentHookChecks';
import { observeChecks } from '../../../agents/install/observeChecks';
import { AtlasError } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import { type DoctorFinding, examine } from '../../../service/doctor/doctor';
import type { Handler } from '../../parse/commandLine';
import { atlasCommand } from './gitHooks';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { fitted } from '../../render/table';

const MARK = { ok: '✓', fixed: '~', problem: '!' } as const satisfies Record<DoctorFinding['level'], string>;

/** `doctor`: looks at everything that Atlas keeps; with `--fix`, fixes what needs no decision. */
export const doctor: Handler = async (context, call) => {
  const atlas = await context.drive();
  const command = atlasCommand(context.env);
  const findings = await examine(atlas, {
    fix: call.flag('fix'),
    folders: [context.folder],
    also: [agentHookChecks(command, context.env), observeChecks(command, context.env)],
    confirm: async (question) =>
      (call.flag('yes') || context.interactive) && context.confirm(question, call.flag('yes')),
  });
  const number = (level: DoctorFinding['level']): number => findings.filter((each) => each.level === level).length;
  const problems = number('problem');
  const data: AnswerData<'doctor'> = {
    root: context.root,
    problems,
    fixed: number('fixed'),
    findings: findings.map(({ area, level, subject, message, hint }) => ({
      area,
      level,
      subject,
      message,
      hint: hint ?? null,
    })),
  };
  const shown = findings.map(describe).join('');
  const summary = problems === 0 ? 'No problems found.' : `${count(problems, 'problem')} found.`;
  const text = fitted(`Store: ${context.root}\n\n${shown}\n${summary}\n`, context.streams.columns);
  if (problems === 0) return { exit: EXIT.done, text, wanted: true, data };
  return { exit: EXIT.failed, text, data, error: new AtlasError('damaged', summary) };
};

function describe({ area, level, subject, message, hint }: DoctorFinding): string {
  const place = oneLine(subject, 300);
  const head = `${MARK[level]} ${area.replaceAll('_', ' ')}${place === '' ? '' : `  ${place}`}\n`;
  const lines = [message, ...(hint === undefined ? [] : [`→ ${hint}`])];
  return head + lines.map((line) => `    ${oneLine(line, 1000)}\n`).join('');
}
