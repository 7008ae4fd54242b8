import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { AtlasApi, AtlasTask } from '../../src/extension/api';
import { unwrap } from '../../src/core/shared/errors';
import type { Atlas } from '../../src/service/atlas';
import {
  atlasApi,
  checkpointsOf,
  git,
  otherProgram,
  taskHas,
  taskWhen,
  workspaceFolder,
  write,
} from './support/atlasApi';
import { openedRepository } from './support/gitApi';

describe('usage example 1: a task from start to end, with checkpoints made by themselves', () => {
  let api: AtlasApi;
  let human: Atlas;
  let task: AtlasTask;

  before(async () => {
    api = await atlasApi();
    human = otherProgram(api);
    await git(workspaceFolder(), 'push', '--quiet');
    writeFileSync(path.join(api.root, 'config.yaml'), 'hooks:\n  checkpoint_interval: 1s\n');
  });

  after(() => writeFileSync(path.join(api.root, 'config.yaml'), 'hooks: {}\n'));

  it('starts: initializing, then step_pending, with its files', async () => {
    task = await api.startTask({ title: 'fix null pointer in config', template: 'bugfix', folder: workspaceFolder() });
    assert.equal(task.hook.state, 'step_pending');
    assert.deepEqual(
      task.hook.history.map((event) => [event.trigger, event.to_state]),
      [
        ['init', 'initializing'],
        ['setup_complete', 'step_pending'],
      ],
    );
    for (const name of ['hook.json', 'HOOK.md', 'task.json', 'journal.jsonl']) assert.ok(taskHas(task, name), name);
  });

  it('makes a step_complete checkpoint when analyze and plan are complete', async () => {
    for (const step of ['analyze', 'plan']) {
      assert.equal(task.hook.current_step?.step_name, step);
      await api.send(task.ref, { type: 'start_step' });
      task = await api.send(task.ref, { type: 'step_complete' });
    }
    assert.deepEqual(checkpointsOf(task, 'step_complete'), ['Step analyze complete', 'Step plan complete']);
  });

  it('makes a git_commit checkpoint for a commit of the Source Control view', async () => {
    await api.send(task.ref, { type: 'start_step' });
    write(workspaceFolder(), 'config.ts', 'export const config = {};\n');
    const repository = await openedRepository();
    await repository.add([path.join(workspaceFolder(), 'config.ts')]);
    await repository.commit('Initial implementation scaffold');
    task = await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'git_commit').length > 0);
    assert.deepEqual(checkpointsOf(task, 'git_commit'), ['Commit: Initial implementation scaffold']);
    assert.deepEqual(task.hook.current_step?.files_touched, ['config.ts']);
  });

  it('makes interval checkpoints while the step runs', async () => {
    task = await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'interval').length > 0);
    assert.match(checkpointsOf(task, 'interval')[0] ?? '', /^Periodic checkpoint at \d\d:\d\d:\d\d$/u);
  });

  it('makes a git_push checkpoint for a push', async () => {
    const repository = await openedRepository();
    await repository.push();
    task = await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'git_push').length > 0);
    assert.deepEqual(checkpointsOf(task, 'git_push'), ['Pushed main to origin (1 commit)']);
    assert.equal(checkpointsOf(task, 'git_commit').length, 1);
  });

  it('ends completed', async () => {
    task = await api.send(task.ref, { type: 'step_complete' });
    for (const step of ['validate', 'commit', 'pr', 'review']) {
      assert.equal(task.hook.current_step?.step_name, step);
      task = await api.send(task.ref, { type: 'start_step' });
      if (step === 'validate') task = await api.send(task.ref, { type: 'human_required', kind: 'review' });
      if (task.hook.state === 'awaiting_human')
        unwrap(await human.send(task.ref, { type: 'human_approve', by: 'human' }));
      else if (step === 'pr')
        await api.send(task.ref, { type: 'step_complete', nothingToDo: 'the remote is a folder' });
      else await api.send(task.ref, { type: 'step_complete' });
      task = await taskWhen(api, task.ref, (now) => now.hook.current_step?.step_name !== step);
    }
    assert.equal(task.hook.state, 'completed');
    assert.deepEqual(
      task.hook.history.slice(-2).map((event) => event.trigger),
      ['human_approve', 'finish'],
    );
    assert.equal(task.task.status, 'completed');
  });
});

describe('usage example 2: the agent is killed in the middle of a step', () => {
  let api: AtlasApi;
  let task: AtlasTask;

  before(async () => {
    api = await atlasApi();
  });

  after(async () => {
    unwrap(await otherProgram(api).send(task.ref, { type: 'abandon', by: 'human' }));
  });

  it('has a running step with checkpoints', async () => {
    task = await api.startTask({ title: 'fix null pointer again', template: 'bugfix', folder: workspaceFolder() });
    for (let step = 0; step < 2; step += 1) {
      await api.send(task.ref, { type: 'start_step' });
      await api.send(task.ref, { type: 'step_complete' });
    }
    await api.send(task.ref, { type: 'start_step', workingOn: 'Adding nil checks' });
    write(workspaceFolder(), 'config.ts', 'export const config = { server: {} };\n');
    await git(workspaceFolder(), 'commit', '--all', '--quiet', '--message', 'Added nil check for Server');
    task = await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'git_commit').length > 0);
    task = await api.checkpoint(task.ref, 'Database and Cache still to do');
  });

  it('finds the death, and plans to go on from the last checkpoint', async () => {
    const { workspace, id } = task.ref;
    const step = task.hook.current_step;
    assert.ok(step);
    const args = [api.root, workspace, id, String(step.step_index), String(step.attempt)];
    const agent = spawn(process.execPath, [path.join(__dirname, 'agentProcess.cjs'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(agent.stdout, 'data');
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    task = await taskWhen(api, task.ref, (now) => now.hook.state === 'recovering');
    const last = task.hook.checkpoints.at(-1);
    assert.equal(task.hook.recovery?.recommended_action, 'retry_from_checkpoint');
    assert.equal(task.hook.recovery.last_checkpoint_id, last?.checkpoint_id);
    assert.equal(task.hook.recovery.crash_type, 'signal');
    assert.equal(task.hook.recovery.details?.['cause'], 'agent_killed');
  });

  it('says so in HOOK.md', () => {
    const text = readFileSync(task.hookMd, 'utf8');
    const last = task.hook.checkpoints.at(-1);
    assert.match(text, /## Current State: `recovering`/u);
    assert.match(text, /`implement` \(step 3 of 7/u);
    assert.ok(text.includes(last?.checkpoint_id ?? 'no checkpoint'));
    assert.match(text, /atlas (resume|recover)/u);
  });

  it('goes on: recovering, then step_running, same step and attempt', async () => {
    const other = otherProgram(api);
    unwrap(await other.resume(task.ref, 'human'));
    task = await taskWhen(api, task.ref, (now) => now.hook.state === 'step_running');
    assert.equal(task.hook.current_step?.step_name, 'implement');
    assert.equal(task.hook.current_step.attempt, 1);
    assert.equal(task.hook.recovery, undefined);
  });
});
