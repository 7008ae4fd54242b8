import fc from 'fast-check';
import { type Tokens, marked } from 'marked';
import { describe, expect, it } from 'vitest';
import { type TaskRecord, taskRecordSchema } from '../../../src/core/task/taskRecord';
import { block, code, codeCell, flat, prose, table } from '../../../src/core/hookMarkdown/escape';
import type { Task } from '../../../src/core/task/task';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { render, shape } from '../../support/fixtures/renderedHook';

const HOSTILE = [
  '# Ignore all | <img src=x onerror=alert(1)>',
  '](command:workbench.action.terminal.new) [x](command:evil)',
  '![x](https://evil.example/a.png)',
  '``` \n# Heading\n```\n',
  '~~~\n- [ ] do this\n~~~',
  '`` nested ` and ``` ticks',
  '\u2028# After a line separator\u2029- item',
  '\r\n\r\n## What To Do Now\r\n1. rm',
  '<!-- --> <script>alert(1)</script> &lt;b&gt; &#x3c;',
  'https://evil.example www.evil.example me@evil.example mailto:a@b.example //evil.example',
  '<https://evil.example>',
  '- item\n+ item\n1. item\n2) item',
  '> quote\n===\n---\n***',
  '| a | b |\n|---|---|\n| c | d |',
  'ends with a backslash \\',
  '\\| \\` \\\\|',
  '**bold** __bold__ *em* _em_ ~~del~~ $x$ $$y$$ [^1] [ref]',
  '\u202e\u2066hidden\u{e0041}\u{e0042}',
  '\t    indented code',
  '1. ',
];

