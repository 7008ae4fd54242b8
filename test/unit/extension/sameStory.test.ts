import { expect, it, vi } from 'vitest';
import { renderWhatToDoNow, synopsis } from '../../../src/core/hookMarkdown/hookMarkdown';
import {
  type Diagnosis,
  type Owner,
  type OwnerFile,
  type Vitality,
  diagnose,
} from '../../../src/core/recovery/liveness';
import { planRecovery, recoveryContext } from '../../../src/core/recovery/recovery';
import { toMs, toTimestamp } from '../../../src/core/shared/time';
import { STATE_LABELS, healthLabel } from '../../../src/core/task/labels';
import { openActions } from '../../../src/core/task/taskActions';
import type { TaskAction } from '../../../src/core/task/taskActions';
import { describeState } from '../../../src/cli/commands/task/taskAnswer';
import { StatusBar } from '../../../src/extension/tasks/statusBar';
import { taskPanelModel } from '../../../src/extension/tasks/panel/taskPanelModel';
import { taskRow } from '../../../src/extension/tasks/tree/rows';
import type { WindowTasks } from '../../../src/extension/windowTasks';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { HOOK_PATH, render } from '../../support/fixtures/renderedHook';

/*
 * One matrix: every state with all that can be known of who is at work on it, and after which silence. All surfaces have
 * to name the same state, the same health and the same next action. That each is drawn as it is made here is looked at
 * in a real window and by the real command elsewhere.
 */

const bar = vi.hoisted(() => ({
  text: '',
  accessibilityInformation: { label: '' },
  show: () => undefined,
  hide: () => undefined,
  dispose: () => undefined,
}));

vi.mock('vscode', async () => {
  const { vscodeTexts } = await import('../../support/vscode/vscodeTexts');
  class Named {
    constructor(readonly id: string) {}
  }
  class Markdown {
    value = '';
    appendMarkdown(text: string): this {
      this.value += text;
      return this;
    }
    appendText(text: string): this {
      return this.appendMarkdown(text);
    }
  }
  class Item {
    constructor(readonly label: string) {}
  }
  const never = (): object => ({ dispose: () => undefined });
  return {
    ...vscodeTexts,
    ...{ ThemeIcon: Named, ThemeColor: Named, MarkdownString: Markdown, TreeItem: Item },
    TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
    StatusBarAlignment: { Left: 1 },
    window: { createStatusBarItem: () => bar, onDidChangeActiveTextEditor: never },
    workspace: {
      onDidChangeConfiguration: never,
      getConfiguration: () => ({ get: (_: string, value: unknown) => value }),
    },
  };
});

const MINUTE = 60_000;
const STALE = 5 * MINUTE;
const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const task = (): DrivenHook =>
  new DrivenHook([stepOf('implement', 'ai'), stepOf('check', 'ai', ['npm test']), stepOf('review', 'human')]);
const running = (): DrivenHook => task().send({ type: 'start_step' });
const underWay = (): DrivenHook =>
  running().send({ type: 'checkpoint', trigger: 'manual', description: 'parse() works', next: 'format()' });
const checked = (): DrivenHook => task().completeStep().send({ type: 'start_step' });
const asked = (kind: 'question' | 'review' | 'step_failed' | 'interrupted'): DrivenHook =>
  running().send({ type: 'human_required', kind, message: 'Which one?' });

const reviewed = (): DrivenHook =>
  new DrivenHook([stepOf('implement', 'ai'), stepOf('review', 'human')]).completeStep().send({ type: 'start_step' });

