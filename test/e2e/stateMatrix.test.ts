import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { PROJECT } from '../support/project';
import { STATES, notified, prepareMatrix, reach, readSurfaces } from '../support/vscode/stateMatrix';
import { Workbench } from '../support/vscode/workbench';

const GOLDEN = path.join(PROJECT, 'test', 'golden', 'states');

/** A time zone in which it is noon at that hour (UTC). The signs of these names are the other way round. */
function zoneAtNoon(hour: number): string {
  return `Etc/GMT${hour < 12 ? '-' : '+'}${Math.abs(12 - hour)}`;
}

/* What tree, status bar, badge, notification, panel and command say of each state; `npm run screenshots` draws the same. */
describe('every state on every surface', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;

  beforeAll(async () => {
    // Command, extension and browser read it: what began minutes ago began today, also just after midnight.
    process.env['TZ'] = zoneAtNoon(new Date().getUTCHours());
    workspace = await makeGitWorkspace();
    await prepareMatrix(workspace);
    Object.assign(process.env, workspace.env);
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.welcome-view-content', { hasText: 'No task yet.' }).waitFor();
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  it.each(STATES)('says of %s what was reviewed', async (name, state) => {
    const ref = await reach(workspace, state, async () => notified(workbench, state));
    const text = await readSurfaces(workbench, workspace, [state, ref]);
    await workbench.dismissNotifications();
    await expect(text).toMatchFileSnapshot(`${GOLDEN}/${name}.txt`);
  });
});
