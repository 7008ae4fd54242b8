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
    for (const name of ['start', 'step', 'hook', 'checkpoint', 'recover']) {
      await page.locator(`.getting-started-step[data-step-id$="#${name}"]`).click();
      await page.waitForFunction(
        `[...document.querySelectorAll('.getting-started-media img')].some((image) => image.currentSrc.includes('${name}.png') && image.naturalWidth > 100)`,
      );
    }
    expect(await steps.count()).toBe(5);
    await workbench.screenshot('window-walkthrough');
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
