import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import type { TaskRecord } from '../../src/core/task/taskRecord';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/core/task/taskRef';
import { signalProcess } from '../support/drivers/commandRuns';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { TaskFiles, until } from '../support/drivers/taskFiles';
import { Workbench } from '../support/vscode/workbench';

const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
const TITLE = 'fix null pointer in config';
const RECOVERING = '## Current State: `recovering`';

/** A window on a repository whose task is in the middle of a step. */
class Scene {
  private commits = 0;

  private constructor(
    readonly workspace: GitWorkspace,
    readonly ref: TaskRef,
    readonly task: TaskFiles,
    readonly workbench: Workbench,
  ) {}

  /** Opens the window, with settings for `config.yaml`. */
  static async open(config = ''): Promise<Scene> {
    const workspace = await makeGitWorkspace();
    writeFileSync(path.join(workspace.atlasHome, 'config.yaml'), config);
    const workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
    try {
      await workbench.openSidebar('Atlas');
      await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
      // Only now: what nobody owns is silent after the threshold.
      const ref = await startWork(workspace);
      return new Scene(workspace, ref, new TaskFiles(workspace.atlasHome, ref), workbench);
    } catch (error) {
      await workbench.close();
      throw error;
    }
  }

  status(text: string | RegExp, page: Page = this.workbench.page): Locator {
    return page.locator(`.statusbar-item[id="${STATUS}"]`, { hasText: text });
  }

  /** Waits until the newest extension host owns the task; gives its process id. */
  async owned(): Promise<number> {
    const host = await this.workbench.server.extensionHost();
    await this.task.ownedBy(host);
    return host;
  }

  /** Waits until the window has taken up something that happened just now. */
  async looksAtTheTask(page: Page = this.workbench.page): Promise<void> {
    await this.status(TITLE, page).waitFor();
    this.commits += 1;
    const subject = `Change ${this.commits} of a shell`;
    await this.workbench.openSidebar('Atlas', page);
    await this.workspace.git('commit', '--quiet', '--allow-empty', '--message', subject);
    await page.locator('.pane-body .monaco-list-row', { hasText: subject }).waitFor();
    await this.task.checkpoint(`Commit: ${subject}`);
  }

  expectNoAlarm(): void {
    expect(this.task.triggers()).not.toContain('crash_detected');
    expect(this.task.hook().state).toBe('step_running');
  }

  async close(): Promise<void> {
    await this.workbench.close();
    this.workspace.dispose();
  }
}

/** Does what an agent in a shell would: two steps, and some of the third. */
async function startWork({ folder, atlasHome, env }: GitWorkspace): Promise<TaskRef> {
  Object.assign(process.env, env); // for the git that Atlas runs
  const atlas = new Atlas(systemPorts(atlasHome, '0.1.0', silentLog));
  const { ref } = unwrap(await atlas.startTask({ title: TITLE, template: 'bugfix', folder }));
  for (let done = 0; done < 2; done += 1) {
    unwrap(await atlas.startStep(ref));
    unwrap(await atlas.send(ref, { type: 'step_complete' }));
  }
  unwrap(await atlas.startStep(ref, { workingOn: 'Fixing nil pointer dereference' }));
  writeFileSync(path.join(folder, 'parser.go'), 'package config\n');
  unwrap(await atlas.checkpoint(ref, 'Server is checked'));
  return ref;
}

describe('a crash in the middle of a step', () => {
  let scene: Scene;
  let before: TaskRecord;
  let killed: number;

  beforeAll(async () => {
    scene = await Scene.open();
  });

  afterAll(async () => {
    await scene.close();
  });

  beforeEach(async () => {
    killed = await scene.owned();
    before = scene.task.hook();
  });

  /**
   * Opens the window again and waits until the task is recovered; gives the hook, and how long it took in ms: from the
   * start of the new extension host, before the extension is activated, to HOOK.md saying how to go on.
   */
  const reopened = async (open: () => Promise<void>): Promise<[TaskRecord, number]> => {
    const started = (async () => {
      await until('a new extension host runs', async () => {
        const hosts = await scene.workbench.server.extensionHosts();
        return hosts.some((host) => host !== killed);
      });
      return Date.now();
    })();
    await open();
    const hook = await scene.task.state('recovering');
    await until('HOOK.md is written too', () => scene.task.hookMd().includes(RECOVERING));
    return [hook, scene.task.hookMdWritten() - (await started)];
  };

  const expectRecovered = async (how: string, open: () => Promise<void>): Promise<void> => {
    const { workbench, task, status } = sceneParts();
    const [hook, took] = await reopened(open);
    console.log(`${how}: HOOK.md ${Math.round(took)} ms after the new extension host began`);
    expect(took).toBeGreaterThan(0);

    const checkpoint = before.checkpoints.at(-1)?.checkpoint_id ?? 'none';
    expect(hook.current_step?.step_name).toBe('implement');
    expect(hook.current_step?.attempt).toBe(before.current_step?.attempt);
    expect(hook.recovery?.recommended_action).toBe('retry_from_checkpoint');
    expect(hook.recovery?.last_checkpoint_id).toBe(checkpoint);
    expect(hook.recovery?.details?.['cause']).toBe('window_died');
    const markdown = task.hookMd();
    expect(markdown).toContain('RECOVER: Continue the `implement` step from its last checkpoint');
    expect(markdown).toContain(checkpoint);

    await status('Interrupted').waitFor();
    expect(await workbench.statusItem(STATUS).getAttribute('class')).toContain('warning-kind');
    await workbench.toast(`"${TITLE}" was interrupted at step implement (window crashed).`).waitFor();
    await workbench.openSidebar('Atlas');
    await workbench.treeRows(TITLE).filter({ hasText: 'Interrupted' }).waitFor();
  };

  const sceneParts = () => ({
    workbench: scene.workbench,
    task: scene.task,
    status: (text: string | RegExp) => scene.status(text),
  });

  const resume = async (): Promise<void> => {
    const { workbench, task, status } = sceneParts();
    await status('Interrupted').click();
    await workbench.quickTitle(TITLE);
    await workbench.quickPick('Continue from the Checkpoint');
    const hook = await task.state('step_running');
    expect(hook.current_step?.step_name).toBe('implement');
    expect(hook.current_step?.attempt).toBe(before.current_step?.attempt);
    expect(hook.recovery).toBeUndefined();
    await status('implement 3/7').and(workbench.page.locator('.statusbar-item:not(.warning-kind)')).waitFor();
    await workbench.webview().locator('.state', { hasText: 'Running' }).waitFor();
    await scene.owned();
  };

  it('is found and planned for when the extension host was killed and the window opened again', async () => {
    signalProcess(killed, 'SIGKILL');
    await scene.workbench.closeWindow();
    await expectRecovered('killed extension host', () => scene.workbench.openWindow());
    await resume();
    expect(scene.task.triggers().filter((trigger) => trigger === 'crash_detected')).toHaveLength(1);
  });

  it('is found when server and extension host were killed together', async () => {
    await expectRecovered('killed server', () => scene.workbench.crashAndRestart());
    await resume();
    expect(scene.task.triggers().filter((trigger) => trigger === 'crash_detected')).toHaveLength(2);
  });
});