/** How a task came to where it is. */
const STORIES: Readonly<Record<string, () => DrivenHook>> = {
  ready: task,
  begun: running,
  'under way': underWay,
  validating: () => checked().send({ type: 'step_output' }),
  'waiting for an answer': () => asked('question'),
  'waiting after a failure': () => asked('step_failed'),
  'waiting after an agent left': () => asked('interrupted'),
  answered: () => asked('question').send({ type: 'human_resume', answer: 'The first' }),
  'waiting for a review': reviewed,
  'waiting after a failed check': () =>
    checked()
      .send({ type: 'step_output' })
      .validated('npm test', 1)
      .send({ type: 'validate_fail', reason: 'npm test failed' }),
  'sent back': () => asked('review').send({ type: 'human_reject', reason: 'again' }),
  abandoned: () => running().send({ type: 'abandon' }),
  failed: () => running().send({ type: 'fail' }),
  completed: () => reviewed().send({ type: 'human_approve' }),
};

type Made = (at: number, hook: DrivenHook) => Owner[];

function owner(kind: OwnerFile['kind'], vitality: Vitality, more: Partial<OwnerFile> = {}): Made {
  return (at, { now: { current_step: step } }) => {
    const process = { machine_id: 'm', boot_id: 'b', pid_namespace: 'n', pid: 1, start_time: '1', incarnation: kind };
    const bound = kind === 'window' ? {} : { step_index: step?.step_index ?? -1, attempt: step?.attempt ?? 0 };
    return [{ file: { kind, process, started_at: toTimestamp(at), ...bound, ...more }, vitality, lastTouch: at }];
  };
}

const AT = '2026-01-17T14:30:22.000Z';
/** Who is known to be at work. */
const OWNERS: Readonly<Record<string, Made>> = {
  'nobody known': () => [],
  'a window': owner('window', 'alive'),
  'a window that died': owner('window', 'dead'),
  'a window that was closed': owner('window', 'dead', { signed_off_at: AT }),
  'a window before a restart': owner('window', 'rebooted'),
  'a window elsewhere': owner('window', 'unknown'),
  'an agent': owner('agent', 'alive'),
  'an agent that died': owner('agent', 'dead'),
  'an agent that left': owner('agent', 'dead', { signed_off_at: AT, exit_code: 0 }),
  'an agent that failed': owner('agent', 'dead', { signed_off_at: AT, exit_code: 1 }),
  'an agent that was killed': owner('agent', 'dead', { signed_off_at: AT, exit_signal: 'SIGKILL' }),
  'a validation': owner('validation', 'alive'),
  'a validation that died': owner('validation', 'dead'),
};
const AGES = [MINUTE, STALE + MINUTE, 26 * 60 * MINUTE];

/** What a heading of HOOK.md asks an agent to do, and what a person is offered first then. */
const FIRST: Readonly<Record<string, readonly TaskAction[]>> = {
  START: ['startAgent'],
  REDO: ['startAgent'],
  RETRY: ['startAgent'],
  'HAND OVER': ['startStep'],
  BEGIN: ['checkpoint', 'resume'],
  RESUME: ['checkpoint', 'resume'],
  VALIDATE: ['runValidation'],
  STOP: ['reviewChanges', 'approve', 'reject', 'resume', 'answer', 'runValidation'],
  RECOVER: ['recover'],
};

/** What an interruption that is found becomes, for whoever looks. */
function told(hook: DrivenHook, found: Diagnosis, at: number): Diagnosis {
  if (found.kind !== 'crashed') return found;
  const plan = planRecovery(hook.now, hook.task, {}, found.lastSign);
  const recovery = recoveryContext(hook.now, found, plan, {}, toTimestamp(at));
  hook.send({ type: 'crash_detected', recovery });
  return { kind: 'recovering' };
}

const MATRIX = Object.entries(STORIES).flatMap(([story, make]) =>
  Object.entries(OWNERS).flatMap(([who, owners]) =>
    AGES.map((age) => [story, who, age / MINUTE, make, owners] as const),
  ),
);

