import { describe, expect, it } from 'vitest';
import { renderWhatToDoNow, synopsis } from '../../../src/core/hookMarkdown/hookMarkdown';
import { markdownSeq } from '../../../src/core/hookMarkdown/markdownSeq';
import { TASK_STATES, RECOVERY_ACTIONS, isTerminal } from '../../../src/core/task/taskRecord';
import type { ReceiptVerdict } from '../../../src/core/hookMarkdown/view';
import { toTimestamp } from '../../../src/core/shared/time';
import { STEP_TYPES, type StepType, isAiLike } from '../../../src/core/task/templates/template';
import { WAIT_KINDS, type WaitKind, waitKind } from '../../../src/core/task/waiting';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { HOOK_PATH, action, render, section, todo, said } from '../../support/fixtures/renderedHook';

const LAST = stepOf('review', 'human');
const one = (type: StepType, validation: readonly string[] = [], name = 'work'): DrivenHook =>
  new DrivenHook([stepOf('analyze', 'ai'), stepOf(name, type, validation), LAST]).completeStep();
const running = (type: StepType, validation: readonly string[] = [], name = 'work'): DrivenHook =>
  one(type, validation, name).send({ type: 'start_step' });
const all = (driven: DrivenHook): string => todo(render(driven)).join('\n');

function waiting(kind: WaitKind): DrivenHook {
  switch (kind) {
    case 'review':
    case 'question':
    case 'step_failed':
    case 'interrupted':
      return running('ai').send({ type: 'human_required', kind, message: 'Which *parser*?' });
    case 'validation_failed':
      return running('ai', ['npm test'])
        .send({ type: 'step_output' })
        .validated('npm test', 2)
        .send({ type: 'validate_fail', reason: 'Which *parser*?' });
    case 'attempts_spent': {
      const driven = one('ai');
      for (let n = 0; n < 3; n += 1)
        driven.send({ type: 'start_step' }).crashed('retry_step').send({ type: 'retry_step' });
      return driven.send({ type: 'start_step' });
    }
  }
}

describe("an agent's last message", () => {
  it('stands beside what the last run of a check came to, and nobody judges its words', () => {
    const driven = running('ai', ['npm test']);
    const none = section(render(driven, { session: said('All tests pass.') }), 'What You Were Doing');
    expect(none).toContain('All tests pass.');
    expect(none).toContain('**Last run of a check:** none in this step.');
    driven.send({ type: 'step_output' }).validated('npm test', 1);
    const failed = section(render(driven, { session: said('All tests pass.') }), 'What You Were Doing');
    expect(failed).toMatch(
      /All tests pass\.[^]*\*\*Last run of a check:\*\* `npm test` failed with exit code 1 \(.*, recorded by Atlas\)\./u,
    );
    expect(section(render(driven), 'What You Were Doing')).not.toContain('Last run of a check');
  });

  it('says whether that run was of the files that are there now, where that is known', () => {
    const driven = running('ai', ['npm test']).send({ type: 'step_output' }).validated('npm test', 0);
    const at = Date.parse(driven.now.receipts[0]?.completed_at ?? '');
    const told = (modified?: number, lastRunFiles?: 'current' | 'outdated'): string => {
      const files =
        modified === undefined
          ? []
          : [{ path: 'a.ts', change: 'modified' as const, modified_at: toTimestamp(modified) }];
      const hook = { ...driven.now, worktree_state: { observed_at: driven.now.updated_at, files } };
      const more = { session: said('Done.'), ...(lastRunFiles === undefined ? {} : { lastRunFiles }) };
      return /recorded by Atlas\)\.(.*)/u.exec(render({ now: hook, task: driven.task }, more))?.[1] ?? 'nothing';
    };
    expect(told()).toBe('');
    expect(told(at)).toBe('');
    expect(told(at + 1)).toBe(' The files have changed since.');
    expect(told(undefined, 'outdated')).toBe(' The files have changed since.');
    // Changed, and changed back.
    expect(told(at + 1, 'current')).toBe(' The files are still the same.');
  });
});

