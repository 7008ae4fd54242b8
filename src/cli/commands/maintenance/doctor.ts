import { agentHookChecks } from '../../../agents/install/agentHookChecks';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import { type DoctorFinding, examine } from '../../../service/doctor/doctor';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { atlasCommand } from './gitHooks';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { fitted } from '../../render/table';

const MARK = { ok: '✓', fixed: '~', problem: '!' } as const satisfies Record<DoctorFinding['level'], string>;

/** `doctor`: looks at everything that Atlas keeps; with `--fix`, fixes what needs no decision. */
export async function doctor(context: CliContext, call: Call): Promise<Result<Answer>> {
  const atlas = await context.drive();
  const findings = await examine(atlas, {
    fix: call.flag('fix'),
    folders: [context.folder],
    also: [agentHookChecks(atlasCommand(context.env), context.env)],
    confirm: async (question) => {
      const answer = await context.confirm(question, call.flag('yes'));
      return answer.ok && answer.value;
    },
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
  const shown = findings.map((finding) => describe(finding)).join('');
  const summary = problems === 0 ? 'No problems found.' : `${count(problems, 'problem')} found.`;
  const text = fitted(`Store: ${context.root}\n\n${shown}\n${summary}\n`, context.streams.columns);
  if (problems === 0) return ok({ exit: EXIT.done, text, wanted: true, data });
  return ok({ exit: EXIT.failed, text, data, error: new AtlasError('damaged', summary) });
}

function describe({ area, level, subject, message, hint }: DoctorFinding): string {
  const place = oneLine(subject, 300);
  const head = `${MARK[level]} ${area.replaceAll('_', ' ')}${place === '' ? '' : `  ${place}`}\n`;
  const lines = [message, ...(hint === undefined ? [] : [`→ ${hint}`])];
  return head + lines.map((line) => `    ${oneLine(line, 1000)}\n`).join('');
}
