import { mkdirSync, mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import type { TaskRef } from '../../src/core/task/taskRef';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { makeGitWorkspace, type GitWorkspace } from '../support/fixtures/gitWorkspace';
import { run } from '../support/drivers/run';
import { Workbench } from '../support/vscode/workbench';

const REPOSITORIES = ['api', 'shop', 'web'];
const TASKS = 10;

describe('thirty tasks in three repositories', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  let agent: Atlas;
  const refs: TaskRef[] = [];

  beforeAll(async () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'atlas-many-'));
    workspace = await makeGitWorkspace(root);
    const folder = path.join(root, 'code');
    agent = new Atlas(systemPorts(workspace.atlasHome, '0.0.0', silentLog));
    for (const name of REPOSITORIES) {
      const repository = path.join(folder, name);
      mkdirSync(repository, { recursive: true });
      const git = (...args: string[]) =>
        run('git', args, { cwd: repository, env: { ...process.env, ...workspace.env } });
      await git('init', '--quiet');
      await git('commit', '--quiet', '--allow-empty', '--message', 'first');
      for (let n = 1; n <= TASKS; n += 1) {
        const title = `${name} task ${String(n).padStart(2, '0')}`;
        refs.push(unwrap(await agent.startTask({ title, template: 'task', folder: repository })).ref);
      }
    }
    workbench = await Workbench.open({ workspace: folder, env: workspace.env });
    await workbench.openSidebar('Atlas');
    await workbench.treeRows('web').first().waitFor();
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  it('shows what needs the user without scrolling, as soon as it does', async () => {
    const ref = refs[16];
    if (ref === undefined) throw new Error('no task');
    unwrap(await agent.startStep(ref));
    const began = Date.now();
    unwrap(await agent.send(ref, { type: 'human_required', kind: 'question', message: 'Which one?' }));
    const row = workbench.treeRows('Waiting for you: shop task 07').first();
    await row.waitFor();
    console.log(`a question is on top of 30 tasks after ${Date.now() - began} ms`);
    expect(await workbench.treeRows('Needs You').first().getAttribute('data-index')).toBe('0');
    expect(await row.getAttribute('data-index')).toBe('1');
    await workbench.activityBadge('Atlas').filter({ hasText: '1' }).waitFor();
    await workbench.screenshot('many-tasks');
  });

  it('lists two by their urgency, and neither once it is settled', async () => {
    const other = refs[29];
    if (other === undefined) throw new Error('no task');
    unwrap(await agent.startStep(other));
    unwrap(await agent.send(other, { type: 'human_required', kind: 'review' }));
    await workbench.treeRows('Waiting for you: web task 10').first().waitFor();
    await workbench.activityBadge('Atlas').filter({ hasText: '2' }).waitFor();
    for (const ref of [refs[16], other]) {
      if (ref !== undefined) unwrap(await agent.send(ref, { type: 'human_resume', by: 'human', answer: 'This one' }));
    }
    await workbench.treeRows('Needs You').waitFor({ state: 'detached' });
    await workbench.activityBadge('Atlas').filter({ hasText: /^\d/u }).waitFor({ state: 'detached' });
  });
});