describe('HOOK.md', () => {
  it('has its sections in order, in every state', () => {
    const ended = running('ai').send({ type: 'abandon', reason: 'not needed' });
    const interrupted = running('ai').crashed('manual');
    for (const driven of [one('ai'), running('git'), waiting('review'), interrupted, ended]) {
      const headings = [...render(driven).matchAll(/^##? (.*)$/gmu)].map((match) => match[1]);
      expect(headings).toEqual([
        'ATLAS Task Recovery Hook',
        `Current State: \`${driven.now.state}\``,
        ...(driven === interrupted ? ['What Interrupted You'] : []),
        'The Plan',
        'What You Were Doing',
        'What To Do Now',
        'Completed Steps (DO NOT REPEAT)',
        'Checkpoints Timeline',
        'Validation Receipts',
        'If Something Is Wrong',
      ]);
      expect(render(driven).match(/^### /gmu)?.length).toBeGreaterThanOrEqual(3);
    }
  });

  it('is the same bytes from the same input, whatever order the verdicts are in', () => {
    const driven = running('ai', ['a', 'b'])
      .send({ type: 'step_output' })
      .validated('a', 0, 'r1')
      .validated('b', 0, 'r2');
    const verdicts: [string, ReceiptVerdict][] = [
      ['r1', { verdict: 'valid' }],
      ['r2', { verdict: 'invalid' }],
    ];
    const first = render(driven, { verdicts: new Map(verdicts) });
    expect(render(driven, { verdicts: new Map([...verdicts].reverse()) })).toBe(first);
    expect(render(driven, { verdicts: new Map(), hook: structuredClone(driven.now) })).toBe(render(driven));
  });

  it('takes what is done from the hook where task.json is behind', () => {
    const driven = one('ai');
    expect(driven.task.steps[0]?.status).toBe('pending');
    expect(section(render(driven), 'Completed Steps')).toContain('| 1. analyze | ✅ Completed | 1 | 1m |');
  });

  it('names the journal line it was made at', () => {
    expect(markdownSeq(render(one('ai'), { seq: 1234 }))).toBe(1234);
    expect(markdownSeq('# Something else')).toBeUndefined();
  });

  it('gives the What To Do Now section alone', () => {
    const driven = running('ai');
    const location = { root: '/r', hookPath: HOOK_PATH };
    const alone = renderWhatToDoNow({
      hook: driven.now,
      task: driven.task,
      seq: 1,
      location,
      verdicts: new Map(),
      version: '1',
    });
    expect(render(driven)).toContain(alone.trimEnd());
    expect(alone.startsWith('## What To Do Now\n')).toBe(true);
  });
});

describe('what to do now', () => {
  it.each(STEP_TYPES)('starts a pending %s step with its attempt', (type) => {
    const markdown = render(one(type));
    expect(todo(markdown)[0]).toContain('`atlas step start work --attempt 1`');
    expect(section(markdown, 'What To Do Now')).toContain('(step 1)');
  });

  it.each(STEP_TYPES.filter((type) => type !== 'human'))(
    'ends a %s step with declared commands by validating',
    (type) => {
      const steps = all(running(type, ['npm test']));
      expect(steps).toMatch(/`atlas validate( --summary "<result>")? --step work --attempt 1`/u);
      expect(steps).toContain('`npm test`');
      expect(steps).not.toContain('atlas step complete');
    },
  );

  it.each(STEP_TYPES.filter((type) => isAiLike(type) || type === 'git' || type === 'ci'))(
    'ends a %s step without commands by completing it',
    (type) => {
      const steps = all(running(type));
      const result = type === 'git' ? '' : ' --summary "<result>"';
      expect(steps).toContain(`\`atlas step complete work --attempt 1${result}\``);
      expect(steps).not.toContain('atlas validate');
    },
  );

  it('asks for a command where a validation step declares none', () => {
    expect(all(running('validation'))).toContain('`atlas validate --command "<command>" --step work --attempt 1`');
  });

  it('hands a human step over and never completes it', () => {
    const pending = render(one('human'));
    expect(action(pending)).toContain('HAND OVER');
    expect(todo(pending).join()).toMatch(/[Aa]sk the human/u);
    expect(pending).not.toContain('step complete');
    const resumed = one('human').send({ type: 'start_step' }).leftIn('step_running');
    expect(resumed.now.state).toBe('step_running');
    expect(all(resumed)).toContain('Only a human can end `work`');
    expect(all(resumed)).not.toContain('step complete');
  });

  it.each([
    ['git_commit', 'git log -3 --oneline', 'commit them'],
    ['git_push', 'git status -sb', 'git push'],
    ['git_pr', 'gh pr view', '--trigger pr_created'],
    ['git_tag', 'git status', 'what `git_tag` asks for'],
  ])('looks before it does the git work of %s', (name, look, act) => {
    const steps = todo(render(running('git', [], name)));
    expect(steps.findIndex((step) => step.includes(look))).toBe(0);
    expect(steps.findIndex((step) => step.includes(act))).toBeGreaterThan(0);
    const known = name !== 'git_tag';
    expect(steps.at(known ? -2 : -1)).toContain(`\`atlas step complete ${name} --attempt 1\``);
    expect(steps.join().includes(`atlas step complete ${name} --attempt 1 --nothing-to-do "<why>"`)).toBe(known);
  });

  it('resumes with the files, what was being done and a way to save', () => {
    const driven = running('ai').send({ type: 'note', workingOn: 'the Server field', filesTouched: ['a.go', 'b.go'] });
    const steps = todo(render(driven));
    expect(steps[0]).toBe('Review the files modified in this step: `a.go`, `b.go`');
    expect(steps[2]).toBe('Continue with: the Server field');
    expect(steps.join()).toContain('atlas checkpoint "');
    expect(section(render(driven), 'What To Do Now')).toContain(
      '- Recreate the branch (already exists: `fix/null-pointer`)',
    );
  });

  it('begins a step that was just started, resumes one under way, and takes over an interrupted one', () => {
    const recovered = running('ai').crashed('retry_from_checkpoint').send({ type: 'retry_from_checkpoint' });
    expect(action(render(running('ai')))).toBe('▶️ BEGIN: Work on the `work` step');
    expect(all(running('ai'))).not.toMatch(/git diff|Continue with/u);
    expect(section(render(running('ai')), 'What To Do Now')).not.toContain('Start over');
    const noted = running('ai').send({ type: 'note', workingOn: 'the Server field' });
    expect(action(render(noted))).toBe('✅ RESUME: Continue the `work` step');
    expect(action(render(recovered))).toBe('🔁 TAKE OVER: Continue the `work` step');
    expect(section(render(recovered), 'What Interrupted You')).toContain('The agent before you was killed');
    recovered.send({ type: 'step_complete' });
    expect(render(recovered)).not.toContain('What Interrupted You');
  });

  it('goes by the newest checkpoint, not by what was noted before it', () => {
    const noted = running('ai').send({ type: 'note', workingOn: 'parse() and format()' });
    noted.send({ type: 'checkpoint', trigger: 'manual', description: 'parse() and format() are fixed' });
    expect(render(noted)).not.toContain('parse() and format()\n');
    expect(section(render(noted), 'What You Were Doing')).toContain('- parse() and format() are fixed');
    noted.send({ type: 'checkpoint', trigger: 'manual', description: 'split() too', next: 'the import' });
    expect(todo(render(noted))).toContain('Continue with: the import');
    noted.send({ type: 'checkpoint', trigger: 'interval', description: 'Periodic checkpoint' });
    expect(todo(render(noted)), 'a checkpoint that nobody made').toContain('Continue with: the import');
  });

  it('says how each command stands while validating', () => {
    const driven = running('ai', ['npm test', 'npm run lint']).send({ type: 'step_output' }).validated('npm test', 0);
    const text = section(render(driven), 'What To Do Now');
    expect(action(render(driven))).toContain('VALIDATE');
    expect(text).toContain('`npm test`: passed; `npm run lint`: no result in this attempt');
    expect(text).toContain('`atlas validate --step work --attempt 1`');
    expect(todo(render(driven)).join()).not.toContain('step complete');
  });

  it('has a text of its own for every kind of waiting, which asks the human', () => {
    const headings = WAIT_KINDS.map((kind) => {
      const driven = waiting(kind);
      expect(waitKind(driven.now)).toBe(kind);
      const markdown = render(driven);
      expect(todo(markdown).join()).toMatch(/ask the human|Ask the human/u);
      const approves = todo(markdown).join().includes('atlas approve');
      expect(approves).toBe(kind !== 'question' && kind !== 'interrupted');
      expect(markdown.includes('there is nothing to approve')).toBe(!approves);
      const word = kind === 'question' ? 'The question' : 'What was said';
      if (kind !== 'attempts_spent') expect(markdown).toContain(`${word}: "Which \\*parser\\*?"`);
      return action(markdown);
    });
    expect(new Set(headings).size).toBe(WAIT_KINDS.length);
    expect(headings.every((heading) => heading.includes('STOP'))).toBe(true);
  });

  it("shows a question with the human's answer until the step ends", () => {
    const driven = running('ai').send({ type: 'human_required', kind: 'question', message: 'Which *parser*?' });
    expect(todo(render(driven)).join()).toContain('`atlas answer "<their answer>"`');
    expect(todo(render(driven)).join()).not.toContain('rejection');
    driven.send({ type: 'human_resume', answer: 'The new one.\nIt is faster.' });
    const doing = section(render(driven), 'What You Were Doing');
    expect(doing).toContain(
      '### The Human\'s Answer\n\nTo: "Which \\*parser\\*?"\n\n```text\nThe new one.\nIt is faster.\n```',
    );
    expect(render(driven.send({ type: 'step_complete' }))).not.toContain('It is faster');
    const passedOn = running('ai').send(
      { type: 'human_required', kind: 'question', message: 'Which?' },
      { type: 'human_resume', answer: 'This.', by: 'agent' },
    );
    expect(render(passedOn)).toContain("### The Human's Answer, as an agent passed it on");
  });

  it('tells the rejection and its reason at the next attempt', () => {
    const markdown = render(waiting('validation_failed').send({ type: 'human_reject', reason: 'tests were deleted' }));
    expect(action(markdown)).toBe('🔁 REDO: Begin the `work` step (attempt 2 of 3)');
    expect(markdown).toContain('and wrote: "tests were deleted"');
  });

  it('has a text of its own for every state', () => {
    const by = {
      initializing: () => one('ai'),
      step_pending: () => one('ai'),
      step_running: () => running('ai'),
      step_validating: () => running('ai', ['x']).send({ type: 'step_output' }),
      awaiting_human: () => waiting('review'),
      recovering: () => running('ai').crashed('manual'),
      completed: () => new DrivenHook([stepOf('work', 'ai')]).completeStep(),
      failed: () => running('ai').send({ type: 'fail', reason: 'no way' }),
      abandoned: () => running('ai').send({ type: 'abandon' }),
    };
    const texts = TASK_STATES.map((state) => {
      const driven = by[state]();
      const hook = state === 'initializing' ? { ...driven.now, state, current_step: undefined } : driven.now;
      expect(hook.state).toBe(state);
      const markdown = render(driven, { hook });
      if (isTerminal(state)) expect(todo(markdown).join()).not.toMatch(/atlas (step|validate|recover|resume)/u);
      return action(markdown);
    });
    expect(new Set(texts).size).toBe(TASK_STATES.length);
  });

  it('never tells an agent to give up, delete or decide for a human', () => {
    const drivens = [
      ...STEP_TYPES.flatMap((type) => [one(type), running(type)]),
      ...WAIT_KINDS.map(waiting),
      ...RECOVERY_ACTIONS.map((name) => running('ai').crashed(name)),
    ];
    for (const driven of drivens) {
      const markdown = render(driven);
      expect(markdown).not.toMatch(
        /atlas (abandon|fail\b|cleanup|workspace)|reset --hard|git clean|checkout --|rm -|--force\b/u,
      );
      for (const line of todo(markdown).filter((step) => /atlas (approve|reject)/u.test(step))) {
        expect(line).toMatch(/[Aa]sk the human|After a rejection/u);
      }
    }
  });
});

describe('the plan', () => {
  it('has every step with what it must deliver, what ends it and where the task is', () => {
    const goal = { goal: 'Draw | the map', doneWhen: 'the map is drawn' };
    const steps = [
      { ...stepOf('draw', 'ai'), ...goal },
      stepOf('validate', 'validation', ['npm test', 'npm run lint']),
      stepOf('strange', 'ai'),
      stepOf('review', 'human'),
    ];
    const plan = section(render(new DrivenHook(steps).completeStep()), 'The Plan');
    expect(plan.split('\n').filter((line) => /^\| \d/u.test(line))).toEqual([
      '| 1. draw | Draw \\| the map | the map is drawn | ✅ done |',
      '| 2. validate | Show that the checks pass | `npm test` and `npm run lint` pass | ▶️ next |',
      '| 3. strange | Not described by the template | its work is done | to come |',
      '| 4. review | Have a human review the result | a human approves it | to come |',
    ]);
  });

  it('says from the start what keeps a branch from being pushed or merged', () => {
    const steps = [stepOf('work', 'ai'), stepOf('git_push', 'git'), stepOf('git_pr', 'git')];
    const planAt = (state: object, driven = new DrivenHook(steps)): string => {
      const worktree = { observed_at: '2026-01-17T14:30:22Z', ...state };
      return section(render(driven, { hook: { ...driven.now, worktree_state: worktree } }), 'The Plan');
    };
    expect(planAt({ remotes: 0 })).toContain('`git_push` and `git_pr` end with `--nothing-to-do "<why>"`');
    expect(planAt({ remotes: 1, branch: 'main' })).toContain('on `main`, the base branch');
    expect(planAt({ remotes: 1, branch: 'dev', base_branch: 'dev' })).toContain('on `dev`, the base branch');
    for (const fine of [{}, { remotes: 1, branch: 'fix' }, { remotes: 1, branch: 'main', base_branch: 'dev' }])
      expect(planAt(fine)).not.toMatch(/no remote|base branch/u);
    expect(planAt({ remotes: 0 }, new DrivenHook([stepOf('work', 'ai')]))).not.toContain('no remote');
  });

  it('says when to commit', () => {
    const steps = [stepOf('work', 'ai'), stepOf('git_commit', 'git')];
    const before = new DrivenHook(steps).send({ type: 'start_step' });
    expect(todo(render(before)).join()).toContain('Committing is step 2, `git_commit`.');
    expect(todo(render(running('ai'))).join()).toContain('Commit each piece that works');
  });

  it('keeps what a step came to, whole, for the steps after it', () => {
    const summary = `# found\n\n${'it is the parser; '.repeat(400)}end\n\nlast line`;
    const driven = new DrivenHook([stepOf('analyze', 'ai'), stepOf('fix', 'ai', ['npm test']), stepOf('next', 'ai')]);
    driven.send({ type: 'start_step' }, { type: 'step_complete', summary }, { type: 'start_step' });
    driven.send({ type: 'step_output', summary: 'fixed it' }).validated('npm test', 0);
    driven.send({ type: 'validate_pass', summary: 'fixed it' });
    const done = section(render(driven), 'Completed Steps (DO NOT REPEAT)');
    expect(done).toContain(`### Result of Step 1, \`analyze\`\n\n\`\`\`text\n${summary}\n\`\`\``);
    expect(done).toContain('### Result of Step 2, `fix`\n\n```text\nfixed it\n```');
    expect(JSON.stringify(driven.now).match(/fixed it/gu)).toHaveLength(1);
  });
});

describe('recovering', () => {
  it('has a text of its own for every action, with the command that applies it and the reason', () => {
    const headings = RECOVERY_ACTIONS.map((name) => {
      const markdown = render(running('ai', ['npm test']).crashed(name));
      expect(todo(markdown).join()).toContain('`atlas recover`');
      expect(markdown).toContain(`The plan is \`${name}\`. Why: The agent was killed while it worked.`);
      return action(markdown);
    });
    expect(new Set(headings).size).toBe(RECOVERY_ACTIONS.length);
  });

  it('leaves an action that it does not know to a human', () => {
    expect(action(render(running('ai').crashed('rm -rf')))).toContain('A human has to look');
  });

  it('names the next attempt when the step is done again, and the same when it goes on', () => {
    expect(action(render(running('ai').crashed('retry_step')))).toContain('(attempt 2 of 3)');
    expect(all(running('ai').crashed('retry_step'))).toContain('atlas step start work --attempt 2');
    expect(all(running('ai').crashed('retry_from_checkpoint'))).toContain(
      'atlas step complete work --attempt 1 --summary "<result>"',
    );
    expect(all(running('ai').crashed('skip_step'))).not.toContain('step complete');
  });

  it('says how each file stands, the command that ran and what is uncertain', () => {
    const files = ['unchanged', 'changed', 'missing', 'new', 'not known'].map((state) => ({
      path: `${state}.go`,
      state,
    }));
    const driven = running('ai', ['npm test'])
      .send({ type: 'step_output' })
      .crashed('retry_validation', {
        validation_cmd: 'npm test',
        partial_output: '12 passing',
        details: { cause: 'validation_died', last_sign_of_life: '2026-01-17T14:30:22Z', files },
      });
    const doing = section(render(driven), 'What You Were Doing');
    expect(doing).toContain('- `unchanged.go` (unchanged since the last checkpoint)');
    expect(doing).toContain('- `changed.go` (changed since the last checkpoint)');
    expect(doing).toContain('- `missing.go` (missing: it was there at the last checkpoint)');
    expect(doing).toContain('- `new.go` (new since the last checkpoint)');
    expect(doing).toContain('- `not known.go` (not known whether it changed since the last checkpoint)');
    expect(doing).toContain('12 passing');
    const interrupted = section(render(driven), 'What Interrupted You');
    expect(interrupted).toContain('**Command that was running:** `npm test`');
    expect(interrupted).toContain('**What happened:** The running validation was killed');
    expect(interrupted).toContain('**Last sign of life:** 2026-01-17T14:30:22Z');
    expect(interrupted).toMatch(/\*\*Not certain:\*\* whether the command/u);
  });

  it('repeats an interrupted set-up without naming a step', () => {
    const driven = one('ai');
    const recovery = running('ai').crashed('retry_step').now.recovery;
    const hook = { ...driven.now, state: 'recovering' as const, current_step: undefined, recovery };
    expect(action(render(driven, { hook }))).toContain('Set the task up again');
  });
});

describe('the record', () => {
  it('tells of edits that Atlas did not make', () => {
    const driven = running('ai');
    const event = {
      timestamp: '2026-01-17T15:00:00Z',
      from_state: 'step_running',
      to_state: 'step_running',
      trigger: 'adopted_edit',
    } as const;
    expect(section(render(driven), 'Current State')).not.toContain('Changed from outside');
    const hook = { ...driven.now, history: [...driven.now.history, event, event] };
    expect(section(render(driven, { hook }), 'Current State')).toContain('(2 times, last seen 2026-01-17T15:00:00Z)');
    const back = { ...event, details: { kind: 'rolled_back' } };
    const rolled = { ...driven.now, history: [...driven.now.history, event, back] };
    expect(section(render(driven, { hook: rolled }), 'Current State')).toContain('put back to an older version');
  });

  it('orders checkpoints by their time, not by when they were noticed', () => {
    const driven = running('ai').send({ type: 'checkpoint', trigger: 'manual', description: 'noticed first' });
    const [first, ...rest] = [...driven.now.checkpoints].reverse();
    if (first === undefined) throw new Error('no checkpoint');
    const late = { ...first, created_at: '2026-01-17T14:30:30Z', description: 'made first' };
    const timeline = section(
      render(driven, { hook: { ...driven.now, checkpoints: [...rest, first, late] } }),
      'Checkpoints Timeline',
    );
    expect(timeline.indexOf('made first')).toBeLessThan(timeline.indexOf('noticed first'));
  });

  it('shows the last twenty checkpoints and how many it leaves out', () => {
    const driven = running('ai');
    for (let n = 1; n <= 25; n += 1) driven.send({ type: 'checkpoint', trigger: 'manual', description: `save ${n}` });
    const timeline = section(render(driven), 'Checkpoints Timeline');
    expect(timeline).toContain('The newest 20; 6 earlier ones are left out.');
    expect(timeline.match(/^\| 2026/gmu)).toHaveLength(20);
    expect(timeline).toContain('save 25');
    expect(timeline).not.toContain('save 5 |');
  });

  const receipts = (verdict?: ReceiptVerdict, exitCode = 0): string => {
    const driven = running('ai', ['npm test']).send({ type: 'step_output' }).validated('npm test', exitCode, 'rcpt-1');
    if (exitCode === 0) driven.send({ type: 'validate_pass' });
    const markdown = render(driven, { verdicts: new Map(verdict === undefined ? [] : [['rcpt-1', verdict]]) });
    return [
      section(markdown, 'Completed Steps'),
      section(markdown, 'Validation Receipts').split('verify-receipt <id>`.')[1],
    ].join('');
  };

  it('says "not checked" without a tick where there is no verdict', () => {
    expect(receipts()).toContain('`rcpt-1` (not checked)');
    expect(receipts()).toContain('Signature: not checked');
    expect(receipts()).not.toContain('✓');
  });

  it('ticks only what was verified', () => {
    const valid = receipts({ verdict: 'valid', keyPath: "m/44'/236'/0'/0/2" });
    expect(valid).toContain('`rcpt-1` ✓');
    expect(valid).toContain("Signature: VALID ✓ (verified with HD key m/44'/236'/0'/0/2)");
    for (const verdict of ['valid_short', 'invalid', 'unsigned', 'unknown_key'] as const) {
      expect(receipts({ verdict })).not.toContain('✓');
    }
    expect(receipts({ verdict: 'valid' }, 3)).toContain('Exit Code: 3 (FAILED)');
  });
});

describe('synopsis', () => {
  it('is the one line of the template, with the real path', () => {
    const driven = running('ai');
    expect(synopsis(driven.now, driven.task, HOOK_PATH)).toBe(
      `[ATLAS RECOVERY] Task 'task-20260117-143022' in progress. State: step_running, Step: work (2/3). READ ${HOOK_PATH} BEFORE PROCEEDING.`,
    );
  });

  it('is empty for a task that is over, and one line whatever the path', () => {
    const over = running('ai').send({ type: 'fail' });
    expect(synopsis(over.now, over.task, HOOK_PATH)).toBe('');
    const driven = running('ai');
    const line = synopsis(driven.now, driven.task, '/a  b/\n\u2028IGNORE\u202e/HOOK.md');
    expect(line).toContain('READ /a  b/IGNORE/HOOK.md BEFORE');
    expect(line.split(/[\n\r\u2028\u2029]/u)).toHaveLength(1);
  });
});
