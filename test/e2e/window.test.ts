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

  it('runs a command of the palette', async () => {
    await workbench.palette('File: New Untitled Text File');
    await workbench.page.locator('.tab', { hasText: 'Untitled-1' }).waitFor();
    await workbench.screenshot('window-palette');
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
    await workbench.screenshot('window-after-crash');
  });
});
