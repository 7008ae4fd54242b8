import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { until } from '../support/drivers/taskFiles';
import { THEMES, Workbench, type Theme } from '../support/vscode/workbench';

describe('the window', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  it('runs a command of the palette', async () => {
    await workbench.palette('File: New Untitled Text File');
    await workbench.page.locator('.tab', { hasText: 'Untitled-1' }).waitFor();
    await workbench.screenshot('window-palette');
  });

  it('shows the walkthrough with its pictures', async () => {
    const { page } = workbench;
    await workbench.palette('View: Close Primary Side Bar'); // pictures need room
    await workbench.palette('Welcome: Open Walkthrough...');
    await workbench.quickPick('Get Started with Atlas');
    const steps = page.locator('.getting-started-step');
    await steps.first().waitFor();
    for (const [name, picture] of [
      ['start', 'start'],
      ['agent', 'hook'],
      ['step', 'step'],
      ['hook', 'hook'],
      ['checkpoint', 'checkpoint'],
      ['recover', 'recover'],
    ] as const) {
      await page.locator(`.getting-started-step[data-step-id$="#${name}"]`).click();
      await page.waitForFunction(
        `[...document.querySelectorAll('.getting-started-media img')].some((image) => image.currentSrc.includes('${picture}.png') && image.naturalWidth > 100)`,
      );
    }
    expect(await steps.count()).toBe(6);
    await workbench.screenshot('window-walkthrough');
  });

  it('ticks in the walkthrough what an agent did', async () => {
    const ticked = (name: string) =>
      workbench.page.locator(`.getting-started-step[data-step-id$="#${name}"] .codicon.complete`);
    expect(await ticked('step').count()).toBe(0);
    const agent = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
    const { ref } = unwrap(await agent.startTask({ title: 'Ticked', template: 'task', folder: workspace.folder }));
    await ticked('start').waitFor();
    unwrap(await agent.startStep(ref));
    await ticked('step').waitFor();
    expect(await ticked('checkpoint').count()).toBe(0);
    unwrap(await agent.checkpoint(ref, 'Half of it'));
    await ticked('checkpoint').waitFor();
    unwrap(await agent.send(ref, { type: 'abandon', by: 'human', reason: 'Only looked at' }));
  });

  it.each(Object.keys(THEMES) as Theme[])('shows the theme %s', async (theme) => {
    await workbench.useTheme(theme);
    await workbench.screenshot(`window-${THEMES[theme]}`);
  });

  it('has a new extension host after a reload, a close and a crash', async () => {
    const hosts: number[] = [];
    /** The process starts a moment after the window shows. */
    const another = async (): Promise<void> => {
      await until('another extension host runs', async () =>
        (await workbench.server.extensionHosts()).some((host) => !hosts.includes(host)),
      );
      hosts.push(...(await workbench.server.extensionHosts()).filter((host) => !hosts.includes(host)));
    };
    await another();
    await workbench.reloadWindow();
    await another();
    await workbench.closeWindow();
    await workbench.openWindow();
    await another();
    await workbench.crashAndRestart();
    await another();
    expect(hosts.length).toBeGreaterThanOrEqual(4);
    await workbench.screenshot('window-after-crash');
  });
});
