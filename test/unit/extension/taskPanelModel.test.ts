import { describe, expect, it, vi } from 'vitest';
import { type STEP_TYPES } from '../../../src/core/task/templates/template';
import { type TaskPanelData, taskPanelModel } from '../../../src/extension/tasks/panel/taskPanelModel';
import { taskPanelModelSchema, type TaskPanelModel } from '../../../src/protocol/taskPanel';
import type { ReceiptStatus } from '../../../src/extension/receipts/verdicts';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const one = (type: (typeof STEP_TYPES)[number], validation: readonly string[] = []): DrivenHook =>
  new DrivenHook([stepOf('work', type, validation), stepOf('review', 'human')]);
const modelOf = (driven: DrivenHook, more: Partial<TaskPanelData> = {}): TaskPanelModel =>
  taskPanelModel(REF, { hook: driven.now, task: driven.task, markdown: '', hookPath: '/h', ...more }, []);

describe("an agent's last message", () => {
  it('stands beside the checks on one line, and only where it is known', () => {
    const driven = one('ai');
    expect(modelOf(driven).agentSaid).toBeUndefined();
    expect(modelOf(driven, { said: 'Done.\nAll **tests** pass.' }).agentSaid).toBe('Done. All **tests** pass.');
  });
});

describe('the actions of the HOOK.md panel', () => {
  it('are in words, the one next step first', () => {
    const { actions } = modelOf(one('ai').crashed('retry_step'));
    expect(actions.slice(0, 2).map(({ label, recovery, rank }) => [label, recovery, rank])).toEqual([
      ['Restart the Step', 'retry_step', 'primary'],
      ['Recover Differently…', undefined, 'secondary'],
    ]);
    expect(actions.at(-1)?.label).toBe('Abandon Task…');
  });

  it('are none in an untrusted folder', () => {
    expect(modelOf(one('ai'), { untrusted: true }).actions).toEqual([]);
  });
});

