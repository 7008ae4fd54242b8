import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { PROJECT } from '../support/project';
import { STATES, dismiss, prepareMatrix, reach, readSurfaces } from '../support/vscode/stateMatrix';
import { Workbench } from '../support/vscode/workbench';

const GOLDEN = path.join(PROJECT, 'test', 'golden', 'states');

/* What tree, status bar, badge, notification, panel and command say of each state; `npm run screenshots` draws the same. */
describe('every state on every surface', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;

  beforeAll(async () => {
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

  afterEach(async ({ task: { name, result } }) => {
    if (result?.state === 'fail') await workbench.screenshot(`failed-matrix-${name.replace(/\W+/gu, '-')}`);
  });

  it.each(STATES)('says of %s what was reviewed', async (name, state) => {
    const ref = await reach(workspace, state, async () => dismiss(workbench, state));
    const text = await readSurfaces(workbench, workspace, [state, ref]);
    if (state.notifies !== undefined) await dismiss(workbench, state);
    await expect(text).toMatchFileSnapshot(`${GOLDEN}/${name}.txt`);
  });
});