describe('no crash', () => {
  let scene: Scene;

  beforeAll(async () => {
    scene = await Scene.open();
  });

  afterAll(async () => {
    await scene.close();
  });

  it('is a reload of the window', async () => {
    const host = await scene.owned();
    await scene.workbench.reloadByCommand();
    await scene.task.signedOffBy(host);
    expect(await scene.owned()).not.toBe(host);
    await scene.looksAtTheTask();
    scene.expectNoAlarm();
  });

  it('is a window that is closed and opened again', async () => {
    const host = await scene.owned();
    await scene.workbench.closeWindow();
    await scene.task.signedOffBy(host);
    await scene.workbench.openWindow();
    expect(await scene.owned()).not.toBe(host);
    await scene.looksAtTheTask();
    scene.expectNoAlarm();
  });

  it('is the death of one of two windows', async () => {
    const first = await scene.owned();
    const second = await scene.workbench.openSecondWindow();
    const host = await scene.owned();
    expect(host).not.toBe(first);
    signalProcess(host, 'SIGKILL');
    // The editor starts another host for the window, which finds the dead one and the one that lives.
    await until('another extension host runs', async () => {
      const hosts = await scene.workbench.server.extensionHosts();
      return hosts.length === 2 && !hosts.includes(host);
    });
    await scene.owned();
    await scene.looksAtTheTask(second);
    await second.close();
    await scene.looksAtTheTask();
    scene.expectNoAlarm();
  });
});

describe('silence under a window that lives', () => {
  const STALE_MS = 3000;
  let scene: Scene;

  beforeAll(async () => {
    scene = await Scene.open('hooks:\n  stale_threshold: 3s\n');
  });

  afterAll(async () => {
    await scene.close();
  });

  it('is shown as quiet, not recovered, and ended by Still Working', async () => {
    const { workbench, task } = scene;
    await scene.status('Quiet').waitFor();
    expect(await workbench.statusItem(STATUS).getAttribute('class')).toContain('warning-kind');
    await workbench.treeRows(TITLE).filter({ hasText: 'Quiet' }).waitFor();
    scene.expectNoAlarm();
    await scene.status('Quiet').click();
    await workbench.quickTitle(TITLE);
    expect(await workbench.quickRows().locator('.label-name').allTextContents()).toEqual(
      expect.arrayContaining([' Resume', ' Still Working', ' Open HOOK.md', ' Abandon Task…']),
    );
    await workbench.quickPick('Still Working');
    await workbench.statusItem(STATUS).filter({ hasNotText: 'Quiet' }).waitFor();
    expect(task.triggers().at(-1)).toBe('note');
    scene.expectNoAlarm();
  });

  it('is no crash when the extension host stood still for longer than the threshold', async () => {
    const host = await scene.owned();
    signalProcess(host, 'SIGSTOP');
    const stopped = Date.now();
    try {
      await until('the threshold has passed twice', () => Date.now() - stopped > 2 * STALE_MS);
      // Who looks from outside meanwhile finds a process that lives.
      const atlas = new Atlas(systemPorts(scene.workspace.atlasHome, '0.1.0', silentLog));
      const detected = unwrap(await atlas.recovery.detect(unwrap(atlas.catalog.read(scene.ref))));
      expect(detected.diagnosis.kind).toBe('quiet');
    } finally {
      signalProcess(host, 'SIGCONT');
    }
    await scene.looksAtTheTask();
    expect(await scene.owned()).toBe(host);
    scene.expectNoAlarm();
  });
});

describe('a first task that the window did not hear of', () => {
  it('is found by the next look around', async () => {
    const workspace = await makeGitWorkspace();
    const workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
    try {
      await workbench.openSidebar('Atlas');
      await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
      // What is watched is another folder from now on, which nobody writes to.
      const open = path.join(workspace.atlasHome, 'open');
      renameSync(open, `${open}.before`);
      mkdirSync(open);
      await startWork(workspace);
      await workbench.treeRows(TITLE).first().waitFor();
    } finally {
      await workbench.close();
      workspace.dispose();
    }
  });
});
