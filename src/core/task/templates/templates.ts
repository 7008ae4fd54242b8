import { type Result, fail, ok } from '../../shared/errors';
import { sentenceList } from '../../shared/text';
import {
  type TaskTemplate,
  type TemplateLanguage,
  type TemplateStep,
  defaultStepType,
  isIdempotentByName,
} from './template';

function step(name: string): TemplateStep {
  return {
    name,
    type: defaultStepType(name),
    idempotent: isIdempotentByName(name),
    validation: [],
    maxAttempts: undefined,
  };
}

function builtin(id: string, description: string, steps: string, aliases: readonly string[] = []): TaskTemplate {
  return { id, aliases, description, steps: steps.split(' ').map(step), source: 'builtin' };
}

const ANALYZE_AND_FIX = 'analyze fix verify validate git_commit git_push git_pr ci_wait review';

/** The templates that are always there. */
export const BUILTIN_TEMPLATES: readonly TaskTemplate[] = [
  builtin('bug', 'Find and fix a bug', 'analyze plan implement validate commit pr review', ['bugfix', 'fix']),
  builtin(
    'feature',
    'Build a feature from its specification',
    'specify review_spec plan tasks implement verify validate checklist git_commit git_push git_pr ci_wait review',
  ),
  builtin('task', 'Do any other work', 'implement verify validate git_commit git_push git_pr ci_wait review'),
  builtin('patch', 'Make a small fix and push it', 'fix verify validate git_commit git_push', ['hotfix']),
  builtin('commit', 'Commit and push the current changes', 'analyze_changes smart_commit git_push'),
  { ...builtin('go-optimize', 'Make Go code faster', ANALYZE_AND_FIX), language: 'go' },
  builtin('dedup', 'Remove duplicated code', ANALYZE_AND_FIX),
  { ...builtin('goroutine-leak', 'Find and fix goroutine leaks', ANALYZE_AND_FIX), language: 'go' },
  builtin('jr-to-sr', "Bring code up to a senior engineer's standard", ANALYZE_AND_FIX),
  builtin('constant-hunter', 'Turn magic values into constants', ANALYZE_AND_FIX),
  builtin('config-hunter', 'Turn hard-coded settings into configuration', ANALYZE_AND_FIX),
  builtin('test-creator', 'Write missing tests', ANALYZE_AND_FIX),
];

/** Templates as they are offered: those for other languages than the repository's come last. */
export function fittingFirst(
  templates: readonly TaskTemplate[],
  languages: readonly TemplateLanguage[],
): readonly TaskTemplate[] {
  const isFitting = ({ language }: TaskTemplate): boolean => language === undefined || languages.includes(language);
  return [...templates.filter(isFitting), ...templates.filter((template) => !isFitting(template))];
}

/** The names of built-in templates that a project's own one stands in for. */
export function replacedTemplates(template: TaskTemplate): string[] {
  if (template.source === 'builtin') return [];
  const builtin = new Set(BUILTIN_TEMPLATES.flatMap(({ id, aliases }) => [id, ...aliases]));
  return [template.id, ...template.aliases].filter((name) => builtin.has(name));
}

/** Finds a template by id or alias; a project's own template wins over a built-in one of the same name. */
export function findTemplate(name: string, templates: readonly TaskTemplate[]): Result<TaskTemplate> {
  const wanted = name.trim().toLowerCase();
  const ordered = [...templates].sort((a, b) => Number(b.source === 'project') - Number(a.source === 'project'));
  const found =
    ordered.find((template) => template.id === wanted) ?? ordered.find((template) => template.aliases.includes(wanted));
  return found === undefined ? unknownTemplate(name, templates) : ok(found);
}

/** That there is no template of a name, and which ones there are, in the order given. */
export function unknownTemplate(name: string, templates: readonly TaskTemplate[]): Result<never> {
  return fail('not_found', `There is no template ${JSON.stringify(name)}.`, {
    hint: `Choose one of ${sentenceList(
      templates.map((template) => template.id),
      'or',
    )}.`,
  });
}
