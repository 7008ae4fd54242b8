import { type Result, fail, ok } from '../shared/errors';
import { sentenceList } from '../shared/text';

/** Who or what decides that a step is done; see the step types in docs/hook-files.md. */
export const STEP_TYPES = ['ai', 'validation', 'git', 'human', 'sdd', 'verify', 'loop', 'ci'] as const;

/** The type of a step. */
export type StepType = (typeof STEP_TYPES)[number];

const AI_LIKE: readonly StepType[] = ['ai', 'sdd', 'verify', 'loop'];

/** Whether an agent does the work of a step of this type. */
export function isAiLike(type: string): boolean {
  return (AI_LIKE as readonly string[]).includes(type);
}

/** A step with everything decided. */
export interface TemplateStep {
  readonly name: string;
  readonly type: StepType;
  readonly idempotent: boolean;
  readonly validation: readonly string[];
  /** Absent: the setting `max_step_attempts` decides when a task starts. */
  readonly maxAttempts: number | undefined;
  /** What the step must deliver, in the imperative; absent where the template doesn't say. */
  readonly goal?: string;
  /** A statement that is true once the step is done. */
  readonly doneWhen?: string;
}

/** A programming language that a template may be made for. */
export type TemplateLanguage = 'go';

/** What a kind of task consists of. */
export interface TaskTemplate {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly description: string;
  readonly steps: readonly TemplateStep[];
  readonly source: 'builtin' | 'project';
  /** The language that it is for; absent where it fits any. */
  readonly language?: TemplateLanguage;
}

const IDEMPOTENT_STEPS = new Set([
  'analyze',
  'plan',
  'specify',
  'tasks',
  'validate',
  'verify',
  'checklist',
  'test',
  'lint',
  'analyze_changes',
  'ci_wait',
]);

const TYPE_BY_NAME: Readonly<Record<string, StepType>> = {
  review: 'human',
  review_spec: 'human',
  validate: 'validation',
  verify: 'verify',
  commit: 'git',
  smart_commit: 'git',
  pr: 'git',
  git_commit: 'git',
  git_push: 'git',
  git_pr: 'git',
  ci_wait: 'ci',
};

/** The type that a step of this name has where a template doesn't say. */
export function defaultStepType(name: string): StepType {
  return TYPE_BY_NAME[name] ?? (name.startsWith('git_') ? 'git' : 'ai');
}

/** Whether a step of this name can be done twice without harm where a template doesn't say. */
export function isIdempotentByName(name: string): boolean {
  return IDEMPOTENT_STEPS.has(name);
}

/** What a `git` step leaves behind, by which a crash in it is judged. */
export type GitEffect = 'commit' | 'push' | 'pr';

/** The effect of a `git` step, read from its name; `undefined` if the name doesn't tell. */
export function gitEffect(stepName: string): GitEffect | undefined {
  const words = stepName.split(/[_-]/u);
  if (words.includes('pr')) return 'pr';
  if (words.includes('push')) return 'push';
  return words.includes('commit') ? 'commit' : undefined;
}

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