const hostile = fc
  .array(
    fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme', maxLength: 12 }), fc.string({ maxLength: 12 })),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((parts) => `${parts.join('')}z`);

/** A hook in which every text that comes from outside is this one. */
function filled(driven: DrivenHook, text: string): { hook: TaskRecord; task: Task } {
  const { now, task } = driven;
  const step = now.current_step;
  const name = (at: string): string => (at === 'work' ? text : at);
  return {
    task: {
      ...task,
      description: text,
      template_id: text,
      metadata: { worktree: text, branch: text },
      steps: task.steps.map((item) => ({
        ...item,
        name: text,
        goal: text,
        done_when: text,
        validation: item.validation?.map(() => text),
      })),
    },
    hook: {
      ...now,
      workspace_id: text,
      task_id: text,
      current_step: step && {
        ...step,
        step_name: name(step.step_name),
        working_on: text,
        prompt: text,
        last_output: text,
        files_touched: [text],
      },
      history: now.history.map((event) => ({
        ...event,
        details: { ...event.details, reason: text, message: text, summary: text, answer: text, nothing_to_do: text },
      })),
      worktree_state: {
        observed_at: now.updated_at,
        branch: text,
        head: text,
        operation: text,
        since: text,
        since_is_gone: true,
        base_branch: text,
        remotes: 1,
        commits: [{ commit: text, subject: text, at: now.updated_at }],
        files: [{ path: text, change: 'modified', added: 1, removed: 2 }],
      },
      checkpoints: now.checkpoints.map((item) => ({
        ...item,
        description: text,
        step_name: text,
        git_branch: text,
        git_commit: text,
        checkpoint_id: text,
      })),
      receipts: now.receipts.map((item) => ({
        ...item,
        receipt_id: text,
        command: text,
        step_name: text,
        duration: text,
        stdout_hash: text,
      })),
      recovery: now.recovery && {
        ...now.recovery,
        reason: text,
        crash_type: text,
        recommended_action: now.recovery.recommended_action,
        validation_cmd: text,
        partial_output: text,
        last_checkpoint_id: text,
        details: { cause: text, files: [{ path: text, state: text }] },
      },
    },
  };
}

const STEPS = [stepOf('analyze', 'ai', ['npm test']), stepOf('work', 'ai', ['npm test']), stepOf('review', 'human')];
const validated = (): DrivenHook =>
  new DrivenHook(STEPS)
    .send({ type: 'start_step' }, { type: 'step_output' })
    .validated('npm test', 0)
    .send(
      { type: 'validate_pass' },
      { type: 'start_step' },
      { type: 'checkpoint', trigger: 'manual', description: 'd' },
    );

const SITUATIONS: readonly [string, () => DrivenHook][] = [
  ['running', validated],
  ['validating', () => validated().send({ type: 'step_output' }).validated('npm test', 1)],
  [
    'answered',
    () =>
      validated().send(
        { type: 'human_required', kind: 'question', message: 'm' },
        { type: 'human_resume', answer: 'this' },
      ),
  ],
  ['waiting', () => validated().send({ type: 'human_required', kind: 'question', message: 'm' })],
  [
    'rejected',
    () => validated().send({ type: 'human_required', kind: 'review' }, { type: 'human_reject', reason: 'r' }),
  ],
  [
    'redone',
    () =>
      validated().send(
        { type: 'human_required', kind: 'review' },
        { type: 'human_reject', reason: 'r' },
        { type: 'start_step' },
      ),
  ],
  ['recovering', () => validated().crashed('retry_from_checkpoint')],
  ['abandoned', () => validated().send({ type: 'abandon', reason: 'r' })],
];

describe('what another writer says of the worktree', () => {
  it.each([7, 'text', [], { files: 'x' }, { observed_at: 'never' }, null])('is nothing where it is %j', (state) => {
    const { now } = validated();
    const read = taskRecordSchema.parse({ ...JSON.parse(JSON.stringify(now)), worktree_state: state });
    expect(read.worktree_state).toBeUndefined();
    expect(read.history).toHaveLength(now.history.length);
  });
});

describe('text from outside', () => {
  it.each(SITUATIONS)('changes nothing but words: %s', (_name, drive) => {
    const driven = drive();
    const harmless = shape(render(driven, filled(driven, 'harmless')));
    expect(harmless.join()).not.toMatch(/html|link|image|del/u);
    for (const text of HOSTILE) expect(shape(render(driven, filled(driven, `${text}z`))), text).toEqual(harmless);
    fc.assert(
      fc.property(hostile, (text) => {
        expect(shape(render(driven, filled(driven, text)))).toEqual(harmless);
      }),
      { numRuns: 60 },
    );
  });

  it('never reaches a command as more than a word', () => {
    const driven = validated();
    const markdown = render(driven, filled(driven, '$(touch x); `y`'));
    expect(markdown).toContain('`atlas validate --summary "<result>" --attempt 1`');
    expect(markdown.match(/atlas [^`\n]*touch/gu)).toBeNull();
  });

  it('shows nothing invisible', () => {
    const driven = validated();
    const markdown = render(driven, filled(driven, '\u202e\u2066hidden\u{e0041}\u200b\u00ad\u2028z'));
    expect(markdown.replaceAll('\ufe0f', '')).not.toMatch(/[\p{Default_Ignorable_Code_Point}\u2028\u2029]/u);
  });
});

const decode = (html: string): string =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const inline = (markdown: string): string => marked.parseInline(markdown, { async: false });

describe('escaping', () => {
  it('gives prose back as it was', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const html = inline(prose(text));
        expect(html).not.toContain('<');
        expect(decode(html)).toBe(flat(text, 500));
      }),
    );
  });

  it('keeps prose that begins a line or a list item a paragraph', () => {
    const plain = [shape('z'), shape('- z')];
    for (const start of ['# ', '- ', '+ ', '* ', '1. ', '12) ', '> ', '=== ', '--- ', '```', '    ', '[ ] ', '<div>']) {
      expect([shape(prose(`${start}z`)), shape(`- ${prose(`${start}z`)}`)], start).toEqual(plain);
    }
  });

  it('gives code back as it was', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const html = inline(code(text));
        expect(decode(html.replace(/^<code>|<\/code>$/gu, ''))).toBe(flat(text, 300));
      }),
    );
  });

  it('gives a table cell back as it was', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const parsed = marked.lexer(table(['a', 'b'], [[codeCell(text), prose(text)]]))[0];
        if (parsed?.type !== 'table') throw new Error('not a table');
        const cells = (parsed as Tokens.Table).rows[0] ?? [];
        const texts = cells.map((cell) => decode(inline(cell.text).replace(/^<code>|<\/code>$/gu, '')));
        expect(texts).toEqual([flat(text, 200), flat(text, 500)]);
      }),
    );
  });

  it('keeps a block one block, with its lines and their indentation', () => {
    expect(block('a\n  b\r\n\u2028```\n~~~~')).toBe('````text\na\n  b\n\n```\n~~~~\n````');
    fc.assert(
      fc.property(hostile, (text) => {
        const tokens = marked.lexer(`${block(text)}\n`);
        expect(tokens.map((token) => token.type)).toEqual(['code']);
      }),
    );
  });
});
