import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Ajv } from 'ajv';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TOOLS, prefixed } from '../../../src/cli/mcp/tools';
import { BuiltCli } from '../../support/drivers/cli';
import { McpAgent, NEEDED } from '../../support/drivers/mcpAgent';

let cli: BuiltCli;
let folder: string;
let agent: McpAgent;
let made = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 120_000);
afterAll(() => {
  cli.dispose();
});
beforeEach(async () => {
  made += 1;
  folder = cli.repository(`repo${made}`);
  agent = await McpAgent.open(cli, { folder });
});
afterEach(async () => {
  await agent.close();
});

async function startTask(template = 'task'): Promise<void> {
  const { code, err } = await cli.runIn({ folder }, 'start', 'Fix the parser', '--template', template);
  expect(code, err).toBe(0);
}

async function state(): Promise<unknown> {
  const { task } = await cli.json({ folder }, 'status');
  return (task as { state: string }).state;
}

describe('the tools', { timeout: 60_000 }, () => {
  it('are all listed, each with a schema that allows nothing else and none with a command to run', async () => {
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description, name).toMatch(/\.$/u);
      expect(inputSchema['additionalProperties'], name).toBe(false);
      expect(Object.keys(inputSchema.properties ?? {}), name).not.toContain('command');
      expect(annotations?.destructiveHint, name).toBe(false);
    }
  });

  it('take what their schemas say, and nothing else', async () => {
    const { tools } = await agent.client.listTools();
    for (const { name, inputSchema } of tools) {
      const validate = new Ajv({ strict: true }).compile(inputSchema);
      const input = TOOLS.find((tool) => tool.name === name)?.input;
      const tried: unknown[] = [
        ...[{}, { task: 'x' }, { workspace: 7 }, { nonsense: 1 }, { attempt: 0 }, { attempt: 1 }, { step: 'x' }],
        ...[{ description: 'x' }, { question: 'x' }, { content: 'x' }, { task_id: 0, response_summary: '' }],
        ...[{ task_id: 1, response_summary: 'x' }, { command: 'x' }, { files: ['a', 1] }, { dry_run: 'yes' }, null, []],
      ];
      for (const value of tried)
        expect(validate(value), `${name} ${JSON.stringify(value)}`).toBe(input?.safeParse(value).success);
    }
  });

  it('say which of them only read', async () => {
    const { tools } = await agent.client.listTools();
    for (const { name, annotations } of tools)
      expect(annotations?.readOnlyHint === true, name).toBe(
        TOOLS.find((tool) => tool.name === name)?.readOnly === true,
      );
  });

  it('have names that no host uses itself, where that is asked for', async () => {
    const other = await McpAgent.open(cli, { folder }, 'editor', '--prefixed');
    try {
      const { tools } = await other.client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => prefixed(name)));
      for (const { name } of tools) expect(name).toMatch(/^atlas_[a-z]/u);
      await other.done('atlas_inbox_add', { content: 'look' });
      expect(await other.done('atlas_get_next_task')).toContain('with atlas_task_complete, task_id 1');
      expect(await other.refused('task_complete', NEEDED['task_complete'])).toContain('task_complete');
    } finally {
      await other.close();
    }
  });

  it('drive a step from its start to its end', async () => {
    await startTask();
    expect(await agent.done('atlas_status')).toContain('Ready');
    expect(await agent.done('atlas_start_step', { working_on: 'the nil checks', prompt: 'Fix it.' })).toContain(
      'is running',
    );
    expect(await agent.done('atlas_note', { working_on: 'the last check', files: ['parser.ts'] })).toContain('Noted');
    expect(await agent.done('atlas_read_hook')).toContain('Continue with: the last check');
    const checkpoint = { description: 'half way', next: 'the other half' };
    expect(await agent.done('atlas_checkpoint', checkpoint)).toMatch(/Recorded checkpoint ckpt-/u);
    const hook = await agent.done('atlas_read_hook');
    expect(hook).toContain('## Current State: `step_running`');
    expect(hook).toContain('- half way');
    expect(hook).toContain('Continue with: the other half');
    expect(hook).not.toContain('the last check');
    const result = { step: 'implement', attempt: 1, summary: 'It is done.' };
    expect(await agent.done('atlas_complete_step', result)).toContain('complete');
    expect(await state()).toBe('step_pending');
    expect(await agent.done('atlas_read_hook')).toContain('It is done.');
  });

  it('refuse a caller that believes to be at another step or attempt', async () => {
    await startTask();
    await agent.done('atlas_start_step');
    expect(await agent.refused('atlas_complete_step', { step: 'review' })).toContain('stale_caller');
    expect(await agent.refused('atlas_complete_step', { step: 'implement', attempt: 7 })).toContain('stale_caller');
    expect(await state()).toBe('step_running');
  });

  it('say which argument is wrong, and change nothing', async () => {
    await startTask();
    for (const args of [{ attempt: 'one' }, { attempt: 0 }, { nonsense: true }, { working_on: 7 }]) {
      expect(await agent.refused('atlas_start_step', args)).toMatch(/attempt|nonsense|working_on/u);
    }
    expect(await agent.refused('atlas_checkpoint')).toContain('description');
    expect(await agent.refused('atlas_validate', { command: 'rm -rf /' })).toContain('command');
    expect(await state()).toBe('step_pending');
  });

  it('hand the step to the human, whose decision is no tool', async () => {
    await startTask();
    await agent.done('atlas_start_step');
    expect(await agent.done('atlas_ask_human', { question: 'Which database?' })).toContain('human');
    expect(await state()).toBe('awaiting_human');
    for (const { name } of TOOLS) {
      if (name === 'atlas_ask_human') continue;
      await agent.use(name, NEEDED[name]);
      expect(await state(), name).toBe('awaiting_human');
    }
    expect(await agent.refused('atlas_approve')).toContain('atlas_approve');
  });

  it('run a command of the repository only once a human has, and say so', async () => {
    const ran = path.join(folder, 'ran');
    const steps = [{ name: 'check', type: 'validation', validation: [`touch ${JSON.stringify(ran)}`] }];
    mkdirSync(path.join(folder, '.atlas', 'templates'), { recursive: true });
    writeFileSync(path.join(folder, '.atlas', 'templates', 'checked.yaml'), JSON.stringify({ id: 'checked', steps }));
    const claude = { folder, env: { CLAUDECODE: '1' } };
    expect((await cli.runIn(claude, 'start', 'One', '--template', 'checked')).code).toBe(0);
    await agent.done('atlas_start_step');
    expect(await agent.refused('atlas_validate', { attempt: 1 })).toContain('human_only');
    expect(existsSync(ran)).toBe(false);
    expect((await cli.runIn({ folder }, 'validate')).code).toBe(0);
    const { task } = await cli.json(claude, 'start', 'Another', '--template', 'checked');
    await agent.done('atlas_start_step');
    expect(await agent.done('atlas_validate')).toContain('Passed');
    expect(await agent.done('atlas_verify_receipts', { task: (task as { task_id: string }).task_id })).toContain(
      'valid',
    );
  });

  it('say what is wrong where there is no task', async () => {
    expect(await agent.refused('atlas_status')).toContain('not_found');
    expect(await agent.refused('atlas_verify_receipts')).toContain('not_found');
  });
});

