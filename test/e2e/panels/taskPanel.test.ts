import { describe, expect, it, vi } from 'vitest';
import type { ChangedFiles } from '../../../src/extension/tasks/panel/changedFiles';
import { type TaskPanelData, taskPanelModel } from '../../../src/extension/tasks/panel/taskPanelModel';
import { renderDocument } from '../../../src/extension/shared/markdown';
import type { TaskPanelModel, ToTaskPanel } from '../../../src/protocol/taskPanel';
import { DrivenHook, stepOf } from '../../support/drivers/drivenHook';
import { render } from '../../support/fixtures/renderedHook';
import type { PanelPage } from '../../support/vscode/panelPage';
import { WEBVIEW_THEMES, type WebviewTheme } from '../../support/vscode/themes';
import { type Look, panelInBrowser } from './panelInBrowser';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const STEPS = [
  stepOf('analyze', 'ai'),
  stepOf('implement', 'ai', ['npm test']),
  stepOf('commit', 'git'),
  stepOf('review', 'human'),
];
const HOSTILE = '<img src=x onerror="window.pwned=1"> [x](javascript:window.pwned=1) "><script>window.pwned=1</script>';

function modelOf(driven: DrivenHook, more: Partial<TaskPanelData> = {}): TaskPanelModel {
  const data = { hook: driven.now, task: driven.task, markdown: render(driven), hookPath: '/store/HOOK.md', ...more };
  return taskPanelModel(REF, data, renderDocument(data.markdown));
}

const working = (text = 'Added a nil check for config.Server'): DrivenHook => {
  const driven = new DrivenHook(
    STEPS,
    text.startsWith('<') ? text : 'Fix the null pointer in the config parser',
  ).completeStep();
  driven.send(
    { type: 'start_step', workingOn: text },
    { type: 'note', filesTouched: ['config/parser.go'], lastOutput: text },
  );
  for (const trigger of ['manual', 'git_commit', 'git_push', 'interval', 'pr_created', 'validation'] as const) {
    driven.send({ type: 'checkpoint', trigger, description: text });
  }
  return driven;
};

/** Spreads the checkpoints over hours, as a real day of work does. */
const spread = (driven: DrivenHook): DrivenHook => {
  const start = Date.parse(driven.now.created_at);
  const minutes = [2, 9, 11, 12, 55, 150, 153];
  const checkpoints = driven.now.checkpoints.map((checkpoint, index) => ({
    ...checkpoint,
    created_at: new Date(start + (minutes[index] ?? 160) * 60_000).toISOString(),
  }));
  driven.hook = { ...driven.now, checkpoints, updated_at: new Date(start + 170 * 60_000).toISOString() };
  return driven;
};

const LONG = 'config/a/rather/long/path/that/does/not/fit/into/three/hundred/pixels.go';
const FILES: ChangedFiles = {
  sinceStart: [
    { path: 'config/parser.go', change: 'modified', added: 12, removed: 4 },
    { path: 'config/parser_test.go', change: 'added' },
    { path: LONG, change: 'deleted', added: 0, removed: 130 },
  ],
  recent: new Set(['config/parser_test.go', 'go.mod']),
};

/** A check that failed on what the agent wrote, with what it printed. */
const failing = (): [DrivenHook, Partial<TaskPanelData>] => {
  const driven = working().send({ type: 'step_output', summary: 'Done' }).validated('npm test', 1);
  driven.send({ type: 'validate_fail', reason: 'npm test exited with 1' });
  const id = driven.now.receipts[0]?.receipt_id ?? '';
  const lines = [
    '0',
    '1',
    '2',
    'AssertionError: expected 3',
    '    at parse (parser.ts:12)',
    '',
    'Tests: 1 failed',
    'x',
  ];
  return [driven, { files: FILES, outputs: new Map([[id, lines.join('\n')]]) }];
};

