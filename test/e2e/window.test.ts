import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeGitWorkspace, type GitWorkspace } from '../support/gitWorkspace';
import { THEMES, Workbench, type Theme } from '../support/workbench';

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

  it('runs a command of the palette, and the extension is active', async () => {
    await workbench.palette('Developer: Show Running Extensions');
    await workbench.page.locator('.extension', { hasText: /Atlas: Task Recovery.*Activation: /s }).waitFor();
    await workbench.screenshot('window-running');
  });

  it.each(Object.keys(THEMES) as Theme[])('shows the theme %s', async (theme) => {
    await workbench.useTheme(theme);
    await workbench.screenshot(`window-${THEMES[theme]}`);
  });

  it('has a new extension host after a reload, a close and a crash', async () => {
    const hosts = [await workbench.server.extensionHost()];
    await workbench.reloadWindow();
    hosts.push(await workbench.server.extensionHost());
    await workbench.closeWindow();
    await workbench.openWindow();
    hosts.push(await workbench.server.extensionHost());
    await workbench.crashAndRestart();
    hosts.push(await workbench.server.extensionHost());
    expect(new Set(hosts).size).toBe(4);
    await workbench.page.locator('.extension', { hasText: /Atlas: Task Recovery.*Activation: /s }).waitFor();
    await workbench.screenshot('window-after-crash');
  });
});
