import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import { foreignEdits } from '../../src/core/task/foreignEdits';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { Workbench } from '../support/vscode/workbench';

let workspace: GitWorkspace;
let workbench: Workbench;

beforeAll(async () => {
  workspace = await makeGitWorkspace();
});

afterAll(async () => {
  await workbench.close();
  workspace.dispose();
});

it('an edit from outside is shown in tree and panel until a person acknowledges it', async () => {
  const other = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
  const { ref } = unwrap(await other.startTask({ title: 'Build it', template: 'bug', folder: workspace.folder }));
  unwrap(await other.startStep(ref));
  const file = other.ports.paths.hook(ref);
  writeFileSync(file, `${readFileSync(file, 'utf8')} `);
  workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
  await workbench.openSidebar('Atlas');
  const row = workbench.treeRows('edited outside Atlas').first();
  await row.waitFor();
  await workbench.palette('Atlas: Open HOOK.md');
  const panel = workbench.webview();
  await panel.getByText('hook.json was edited outside Atlas').first().waitFor();
  await workbench.screenshot('foreign-edit');
  const button = panel.getByRole('button', { name: 'Acknowledge Edit' });
  await button.click();
  await button.waitFor({ state: 'detached' });
  await row.waitFor({ state: 'detached' });
  const { hook } = unwrap(other.catalog.read(ref));
  expect(foreignEdits(hook)).toBeUndefined();
  expect(hook.history.at(-1)?.trigger).toBe('acknowledge');
});