describe('HOOK.md as a resource', { timeout: 60_000 }, () => {
  it('is listed, read, and told of when another process changes it', async () => {
    await startTask();
    const { resources } = await agent.client.listResources();
    // Every test of this file has a task of another folder in the same store.
    const [hook, ...ofOthers] = resources;
    expect(ofOthers).toEqual([]);
    expect(hook?.name).toContain(`repo${made}/`);
    if (hook === undefined) throw new Error('HOOK.md is not listed');
    expect(hook.title).toBe('Fix the parser');
    const updated = new Promise<string>((resolve) => {
      agent.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        resolve(params.uri);
      });
    });
    await agent.client.subscribeResource({ uri: hook.uri });
    await cli.runIn({ folder }, 'step', 'start');
    expect(await updated).toBe(hook.uri);
    const { contents } = await agent.client.readResource({ uri: hook.uri });
    expect(JSON.stringify(contents)).toContain('Current State: `step_running`');
  });

  it('tells that a task began', async () => {
    const changed = new Promise<void>((resolve) => {
      agent.client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
        resolve();
      });
    });
    await startTask();
    await changed;
  });

  it('is nothing outside of the store', async () => {
    for (const uri of [
      'atlas://hook/..%2f..%2fetc/passwd',
      'file:///etc/passwd',
      'atlas://hook/w/task-20200101-000000',
    ]) {
      await expect(agent.client.readResource({ uri })).rejects.toThrow();
      await expect(agent.client.subscribeResource({ uri })).rejects.toThrow();
    }
  });
});

describe('the server', { timeout: 60_000 }, () => {
  it('ends when its client is gone', async () => {
    const child = cli.start(['mcp'], { folder });
    child.stdin?.end();
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(0);
  });
});