describe('the model of the HOOK.md panel', () => {
  it('passes its own schema in every state it can be in', () => {
    const drivens = [
      one('ai'),
      one('ai').send({ type: 'start_step' }).crashed('manual'),
      one('git').send({ type: 'fail' }),
    ];
    for (const driven of drivens) expect(taskPanelModelSchema.parse(modelOf(driven)).state).toBe(driven.now.state);
  });

  it('shows every step in words, with what happened on it', () => {
    const driven = new DrivenHook([stepOf('write_code', 'ai', ['npm test']), stepOf('ci_wait', 'ai')]).send(
      { type: 'start_step', workingOn: 'the parser\n# x' },
      { type: 'checkpoint', trigger: 'git_commit', description: 'Commit: Parse <b>' },
      { type: 'checkpoint', trigger: 'interval', description: 'Periodic checkpoint' },
      { type: 'checkpoint', trigger: 'interval', description: 'Periodic checkpoint' },
      { type: 'human_required', kind: 'question', message: 'Which?' },
      { type: 'human_resume', answer: 'That' },
    );
    driven.crashed('retry_from_checkpoint').send({ type: 'retry_from_checkpoint' });
    const { steps, announcement, need } = modelOf(driven);
    expect(steps.map(({ name, look, isCurrent }) => [name, look, isCurrent])).toEqual([
      ['write code', 'running', true],
      ['CI wait', 'pending', false],
    ]);
    expect(steps[0]?.marks.map(({ kind, label }) => [kind, label])).toEqual([
      ['git_commit', 'Commit: Parse <b>, with uncommitted changes'],
      ['interval', 'The last of 2 periodic checkpoints, with uncommitted changes'],
      ['wait', 'The agent asked: Which?'],
      ['interruption', 'Step write code was interrupted: agent killed'],
    ]);
    expect(announcement).toBe('Running: step write code (1 of 2)');
    expect(need).toMatchObject({
      level: 'info',
      sentences: [{ text: 'Step write code is running. Nothing is needed from you.' }],
    });
  });

  it('tells what happened in sentences, newest first, periodic checkpoints as one', () => {
    const driven = one('ai', ['npm test']).send({ type: 'start_step' });
    for (let n = 0; n < 3; n += 1) driven.send({ type: 'checkpoint', trigger: 'interval', description: 'x' });
    driven.send({ type: 'step_output' }).validated('npm test', 1).send({ type: 'validate_fail', reason: 'no' });
    driven.send({ type: 'human_approve', reason: 'tracked in #12' });
    expect(modelOf(driven).activity.map(({ text, level }) => [text, level])).toEqual([
      ['Step work accepted with a failed check: tracked in #12', 'warning'],
      ['Step work failed its checks', 'error'],
      ['Check failed: npm test (exit code 1)', 'error'],
      ['3 periodic checkpoints', 'info'],
      ['Step work started', 'info'],
      ['Task created', 'info'],
    ]);
  });

  it('never lets a failed check that was accepted be forgotten', () => {
    const driven = one('ai', ['npm test']).send({ type: 'start_step' }, { type: 'step_output' });
    driven.validated('npm test', 1).send({ type: 'validate_fail', reason: 'no' });
    expect(modelOf(driven)).toMatchObject({
      stateLabel: 'Waiting for you · failed check',
      need: { level: 'error', sentences: [{ text: 'npm test failed with exit code 1.' }] },
    });
    driven.send({ type: 'human_approve', reason: 'tracked in #12' });
    const { notices, steps, checks } = modelOf(driven);
    expect(notices).toMatchObject([
      { level: 'warning', text: 'Step work was accepted with a failed check. The reason: tracked in #12' },
    ]);
    expect(steps[0]?.look).toBe('accepted');
    expect(checks[0]).toMatchObject({ passed: false });
    expect(checks[0]?.facts.map(({ text }) => text)).toContain('accepted despite the failure');
  });

  it('shows of a failed check the last lines where the decision is, and only there', () => {
    const driven = one('ai', ['npm test']).send({ type: 'start_step' }, { type: 'step_output' });
    driven.validated('npm test', 1, 'rcpt-1').send({ type: 'validate_fail', reason: 'no' });
    const outputs = new Map([['rcpt-1', '1\n2\n3\n4\n5\n6']]);
    const waiting = modelOf(driven, { outputs });
    expect([waiting.need?.output, waiting.checks[0]?.output]).toEqual(['2\n3\n4\n5\n6', undefined]);
    driven.send({ type: 'human_reject', reason: 'Again' });
    const again = modelOf(driven, { outputs });
    expect([again.need?.output, again.checks[0]?.output]).toEqual([undefined, '1\n2\n3\n4\n5\n6']);
    expect(again.need?.quote).toEqual({ label: 'Your note:', text: 'Again' });
  });

  it('says of an interruption what happened, when, and what changed since', () => {
    const driven = one('ai').send({ type: 'start_step' });
    driven.send({ type: 'checkpoint', trigger: 'manual', description: 'half' }).crashed('retry_from_checkpoint');
    const sentences = (recent: readonly string[]): string =>
      modelOf(driven, { files: { sinceStart: [], recent: new Set(recent) } })
        .need?.sentences.map(({ text }) => text)
        .join(' ') ?? '';
    expect(sentences(['a'])).toBe(
      'The agent was killed at {time}. Last checkpoint less than 1 s earlier. 1 file changed since.',
    );
    expect(sentences([])).toMatch(/No file changed since\.$/u);
    expect(sentences(['a', 'b'])).toMatch(/2 files changed since\.$/u);
  });

  it('says of an interruption that a person has to decide about what happened, and not the plan that was set aside', () => {
    const driven = one('ai').send({ type: 'start_step' }).crashed('retry_from_checkpoint');
    driven.send({ type: 'manual_required' });
    const { need, stateLabel } = modelOf(driven, { files: { sinceStart: [], recent: new Set() } });
    expect(stateLabel).toBe('Waiting for you · interruption');
    expect(need?.quote).toBeUndefined();
    expect(need?.sentences.map(({ text }) => text)).toEqual([
      'The agent was killed at {time}.',
      'No checkpoint was recorded.',
      '0 files changed.',
      'Decide how step work continues.',
    ]);
  });

  it('says beside the decision about a review what its checks came to', () => {
    const said = (driven: DrivenHook, more: Partial<TaskPanelData> = {}): string =>
      modelOf(driven, more)
        .need?.sentences.slice(1)
        .map(({ text }) => text)
        .join(' ') ?? '';
    const review = (...codes: readonly number[]): DrivenHook => {
      const driven = one('ai', ['npm test', 'lint']).send({ type: 'start_step' }, { type: 'step_output' });
      codes.forEach((code, index) => driven.validated(['npm test', 'lint'][index] ?? '', code));
      driven.send({ type: 'validate_fail', reason: 'x' }, { type: 'human_approve', reason: 'later' });
      return driven.send({ type: 'start_step' });
    };
    expect(said(review())).toBe('No check has run.');
    expect(said(review(0))).toBe('The check passed.');
    expect(said(review(0, 0))).toBe('All 2 checks passed.');
    expect(said(review(0, 1))).toBe('Checks that failed: 1 of 2.');
    const passed = review(0);
    const id = passed.now.receipts[0]?.receipt_id ?? '';
    const status = { report: { verdict: 'invalid' }, currency: { kind: 'outdated' } } as unknown as ReceiptStatus;
    expect(said(passed, { receipts: new Map([[id, status]]) })).toBe(
      'The check passed. 1 receipt is not valid. Files have changed since the checks ran.',
    );
  });

  it('offers to run the checks of a submitted step only while nobody runs them', () => {
    const driven = one('ai', ['npm test']).send({ type: 'start_step' }, { type: 'step_output' });
    const primary = ({ actions }: TaskPanelModel): string[] =>
      actions.flatMap(({ action, rank }) => (rank === 'primary' ? [action] : []));
    expect(primary(modelOf(driven))).toEqual(['runValidation']);
    expect(modelOf(driven).need?.sentences[0]?.text).toBe(
      'The work on step work is submitted. Run its checks to continue.',
    );
    expect(primary(modelOf(driven, { validated: true }))).toEqual([]);
    expect(modelOf(driven, { validated: true }).need?.sentences[0]?.text).toBe('The checks of step work are running.');
  });

  it('knows the branch before the first checkpoint', () => {
    expect(modelOf(one('ai')).facts.map(({ text }) => text)).toContain('fix/null-pointer');
  });

  it('counts what the task changed, and names first what changed after the last checkpoint', () => {
    const driven = one('ai').send({ type: 'start_step' }, { type: 'checkpoint', trigger: 'manual', description: 'x' });
    const { changes } = modelOf(driven, {
      files: {
        sinceStart: [
          { path: 'a', change: 'modified', added: 12, removed: 4 },
          { path: 'b', change: 'added' },
          { path: 'c', change: 'deleted', added: 0, removed: 1 },
        ],
        recent: new Set(['b', 'gone']),
      },
    });
    expect(changes?.summary).toBe('3 files have changed since the task started: +12 −5 lines.');
    expect(changes?.recent?.text).toBe('2 files have changed since the last checkpoint ({time}).');
    expect(changes?.files.map(({ path, kind, exists }) => [path, kind, exists])).toEqual([
      ['b', 'added', true],
      ['gone', 'unknown', false],
      ['a', 'modified', true],
      ['c', 'deleted', false],
    ]);
  });

  it('tells of foreign edits, silence and crashes', () => {
    const driven = one('ai').send({ type: 'start_step' });
    const edit = {
      timestamp: '2026-01-17T15:00:00Z',
      from_state: 'step_running',
      to_state: 'step_running',
      trigger: 'adopted_edit',
    } as const;
    const hook = { ...driven.now, history: [...driven.now.history, edit] };
    const ids = (more: Partial<TaskPanelData>): string[] => modelOf(driven, more).notices.map((notice) => notice.id);
    expect(ids({})).toEqual([]);
    // Where the folder is trusted, that is settled at once; it may also be another process that is just writing.
    expect(ids({ hook, suspect: true })).toEqual(['edited']);
    expect(ids({ hook, suspect: true, untrusted: true })).toEqual(['untrusted', 'journal', 'edited']);
    expect(modelOf(driven, { diagnosis: { kind: 'quiet', since: 0 } })).toMatchObject({
      stateLabel: 'Running · Quiet',
      need: { level: 'warning', sentences: [{ text: 'The agent has shown no sign of life since {time}.' }, {}] },
    });
    const crashed = { kind: 'crashed', type: 'signal', cause: 'agent_killed', lastSign: 0 } as const;
    expect(modelOf(driven, { diagnosis: crashed })).toMatchObject({
      stateLabel: 'Interrupted',
      need: { sentences: [{ text: 'The agent was killed at {time}.', at: '1970-01-01T00:00:00.000Z' }, {}] },
    });
  });
});
