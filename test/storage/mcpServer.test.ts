import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TOOLS } from '../../src/cli/mcp/tools';
import { BuiltCli } from '../support/cli';

let cli: BuiltCli;
let folder: string;
let client: Client;
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
  client = await connect();
});
afterEach(async () => {
  await client.close();
});

/** An agent's host, as the protocol's own client. */
async function connect(): Promise<Client> {
  const env = Object.fromEntries(
    Object.entries(cli.environment()).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli.entry, 'mcp'],
    cwd: folder,
    env,
    stderr: 'pipe',
  });
  const connected = new Client({ name: 'test-agent', version: '1.0.0' });
  await connected.connect(transport);
  return connected;
}

/** Calls a tool; gives what it says, and whether that is an error. */
async function use(name: string, args: Record<string, unknown> = {}): Promise<{ text: string; failed: boolean }> {
  const { content, isError } = CallToolResultSchema.parse(await client.callTool({ name, arguments: args }));
  const text = content.map((each) => (each.type === 'text' ? each.text : '')).join('');
  return { text, failed: isError === true };
}

async function done(name: string, args?: Record<string, unknown>): Promise<string> {
  const { text, failed } = await use(name, args);
  expect(failed, text).toBe(false);
  return text;
}

async function refused(name: string, args?: Record<string, unknown>): Promise<string> {
  const { text, failed } = await use(name, args);
  expect(failed, text).toBe(true);
  return text;
}

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
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description, name).toMatch(/\.$/u);
      expect(inputSchema['additionalProperties'], name).toBe(false);
      expect(Object.keys(inputSchema.properties ?? {}), name).not.toContain('command');
      expect(annotations?.destructiveHint, name).toBe(false);
    }
  });

  it('drive a step from its start to its end', async () => {
    await startTask();
    expect(await done('atlas_status')).toContain('step_pending');
    expect(await done('atlas_start_step', { working_on: 'the nil checks', prompt: 'Fix it.' })).toContain('is running');
    expect(await done('atlas_note', { working_on: 'the last check', files: ['parser.ts'] })).toContain('Noted');
    expect(await done('atlas_checkpoint', { description: 'half way' })).toMatch(/Checkpoint ckpt-/u);
    const hook = await done('atlas_read_hook');
    expect(hook).toContain('## Current State: `step_running`');
    expect(hook).toContain('the last check');
    expect(await done('atlas_complete_step', { step: 'implement', attempt: 1, output: 'It is done.' })).toContain(
      'complete',
    );
    expect(await state()).toBe('step_pending');
  });

  it('refuse a caller that believes to be at another step or attempt', async () => {
    await startTask();
    await done('atlas_start_step');
    expect(await refused('atlas_complete_step', { step: 'review' })).toContain('stale_caller');
    expect(await refused('atlas_complete_step', { step: 'implement', attempt: 7 })).toContain('stale_caller');
    expect(await state()).toBe('step_running');
  });

  it('say which argument is wrong, and change nothing', async () => {
    await startTask();
    for (const args of [{ attempt: 'one' }, { attempt: 0 }, { nonsense: true }, { working_on: 7 }]) {
      expect(await refused('atlas_start_step', args)).toMatch(/attempt|nonsense|working_on/u);
    }
    expect(await refused('atlas_checkpoint')).toContain('description');
    expect(await refused('atlas_validate', { command: 'rm -rf /' })).toContain('command');
    expect(await state()).toBe('step_pending');
  });

  it('hand the step to the human, whose decision is no tool', async () => {
    await startTask();
    await done('atlas_start_step');
    expect(await done('atlas_ask_human', { question: 'Which database?' })).toContain('human');
    expect(await state()).toBe('awaiting_human');
    for (const { name } of TOOLS) {
      if (name === 'atlas_ask_human') continue;
      const args = name === 'atlas_checkpoint' ? { description: 'again' } : {};
      await use(name, args);
      expect(await state(), name).toBe('awaiting_human');
    }
    expect(await refused('atlas_approve')).toContain('atlas_approve');
  });

  it('run a command of the repository only once a human has, and say so', async () => {
    const ran = path.join(folder, 'ran');
    const steps = [{ name: 'check', type: 'validation', validation: [`touch ${JSON.stringify(ran)}`] }];
    mkdirSync(path.join(folder, '.atlas', 'templates'), { recursive: true });
    writeFileSync(path.join(folder, '.atlas', 'templates', 'checked.yaml'), JSON.stringify({ id: 'checked', steps }));
    const agent = { folder, env: { CLAUDECODE: '1' } };
    expect((await cli.runIn(agent, 'start', 'One', '--template', 'checked')).code).toBe(0);
    await done('atlas_start_step');
    expect(await refused('atlas_validate', { attempt: 1 })).toContain('human_only');
    expect(existsSync(ran)).toBe(false);
    expect((await cli.runIn({ folder }, 'validate')).code).toBe(0);
    const { task } = await cli.json(agent, 'start', 'Another', '--template', 'checked');
    await done('atlas_start_step');
    expect(await done('atlas_validate')).toContain('PASSED');
    expect(await done('atlas_verify_receipts', { task: (task as { task_id: string }).task_id })).toContain('valid');
  });

  it('say what is wrong where there is no task', async () => {
    expect(await refused('atlas_status')).toContain('not_found');
    expect(await refused('atlas_verify_receipts')).toContain('not_found');
  });
});

describe('HOOK.md as a resource', { timeout: 60_000 }, () => {
  it('is listed, read, and told of when another process changes it', async () => {
    await startTask();
    const { resources } = await client.listResources();
    const [hook] = resources.filter(({ name }) => name.includes(`repo${made}/`));
    if (hook === undefined) throw new Error('HOOK.md is not listed');
    expect(hook.title).toBe('Fix the parser');
    const updated = new Promise<string>((resolve) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        resolve(params.uri);
      });
    });
    await client.subscribeResource({ uri: hook.uri });
    await cli.runIn({ folder }, 'step', 'start');
    expect(await updated).toBe(hook.uri);
    const { contents } = await client.readResource({ uri: hook.uri });
    expect(JSON.stringify(contents)).toContain('Current State: `step_running`');
  });

  it('tells that a task began', async () => {
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
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
      await expect(client.readResource({ uri })).rejects.toThrow();
      await expect(client.subscribeResource({ uri })).rejects.toThrow();
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
