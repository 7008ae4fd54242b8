import { describe, expect, it } from 'vitest';
import { BUILTIN_TEMPLATES, findTemplate } from '../../../src/core/task/templates/templates';
import { type StepType, defaultStepType, gitEffect, isAiLike } from '../../../src/core/task/templates/template';
import { templateFromFile } from '../../../src/core/task/templates/templateFile';
import { unwrap } from '../../../src/core/shared/errors';

const FIXING = ['analyze', 'fix', 'verify', 'validate', 'git_commit', 'git_push', 'git_pr', 'ci_wait', 'review'];

/** The specification's table of templates. */
const SPECIFIED: readonly (readonly [id: string, aliases: readonly string[], steps: readonly string[]])[] = [
  ['bug', ['bugfix', 'fix'], ['analyze', 'plan', 'implement', 'validate', 'commit', 'pr', 'review']],
  [
    'feature',
    [],
    ['specify', 'review_spec', 'plan', 'tasks', 'implement', 'verify', 'validate', 'checklist'].concat([
      'git_commit',
      'git_push',
      'git_pr',
      'ci_wait',
      'review',
    ]),
  ],
  ['task', [], ['implement', 'verify', 'validate', 'git_commit', 'git_push', 'git_pr', 'ci_wait', 'review']],
  ['patch', ['hotfix'], ['fix', 'verify', 'validate', 'git_commit', 'git_push']],
  ['commit', [], ['analyze_changes', 'smart_commit', 'git_push']],
  ['go-optimize', [], FIXING],
  ['dedup', [], FIXING],
  ['goroutine-leak', [], FIXING],
  ['jr-to-sr', [], FIXING],
  ['constant-hunter', [], FIXING],
  ['config-hunter', [], FIXING],
  ['test-creator', [], FIXING],
];

const IDEMPOTENT = [
  'analyze',
  'plan',
  'specify',
  'tasks',
  'validate',
  'verify',
  'checklist',
  'analyze_changes',
  'ci_wait',
];
const TYPES: Readonly<Record<string, StepType>> = {
  review: 'human',
  review_spec: 'human',
  validate: 'validation',
  commit: 'git',
  smart_commit: 'git',
  pr: 'git',
  git_commit: 'git',
  git_push: 'git',
  git_pr: 'git',
  ci_wait: 'ci',
  verify: 'verify',
};

describe('built-in templates', () => {
  it('are the twelve of the specification', () => {
    expect(BUILTIN_TEMPLATES.map((template) => template.id)).toEqual(SPECIFIED.map(([id]) => id));
  });

  it.each(SPECIFIED)('%s has its aliases and steps', (id, aliases, steps) => {
    const template = unwrap(findTemplate(id, BUILTIN_TEMPLATES));
    expect(template.aliases).toEqual(aliases);
    expect(template.steps.map((step) => step.name)).toEqual(steps);
    for (const alias of aliases) expect(unwrap(findTemplate(alias, BUILTIN_TEMPLATES)).id).toBe(id);
    for (const step of template.steps) {
      expect([step.name, step.idempotent]).toEqual([step.name, IDEMPOTENT.includes(step.name)]);
      expect([step.name, step.type]).toEqual([step.name, TYPES[step.name] ?? 'ai']);
      expect(step.validation).toEqual([]);
      expect(step.maxAttempts).toBeUndefined();
    }
  });

  it('are found whatever the case, and a wrong name lists them', () => {
    expect(unwrap(findTemplate(' BugFix ', BUILTIN_TEMPLATES)).id).toBe('bug');
    const missing = findTemplate('bugs', BUILTIN_TEMPLATES);
    if (missing.ok) throw new Error('it was found');
    expect(missing.error.code).toBe('not_found');
    for (const [id] of SPECIFIED) expect(missing.error.hint).toContain(id);
  });

  it.each([
    ['commit', 'commit'],
    ['smart_commit', 'commit'],
    ['git_commit', 'commit'],
    ['git_push', 'push'],
    ['pr', 'pr'],
    ['git_pr', 'pr'],
    ['git_tag', undefined],
    ['surprise', undefined],
  ] as const)('the effect of step %s is %s', (step, effect) => {
    expect(gitEffect(step)).toBe(effect);
  });

  it('know the types that an agent works on', () => {
    expect(['ai', 'sdd', 'verify', 'loop', 'git', 'human', 'ci', 'validation'].filter(isAiLike)).toEqual([
      'ai',
      'sdd',
      'verify',
      'loop',
    ]);
    expect(defaultStepType('git_tag')).toBe('git');
  });
});

describe('a template file', () => {
  const file = { id: 'mine', steps: [{ name: 'test' }, { name: 'lint', idempotent: false }, { name: 'build' }] };

  it('gets types and idempotency by name where it says nothing', () => {
    const template = unwrap(
      templateFromFile({
        ...file,
        aliases: ['m'],
        steps: [...file.steps, { name: 'review', type: 'ai', max_attempts: 5, validation: ['make'] }],
      }),
    );
    expect(template).toMatchObject({ id: 'mine', aliases: ['m'], source: 'project' });
    expect(
      template.steps.map((step) => [step.name, step.type, step.idempotent, step.maxAttempts, step.validation]),
    ).toEqual([
      ['test', 'ai', true, undefined, []],
      ['lint', 'ai', false, undefined, []],
      ['build', 'ai', false, undefined, []],
      ['review', 'ai', false, 5, ['make']],
    ]);
  });

  it('wins over a built-in of the same name', () => {
    const own = unwrap(templateFromFile({ ...file, id: 'bug' }));
    expect(unwrap(findTemplate('bug', [...BUILTIN_TEMPLATES, own])).source).toBe('project');
  });

  it.each([
    ['null', null, 'the file'],
    ['a list', [], 'the file'],
    ['no id', { steps: file.steps }, 'id'],
    ['a bad id', { ...file, id: 'No Spaces' }, 'id'],
    ['no steps', { id: 'mine' }, 'steps'],
    ['empty steps', { id: 'mine', steps: [] }, 'steps'],
    ['an unknown field', { ...file, extra: 1 }, 'extra'],
    ['an unknown field of a step', { ...file, steps: [{ name: 'a', kind: 'ai' }] }, 'steps.0.kind'],
    ['an unknown type', { ...file, steps: [{ name: 'a', type: 'robot' }] }, 'steps.0.type'],
    ['a bad step name', { ...file, steps: [{ name: '../a' }] }, 'steps.0.name'],
    ['an empty command', { ...file, steps: [{ name: 'a', validation: ['x', ''] }] }, 'steps.0.validation.1'],
    ['no attempts', { ...file, steps: [{ name: 'a', max_attempts: 0 }] }, 'steps.0.max_attempts'],
    ['half an attempt', { ...file, steps: [{ name: 'a', max_attempts: 1.5 }] }, 'steps.0.max_attempts'],
    ['a text for a truth value', { ...file, steps: [{ name: 'a', idempotent: 'yes' }] }, 'steps.0.idempotent'],
    ['a bad alias', { ...file, aliases: ['A B'] }, 'aliases.0'],
    ['a step twice', { ...file, steps: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] }, 'steps'],
  ])('with %s is refused and names the place', (_what, data, place) => {
    const result = templateFromFile(data);
    if (result.ok) throw new Error('it was accepted');
    expect(result.error.code).toBe('invalid_template');
    expect(result.error.message.startsWith(`${place}: `)).toBe(true);
  });
});
