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