describe('the HOOK.md panel in a browser', () => {
  const openPage = panelInBrowser('taskPanel', 'HOOK.md');
  const open = async (model?: TaskPanelModel, look: Look = {}): Promise<PanelPage> => {
    const panel = await openPage(look);
    if (model !== undefined) await panel.send({ type: 'model', model } satisfies ToTaskPanel);
    return panel;
  };

  const themes = Object.keys(WEBVIEW_THEMES) as WebviewTheme[];
  it.each(themes.flatMap((theme) => [300, 900].map((width) => [theme, width] as const)))(
    'fits in %s at %i px',
    async (theme, width) => {
      const model = modelOf(spread(working()), { files: FILES, suspect: true });
      const opened = await open(model, { theme, width });
      expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await opened.screenshot(`hook-${theme.split(' ').at(-1) ?? ''}-${width}`);
    },
  );

  it('keeps text from outside text', async () => {
    const driven = working(HOSTILE);
    const { page } = await open(
      modelOf(driven, { files: { sinceStart: [{ path: HOSTILE, change: 'modified' }], recent: new Set() } }),
    );
    expect(await page.locator('#root img, #root script, #root iframe, #root [onerror], #root a').count()).toBe(0);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
    expect(await page.locator('h1').textContent()).toContain('<img src=x onerror=');
    expect(await page.locator('.files button').textContent()).toBe(HOSTILE);
  });

  it('takes no message that the protocol does not know, and no link that is not to the web', async () => {
    const model = modelOf(working());
    const opened = await open(model);
    const { page } = opened;
    const evil = { ...model, title: 'changed', document: [{ tag: 'script', children: ['window.pwned=1'] }] };
    const link = { ...model, title: 'changed', document: [{ tag: 'a', href: 'javascript:1', children: ['x'] }] };
    for (const each of [evil, link, { ...model, title: 1 }]) await opened.send({ type: 'model', model: each });
    expect(await page.locator('h1').textContent()).toBe(model.title);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
  });

  it('keeps focus, scroll and selection over an update', async () => {
    const driven = working();
    const opened = await open(modelOf(driven));
    const { page } = opened;
    await page.setViewportSize({ width: 900, height: 300 });
    await page.locator('button', { hasText: 'Record Checkpoint…' }).focus();
    await page.evaluate(`(() => {
      document.querySelector('.fold').open = true;
      window.first = document.querySelector('#activity-heading');
      getSelection().selectAllChildren(window.first);
      document.querySelector('.document').scrollIntoView();
      window.seen = document.elementFromPoint(100, 150);
      document.querySelector('.document .wide').scrollLeft = 10;
    })()`);
    const standing =
      '[Math.round(seen.getBoundingClientRect().top), String(getSelection()), document.querySelector(".document .wide").scrollLeft]';
    const before = await page.evaluate<number[]>(standing);
    driven.send(
      { type: 'checkpoint', trigger: 'manual', description: 'one more' },
      { type: 'note', workingOn: 'something else' },
    );
    await opened.send({ type: 'model', model: modelOf(driven) });
    expect(await page.locator('.quote', { hasText: 'something else' }).count()).toBe(1);
    expect(await page.locator('.fold').evaluate((fold) => (fold as unknown as { open: boolean }).open)).toBe(true);
    expect(await page.locator('[data-mark]').count()).toBe(8);
    expect(await page.getByRole('status').textContent()).toBe('');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Record Checkpoint…');
    const after = await page.evaluate<number[]>(standing);
    expect(after.slice(1)).toEqual(before.slice(1));
    // Scrolling is in whole pixels, lines are not.
    expect(Math.abs((after[0] ?? 0) - (before[0] ?? 0))).toBeLessThanOrEqual(1);
    expect(await page.evaluate(`window.first === document.querySelector('#activity-heading')`)).toBe(true);
  });

  it('says a change of state once, and moves the focus on when its button is gone', async () => {
    const driven = working();
    const opened = await open(modelOf(driven));
    const { page } = opened;
    expect(await page.getByRole('status').textContent()).toBe('');
    await page.locator('button', { hasText: 'Run Validation' }).focus();
    driven.send({ type: 'human_required', kind: 'review' });
    await opened.send({ type: 'model', model: modelOf(driven) });
    expect(await page.getByRole('status').textContent()).toBe('Waiting for you: step implement (2 of 4)');
    expect(await page.evaluate('document.activeElement.className')).toBe('actions need info');
  });

  it('sends what is pressed once, and shows why it was refused', async () => {
    const opened = await open(modelOf(working()));
    const { page } = opened;
    const button = page.locator('button.primary');
    await button.click();
    const request = (await opened.posted('request')) as { id: number; request: unknown };
    expect(request.request).toEqual({ kind: 'run', action: 'checkpoint' });
    expect(await button.getAttribute('aria-busy')).toBe('true');
    await button.dispatchEvent('click');
    expect(await page.evaluate('posted.length')).toBe(0);
    await opened.send({ type: 'response', response: { type: 'accepted', id: request.id } });
    await opened.send({
      type: 'response',
      response: { type: 'refused', id: request.id, message: 'No <b>trust</b>.', hint: 'Trust it.' },
    });
    expect(await page.getByRole('alert').locator('p').textContent()).toBe('No <b>trust</b>. Trust it.');
    expect(await button.getAttribute('aria-busy')).toBeNull();
    await page.getByRole('alert').locator('button').click();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('says so when the host does not answer', async () => {
    const { page } = await open(modelOf(working()), { now: 0 });
    await page.locator('button.primary').click();
    await page.clock.runFor(5000);
    expect(await page.getByRole('alert').textContent()).toContain("doesn't answer");
  });

  it('keeps what was shown when the task can no longer be read, and says why', async () => {
    const opened = await open(modelOf(working()));
    await opened.send({ type: 'unavailable', message: 'hook.json is damaged.', hint: 'Run the doctor.' });
    expect(await opened.page.getByRole('alert').textContent()).toBe('hook.json is damaged. Run the doctor.');
    expect(await opened.page.locator('h1').count()).toBe(1);
    await opened.send({ type: 'model', model: modelOf(working()) });
    expect(await opened.page.getByRole('alert').count()).toBe(0);
  });

  it('lets ages tick', async () => {
    const driven = working();
    const model = modelOf(driven);
    const { page } = await open(model, { now: Date.parse(model.since) + 5000 });
    const age = page.locator('.standing .age');
    // The clock goes on while the page is opened: how far depends on the machine.
    expect(await age.textContent()).toMatch(/^\d+ seconds ago$/u);
    await page.clock.runFor(60_000);
    expect(await age.textContent()).toBe('1 minute ago');
  });

  it('shows what happened on each step, for the keyboard and with a tooltip', async () => {
    const opened = await open(modelOf(spread(working())));
    const { page } = opened;
    const marks = page.locator('[data-mark]');
    expect(await page.locator('.step[aria-current="step"]').textContent()).toContain('implement, running');
    expect(await page.locator('[data-mark][tabindex="0"]').count()).toBe(1);
    await marks.last().focus();
    await page.keyboard.press('Home');
    expect(await page.evaluate(`document.querySelector('[data-mark]') === document.activeElement`)).toBe(true);
    expect(await page.getByRole('tooltip').textContent()).toContain('Step analyze complete');
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('tooltip').textContent()).toContain('Checkpoint: Added a nil check');
    await opened.screenshot('hook-steps-tooltip');
    await page.keyboard.press('Enter');
    const { request } = (await opened.posted('request')) as { request: { kind: string } };
    expect(request.kind).toBe('showCheckpoint');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('tooltip').count()).toBe(0);
  });

  const decisions: Readonly<Record<string, () => [DrivenHook, Partial<TaskPanelData>]>> = {
    ready: () => [new DrivenHook(STEPS), {}],
    'failed-check': failing,
    question: () => [
      working().send({ type: 'human_required', kind: 'question', message: 'Which database should keep the invoices?' }),
      { files: FILES },
    ],
    review: () => [
      new DrivenHook([STEPS[0] ?? stepOf('analyze', 'ai'), stepOf('review', 'human')])
        .send({ type: 'start_step' }, { type: 'step_complete', summary: 'The parser checks for nil first.' })
        .send({ type: 'start_step' }),
      { files: FILES },
    ],
    interrupted: () => [working().crashed('retry_from_checkpoint'), { files: FILES }],
    quiet: () => [working(), { files: FILES, diagnosis: { kind: 'quiet', since: Date.UTC(2026, 0, 17, 14, 40) } }],
    failed: () => [working().send({ type: 'fail', reason: 'The upstream API is gone.' }), { files: FILES }],
    completed: () => [new DrivenHook([stepOf('analyze', 'ai')]).completeStep(), { files: FILES }],
  };

  it.each(Object.keys(decisions))('says what is needed above the fold: %s', async (name) => {
    const [driven, more] = decisions[name]?.() ?? failing();
    const opened = await open(modelOf(driven, more));
    const { page } = opened;
    await page.setViewportSize({ width: 900, height: 700 });
    const box = await page.locator('.need').boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? Infinity)).toBeLessThan(700);
    const said = await page.locator('.need .what').textContent();
    expect(said).not.toMatch(/[a-z]_[a-z]|undefined|ckpt-|rcpt-/u);
    await opened.screenshot(`panel-${name}`);
  });

  it('has nothing to complain about for axe in any theme', async () => {
    for (const theme of themes) {
      const opened = await open(modelOf(working()), { theme });
      // The menu and what the agent reads stay open from one state to the next.
      await opened.page.locator('.fold summary').click();
      await opened.page.locator('.more summary').click();
      for (const [name, make] of Object.entries(decisions)) {
        await opened.send({ type: 'model', model: modelOf(...make()) } satisfies ToTaskPanel);
        expect(await opened.page.locator('details[open]').count()).toBe(2);
        expect(await opened.violations(), `${theme}, ${name}`).toEqual([]);
      }
      await opened.close();
    }
  });

  it.each(themes)('shows what the agent said beside what its check came to, in %s', async (theme) => {
    const [driven, data] = failing();
    const long = 'a-word-that-is-longer-than-a-narrow-panel-is-wide-and-has-nowhere-to-break';
    const said = `All tests pass. I fixed the null pointer in config/parser.go; see ${long}.`;
    const opened = await open(modelOf(driven, { ...data, said }), { theme, width: 400 });
    expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400);
    expect(await opened.page.locator('.agent-said').innerText()).toContain('Agent: ');
    const [words, run] = [opened.page.locator('.agent-said'), opened.page.locator('.check-list')];
    const below = (await run.boundingBox())?.y ?? 0;
    expect((await words.boundingBox())?.y ?? Infinity).toBeLessThan(below);
    expect(await opened.violations(), theme).toEqual([]);
    await run.scrollIntoViewIfNeeded();
    await opened.screenshot(`panel-said-${theme.split(' ').at(-1) ?? ''}`);
  });

  it('opens links through the host and keeps the task over a reload', async () => {
    const model = modelOf(working());
    const document = renderDocument('[site](https://example.org/x)');
    const opened = await open({ ...model, document });
    await opened.page.locator('.fold summary').click();
    await opened.page.getByRole('link').click();
    const { request } = (await opened.posted('request')) as { request: unknown };
    expect(request).toEqual({ kind: 'openLink', href: 'https://example.org/x' });
    expect(opened.page.url()).toBe('http://panel.test/');
    expect(await opened.kept()).toEqual({ ref: REF });
  });

  it('moves nothing where motion is not wanted', async () => {
    const { page } = await open(modelOf(working()), { reducedMotion: true });
    expect(await page.evaluate(`getComputedStyle(document.querySelector('button.primary')).transitionDuration`)).toBe(
      '0s',
    );
  });
});