it.each(MATRIX)('%s, %s, %i min later: all surfaces say the same', (_story, _who, minutes, make, ownersOf) => {
  const hook = make();
  const last = toMs(hook.now.updated_at);
  const now = last + minutes * MINUTE;
  const diagnosis = told(hook, diagnose(hook.now, { now, owners: ownersOf(last, hook), staleThresholdMs: STALE }), now);
  const { state } = hook.now;
  const label = STATE_LABELS[state];
  const stored = { ref: REF, hook: hook.now, task: hook.task, seq: 1, suspect: false };
  const view = { stored, diagnosis, findings: [] };

  const markdown = render(hook);
  const heading = /^### \P{L}*(.+?): /mu.exec(
    renderWhatToDoNow({
      ...{ hook: hook.now, task: hook.task, seq: 1, version: '0.1.0', verdicts: new Map() },
      location: { root: '/home/dev/.atlas', hookPath: HOOK_PATH },
    }),
  )?.[1];
  const line = synopsis(hook.now, hook.task, HOOK_PATH);
  const row = taskRow({ kind: 'task', ref: REF }, view, now, true);
  const session = {
    ...{ onDidChange: () => ({ dispose: () => undefined }), ownPlaces: [], ownWorkspaces: () => [] },
    ...{
      ownTasks: () => [view.stored],
      ranked: () => [view],
      view: () => view,
      atlas: { ports: { clock: { now: () => now } } },
    },
  } as unknown as WindowTasks;
  new StatusBar(session).dispose();
  const panel = taskPanelModel(REF, { hook: hook.now, task: hook.task, markdown, hookPath: HOOK_PATH, diagnosis }, []);
  const status = `${describeState(stored)}, ${healthLabel(hook.now, diagnosis, now)}`;
  const rowText = `${String(row.description)}, ${row.accessibilityInformation?.label ?? ''}`;

  // The state.
  expect(markdown).toContain(`\n## Current State: \`${state}\`\n`);
  expect(status).toContain(label);
  expect(panel.stateLabel.split(' · ')[0]).toBe(label);
  if (diagnosis.kind !== 'over') {
    expect(line).toContain(` State: ${state}`);
    expect(bar.accessibilityInformation.label).toContain(label);
  } else expect(line).toBe('');

  // The health.
  for (const [word, isSo] of [
    ['Interrupted', diagnosis.kind === 'recovering'],
    ['Quiet', diagnosis.kind === 'quiet'],
    ['Agent exited', diagnosis.kind === 'agent_left'],
    ['Waiting for you', state === 'awaiting_human'],
  ] as const) {
    expect(status.includes(word), `status: ${word}`).toBe(isSo);
    expect(rowText.includes(word), `tree: ${word}`).toBe(isSo);
    expect(panel.stateLabel.includes(word), `panel: ${word}`).toBe(isSo);
    if (diagnosis.kind !== 'over') expect(bar.text.includes(word), `status bar: ${word}`).toBe(isSo);
  }
  expect(line.includes(' interrupted. ')).toBe(state === 'recovering');
  expect(line.includes(' waits for a human: stop. ')).toBe(state === 'awaiting_human');
  expect(markdown.includes('\n## What Interrupted You\n')).toBe(state === 'recovering');

  // What to do now.
  expect(markdown).toContain(
    `\n### ${/^### (.+)$/mu.exec(markdown.split('\n## What To Do Now\n')[1] ?? '')?.[1] ?? ''}`,
  );
  const [first, ...more] = openActions(hook.now, hook.task, diagnosis.kind).filter(({ rank }) => rank === 'primary');
  expect(more).toEqual([]);
  if (diagnosis.kind === 'over') expect([undefined, 'reviewChanges']).toContain(first?.action);
  else {
    expect(FIRST[heading ?? '']).toContain(first?.action);
    expect(panel.actions[0]?.action).toBe(first?.action);
    expect(row.contextValue).toContain(` primary-${first?.action ?? ''}`);
    const silent = diagnosis.kind === 'quiet' || diagnosis.kind === 'agent_left';
    if (state === 'step_running') expect(first?.action).toBe(silent ? 'resume' : 'checkpoint');
  }
});
