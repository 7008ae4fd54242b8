import * as z from 'zod/mini';
import { defined } from '../../shared/defined';
import { type Result, fail, ok } from '../../shared/errors';
import { schemaProblem } from '../../config/schemaProblem';
import { STEP_TYPES, type TaskTemplate, defaultStepType, isIdempotentByName } from './template';

const STEP_NAME = /^[a-z][a-z0-9_-]{0,63}$/u;

/** HOOK.md has one line for each step. */
const MAX_GOAL = 300;
const GOAL_TOO_LONG = `at most ${MAX_GOAL} characters`;

const templateStepSchema = z.strictObject({
  name: z
    .string()
    .check(z.regex(STEP_NAME, 'a step name may contain a-z, 0-9, "_" and "-", and must start with a letter')),
  type: z.optional(z.enum(STEP_TYPES)),
  idempotent: z.optional(z.boolean()),
  validation: z.optional(z.array(z.string().check(z.minLength(1, 'a command must not be empty')))),
  max_attempts: z.optional(z.int().check(z.gte(1, 'at least one attempt'), z.lte(100, 'at most 100 attempts'))),
  goal: z.optional(z.string().check(z.minLength(1, 'a goal must not be empty'), z.maxLength(MAX_GOAL, GOAL_TOO_LONG))),
  done_when: z.optional(
    z.string().check(z.minLength(1, 'a condition must not be empty'), z.maxLength(MAX_GOAL, GOAL_TOO_LONG)),
  ),
});

/** A project's template file (`.atlas/templates/*.yaml`), as a person writes it. */
export const templateFileSchema = z.strictObject({
  id: z.string().check(z.regex(STEP_NAME, 'an ID may contain a-z, 0-9, "_" and "-", and must start with a letter')),
  description: z.optional(z.string()),
  aliases: z.optional(
    z.array(
      z.string().check(z.regex(STEP_NAME, 'an alias may contain a-z, 0-9, "_" and "-", and must start with a letter')),
    ),
  ),
  steps: z.array(templateStepSchema).check(z.minLength(1, 'a template needs at least one step')),
});

/** The fields of a template file, or of a step in it. */
function fieldsAt(path: readonly PropertyKey[]): string[] {
  return Object.keys(path.length === 0 ? templateFileSchema.shape : templateStepSchema.shape);
}

/** A template made from a parsed template file; the error names the field. */
export function templateFromFile(data: unknown): Result<TaskTemplate> {
  const parsed = templateFileSchema.safeParse(data);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const { path, message } =
      issue === undefined ? { path: [], message: 'not a template' } : schemaProblem(issue, fieldsAt);
    const where = path.length === 0 ? 'the file' : path.join('.');
    return fail('invalid_template', `${where}: ${message}`, { cause: path });
  }
  const names = parsed.data.steps.map((item) => item.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    return fail('invalid_template', `steps: "${twice}" is used twice; each step needs its own name`, {
      cause: ['steps', names.lastIndexOf(twice), 'name'],
    });
  }
  return ok({
    id: parsed.data.id,
    aliases: parsed.data.aliases ?? [],
    description: parsed.data.description ?? '',
    source: 'project',
    steps: parsed.data.steps.map((item) => ({
      name: item.name,
      type: item.type ?? defaultStepType(item.name),
      idempotent: item.idempotent ?? isIdempotentByName(item.name),
      validation: item.validation ?? [],
      maxAttempts: item.max_attempts,
      ...defined({ goal: item.goal, doneWhen: item.done_when }),
    })),
  });
}
