import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { WorkerPorts } from '../../src/workers/forgeFolder';
import { Workers } from '../../src/workers/workers';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { OUT, PROJECT } from '../support/project';
import { run } from '../support/drivers/run';
import { until } from '../support/drivers/taskFiles';
import { THEMES, type Theme, Workbench } from '../support/vscode/workbench';

const HOSTILE = '\u202e\u001b[2J$(trash) [x](command:atlas.slingTask) <img src=x onerror=alert(1)> **bold**';

describe('the workers', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let ports: WorkerPorts;
  let workers: Workers;
  const dialogs: string[] = [];

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    ports = systemPorts(workspace.atlasHome, '0.1.0', silentLog);
    workers = unwrap(Workers.open(workspace.folder, ports));
    // A repository without workers: the view has to hear of the first.
    workbench = await Workbench.open({
      workspace: workspace.folder,
      env: workspace.env,
      viewport: { width: 1280, height: 1000 },
      settings: { 'terminal.integrated.gpuAcceleration': 'off' },
    });
    workbench.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
    expect(dialogs).toEqual([]);
  });

  const row = (text: string | RegExp): Locator => workbench.treeRows(text).first();
  const pane = (): Locator => workbench.page.locator('.pane-header', { hasText: 'Workers' });
  /** The command, as a process of its own. */
  const command = async (...args: string[]): Promise<string> =>
    run(process.execPath, [path.join(PROJECT, 'dist', 'cli.js'), 'worker', ...args], {
      cwd: workspace.folder,
      env: { ...process.env, ...workspace.env },
    });
  const hook = (...parts: string[]): string => path.join(workspace.folder, '.forge', 'hooks', ...parts);
  const stateOf = async (worker: string): Promise<string | undefined> => {
    const { workers: all } = unwrap(await workers.statuses.all());
    return all.find((each) => each.worker === worker)?.state?.status;
  };

  it('appear with the first task that is slung, by the palette', async () => {
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
    expect(await pane().count()).toBe(0);
    await workbench.palette('Atlas: Assign to Worker');
    await workbench.quickTitle('Assign to Worker (1/2)');
    await workbench.quickType('translate-1');
    await workbench.quickTitle('Assign to Worker (2/2)');
    await workbench.quickType('No Worker');
    await workbench.page.locator('.quick-input-message', { hasText: 'is not a valid worker name' }).waitFor();
    await workbench.quickType('translators/ada');
    await until('the task is slung', async () => (await stateOf('translators/ada')) === 'PENDING');
    await pane().click();
    // A person would make room, too: the rows that are out of sight are not drawn.
    await workbench.page.locator('.pane-header', { hasText: 'Tasks' }).click();
    await row(/^translators1 worker$/).waitFor();
    await row(/^adatranslate-1 · not started · now$/).waitFor();
    await row(/^Tasks1 in progress$/).waitFor();
  });

  it('show what another process does, without a reload, as plain text', async () => {
    await command('task', 'add', 'hostile', '--type', HOSTILE.replaceAll('\u001b', ''));
    await row(/^Tasks1 ready · 1 in progress$/).waitFor();
    await command('sling', 'hostile', 'mallory');
    await row(/^malloryhostile · not started · now$/).waitFor();
    await workbench.expand(row(/^malloryhostile/));
    const task = row('onerror');
    await task.waitFor();
    expect(await task.locator('img, .codicon-trash, a[href], strong').count()).toBe(0);
    await workbench.openFile('README.md');
    const hover = await workbench.hoverOf(row(/^malloryhostile/));
    expect(await hover.locator('img, a, .codicon, strong').count()).toBe(0);
    await workbench.clickRow(row(/^malloryhostile/));
  });

  it('that died are counted, and are recovered by the inline action, which shows the plan', async () => {
    const dead = { ...ports.processes.self(), pid: 2 ** 22 - 3, start_time: '1', incarnation: 'dead' };
    unwrap(await workers.steps.claim({ worker: 'mallory', owner: dead }));
    await row(/^malloryhostile · process died · in progress/).waitFor();
    await workbench.activityBadge('Atlas').filter({ hasText: '1' }).waitFor();
    await workbench.rowAction(row(/^malloryhostile/), 'Recover Worker');
    await workbench.dialog.filter({ hasText: "Restart mallory's task?" }).waitFor();
    await workbench.dialog.filter({ hasText: 'left nothing' }).waitFor();
    await workbench.dialog.getByRole('button', { name: 'Not Now' }).click();
    await workbench.dialog.waitFor({ state: 'detached' });
    expect(await stateOf('mallory')).toBe('IN_PROGRESS');
  });

  it('run in a terminal by a command that is asked', async () => {
    await workbench.rowAction(row(/^adatranslate-1/), 'Run Worker');
    await workbench.quickTitle('Run Worker translators/ada');
    await workbench.quickType('true');
    await workbench.page.locator('.terminal-wrapper.active .xterm-rows').waitFor();
    // What runs in it is a matter of a host with pseudo terminals.
    await workbench.palette('View: Toggle Panel Visibility');
  });

  it.each(Object.keys(THEMES) as Theme[])('look as they should in %s', async (theme) => {
    await everyState();
    await workbench.useTheme(theme);
    await row(/^done/).waitFor();
    await openRows();
    await workbench.page.mouse.move(900, 400);
    await shoot(THEMES[theme]);
  });

  /** Workers in each state, made once. */
  async function everyState(): Promise<void> {
    if ((await stateOf('done')) !== undefined) return;
    const self = ports.processes.self();
    const sling = async (worker: string, id: string, more = {}): Promise<void> => {
      unwrap(await workers.slinging.sling({ worker, task: { id, type: 'review', ...more } }));
    };
    const claim = async (worker: string) => unwrap(await workers.steps.claim({ worker, owner: self })).lease;
    await sling('translators/bob', 'translate-2', { timeout: '2026-01-01T00:00:00.000Z' });
    await sling('translators/cem', 'translate-3');
    await claim('translators/cem');
    await sling('done', 'review-1');
    const done = await claim('done');
    writeFileSync(hook('done', 'report.md'), '# Report\n');
    unwrap(await workers.steps.ending.end(done, 'complete'));
    writeFileSync(hook('done', 'late.md'), 'late\n');
    await sling('failed', 'review-2');
    const error = { code: 'no_access', message: 'The archive is locked', recoverable: false };
    unwrap(await workers.steps.ending.end(await claim('failed'), 'fail', { error }));
    await sling('free', 'review-3');
    unwrap(await workers.steps.ending.end(await claim('free'), 'complete'));
    unwrap(await workers.steps.clear('free'));
    await sling('gone', 'review-4');
    rmSync(hook('gone'), { recursive: true });
    await sling('unseen', 'review-5');
    unwrap(await workers.steps.claim({ worker: 'unseen' }));
    const tasks = ['summary-1', 'summary-2'].map((id) => ({ id, type: 'summary', blockedBy: ['review-4'] }));
    unwrap(await workers.slinging.addTasks([...tasks, { id: 'summary-3', type: 'summary' }]));
    unwrap(
      await workers.slinging.createConvoy({ id: 'c1', title: 'Reviews', tasks: ['review-1', 'review-2', 'summary-1'] }),
    );
    await row(/^done/).waitFor();
  }

  /** Opens what a reload closed. */
  async function openRows(): Promise<void> {
    const tasks = workbench.page.locator('.pane-header', { hasText: 'Tasks' });
    if ((await tasks.getAttribute('aria-expanded')) === 'true') await tasks.click();
    const tree = workbench.page.locator('.pane', { has: pane() });
    for (const text of [/^done/, /^Evidence/, /^Tasks/]) {
      await workbench.revealRow(tree, row(text), 'down');
      await workbench.expand(row(text));
    }
    await workbench.revealRow(tree, row(/^Reviews1 of 3 complete$/), 'down');
    await workbench.revealRow(tree, row(/^late\.mdnot recorded$/), 'up');
    await workbench.revealRow(tree, row(/^translators/), 'up');
  }

  async function shoot(name: string): Promise<void> {
    const shots = path.join(OUT, 'screenshots');
    mkdirSync(shots, { recursive: true });
    await workbench.page.screenshot({ path: path.join(shots, `workers-${name}.png`) });
  }
});
